"""Extended and unscented filters against textbook formulas and exact posteriors."""

from __future__ import annotations

import numpy as np
import pytest
from chances import spread_range, whitened_error

from pkm_description.errors import EstimationError
from pkm_identification.estimators.filters.nonlinear_filters import (
    Extended,
    FilterOptions,
    Unscented,
    extended_filter,
    unscented_filter,
)
from pkm_identification.estimators.filters.parameter_filter import data_order


def kalman_filter(rows, measured, start, covariance, noise, walk):
    """Predict and update as in a textbook, without roots."""
    values, spread = start.copy(), covariance.copy()
    for psi, y in zip(rows, measured, strict=True):
        spread = spread + walk
        gain = spread @ psi.T @ np.linalg.inv(psi @ spread @ psi.T + noise)
        values = values + gain @ (y - psi @ values)
        spread = (np.eye(len(values)) - gain @ psi) @ spread
    return values, spread


@pytest.fixture
def linear():
    """Forty measurements of two numbers, linear in four parameters of different size."""
    random = np.random.default_rng(1)
    rows = random.normal(size=(40, 2, 4)) * [1.0, 10.0, 0.1, 3.0]
    truth = np.array([2.0, -0.3, 15.0, 1.0])
    noise = np.array([[0.04, 0.02], [0.02, 0.09]])
    measured = rows @ truth + random.normal(size=(40, 2)) @ np.linalg.cholesky(noise).T
    return rows, measured, noise


@pytest.mark.parametrize('alpha', [1e-4, 1e-3, 1.0])
@pytest.mark.parametrize('kappa', [None, 0.0])
def test_unscented_is_the_kalman_filter_for_linear_measurements(linear, alpha, kappa):
    rows, measured, noise = linear
    start, root = np.ones(4), np.array([3.0, 1.0, 30.0, 2.0])
    expected, spread = kalman_filter(
        rows, measured, start, np.diag(root**2), noise, np.zeros((4, 4))
    )
    found = unscented_filter(
        lambda points, k: points @ rows[k].T, measured, start, root, noise, alpha=alpha, kappa=kappa
    )
    deviation = np.sqrt(np.diag(spread))
    np.testing.assert_allclose((found.values - expected) / deviation, 0.0, atol=1e-7)
    scale = np.outer(deviation, deviation)
    np.testing.assert_allclose(found.covariance / scale, spread / scale, atol=1e-7)
    other = extended_filter(lambda points, k: points @ rows[k].T, measured, start, root, noise)
    np.testing.assert_allclose((other.values - expected) / deviation, 0.0, atol=1e-7)


def test_walk_is_that_of_the_kalman_filter(linear):
    rows, measured, noise = linear
    start, root = np.zeros(4), np.array([3.0, 1.0, 30.0, 2.0])
    walk = np.array([0.1, 0.01, 0.5, 0.0])
    expected, _ = kalman_filter(rows, measured, start, np.diag(root**2), noise, np.diag(walk**2))
    found = unscented_filter(
        lambda points, k: points @ rows[k].T,
        measured,
        start,
        root,
        noise,
        options=FilterOptions(walk=walk),
    )
    np.testing.assert_allclose(found.values, expected, rtol=1e-7)


@pytest.mark.parametrize('walk', [0.0, 0.05, None])
def test_covariance_is_that_of_constant_parameters(walk):
    """The spread of the estimates over many runs, whatever walk the gains assume."""
    random = np.random.default_rng(2)
    rows = random.normal(size=(120, 1, 2)) * [1.0, 4.0]
    truth, noise = np.array([2.0, -0.5]), np.array([[0.25]])
    options = FilterOptions(walk=walk, walk_gain=0.01)
    z = []
    for _ in range(60):
        measured = rows @ truth + random.normal(size=(120, 1)) * 0.5
        found = unscented_filter(
            lambda points, k: points @ rows[k].T,
            measured,
            np.zeros(2),
            np.full(2, 20.0),
            noise,
            options=options,
        )
        z.append(whitened_error(found.values - truth, found.covariance))
    low, high = spread_range(np.size(z))
    assert low < np.sqrt(np.mean(np.square(z))) < high


def test_unscented_transformation_by_its_published_weights():
    """Mean and covariance from the weights of [O 2.72-2.74], where these can be summed."""
    random = np.random.default_rng(3)
    root = np.tril(random.normal(size=(3, 3)))
    values = random.normal(size=3)

    def function(points, k):
        return np.stack([points[:, 0] * points[:, 1] ** 2, np.sin(points).sum(axis=1)], axis=1)

    alpha, beta, kappa = 0.7, 2.0, 0.5
    at = Unscented(function, alpha, beta, kappa)(values, root, 0)
    scale = alpha**2 * (3 + kappa)
    offsets = np.sqrt(scale) * root.T
    points = np.concatenate([values[None], values + offsets, values - offsets])
    mean_weight = np.full(7, 0.5 / scale)
    mean_weight[0] = (scale - 3) / scale
    weight = mean_weight.copy()
    weight[0] += 1 - alpha**2 + beta
    y = function(points, 0)
    mean = mean_weight @ y
    covariance = (weight[:, None] * (y - mean)).T @ (y - mean)
    cross = (weight[:, None] * (points - values)).T @ (y - mean)
    np.testing.assert_allclose(at.prediction, mean)
    np.testing.assert_allclose(
        at.slope @ at.slope.T + at.curvature @ at.curvature.T, covariance, rtol=1e-9
    )
    np.testing.assert_allclose(root @ at.slope.T, cross, rtol=1e-9)


def test_against_the_exact_posterior_of_a_nonlinear_problem():
    """y = a exp(-b t): the unscented filter is nearer to the posterior than the extended."""
    random = np.random.default_rng(4)
    time = np.linspace(0.1, 3.0, 25)
    start, root, noise = np.array([1.5, 1.0]), np.array([0.6, 0.35]), 0.05
    a, b = np.meshgrid(np.linspace(0.2, 4.5, 401), np.linspace(-0.3, 3.0, 401), indexing='ij')
    errors = {unscented_filter: [], extended_filter: []}
    for _ in range(12):
        truth = start + root * random.normal(size=2)
        measured = truth[0] * np.exp(-truth[1] * time) + noise * random.normal(size=25)
        log = -0.5 * (((a - start[0]) / root[0]) ** 2 + ((b - start[1]) / root[1]) ** 2)
        for t, y in zip(time, measured, strict=True):
            log -= 0.5 * ((y - a * np.exp(-b * t)) / noise) ** 2
        weight = np.exp(log - log.max())
        weight /= weight.sum()
        mean = np.array([np.sum(weight * a), np.sum(weight * b)])
        spread = np.sqrt([np.sum(weight * (a - mean[0]) ** 2), np.sum(weight * (b - mean[1]) ** 2)])
        for run, found in errors.items():
            result = run(
                lambda p, k: p[:, :1] * np.exp(-p[:, 1:] * time[k]),
                measured[:, None],
                start,
                root,
                [[noise**2]],
            )
            deviation = np.sqrt(np.diag(result.covariance))
            np.testing.assert_allclose(deviation, spread, rtol=0.25)
            found.append((result.values - mean) / spread)
    rms = {run: np.sqrt(np.mean(np.square(found))) for run, found in errors.items()}
    assert rms[unscented_filter] < 0.35
    assert rms[unscented_filter] < rms[extended_filter]


def test_covariance_stays_positive_where_the_plain_form_fails():
    """Two nearly equal columns, huge first uncertainty, hardly any noise."""
    rows = np.array([[[1.0, 1.0]], [[1.0, 1.0 + 1e-7]]])
    measured, noise = np.array([[2.0], [2.0 + 1e-7]]), np.array([[1e-22]])
    plain = kalman_filter(rows, measured, np.zeros(2), np.eye(2) * 1e8, noise, np.zeros((2, 2)))[1]
    assert np.linalg.eigvalsh(plain).min() <= 0
    found = extended_filter(
        lambda points, k: points @ rows[k].T,
        measured,
        np.zeros(2),
        np.full(2, 1e4),
        noise,
        jacobian=lambda values, k: rows[k],
    )
    assert np.linalg.eigvalsh(found.covariance).min() > 0
    np.testing.assert_allclose(found.values, 1.0, rtol=1e-3)


def test_passes_relinearise():
    """Far from the start one pass of the extended filter is not enough; more find the truth."""
    time = np.linspace(0, 2, 60)
    measured = 3.0 * np.exp(-0.7 * time)[:, None]

    def function(points, k):
        return points[:, :1] * np.exp(-points[:, 1:] * time[k])

    errors = []
    for passes in (1, 6):
        found = extended_filter(
            function,
            measured,
            [1.0, 0.0],
            [3.0, 1.0],
            [[1e-4]],
            options=FilterOptions(passes=passes),
        )
        errors.append(np.abs(found.values - [3.0, 0.7]).max())
    assert errors[1] < 1e-6 < 1e-5 < errors[0]
    assert found.passes <= 6 and len(found.changes) == found.passes


@pytest.mark.parametrize('order', ['original', 'random', 'spread'])
def test_every_order_takes_each_sample_once(order):
    indices = list(data_order(23, order, seed=5))
    assert sorted(indices) == list(range(23))
    assert (indices == list(range(23))) == (order == 'original')


def test_what_does_not_fit_is_said():
    def function(points, k):
        return points

    data, ones = np.zeros((5, 2)), np.ones(2)
    with pytest.raises(EstimationError, match='alpha must be in'):
        Unscented(function, alpha=0.0)
    with pytest.raises(EstimationError, match=r'noise must be \(2, 2\) or \(5, 2, 2\)'):
        unscented_filter(function, data, ones, ones, np.eye(3))
    with pytest.raises(EstimationError, match='not positive definite'):
        unscented_filter(function, data, ones, ones, -np.eye(2))
    with pytest.raises(EstimationError, match='kappa must be above -2'):
        unscented_filter(function, data, ones, ones, np.eye(2), kappa=-2.0)
    with pytest.raises(EstimationError, match='must be .N, m.'):
        Extended(function)  # any function will do; the shapes of the data do not
        extended_filter(function, data[0], ones, ones, np.eye(2))
