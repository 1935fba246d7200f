"""The comparison of [A] IV.C in small, run and judged."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from every_model import model_of

import pkm_description
from pkm_bringup import cli, offline
from pkm_bringup.studies import excitation
from pkm_bringup.studies.comparison import agreement
from pkm_bringup.studies.excitation import run_designs
from pkm_bringup.studies.excitation_report import report, summary
from pkm_bringup.studies.excitation_runs import (
    estimate_runs,
    executed_deviations,
    record,
    signals_of,
)
from pkm_bringup.studies.prediction import force_noise, predict
from pkm_description.errors import EstimationError, SimulationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification.excitation import ExcitationDesign

SEED = [0, 7]


@pytest.fixture(scope='module')
def model():
    return model_of('palida')


@pytest.fixture(scope='module')
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp('study') / 'new'
    arguments = ['study', 'excitation', '--plant', 'noise', '--runs', '40', '--iterations', '20']
    assert cli.main([*arguments, '--period', '1.0', '--output', str(folder)]) == 0
    return folder


@pytest.fixture(scope='module')
def designs(study, model):
    return {name: ExcitationDesign.load(study / f'{name}.yaml', model) for name in ('T_d', 'T_s')}


def test_the_statistical_design_is_the_better(study):
    """[A Table II]: 15 of 24 parameters; the volume is what T_s minimises."""
    content = json.loads((study / 'study.json').read_text())
    assert content['runs'] == 40 and len(content['parameters']) == 24
    for estimator in ('ls', 'gauss_markov'):
        part = content[estimator]
        assert part['smaller'] >= 15
        assert part['log_volume_interval'][1] < 0.0
        for found in part['of'].values():
            for fit in found['agreement'].values():
                assert fit['median'] == pytest.approx(1.0, abs=0.1)
                assert fit['within'] >= fit['expected_within'] - 4
                assert abs(np.log(fit['worst'])) < 0.4
            assert abs(found['independence']['strongest']) < 1.3 * found['independence']['chance']
    low, high = content['gauss_markov']['log_volume_interval']
    assert low - 1.5 < content['log_volume_ratio_predicted'] < high + 1.5
    assert (study / 'study.png').read_bytes()[:4] == b'\x89PNG'


def test_the_comparison_sees_which_of_the_two_is_worse(designs, model):
    """The same runs with the names exchanged: everything turns round."""
    pair = run_designs(model, designs, 6, 1, 'noise', 1)
    content, turned = report(*pair), report(*pair[::-1])
    assert content['ls']['smaller'] == 24 - turned['ls']['smaller'] > 12
    assert content['log_volume_ratio_predicted'] == -turned['log_volume_ratio_predicted'] < -5
    assert content['ls']['log_volume_ratio'] is None  # six runs of 24 parameters
    assert not any('volume' in line for line in summary(content))


def test_noise_that_the_prediction_does_not_know_is_seen(designs, model):
    """Forces twice as noisy as declared: the prediction fails, that of the runs holds."""
    design = designs['T_s']
    measured = record(model, design, 24, SEED, 'noise')
    periods = measured.forces.reshape(24, -1, 6)
    noisier = (periods.mean(axis=0) + 2.0 * (periods - periods.mean(axis=0))).reshape(-1, 6)
    signals = signals_of(model, replace(measured, forces=noisier), design)
    known, found = predict(model, design).deviations, executed_deviations(model, signals)
    for estimator, estimates in estimate_runs(model, signals, range(24)).items():
        spread = estimates.std(axis=0, ddof=1)
        assert agreement(known[estimator], spread, 24)['median'] == pytest.approx(2.0, abs=0.25)
        assert agreement(known[estimator], spread, 24)['within'] <= 2
        assert agreement(found[estimator], spread, 24)['median'] == pytest.approx(1.0, abs=0.12)


def test_predictions_by_another_route(designs, model):
    """F of the stacked regressor, row by row."""
    design = designs['T_s']
    base = model.base_parameters(shared=True, reduced=True)
    inverse = np.linalg.inv(force_noise(model))
    F, bread, meat, rows = 0.0, 0.0, 0.0, []
    for t in np.arange(1000) / 1000.0:
        psi = base.regressor(design.trajectory.motion([t], model))[0]
        F = F + psi.T @ inverse @ psi
        bread = bread + psi.T @ psi
        meat = meat + psi.T @ force_noise(model) @ psi
        rows.append(psi)
    found = predict(model, design)
    np.testing.assert_allclose(
        found.deviations['gauss_markov'], np.sqrt(np.diag(np.linalg.inv(F))), rtol=1e-6
    )
    spread = np.linalg.inv(bread) @ meat @ np.linalg.inv(bread)
    np.testing.assert_allclose(found.deviations['ls'], np.sqrt(np.diag(spread)), rtol=1e-6)
    assert found.figures['d_optimal'] == pytest.approx(design.figures['d_optimal'], abs=1e-6)
    assert found.figures['condition_number'] == pytest.approx(
        np.linalg.cond(np.concatenate(rows)), rel=1e-6
    )


def test_the_deterministic_design_knows_no_noise(designs, model):
    """T_d is optimal for Psi itself; its own figures are those of unit variance."""
    found = predict(model, designs['T_d']).figures
    assert designs['T_d'].figures['condition_number'] == pytest.approx(found['condition_number'])
    assert found['condition_number'] < predict(model, designs['T_s']).figures['condition_number']


def test_the_result_does_not_depend_on_the_number_of_processes(designs, model, monkeypatch):
    monkeypatch.setattr(excitation, 'BATCH', 3)
    told = []
    first, second = (
        run_designs(
            model, designs, 5, 3, 'noise', workers, lambda text, fraction: told.append(fraction)
        )
        for workers in (1, 2)
    )
    for one, other in zip(first, second, strict=True):
        for estimator, values in one.estimates.items():
            np.testing.assert_array_equal(values, other.estimates[estimator])
        assert len({tuple(row) for row in one.estimates['ls']}) == 5  # no run twice
    assert told[-1] == 1.0


def test_runs_of_the_simulated_robot_are_whole_settled_periods(designs, model):
    """Consecutive periods: all alike but for the noise, which is the declared one."""
    trajectory = designs['T_d'].trajectory
    near = FourierTrajectory(  # about home, so that the approach is short
        1.0,
        [*model.home_position, 0.0, 0.0, 0.0],
        0.5 * trajectory.sine,
        0.5 * trajectory.cosine,
        robot='palida',
    )
    measured = record(model, replace(designs['T_d'], trajectory=near), 3, SEED, 'robot')
    periods = measured.forces.reshape(3, 1000, 6)
    differences = (periods[1:] - periods[:-1]) / np.sqrt(2.0)
    declared = np.sqrt(np.diag(force_noise(model)))
    np.testing.assert_allclose(differences.std(axis=(0, 1)), declared, rtol=0.1)
    np.testing.assert_allclose(differences.mean(axis=(0, 1)), 0.0, atol=3.0)
    planned = model.actuator_states(near.motion(np.arange(1000) / 1000.0, model)).positions
    tracked = measured.positions.reshape(3, 1000, 6).mean(axis=0)
    assert np.abs(tracked - planned).max() < 0.01
    assert set(measured.limits_left) == {'stroke', 'velocity', 'force'}
    assert min(measured.limits_left.values()) > 0.0 and measured.saturated == 0.0


def test_a_long_approach_is_no_failure(model, monkeypatch):
    """The time that a simulation may take counts the approach, here ten times the motion."""
    limits = []

    def run(*_, time_limit, **__):
        limits.append(time_limit)
        return SimpleNamespace(outcome=None)

    monkeypatch.setattr(offline, 'run_closed_loop', run)
    offset = [*model.home_position, 0.0, 0.0, 0.9]
    turned = FourierTrajectory(1.0, offset, np.zeros((6, 1)), np.full((6, 1), 1e-3))
    with pytest.raises(SimulationError):
        offline.simulate(model, turned, 1, ramp_time=0.5)
    assert limits[0] > 1.875 * 0.9 / 0.1 + 10.0


def test_a_robot_without_declared_noise_is_refused():
    description = pkm_description.load('five_bar')
    sidecar = {key: value for key, value in description.sidecar.items() if key != 'simulation'}
    quiet = ClosedChainModel(replace(description, sidecar=sidecar))
    with pytest.raises(EstimationError, match="'five_bar' declares no force noise"):
        force_noise(quiet)


@pytest.mark.parametrize(
    ('arguments', 'status', 'words'),
    [
        (['--runs', '2'], 2, 'at least 3'),
        (['--seed', '-1'], 2, 'whole number >= 0'),
        (['--plant', 'moon'], 2, "'robot', 'noise'"),
        (['--robot', 'nowhere'], 1, 'nowhere'),
        (['--period', '0.0001'], 1, 'period must be at least'),
    ],
)
def test_wrong_use_is_refused_in_a_line(arguments, status, words, capsys):
    assert cli.main(['study', 'excitation', *arguments]) == status
    shown = capsys.readouterr().err
    assert words in shown and 'Traceback' not in shown


def test_a_folder_that_exists_is_refused_before_anything_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(excitation, 'design_pair', None)
    assert cli.main(['study', 'excitation', '--output', str(tmp_path)]) == 1
    assert 'exists already' in capsys.readouterr().err
