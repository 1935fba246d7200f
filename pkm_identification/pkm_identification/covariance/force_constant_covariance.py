"""What uncertain force constants, and directions that the data leave open, do to a covariance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.covariance.residual_scaling import (
    full_covariance,
    residual_scaled_covariance,
)
from pkm_identification.covariance.unidentifiable_directions import UnidentifiableDirections
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Rows
from pkm_identification.regression.weighted_least_squares import Estimate, change_with, sandwich


def force_constant_covariance(
    problem: Problem, estimate: Estimate, deviations: Sequence[Array | None], covariance: Array
) -> Array:
    """Add to a covariance (f, f) what a wrong factor of all forces of an axis does.

    With the forces of axis a off by a factor 1 + e_a, the weighted least-squares estimate
    changes by S e, S = (Psi^T W Psi + B^T B)^-1 Psi^T W diag(Gamma). The factor is the same
    in all runs of one robot: more data do not make it smaller. `deviations` are those of e
    (n_a,), one a run; None: its forces were measured.
    """
    if not any(each is not None and np.any(each) for each in deviations):
        return covariance

    def spread(number: int, rows: Rows) -> Array:
        deviation = deviations[number]
        forces = rows.forces + rows.fixed @ problem.selection.values
        sizes = np.zeros(problem.axes) if deviation is None else deviation
        return forces[:, None, :] * np.diag(sizes)  # (m, n_a, n_a), a column an axis

    nothing = np.zeros((len(problem.prior_target), problem.axes))
    change = change_with(problem, estimate, spread, nothing)
    change[~np.isfinite(np.diag(covariance))] = 0.0
    return covariance + change @ change.T


def unidentifiable_directions(
    problem: Problem, estimate: Estimate, force_deviations: Sequence[Array | None] | None = None
) -> UnidentifiableDirections | None:
    """Covariance of all unknowns of a problem with no uncertainty along the open directions.

    The estimate has the noise of the rows (see `residual_scaling.with_noise`);
    `force_deviations` as for `solution.solve_problem`. None where all is determined, or the
    estimator does not tell the directions.
    """
    directions = estimate.unidentifiable_directions
    if directions is None or not estimate.undetermined.size:
        return None
    if estimate.weights is None or estimate.bread is None or estimate.noise is None:
        return None
    nothing = np.zeros(0, dtype=np.int64)
    finite = sandwich(problem, estimate.weights, estimate.bread, estimate.noise, nothing)
    held = replace(estimate, covariance=finite, undetermined=nothing)
    covariance, _ = residual_scaled_covariance(problem, held)
    if force_deviations is not None:
        covariance = force_constant_covariance(problem, held, force_deviations, covariance)
    whole = np.zeros((len(directions), problem.selection.size))
    whole[:, problem.free] = directions
    return UnidentifiableDirections(whole, full_covariance(problem, held, covariance))
