"""How well the data determine the combinations that they show, where others stay open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.covariance.force_constant_covariance import force_constant_covariance
from pkm_identification.covariance.residual_scaling import (
    full_covariance,
    residual_scaled_covariance,
)
from pkm_identification.covariance.unidentifiable_directions import UnidentifiableDirections
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.weighted_least_squares import Estimate, sandwich


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
