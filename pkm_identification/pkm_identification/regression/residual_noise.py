"""Noise of the rows as the residuals of a solution show it, where no spread over periods does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.regression.numerics import rounding_variance
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Run
from pkm_identification.signals.filtering import neighbour_correlation

LAGS = 20  # rows: filtered residuals forget within some of them, later ones are noise
CLOSEST = 1e-6  # to one: nearer no correlation of residuals is known, as of two axes at rest
# Residuals over forces of one axis over those of the worst one: less is the constant force of an
# axis at rest, which a wrong model fits as well
UNEQUAL = 1e-4
LEAST_SIZE = 1e-6  # of the largest force: that of a drive that is not there
BY_CHANCE = 2.0  # standard deviations that white noise may look slow by
MOST_ALIKE = 0.8  # correlation of rows close beside each other: their differences tell no noise


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

    Noise of a run is its own. What a model lacks changes slowly, and is taken to be no less than in
    the mean over all runs whose noise no spread shows: an axis that rests or is hardly driven
    leaves small residuals with a wrong model, too.
    """
    own = [residual_covariance(problem, run, values) for run in problem.runs]
    alike = [number for number, run in enumerate(problem.runs) if run.covariance is None]
    if len(alike) < 2:
        return own
    lacking = [_slow_variance(problem.runs[number], values) for number in alike]
    counts = [float(problem.runs[number].count) for number in alike]
    mean = np.average(lacking, axis=0, weights=counts)
    for number, here in zip(alike, lacking, strict=True):
        own[number] = own[number] + np.diag(np.maximum(mean - here, 0.0))
    return own


def _slow_variance(run: Run, values: Array) -> Array:
    """Mean square (n_a,) of residuals beyond white noise behind the filter of the rows.

    Of the rows that are in memory: all, or stretches of consecutive ones. White noise tells itself
    by differences of neighbours [von Neumann 1941], and of Fourier coefficients by the upper half.
    """
    if run.is_periodic:
        pieces = [run.residuals(values)]
        white = np.mean(pieces[0][run.count // 2 :] ** 2, axis=0)
        alike = 0.0
    else:
        kept = run.folded.sample if run.known_rows is None else (run.known_rows,)
        pieces = [rows.residuals(values) for rows in kept]
        steps = np.concatenate([np.diff(piece, axis=0) for piece in pieces])
        alike = min(max(neighbour_correlation(run.filter), 0.0), MOST_ALIKE)
        white = 0.5 * np.mean(steps**2, axis=0) / (1 - alike) if len(steps) else 0.0
    whole = np.concatenate(pieces)
    chance = BY_CHANCE * np.sqrt((1 + alike) / (1 - alike) / len(whole))
    return np.asarray(np.maximum(np.mean(whole**2, axis=0) - (1 + chance) * white, 0.0))


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
