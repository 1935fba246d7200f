"""What uncertain force constants make uncertain in the parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.weighted_least_squares import (
    Estimate,
    inverse_square,
    rows_for,
    weights_of,
)


def force_constant_covariance(
    problem: Problem, estimate: Estimate, deviations: Sequence[Array | None], covariance: Array
) -> Array:
    """Add to a covariance what a wrong factor of all forces of an axis does.

    With the forces of axis a off by a factor 1 + e_a, the weighted least-squares estimate
    changes by S e, S = (Psi^T W Psi + B^T B)^-1 Psi^T W diag(Gamma). The factor is the same
    in all runs of one robot: more data do not make it smaller.

    Parameters
    ----------
    problem, estimate
        Of the free parameters (f,).
    deviations
        Standard deviations of e (n_a,), one a run; None: its forces were measured.
    covariance
        (f, f) for known constants.

    Returns
    -------
    covariance
        (f, f).
    """
    if not any(each is not None and np.any(each) for each in deviations):
        return covariance
    change = _constant_sensitivity(problem, estimate, deviations)
    change[~np.isfinite(np.diag(covariance))] = 0.0
    return covariance + change @ change.T


def _constant_sensitivity(
    problem: Problem, estimate: Estimate, deviations: Sequence[Array | None]
) -> Array:
    """Change (f, n_a) of the parameters with one standard deviation of each axis's factor."""
    weights = weights_of(problem, estimate)
    axes, size = problem.axes, problem.size
    square = problem.prior_rows.T @ problem.prior_rows
    mixed = np.zeros((size, axes))
    for run, weight, deviation in zip(problem.runs, weights, deviations, strict=True):
        rows = rows_for(run, weight)
        own = (weight @ rows.regressor).reshape(-1, size)
        square = square + own.T @ own
        if deviation is None:
            continue
        forces = rows.forces + rows.fixed @ problem.selection.values
        spread = forces[:, None, :] * np.diag(deviation)  # (m, n_a, n_a), a column an axis
        mixed += own.T @ (weight @ spread).reshape(-1, axes)
    return inverse_square(square) @ mixed
