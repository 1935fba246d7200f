"""Least squares, weighted least squares and Gauss-Markov [A eq. 7]."""

from __future__ import annotations

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.weighted_least_squares import (
    Estimate,
    inverse_root,
    residual_covariance,
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

    Correlation between axes is not used for the estimate, but enters its covariance.
    """
    noise = noise_of_rows(problem)
    variances = (np.diagonal(each, axis1=-2, axis2=-1) for each in noise)
    weights = [np.eye(problem.axes) / np.sqrt(each)[..., None] for each in variances]
    return weighted_least_squares(problem, weights, noise)


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
        guesses = [residual_covariance(problem, run, values) for run in problem.runs]
    return tuple(run.noise_or(each) for run, each in zip(problem.runs, guesses, strict=True))
