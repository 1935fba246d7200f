"""Uncertainty at the boundary of what is possible, against truncated normal distributions."""

from __future__ import annotations

import numpy as np
import pytest
from random_rows import Dense, random_problem, solved
from scipy.stats import truncnorm

from pkm_identification.covariance.at_constraints import covariance_at_constraints, inward_variance
from pkm_identification.regression.weighted_least_squares import (
    inverse_root,
    weighted_least_squares,
)
from pkm_identification.signals.bands import HarmonicBand

BANDS = (HarmonicBand(10, 1.0), HarmonicBand(30, 1.3))


def test_inward_variance_is_that_of_a_normal_distribution_cut_off():
    for outside in np.linspace(0.0, 12.0, 49):
        exact = truncnorm(outside, np.inf, loc=-outside).moment(2)
        assert inward_variance(outside) == pytest.approx(exact, rel=1e-7)


def test_inward_variance_far_outside_is_that_of_an_exponential_tail():
    """2 / z^2 (1 - 5 / z^2 + ...)."""
    for outside in (15.0, 20.0, 25.0, 29.9):
        series = 2 / outside**2 * (1 - 5 / outside**2 + 37 / outside**4)
        assert inward_variance(outside) == pytest.approx(series, rel=400 / outside**6)
    for outside in (31.0, 100.0, 1e6):
        assert inward_variance(outside) == pytest.approx(2 / outside**2, rel=1e-12)


def efficient(problem):
    """Weighted least squares by the inverse noise."""
    noise = [solved(problem, constant=True).row_noise[number] for number in range(2)]
    return weighted_least_squares(problem, [inverse_root(each) for each in noise], noise)


@pytest.mark.parametrize('distance', [0.3, 2.0, 8.0])
@pytest.mark.parametrize('options', [{}, {'unshown': 2}, {'prior': True}])
def test_variance_towards_the_limit_is_cut_off_and_others_stay(distance, options):
    """Of an efficient estimate: `distance` standard deviations outside."""
    problem = random_problem(BANDS, rows=60, **options)
    free = efficient(problem)
    dense = Dense(problem, free)
    known = np.isfinite(np.diag(free.covariance))
    step = np.array([1.0, -2.0, 0.5, 3.0, 0.7]) * known
    information = np.linalg.pinv(dense.inverse)
    step *= distance / np.sqrt(step @ information @ step)
    found, rests_on, moved = covariance_at_constraints(problem, free, free.values - step)
    assert rests_on == 'noise' and moved == pytest.approx(distance, rel=1e-6)
    normal = information @ step
    assert normal @ found_finite(found) @ normal == pytest.approx(
        distance**2 * inward_variance(distance), rel=1e-6
    )
    across = np.random.default_rng(0).normal(size=(4, 5)) * known
    across -= np.outer(across @ step / (step @ step), step)
    np.testing.assert_allclose(
        across @ found_finite(found) @ across.T,
        across @ found_finite(free.covariance) @ across.T,
        rtol=1e-6,
        atol=1e-9 * np.abs(free.covariance[np.isfinite(free.covariance)]).max(),
    )
    np.testing.assert_array_equal(np.isfinite(np.diag(found)), known)
    np.testing.assert_allclose(found, found.T, atol=1e-12)


def found_finite(covariance):
    """The covariance without what is not determined."""
    return np.where(np.isfinite(covariance), covariance, 0.0)


@pytest.mark.parametrize('fixed', [{}, {3: 0.4}])
def test_a_wide_estimate_is_less_far_outside(fixed):
    """With weights that do not follow the noise, or with uncertain fixed parameters.

    The distance in deviations of the estimate along the gradient g of its squares counts:
    g^T H g over the root of the variance of g^T p, H the inverse of their second derivative.
    """
    problem = random_problem(BANDS, rows=60, fixed=fixed)
    estimate = solved(problem, constant=True)
    dense = Dense(problem, estimate)
    step = np.array([1.0, -2.0, 0.5, 3.0, 0.7])[problem.free] * 0.01
    found, _, moved = covariance_at_constraints(problem, estimate, estimate.values - step)
    gradient = np.linalg.inv(dense.inverse) @ step  # of the weighted squares
    assert moved == pytest.approx(np.sqrt(step @ gradient), rel=1e-9)
    spread = estimate.covariance
    total = spread + dense.by_fixed @ problem.selection.covariance @ dense.by_fixed.T
    reach = gradient @ dense.inverse @ gradient
    outside = reach / np.sqrt(gradient @ total @ gradient)
    assert 0.2 < outside < 20
    expected = inward_variance(outside) * (gradient @ spread @ gradient)
    assert gradient @ found @ gradient == pytest.approx(expected, rel=1e-6)
    across = np.eye(problem.size)
    direction = dense.inverse @ gradient
    across -= np.outer(across @ direction, direction) / (direction @ direction)
    kept = across @ spread @ across.T
    np.testing.assert_allclose(
        across @ found @ across.T, kept, rtol=1e-6, atol=1e-9 * np.abs(kept).max()
    )


def test_limits_that_do_not_matter_leave_the_covariance():
    problem = random_problem(BANDS, rows=60)
    free = solved(problem, constant=True)
    found, rests_on, moved = covariance_at_constraints(problem, free, free.values)
    np.testing.assert_array_equal(found, free.covariance)
    assert rests_on == 'noise' and moved == 0.0
