"""The comparison of [A] IV.C in small, and its statistics against known distributions."""

import dataclasses
import json

import numpy as np
import pytest

import pkm_description
from pkm_bringup import cli
from pkm_bringup.studies.comparison import agreement, compare, deviation_interval
from pkm_bringup.studies.excitation import force_noise, predicted
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification.excitation import ExcitationDesign


def gaussian(deviations, count, rng):
    return rng.standard_normal((count, len(deviations))) * deviations


def test_intervals_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(0)
    truth = np.array([1.0, 1e-3, 50.0])
    held, ratios, volumes = [], [], []
    for _ in range(400):
        first, second = gaussian(truth, 40, rng), gaussian(0.5 * truth, 40, rng)
        found = compare(['a', 'b', 'c'], first, second)
        interval = deviation_interval(found.first, 40)
        held.append((interval[:, 0] < truth) & (truth < interval[:, 1]))
        ratios.append((found.ratio_interval[:, 0] < 0.5) & (0.5 < found.ratio_interval[:, 1]))
        low, high = found.log_volume_interval
        volumes.append((low < 3 * np.log(0.5) < high, found.log_volume_ratio))
    assert np.mean(held) == pytest.approx(0.95, abs=0.02)
    assert np.mean(ratios) == pytest.approx(0.95, abs=0.02)
    assert np.mean([inside for inside, _ in volumes]) == pytest.approx(0.95, abs=0.04)
    assert np.mean([value for _, value in volumes]) == pytest.approx(3 * np.log(0.5), abs=0.03)


def test_equal_sets_are_not_surely_different():
    rng = np.random.default_rng(1)
    found = compare(list('abcdefgh'), *(gaussian(np.ones(8), 60, rng) for _ in range(2)))
    assert found.surely_smaller + found.surely_larger <= 2
    assert agreement(np.ones(8), found.first, 60)['median'] == pytest.approx(1.0, abs=0.1)


@pytest.fixture(scope='module')
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp('study') / 'new'
    arguments = ['study', 'excitation', '--plant', 'noise', '--runs', '60', '--iterations', '40']
    assert cli.main([*arguments, '--period', '1.5', '--output', str(folder)]) == 0
    return folder


def test_the_statistical_design_is_the_better(study):
    """[A Table II]: 15 of 24 parameters; the volume is what T_s minimises."""
    content = json.loads((study / 'study.json').read_text())
    assert content['runs'] == 60 and len(content['parameters']) == 24
    for estimator in ('ls', 'gauss_markov'):
        part = content[estimator]
        assert part['smaller'] >= 15
        assert part['log_volume_interval'][1] < 0.0
        for found in part['agreement'].values():
            assert found['median'] == pytest.approx(1.0, abs=0.1)
            assert found['within'] >= found['expected_within'] - 0.2
            assert abs(np.log(found['worst'])) < 0.4
    assert (study / 'study.png').read_bytes()[:4] == b'\x89PNG'


def test_predictions_by_another_route(study):
    """F of the stacked regressor, row by row."""
    model = ClosedChainModel(pkm_description.load('palida'))
    design = ExcitationDesign.load(study / 'T_s.yaml')
    base = model.base_parameters(shared=True, reduced=True)
    inverse = np.linalg.inv(force_noise(model))
    F, bread, meat = 0.0, 0.0, 0.0
    for t in np.arange(1500) / 1000.0:
        psi = base.regressor(design.trajectory.motion([t], model))[0]
        F = F + psi.T @ inverse @ psi
        bread = bread + psi.T @ psi
        meat = meat + psi.T @ force_noise(model) @ psi
    found = predicted(model, design)
    np.testing.assert_allclose(found['gauss_markov'], np.sqrt(np.diag(np.linalg.inv(F))), rtol=1e-6)
    spread = np.linalg.inv(bread) @ meat @ np.linalg.inv(bread)
    np.testing.assert_allclose(found['ls'], np.sqrt(np.diag(spread)), rtol=1e-6)


def test_a_robot_without_declared_noise_is_refused():
    description = pkm_description.load('five_bar')
    sidecar = {key: value for key, value in description.sidecar.items() if key != 'simulation'}
    quiet = ClosedChainModel(dataclasses.replace(description, sidecar=sidecar))
    with pytest.raises(EstimationError, match="'five_bar' declares no force noise"):
        force_noise(quiet)
