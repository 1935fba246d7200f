"""Filters in covariance form as textbooks and common packages write them, for comparison."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pkm_identification.arrays import Array

ALPHA, BETA = 0.5, 2.0


def unscented(
    function: Callable[[Array, int], Array],
    measured: Array,
    values: Array,
    deviation: Array,
    noise: Array,
) -> Array:
    """Parameters (n,) by an unscented filter with sigma points from a Cholesky factor.

    Arguments as in `pkm_identification.estimators.filters.nonlinear_filters.unscented_filter`;
    kappa = 3 - n.
    """
    size = len(values)
    spread = 3.0 * ALPHA**2  # n + lambda
    mean_weights = np.full(2 * size + 1, 0.5 / spread)
    mean_weights[0] = 1.0 - size / spread
    weights = mean_weights.copy()
    weights[0] += 1.0 - ALPHA**2 + BETA
    covariance = np.diag(deviation**2)
    for k, measurement in enumerate(measured):
        root = np.linalg.cholesky(spread * covariance).T
        points = np.concatenate([values[None], values + root, values - root])
        predicted = function(points, k)
        expected = mean_weights @ predicted
        residuals, steps = predicted - expected, points - values
        innovation = (weights[:, None] * residuals).T @ residuals + noise
        cross = (weights[:, None] * steps).T @ residuals
        gain = np.linalg.solve(innovation, cross.T).T
        values = values + gain @ (measurement - expected)
        covariance = covariance - gain @ innovation @ gain.T
        covariance = (covariance + covariance.T) / 2
    return values


class RecursiveLeastSquares:
    """Recursive least squares that updates the covariance (n, n); `noise` (m, m) of a sample."""

    def __init__(self, values: Array, covariance: Array, noise: Array) -> None:
        self.values, self.covariance, self.noise = values, covariance, noise

    def update(self, regressor: Array, forces: Array) -> None:
        """Take in the rows of one sample: regressor (m, n), forces (m,)."""
        cross = regressor @ self.covariance
        gain = np.linalg.solve(cross @ regressor.T + self.noise, cross).T
        self.values = self.values + gain @ (forces - regressor @ self.values)
        self.covariance = self.covariance - gain @ cross
