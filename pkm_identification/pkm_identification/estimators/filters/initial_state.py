"""Where filters start: size of the parameters, and what the data left as it was."""

from __future__ import annotations

import numpy as np

from pkm_identification.arrays import Array, Indices
from pkm_identification.regression.problem import Problem

FORGOTTEN = 0.5  # of the first standard deviation: what the data do not reduce below it


def parameter_size(nominal: Array, regressor: Array, measured: Array) -> Array:
    """Size (f,) of each parameter: its nominal one, or what alone makes all measurements.

    Parameters
    ----------
    nominal
        (f,).
    regressor, measured
        (N, m, f) and (N, m), of some of the data.
    """
    column = np.sqrt(np.mean(regressor**2, axis=(0, 1)))
    shown = column > 1e-12 * max(float(column.max(initial=0.0)), 1e-300)
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


def undetermined(covariance: Array, start: Array) -> Indices:
    """Indices of the parameters that hardly got more certain than their start (f,) was."""
    return np.flatnonzero(np.sqrt(np.diag(covariance)) > FORGOTTEN * start)


def opened(covariance: Array, lost: Indices, variance: float = np.inf) -> Array:
    """Return the covariance with this variance for the undetermined parameters."""
    found = np.array(covariance)
    found[lost], found[:, lost] = 0.0, 0.0
    found[lost, lost] = variance
    return found
