"""Least squares, weighted least squares and Gauss-Markov [A eq. 7]."""

from __future__ import annotations

import numpy as np

from pkm_identification.estimators.problem import Problem
from pkm_identification.estimators.solve import (
    Array,
    Estimate,
    inverse_root,
    residual_covariance,
    weighted_least_squares,
)


def ls(problem: Problem) -> Estimate:
    """Ordinary least squares: every axis and row counts the same.

    The covariance still follows the measured noise (sandwich form).
    """
    identity = np.eye(problem.forces.shape[1])
    if problem.covariance is not None:
        return weighted_least_squares(problem, identity, problem.covariance)
    first = weighted_least_squares(problem, identity, _unit_noise(problem))
    return weighted_least_squares(problem, identity, residual_covariance(problem, first.values))


def wls(problem: Problem) -> Estimate:
    """Weighted least squares: axes and rows weighted by their noise variance.

    Correlation between axes is not used for the estimate, but enters its covariance.
    """
    noise = noise_of_rows(problem)
    variance = np.einsum('kaa->ka', noise)
    weights = np.zeros_like(noise)
    np.einsum('kaa->ka', weights)[:] = 1 / np.sqrt(variance)
    return weighted_least_squares(problem, weights, noise)


def gauss_markov(problem: Problem) -> Estimate:
    """Best linear unbiased estimate: whitening by the full noise covariance, then QR."""
    noise = noise_of_rows(problem)
    return weighted_least_squares(problem, inverse_root(noise), noise)


def noise_of_rows(problem: Problem) -> Array:
    """Noise covariance of the rows: from the spread, else from residuals (two passes)."""
    if problem.covariance is not None:
        return problem.covariance
    identity = np.eye(problem.forces.shape[1])
    estimate = weighted_least_squares(problem, identity, _unit_noise(problem))
    for _ in range(2):
        noise = residual_covariance(problem, estimate.values)
        estimate = weighted_least_squares(problem, inverse_root(noise), noise)
    return residual_covariance(problem, estimate.values)


def _unit_noise(problem: Problem) -> Array:
    rows, axes = problem.forces.shape
    return np.broadcast_to(np.eye(axes), (rows, axes, axes))
