"""Kalman filters of the dynamic parameters, beside weighted least squares."""

from __future__ import annotations

import numpy as np
import pytest
from chances import spread_range, whitened_error

import pkm_description
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification import identify
from pkm_identification.datasets import Recording
from pkm_identification.estimators.filters.kalman import ekf, ukf
from pkm_identification.estimators.linear import gauss_markov
from pkm_identification.regression.problem import build_problem
from pkm_identification.signals import process

RUNS = 40


@pytest.fixture
def problem(record, slider_model):
    return build_problem(process(record()), slider_model)


@pytest.mark.parametrize('solve', [ekf, ukf])
@pytest.mark.parametrize('order', ['original', 'random', 'spread'])
def test_constant_parameters_are_gauss_markov(problem, solve, order):
    """From a wide start, in any order of the data."""
    best = gauss_markov(problem)
    found = solve(problem, order=order, initial_deviation=1e4)
    deviation = np.sqrt(np.diag(best.covariance))
    np.testing.assert_allclose((found.values - best.values) / deviation, 0.0, atol=1e-4)
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), deviation, rtol=1e-4)


def test_prior_is_the_one_of_least_squares(record, slider_model):
    prior = {'a.m': (2.3, 0.05), 'right.*': (10.0, 1.0)}
    problem = build_problem(process(record(periods=2)), slider_model, prior=prior)
    best = gauss_markov(problem)
    found = ukf(problem, initial_deviation=1e4, passes=3)
    deviation = np.sqrt(np.diag(best.covariance))
    np.testing.assert_allclose((found.values - best.values) / deviation, 0.0, atol=1e-4)


@pytest.mark.parametrize(
    'options', [{}, {'process': 'robbins_monro', 'walk_gain': 0.02}, {'process': 1e-3}]
)
def test_reported_uncertainty_is_that_of_many_runs(record, slider_model, options):
    truth, z = slider_model.nominal_parameters, []
    for seed in range(RUNS):
        problem = build_problem(process(record(seed=seed)), slider_model)
        found = ukf(problem, **options)
        z.append(whitened_error(found.values - truth, found.covariance))
    low, high = spread_range(np.size(z))
    assert low < np.sqrt(np.mean(np.square(z))) < high


@pytest.mark.parametrize('estimator', ['ekf', 'ukf'])
def test_what_the_data_do_not_show_stays_nominal(record, slider_model, motion, estimator):
    data = record(periods=2)
    still = motion(data.time)
    still.q[:, 1], still.qd[:, 1], still.qdd[:, 1] = 0.4, 0.0, 0.0
    forces = slider_model.inverse_dynamics(still)
    forces = forces + np.random.default_rng(0).normal(size=forces.shape)
    data = Recording.from_arrays(data.time, data.joint_names, still.q, forces, period=1.0)
    result = identify(data, slider_model, estimator)
    lost = {'b.m', 'right.coulomb', 'right.viscous'}
    assert set(result.diagnostics['undetermined']) == lost
    for name, value, deviation, nominal in zip(
        result.names,
        result.values,
        result.standard_deviation,
        slider_model.nominal_parameters,
        strict=True,
    ):
        assert np.isinf(deviation) == (name in lost)
        assert value == pytest.approx(nominal, rel=1e-6) or name not in lost


@pytest.mark.parametrize('estimator', ['ekf', 'ukf', 'recursive'])
def test_what_the_data_show_together_is_kept(slider_model, motion, estimator):
    """Both carriages move alike: of the three masses the data tell two sums."""
    time = np.arange(2000) / 1000
    alike = motion(time)
    for each in (alike.q, alike.qd, alike.qdd):
        each[:, 1] = each[:, 0]
    truth = 1.5 * slider_model.nominal_parameters
    forces = slider_model.inverse_dynamics(alike, truth)
    forces = forces + np.random.default_rng(0).normal(size=forces.shape)
    data = Recording.from_arrays(time, slider_model.actuated_joints, alike.q, forces, period=1.0)
    result = identify(data, slider_model, estimator)
    assert 'c.m' in result.diagnostics['undetermined']
    assert result.diagnostics['residual_variance_ratio'] < 1.5
    found = dict(zip(result.names, result.values, strict=True))
    for name, sum_of_both in (('a.m', 3.0 + 4.5), ('b.m', 4.5 + 4.5)):
        assert found[name] + 2 * found['c.m'] == pytest.approx(sum_of_both, rel=0.01)


def test_identify_takes_the_options(record, slider_model):
    data = record(periods=3)
    result = identify(data, slider_model, 'ukf', order='random', passes=2, history=10)
    assert result.diagnostics['passes'] == 2
    assert 10 <= len(result.diagnostics['history']['values']) <= 20
    assert 0.7 < result.diagnostics['innovation'] < 1.3
    with pytest.raises(EstimationError, match="'measurement' must be force or energy"):
        identify(data, slider_model, 'ekf', measurement='power')
    with pytest.raises(EstimationError, match='must be a number >= 0 or none or robbins_monro'):
        identify(data, slider_model, 'ukf', process='some')
    with pytest.raises(EstimationError, match="'initial_deviation' must be a positive number"):
        identify(data, slider_model, 'ukf', initial_deviation=0.0)


@pytest.fixture(scope='module')
def hexapod():
    """Motion of the UF-PKM about home, its exact derivatives and forces."""
    model = ClosedChainModel(pkm_description.load('uf_pkm'))
    time = np.arange(0, 2, 0.002)
    random = np.random.default_rng(0)
    q = np.tile(model.home_actuators, (len(time), 1))
    qd, qdd = np.zeros_like(q), np.zeros_like(q)
    for k in range(1, 6):
        w = k * np.pi
        sine, cosine = np.sin(w * time)[:, None], np.cos(w * time)[:, None]
        a, b = 0.006 * random.normal(size=(2, model.n_a))
        q += a * sine + b * cosine
        qd += w * (a * cosine - b * sine)
        qdd -= w**2 * (a * sine + b * cosine)
    motion = model.motion_from_actuators(q, qd, qdd)
    return model, time, q, model.inverse_dynamics(motion)


def record_of(hexapod, noise, seed=0):
    model, time, q, forces = hexapod
    random = np.random.default_rng(seed)
    forces = np.tile(forces, (4, 1))
    forces = forces + noise * np.std(forces, axis=0) * random.normal(size=forces.shape)
    times = np.arange(len(forces)) * (time[1] - time[0])
    return Recording.from_arrays(
        times, model.actuated_joints, np.tile(q, (4, 1)), forces, period=2.0
    )


@pytest.mark.parametrize('measurement', ['force', 'energy'])
def test_uf_pkm_from_forces_and_from_energy(hexapod, measurement):
    """[O] chapter 4: without noise both find the parameters that move."""
    model = hexapod[0]
    result = identify(
        record_of(hexapod, 0.0),
        model,
        'ukf',
        measurement=measurement,
        estimate=['*.coulomb', '*.viscous', 'platform.m*'],
        initial_deviation=1e3,
    )
    base = model.base_parameters(shared=True, reduced=True)
    free = [name not in result.diagnostics['fixed'] for name in result.names]
    np.testing.assert_allclose(result.values[free], base.values()[free], rtol=2e-3)


def test_energy_says_how_uncertain_it_is(hexapod):
    model = hexapod[0]
    truth = model.base_parameters(shared=True, reduced=True).values()
    z = []
    for seed in range(12):
        result = identify(
            record_of(hexapod, 0.02, seed),
            model,
            'ekf',
            measurement='energy',
            estimate=['*.coulomb', '*.viscous'],
        )
        free = np.array([name not in result.diagnostics['fixed'] for name in result.names])
        z.append(whitened_error((result.values - truth)[free], result.covariance[free][:, free]))
    assert result.diagnostics['covariance_rests_on'] == 'residuals of the energy'
    low, high = spread_range(np.size(z))
    assert low < np.sqrt(np.mean(np.square(z))) < high
