"""Base parameters of the 3-RPS beside those of [M], and what few of them predict, in small."""

from __future__ import annotations

import json

import numpy as np
import pytest
from every_model import model_of

from pkm_bringup import cli
from pkm_bringup.studies import identifiability_study as study
from pkm_bringup.studies.runs.plants import slowed
from pkm_bringup.studies.runs.rps_base_parameters import (
    combinations_of_mata,
    compared_with_mata,
    table_of_mata,
)
from pkm_dynamics.presets import preset
from pkm_identification.excitation.excitation_design import load_excitation

SEEDS = (0, 1)


@pytest.fixture(scope='module')
def rps():
    return model_of('rps_upv')


@pytest.fixture(scope='module')
def found():
    """Two real runs with Stribeck friction: the shipped excitation predicts a slower one."""
    fast = load_excitation('rps_upv')
    motions = {'fast': fast, 'slow': slowed(fast, 2.0)}
    return [study.one_run('noise', 2, motions, 'atan', 1.0, 'stribeck', seed) for seed in SEEDS]


def test_the_25_base_parameters_of_the_paper(rps):
    """[M] Table 1: what changes none of its combinations changes no force, and each is needed."""
    theirs = combinations_of_mata(rps)
    rigid = rps.parameter_mask('rigid_body')
    time = np.linspace(0.0, 2.25, 40)
    rows = rps.regressor(load_excitation('rps_upv').motion(time, rps)).reshape(-1, rps.n_p)
    rows = rows[:, rigid]
    _, sizes, axes = np.linalg.svd(theirs[:, rigid])
    assert sizes[-1] > 0.1 and len(sizes) == 25
    unseen = axes[25:]
    assert len(unseen) == 70 - 25
    np.testing.assert_allclose(rows @ unseen.T, 0.0, atol=1e-10 * np.abs(rows).max())
    assert np.linalg.matrix_rank(rows / np.linalg.norm(rows, axis=0).max()) == 25
    factors = [abs(factor) for row in table_of_mata(rps) for factor in row.values()]
    printed = [0.2082, 0.2282, 0.3952, 0.4563, 0.5774, 1.0, 2.531]
    np.testing.assert_allclose(np.unique(np.round(factors, 9)), printed, rtol=3e-4)


def test_the_papers_values(rps):
    """[M] Tables 5 and 8, exact and CAD."""
    values = combinations_of_mata(rps) @ rps.nominal_parameters
    np.testing.assert_allclose(values[[11, 16, 22]], [-2.47, 10.83, 5.42], atol=0.006)
    np.testing.assert_allclose(values[[2, 15, 21]], 0.1555, atol=1e-5)


def test_the_comparison_sees_a_wrong_combination(rps, monkeypatch):
    content = compared_with_mata(rps)
    assert content['rank'] == content['inside'] == content['count'] == 25
    assert content['residual'] < 1e-12
    singles = [each['single'] for each in content['counts'].values()]
    assert singles == [25, 15, 9, 3]  # [M] Table 2, and model 4
    table = table_of_mata(rps)
    table[11]['platform.my'] = 0.5
    monkeypatch.setattr(
        'pkm_bringup.studies.runs.rps_base_parameters.table_of_mata', lambda _: table
    )
    wrong = compared_with_mata(rps)
    assert (wrong['rank'], wrong['inside']) == (26, 24) and wrong['residual'] > 0.01


def test_counts_of_the_papers_models():
    """[M] Table 6: 24, 18 and 12 parameters with symmetric friction of each drive."""
    model = study.symmetric_model()
    counts = [model.base_parameters(shared=False, reduced=name).rank for name in study.REDUCED]
    assert counts == [24, 18, 12]
    assert model_of('rps_upv').base_parameters(**study.ALL).rank == 37


def test_a_slower_motion_tells_less_of_inertia(rps):
    fast = load_excitation('rps_upv')
    slow = slowed(fast, 5.0)
    assert slow.period == pytest.approx(5 * fast.period)
    np.testing.assert_allclose(slow.evaluate(5.0)[0], fast.evaluate(1.0)[0])
    figures = [study.figures_of('', each) for each in (fast, slow)]
    speeds = [each['largest_velocity'] for each in figures]
    assert speeds[1] == pytest.approx(speeds[0] / 5, rel=1e-3)
    assert figures[1]['condition_number'] > figures[0]['condition_number']
    sine = study.figures_of('', preset(rps, 'sine_z'))
    assert sine['condition_number'] > figures[0]['condition_number']


def test_designs_are_motions_of_their_own(rps, monkeypatch):
    monkeypatch.setattr(study, 'DESIGN_STEPS', 2)
    motions = study.motions_of([study.one_design(seed) for seed in SEEDS])
    assert list(motions) == ['design_1', 'design_2', 'shipped', 'low_velocity']
    conditions = [study.figures_of('', each)['condition_number'] for each in motions.values()]
    assert len(set(conditions)) == len(conditions) and np.isfinite(conditions).all()
    assert motions['low_velocity'].period == pytest.approx(5 * motions['design_1'].period, abs=1e-3)


def test_the_command(found, monkeypatch, tmp_path):
    """The real runs above through summary, file and tables."""
    fast = load_excitation('rps_upv')
    monkeypatch.setattr(study, 'one_design', lambda seed: slowed(fast, 1.0 + seed).to_dict())
    monkeypatch.setattr(study, 'one_run', lambda *_, friction, seed: found[seed])
    path = tmp_path / 'study.json'
    options = ['--runs', '2', '--designs', '2', '--workers', '1', '--output', str(path)]
    assert cli.main(['study', 'identifiability', *options]) == 0
    content = json.loads(path.read_text())
    part = content['stribeck']
    levels = {row['name']: row for row in part['levels']}
    # Few well identified parameters predict about as well [M Table 6]
    assert [levels[f'model_{k}']['parameters']['mean'] for k in (1, 2, 3, 4)] == [37, 24, 18, 12]
    assert levels['model_4']['proper']['mean'] == 12 > levels['model_1']['proper']['mean']
    assert levels['model_4']['error_measured_ratio']['interval'][1] < 1.1
    assert levels['model_4']['parameter_error']['mean'] < 0.05
    assert levels['model_1']['parameter_error']['mean'] > 1.0
    # Limbs come out anyhow in model 1, the platform well in model 4 [M Tables 5, 8]
    rows = {row['name']: row for row in part['full']}
    limb = rows['leg2_slider.Iyy']
    assert limb['proper'] == 0.0 and limb['relative_deviation'] > 0.15
    assert rows['leg1_strut.viscous']['proper'] == 1.0
    for row in part['mata']['model_4']:
        assert row['identified']['mean'] == pytest.approx(row['exact'], rel=0.05)
    # Nonlinear friction predicts better where the plant has it [M Table 4]
    for against in study.AGAINST:
        assert part['trajectories']['nonlinear_ratio'][against]['mean'] < 0.9
    errors = part['trajectories']['errors'][study.LEAST_SQUARES]['measured']
    assert errors['slow']['mean'] > errors['fast']['mean']
