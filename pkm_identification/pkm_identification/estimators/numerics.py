"""What estimators share: scaled least squares, sizes of parameters, variances without bound."""

from __future__ import annotations

import numpy as np

from pkm_identification.arrays import Array, Indices
from pkm_identification.regression.problem import Problem

FORGOTTEN = 0.5  # of the first standard deviation: what the data do not reduce below it
UNSEEN_COLUMN = 1e-12  # of the largest column: a parameter whose own one is smaller makes no force


def column_sizes(design: Array) -> Array:
    """Length (n,) of each column (m, n), which it can be divided by."""
    return np.maximum(np.linalg.norm(design, axis=0), 1e-300)


def scaled_least_squares(design: Array, target: Array, rcond: float) -> Array:
    """Least squares (n,) with columns (m, n) of unit length, so that units do not matter.

    Singular values below `rcond`, relative to the largest, count as zero.
    """
    scale = column_sizes(design)
    return np.asarray(np.linalg.lstsq(design / scale, target, rcond=rcond)[0] / scale)


def parameter_size(nominal: Array, regressor: Array, measured: Array) -> Array:
    """Size (f,) of each parameter: its nominal one (f,), or what alone makes all measurements.

    From some of the data, (N, m, f) and (N, m).
    """
    column = np.sqrt(np.mean(regressor**2, axis=(0, 1)))
    shown = column > UNSEEN_COLUMN * max(float(column.max(initial=0.0)), 1e-300)
    alone = np.sqrt(np.mean(measured**2)) / np.where(shown, column, np.inf)
    size = np.maximum(np.abs(nominal), alone)
    return np.where(size > 0, size, 1.0)


def size_over_runs(problem: Problem) -> Array:
    """Size (f,) of each parameter by all runs together: one may not show it at all."""
    rows = [run.compact for run in problem.runs]
    return parameter_size(
        problem.nominal,
        np.concatenate([each.regressor for each in rows]),
        np.concatenate([each.forces for each in rows]),
    )


def hardly_determined(covariance: Array, start: Array) -> Indices:
    """Indices of the parameters that hardly got more certain than their start (f,) was."""
    return np.flatnonzero(np.sqrt(np.diag(covariance)) > FORGOTTEN * start)


def with_variance(covariance: Array, indices: Indices, variance: float = np.inf) -> Array:
    """Return the covariance with this variance of some parameters, correlated with nothing."""
    found = np.array(covariance)
    found[indices], found[:, indices] = 0.0, 0.0
    found[indices, indices] = variance
    return found
