"""Noise of the measured forces and the error of the model against it, in small."""

from __future__ import annotations

import json
from argparse import Namespace

import numpy as np
import pytest
from chances import CHANCE, count_range
from scipy import signal, stats

from pkm_bringup.runner import Runner
from pkm_bringup.studies import noise_study
from pkm_bringup.studies.noise_study import (
    error_figures,
    noise_figures,
    plant_effects,
    summary_of_errors,
    summary_of_noise,
)
from pkm_bringup.studies.runs.noise_statistics import normality_in_time, spread_with_intervals
from pkm_bringup.studies.runs.plants import (
    dataset,
    exact_forces,
    excitation_of,
    model_of,
    noisy_effects,
    noisy_periods,
    sampled_period,
)
from pkm_bringup.views.study_views.study_tables import print_noise
from pkm_dynamics.trajectories import benchmark_circle
from pkm_identification import identify
from pkm_identification.signals import SignalOptions, process
from pkm_identification.signals.averaging import average

SERIES = 400
COLOUR = 0.8  # of noise, from one sample to the next


def coloured(random, shape):
    """Normal noise of variance one, correlated in time along the first axis."""
    white = random.normal(size=(200 + shape[0], *shape[1:]))
    return signal.lfilter([np.sqrt(1 - COLOUR**2)], [1, -COLOUR], white, axis=0)[200:]


def test_white_noise_is_tested_as_by_jarque_and_bera():
    values = np.random.default_rng(0).normal(size=20_000)
    found = normality_in_time(values)
    known = stats.jarque_bera(values)
    assert found.skewness == pytest.approx(stats.skew(values))
    assert found.excess_kurtosis == pytest.approx(stats.kurtosis(values))
    assert found.p_value == pytest.approx(known.pvalue, abs=0.05)


def test_correlation_in_time_is_no_deviation_from_normal():
    random = np.random.default_rng(1)
    series = coloured(random, (2000, SERIES))
    found = np.array([normality_in_time(each).p_value for each in series.T])
    naive = np.array([stats.jarque_bera(each).pvalue for each in series.T])
    low, high = count_range(0.05, SERIES)
    assert low <= np.sum(found < 0.05) <= high
    assert np.sum(naive < 0.05) > high
    assert normality_in_time(random.laplace(size=2000)).p_value < 1e-6


def test_intervals_hold_the_true_values_as_often_as_they_say():
    random, count, axes = np.random.default_rng(2), 300, 3
    truth = np.array([[1.0, 0.35, 0.1], [0.35, 1.0, 0.1], [0.1, 0.1, 1.0]])
    mix = np.diag([1.0, 2.0, 3.0]) @ np.linalg.cholesky(truth)
    inside = np.zeros(3)
    for _ in range(count):
        noise = coloured(random, (20 * 100, axes)).reshape(20, 100, axes) @ mix.T
        moments = np.einsum('pna,pnb->pab', noise, noise) / 100
        found = spread_with_intervals(moments)
        covariance = moments.mean(axis=0)
        np.testing.assert_allclose(found['deviation'] ** 2, np.diag(covariance))
        low, high = found['correlation_interval'][0, 1]
        inside[0] += low <= 0.35 <= high
        for k, axis in enumerate((0, 2), 1):
            low, high = found['deviation_interval'][axis]
            inside[k] += low <= axis + 1 <= high
    low, high = count_range(0.95, count)
    assert (inside >= low).all() and (inside <= high).all()
    assert found['correlation'][0, 0] == 1.0


def recording(model, trajectory, periods, seed, ripple=0.0):
    """Periods of an exact motion with the noise of the robot, and a force ripple on strut 3."""
    time, _ = sampled_period(model, trajectory)
    motion, forces = exact_forces(model, trajectory)
    positions = model.actuator_states(motion).positions
    forces = forces.copy()
    forces[:, 2] += ripple * np.sin(2 * np.pi * positions[:, 2] / 0.06)
    random = np.random.default_rng(seed)
    noise = noisy_effects(model.description)
    measured, efforts = noisy_periods(positions, forces, periods, noise, random)
    time = time[1] * np.arange(len(measured))
    data = dataset(model, time, measured, trajectory.period, efforts=efforts)
    return data.for_model(model)


def test_a_ripple_is_seen_on_its_own_actuator_alone():
    """Eleven tests may err; see `chances`."""
    model, circle = model_of('palida'), benchmark_circle(model_of('palida'))
    excitation = excitation_of(model)
    result = identify(recording(model, excitation, 12, 0), model, 'gauss_markov')
    options = SignalOptions(method='fourier', skip_periods=0)
    clean, rippled = (
        error_figures(process(recording(model, circle, 3, 1, size), options), result, model)
        for size in (0.0, 15.0)
    )
    others = np.arange(6) != 2
    least = min(clean['p_value'].min(), rippled['p_value'][others].min())
    assert least > CHANCE / 11
    assert rippled['p_value'][2] < 1e-12
    noise = np.diag(noisy_effects(model.description).force_covariance)
    np.testing.assert_allclose(clean['measurement_error'], noise, rtol=0.15)
    # a sine of 15 N over nearly whole waves has a variance of 15^2 / 2
    assert rippled['systematic'][2] == pytest.approx(0.5 * 15.0**2, rel=0.3)
    found = [{'errors': {'gauss_markov': {'circle': rippled}}}]
    joints = list(model.actuated_joints)
    summary = summary_of_errors(found, 'gauss_markov', 'circle', joints)
    assert summary['above'] == ['leg3_strut'] and summary['rejected'].tolist() == [0, 0, 1, 0, 0, 0]


def test_noise_is_that_which_identification_takes():
    model = model_of('palida')
    trajectory = excitation_of(model)
    averaged = average(recording(model, trajectory, 6, 3), trajectory.period, 0)
    figures = noise_figures(averaged.forces)
    covariance = averaged.force_noise.covariance
    np.testing.assert_allclose(np.mean(figures['moments'], axis=0), covariance)
    summary = summary_of_noise([{'forces': figures}], 'forces')
    np.testing.assert_allclose(summary['correlation'], averaged.force_noise.correlation)
    truth = noisy_effects(model.description).force_covariance
    deviation = np.sqrt(np.diag(truth))
    np.testing.assert_allclose(summary['deviation'], deviation, rtol=0.06)
    np.testing.assert_allclose(
        summary['correlation'], truth / np.outer(deviation, deviation), atol=0.08
    )
    assert min(summary['normality_p'], *figures['whiteness_p']) > 1e-4


def test_plants_differ_by_cogging_and_stribeck_friction():
    plants = [plant_effects(model_of('palida'), name) for name in noise_study.EFFECTS]
    assert [bool(plant.cogging_amplitude.any()) for plant in plants] == [True, False, False]
    assert [bool(plant.stribeck) for plant in plants] == [True, True, False]


def test_one_robot_from_its_excitation_to_its_variances(monkeypatch, capsys):
    monkeypatch.setattr(noise_study, 'EFFECTS', ('all',))
    given = {'robot': 'five_bar', 'periods': 3, 'circles': 2, 'estimators': ['gauss_markov']}
    content = noise_study.run(Namespace(**given, runs=1, seed=0), Runner(1))
    forces = content['noise']['forces']
    # 0.1 N m of the sensor, and what the servo makes of noisy positions besides
    assert np.all(np.array(forces['deviation']) > 0.1)
    parts = np.hypot(0.1, forces['drives'])
    np.testing.assert_allclose(forces['deviation'], parts, rtol=0.1)
    (row,) = content['cases'][0]['errors']
    assert row['motion'] == 'excitation, slower' and len(row['model_error']) == 2
    assert row['ratio_interval'] is None
    print_noise(json.loads(json.dumps(content, default=np.ndarray.tolist)))
    assert 'normal on all axes in all runs' in capsys.readouterr().out
