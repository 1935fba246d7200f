"""Least squares, weighted least squares and Gauss-Markov [A eq. 7]."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.residual_noise import residual_covariance, residual_covariances
from pkm_identification.regression.weighted_least_squares import (
    Estimate,
    inverse_root,
    weighted_least_squares,
)

PASSES = 2
FIRST_GUESS = 0.1  # noise over force, of a run among others whose noise is known


def ls(problem: Problem) -> Estimate:
    """Ordinary least squares: every axis and row counts the same.

    The covariance still follows the measured noise (sandwich form). A prior counts with
    the noise averaged over axes and rows.
    """
    identity = np.eye(problem.axes)
    noise = noise_of_rows(problem, whiten=False)
    scale = 1.0
    if len(problem.prior_target):  # its unit noise fixes what "the same" means
        power = sum(
            run.count * np.mean(np.trace(each, axis1=-2, axis2=-1))
            for run, each in zip(problem.runs, noise, strict=True)
        )
        scale = float(np.sqrt(problem.equations / power))
    return weighted_least_squares(problem, [identity * scale] * len(problem.runs), noise)


def wls(problem: Problem) -> Estimate:
    """Weighted least squares: axes and rows weighted by their noise variance.

    Where the residuals of an axis are larger than the spread over periods, the model lacks
    something there: what they are larger by adds to the variance, so that an axis without noise
    does not bend the parameters of the others. Correlation between axes is not used for the
    estimate, but enters its covariance.
    """
    noise = noise_of_rows(problem)
    variances = [np.diagonal(each, axis1=-2, axis2=-1) for each in noise]
    weights = [_by_axis(each) for each in variances]
    for _ in range(PASSES if any(run.covariance is not None for run in problem.runs) else 0):
        found = weighted_least_squares(problem.without_prior(), weights, noise).values
        weights = [
            _by_axis(own + _lacking(residual_covariance(problem, run, found), own))
            for run, own in zip(problem.runs, variances, strict=True)
        ]
    return weighted_least_squares(problem, weights, noise)


def _by_axis(variances: Array) -> Array:
    """Weights (..., n_a, n_a) of axes with variances (..., n_a)."""
    return np.asarray(np.eye(variances.shape[-1]) / np.sqrt(variances)[..., None])


def _lacking(residuals: Array, variances: Array) -> Array:
    """Mean square (n_a,) of residuals (n_a, n_a) beyond variances (..., n_a) of the noise."""
    square = np.diag(residuals)
    return np.maximum(square - variances.reshape(-1, len(square)).mean(axis=0), 0.0)


def covariance_by_residuals(problem: Problem, noise: Sequence[Array], values: Array) -> list[Array]:
    """Covariance of the rows, one array a run, by noise and what values (f,) leave of the forces.

    Where no spread over periods tells the noise, by the residuals of each axis: what a model lacks
    on two axes is not correlated as noise is. Else the noise, and on each axis what the residuals
    are larger by.
    """
    found = []
    residuals = residual_covariances(problem, values)
    for run, own, left in zip(problem.runs, noise, residuals, strict=True):
        if run.covariance is None:
            found.append(np.diag(np.diag(left)))
            continue
        lacking = _lacking(left, np.diagonal(own, axis1=-2, axis2=-1))
        found.append(own + np.diag(lacking))
    return found


def gauss_markov(problem: Problem) -> Estimate:
    """Best linear unbiased estimate: whitening by the full noise covariance, then QR."""
    noise = noise_of_rows(problem)
    return weighted_least_squares(problem, [inverse_root(each) for each in noise], noise)


def noise_of_rows(problem: Problem, whiten: bool = True) -> tuple[Array, ...]:
    """Noise covariance of the rows, one array a run.

    (m, n_a, n_a) from the spread over periods; (n_a, n_a), the same for all rows, from the
    residuals where there is no spread: of a weighted fit (two passes) where `whiten`, else of
    ordinary least squares.
    """
    if all(run.covariance is not None for run in problem.runs):
        return tuple(run.covariance for run in problem.runs if run.covariance is not None)
    identity = np.eye(problem.axes)
    guesses = [identity]
    if len(problem.runs) > 1:
        sizes = [np.maximum(run.force_size, 1e-12) for run in problem.runs]
        guesses = [np.diag(FIRST_GUESS * size) ** 2 for size in sizes]
    for _ in range(1 + PASSES if whiten else 1):
        noise = [run.noise_or(each) for run, each in zip(problem.runs, guesses, strict=True)]
        weights = [inverse_root(each) if whiten else identity for each in noise]
        values = weighted_least_squares(problem.without_prior(), weights, noise).values
        guesses = residual_covariances(problem, values)
    return tuple(run.noise_or(each) for run, each in zip(problem.runs, guesses, strict=True))
