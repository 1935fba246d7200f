"""Recursive least squares beside least squares of all data at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from chances import spread_range, whitened_error

from pkm_description.errors import EstimationError
from pkm_dynamics.friction_laws import LINEAR, DriveFriction
from pkm_identification import RecursiveEstimator, identify
from pkm_identification.estimators.filters.recursive import recursive
from pkm_identification.estimators.filters.recursive_least_squares import RecursiveLeastSquares
from pkm_identification.regression.problem import build_problem
from pkm_identification.result.identified_friction import IdentifiedFriction
from pkm_identification.signals import process

PRIOR = np.array([1.0, -2.0, 0.5]), np.diag([0.5, 2.0, 0.1]) + 0.05
NOISE = np.array([[0.09, 0.03], [0.03, 0.25]])


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    regressor = random.normal(size=(300, 2, 3)) * [1.0, 3.0, 0.3]
    truth = np.array([1.3, -1.0, 0.2])
    noise = random.normal(size=(300, 2)) @ np.linalg.cholesky(NOISE).T
    return regressor, regressor @ truth + noise, truth


def batch(regressor, forces, weights, prior_weight=1.0):
    """Normal equations of weighted least squares with the prior."""
    inverse = np.linalg.inv(NOISE)
    prior = np.linalg.inv(PRIOR[1]) * prior_weight
    square = np.einsum('k,kaf,ab,kbg->fg', weights, regressor, inverse, regressor) + prior
    right = np.einsum('k,kaf,ab,kb->f', weights, regressor, inverse, forces) + prior @ PRIOR[0]
    return np.linalg.solve(square, right), np.linalg.inv(square)


def test_without_forgetting_it_is_least_squares_with_the_prior(rows):
    regressor, forces, _ = rows
    state = RecursiveLeastSquares(*PRIOR, NOISE)
    for count, (psi, force) in enumerate(zip(regressor, forces, strict=True), start=1):
        state.update(psi, force)
        if count in (1, 2, 50, 300):
            values, covariance = batch(regressor[:count], forces[:count], np.ones(count))
            np.testing.assert_allclose(state.values, values, rtol=1e-10)
            np.testing.assert_allclose(state.covariance(), covariance, rtol=1e-10)


def test_forgetting_weighs_older_samples_less(rows):
    """After many updates, exponentially weighted least squares with the whole prior."""
    regressor, forces, _ = rows
    state = RecursiveLeastSquares(*PRIOR, NOISE, forgetting=0.95)
    for psi, force in zip(regressor, forces, strict=True):
        state.update(psi, force)
    weights = 0.95 ** np.arange(299, -1, -1)
    values, covariance = batch(regressor, forces, weights)
    deviation = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose((state.values - values) / deviation, 0.0, atol=0.05)


@pytest.mark.parametrize('forgetting', [1.0, 0.97])
def test_reported_uncertainty_is_that_of_many_runs(rows, forgetting):
    regressor, _, truth = rows
    random, z = np.random.default_rng(1), []
    for _ in range(40):
        noise = random.normal(size=(300, 2)) @ np.linalg.cholesky(NOISE).T
        start = random.multivariate_normal(truth, PRIOR[1])
        state = RecursiveLeastSquares(start, PRIOR[1], NOISE, forgetting)
        for psi, force in zip(regressor, regressor @ truth + noise, strict=True):
            state.update(psi, force)
        z.append(whitened_error(state.values - truth, state.covariance()))
    low, high = spread_range(np.size(z))
    assert low < np.sqrt(np.mean(np.square(z))) < high


def test_forgetting_follows_a_change(rows):
    """Half way the second parameter doubles; only the filter that forgets is there soon."""
    regressor, _, truth = rows
    changed = truth * [1.0, 2.0, 1.0]
    found = {}
    for forgetting in (1.0, 0.9):
        state = RecursiveLeastSquares(*PRIOR, NOISE, forgetting)
        for k, psi in enumerate(regressor):
            state.update(psi, psi @ (truth if k < 150 else changed))
        found[forgetting] = abs(state.values[1] - changed[1])
    assert found[0.9] < 0.01 and found[1.0] > 0.3


def test_standstill_does_not_wind_up(rows):
    """What no motion shows keeps the uncertainty of the start, for any length of time."""
    state = RecursiveLeastSquares(*PRIOR, NOISE, forgetting=0.9)
    for _ in range(2000):
        state.update(np.zeros((2, 3)), np.array([0.3, -0.2]))
    np.testing.assert_allclose(state.values, PRIOR[0], rtol=1e-9)
    np.testing.assert_allclose(
        np.sqrt(np.diag(state.covariance())), np.sqrt(np.diag(PRIOR[1])), rtol=0.25
    )


def test_huber_limits_outliers(rows):
    regressor, forces, truth = rows
    random = np.random.default_rng(2)
    hit = random.random(forces.shape) < 0.02
    dirty = forces + hit * 40.0
    errors = []
    for huber in (None, 2.0):
        state = RecursiveLeastSquares(*PRIOR, NOISE, huber=huber)
        for psi, force in zip(regressor, dirty, strict=True):
            state.update(psi, force)
        errors.append(np.abs((state.values - truth) / np.sqrt(np.diag(state.covariance()))).max())
    assert errors[1] < 3.0 < errors[0]


def test_estimator_is_least_squares_of_the_samples(record, slider_model):
    problem = build_problem(process(record()), slider_model)
    rows = problem.runs[0].in_time()
    found = recursive(problem, initial_deviation=1e4)
    residuals = rows.residuals(found.values)
    root = np.linalg.inv(np.linalg.cholesky(residuals.T @ residuals / len(rows)))
    design = (root @ rows.regressor).reshape(-1, problem.size)
    target = (root @ rows.forces[..., None]).ravel()
    expected = np.linalg.lstsq(design, target, rcond=None)[0]
    deviation = np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
    np.testing.assert_allclose((found.values - expected) / deviation, 0.0, atol=0.01)
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), deviation, rtol=0.2)


@pytest.mark.parametrize('options', [{}, {'forgetting': 0.995}, {'huber': 2.0}])
def test_uncertainty_of_the_estimator(record, slider_model, options):
    truth, z = slider_model.nominal_parameters, []
    for seed in range(20):
        result = identify(record(seed=seed, periods=4), slider_model, 'recursive', **options)
        z.append(whitened_error(result.values - truth, result.covariance))
    low, high = spread_range(np.size(z))
    assert low < np.sqrt(np.mean(np.square(z))) < high


def test_history_and_filtered_data(record, slider_model):
    result = identify(record(periods=3), slider_model, 'recursive', method='filter', history=20)
    history = result.diagnostics['history']
    assert 20 <= len(history['updates']) <= 40
    assert history['updates'][-1] == result.diagnostics['updates']
    np.testing.assert_allclose(history['values'][-1], result.values)
    z = (result.values - slider_model.nominal_parameters) / result.standard_deviation
    assert np.abs(z).max() < 4


def test_online_finds_parameters_and_noise(slider_model, motion):
    """Noise of the axes unknown, and unequal; parameters from a tenth off."""
    random = np.random.default_rng(3)
    time = np.arange(4000) / 1000
    whole = motion(time)
    truth = slider_model.nominal_parameters * 1.2
    forces = slider_model.inverse_dynamics(whole, truth)
    forces = forces + random.normal(size=forces.shape) * [2.0, 6.0]
    estimator = RecursiveEstimator(slider_model)
    for k in range(len(time)):
        sample = type(whole)(whole.q[k : k + 1], whole.qd[k : k + 1], whole.qdd[k : k + 1])
        values, covariance = estimator.update(sample, forces[k])
    z = (values - truth) / np.sqrt(np.diag(covariance))
    assert np.abs(z).max() < 4
    np.testing.assert_allclose(np.sqrt(np.diag(estimator.noise)), [2.0, 6.0], rtol=0.08)
    assert estimator.updates == 4000
    expected = slider_model.inverse_dynamics(whole, values)
    np.testing.assert_allclose(estimator.predict(whole), expected)


def test_online_goes_on_from_a_result(record, slider_model, motion):
    """What the recording told and the samples tell, together: the product of both."""
    prior = identify(record(periods=4), slider_model)
    estimator = RecursiveEstimator(slider_model, prior=prior, noise=[3.0, 9.0])
    np.testing.assert_allclose(estimator.values, prior.values)
    np.testing.assert_allclose(estimator.covariance, prior.covariance, rtol=1e-8)
    some = motion(np.linspace(0, 1, 50))
    forces = slider_model.inverse_dynamics(some)
    values, covariance = estimator.update(some, forces)
    rows = slider_model.regressor(some) / np.array([3.0, 9.0])[:, None]
    information = np.linalg.inv(prior.covariance) + np.einsum('kaf,kag->fg', rows, rows)
    np.testing.assert_allclose(covariance, np.linalg.inv(information), rtol=1e-6)


def test_online_holds_what_the_prior_holds(record, slider_model, motion):
    truth = slider_model.nominal_parameters
    prior = identify(record(periods=4), slider_model, fixed={'c.m': 1.4, 'b.m': (3.1, 0.2)})
    estimator = RecursiveEstimator(slider_model, prior=prior, noise=0.1)
    some = motion(np.linspace(0, 1, 200))
    values, covariance = estimator.update(some, slider_model.inverse_dynamics(some))
    assert values[2] == 1.4 and not covariance[2].any()
    # by hand: with a third mass that is 0.1 too light the carriages are that much heavier
    rows = slider_model.regressor(some).reshape(-1, 7) / 0.1
    free = [0, 1, 3, 4, 5, 6]
    information = np.linalg.inv(prior.covariance[np.ix_(free, free)])
    left = rows @ (truth - 1.4 * np.eye(7)[2])
    right = information @ prior.values[free] + rows[:, free].T @ left
    information = information + rows[:, free].T @ rows[:, free]
    np.testing.assert_allclose(values[free], np.linalg.solve(information, right), rtol=1e-8)
    np.testing.assert_allclose(
        covariance[np.ix_(free, free)], np.linalg.inv(information), rtol=1e-6
    )


def with_law(result, amplitude=5.0, velocity=0.05):
    law = DriveFriction(
        ('left', 'right'), ('stribeck', LINEAR), np.array([amplitude, velocity, 1.0]), 0.002
    )
    friction = IdentifiedFriction(law, ('N', 'm/s', '1'), np.zeros((3, 3)), np.zeros((7, 3)))
    return replace(result, drive_friction=friction)


def test_online_keeps_the_friction_laws_of_the_prior(record, slider_model, motion):
    prior = with_law(identify(record(periods=4), slider_model))
    estimator = RecursiveEstimator(slider_model, prior=prior, noise=1.0)
    truth = 1.1 * slider_model.nominal_parameters
    some = motion(np.linspace(0, 1, 500))
    speed = some.qd[:, 0]
    sticking = 5.0 * np.clip(speed / 0.002, -1, 1) * np.exp(-np.abs(speed) / 0.05)
    forces = slider_model.inverse_dynamics(some, truth) + np.stack([sticking, 0 * speed], axis=1)
    for _ in range(100):
        values, _ = estimator.update(some, forces)
    np.testing.assert_allclose(values, truth, rtol=0.01)
    np.testing.assert_allclose(estimator.predict(some), forces, atol=0.5)
    assert estimator.drive_friction is prior.drive_friction.law


def test_friction_laws_are_no_prior_of_linear_friction(record, slider_model):
    prior = with_law(identify(record(periods=4), slider_model))
    for estimator in ('wls', 'recursive', 'feasible'):
        with pytest.raises(EstimationError, match=f"law stribeck.*'{estimator}' has no such law"):
            identify(record(periods=2, seed=1), slider_model, estimator, prior=prior)


def test_what_does_not_fit_is_said(slider_model, record, motion):
    other = identify(record(periods=2), slider_model)
    other = replace(other, names=['a.m + d.m', *other.names[1:]])
    with pytest.raises(EstimationError, match=r'differs in a\.m, a\.m \+ d\.m'):
        RecursiveEstimator(slider_model, prior=other)
    with pytest.raises(EstimationError, match=r'forgetting must be in \(0, 1\]'):
        RecursiveEstimator(slider_model, forgetting=1.5)
    with pytest.raises(EstimationError, match="'huber' must be a positive number"):
        identify(record(), slider_model, 'recursive', huber=-1.0)
    with pytest.raises(EstimationError, match="'initial_deviation' must be a positive"):
        identify(record(), slider_model, 'recursive', initial_deviation=0.0)
    with pytest.raises(EstimationError, match='not positive definite'):
        RecursiveEstimator(slider_model, noise=0.0)
    estimator = RecursiveEstimator(slider_model)
    some = motion(np.zeros(1))
    with pytest.raises(EstimationError, match=r'forces must be \(1, 2\)'):
        estimator.update(some, np.zeros(3))
    with pytest.raises(EstimationError, match='finite'):
        estimator.update(some, np.array([np.nan, 0.0]))
    assert estimator.updates == 0
