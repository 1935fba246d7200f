"""Noise of the rows as the residuals of a solution show it, where no spread over periods does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.regression.numerics import rounding_variance
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Run

LAGS = 20  # rows: filtered residuals forget within some of them, later ones are noise
CLOSEST = 1e-6  # to one: nearer no correlation of residuals is known, as of two axes at rest
# Residuals over forces of one axis over those of the worst one: less is the constant force of an
# axis at rest, which a wrong model fits as well
UNEQUAL = 1e-4
LEAST_SIZE = 1e-6  # of the largest force: that of a drive that is not there
# Independent rows of all runs together that stand beside those of one run
OF_ALL = 100.0


def residual_covariance(problem: Problem, run: Run, values: Array) -> Array:
    """Covariance (n_a, n_a), the same for all rows of a run, from the residuals of a solution."""
    residuals = run.compact.residuals(values)
    used = problem.size * run.count / problem.equations  # the runs share the parameters
    covariance = residuals.T @ residuals / max(run.count - used, 1.0)
    own = np.diag(covariance)
    size = np.maximum(run.force_size, LEAST_SIZE * run.force_size.max())
    relative = np.sqrt(own) / np.where(size > 0, size, 1.0)
    least = (UNEQUAL * min(relative.max(), 1.0) * size) ** 2
    covariance += CLOSEST * (np.diag(own) - covariance)
    return covariance + np.diag(np.maximum(least - own, 0.0) + rounding_variance(run.force_size))


def residual_covariances(problem: Problem, values: Array) -> list[Array]:
    """Covariance (n_a, n_a) of the rows of each run, from the residuals of a solution.

    Of several runs, each has a part of the mean over all whose noise no spread shows, the more the
    fewer independent residuals it has of its own: what a model lacks changes slowly and is no less
    for small in a run, and an axis that rests or is hardly driven leaves small residuals there
    with a wrong model, too. White noise of a run is its own.
    """
    own = [residual_covariance(problem, run, values) for run in problem.runs]
    alike = [number for number, run in enumerate(problem.runs) if run.covariance is None]
    if len(alike) < 2:
        return own
    counts = [float(problem.runs[number].count) for number in alike]
    mean = np.average([own[number] for number in alike], axis=0, weights=counts)
    for number, count in zip(alike, counts, strict=True):
        rows = count / _correlation_time(problem.runs[number], values, own[number])
        own[number] = (rows * own[number] + OF_ALL * mean) / (rows + OF_ALL)
    return own


def _correlation_time(run: Run, values: Array, covariance: Array) -> float:
    """Rows of a run that carry the information of one; 1 for Fourier coefficients."""
    if run.is_periodic:
        return 1.0
    deviation = np.sqrt(np.diag(covariance))
    return correlation_time([piece.residuals(values) / deviation for piece in run.folded.sample])


def correlation_time(pieces: Sequence[Array]) -> float:
    """Rows that carry the information of one: 1 + 2 sum of the autocorrelation, at least 1.

    Of whitened residuals of stretches of consecutive rows.
    """
    mean = np.concatenate(pieces).mean(axis=0)
    centred = [piece - mean for piece in pieces]
    power = sum(float(np.sum(piece**2)) for piece in centred)
    size = sum(piece.size for piece in centred)
    total = 1.0
    for lag in range(1, LAGS + 1):
        product = sum(float(np.sum(piece[lag:] * piece[:-lag])) for piece in centred)
        correlation = product / max(power, 1e-300)
        if correlation <= 2 / np.sqrt(size):
            break
        total += 2 * correlation
    return total
