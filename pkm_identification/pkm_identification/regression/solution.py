"""A problem solved by an estimator, with a covariance that was compared with the residuals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import EstimationError
from pkm_identification.covariance.residual_scaling import (
    full_covariance,
    honest_covariance,
    with_noise,
)
from pkm_identification.covariance.unidentifiable import open_directions
from pkm_identification.covariance.unidentifiable_directions import OpenDirections
from pkm_identification.estimators.consistent.friction_columns import friction_units
from pkm_identification.estimators.registry import find_estimator
from pkm_identification.force_constants.force_scale import force_scale_covariance
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.weighted_least_squares import Estimate
from pkm_identification.result.identified_friction import IdentifiedFriction

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Solution:
    """What an estimator makes of a problem.

    Attributes
    ----------
    estimate
        Of the free parameters, with the noise of the rows.
    values, covariance
        All base parameters (r,), (r, r), the fixed ones included.
    fit
        Figures of the residuals against their noise.
    problem
        What the estimate is of, where it was linearised to something else.
    drive_friction
        Friction of the drives beyond the base parameters, None where it is linear.
    open_directions
        What the data leave open of the base parameters; None where they determine all.
    """

    estimate: Estimate
    values: Array
    covariance: Array
    fit: Mapping[str, Any]
    problem: Problem | None = None
    drive_friction: IdentifiedFriction | None = None
    open_directions: OpenDirections | None = None


def solve_problem(
    problem: Problem,
    estimator: str,
    options: Mapping[str, Any],
    force_scales: Sequence[Array | None] | None = None,
) -> Solution:
    """Solve a problem.

    Parameters
    ----------
    options
        Of the estimator itself.
    force_scales
        Standard deviations (n_a,) of the factors that all forces of an axis may be off by, one
        a run; see `force_scale_covariance`.

    Raises
    ------
    EstimationError
        The estimator or its options are unknown, or it finds no finite solution.
    """
    solve = find_estimator(estimator)
    try:
        found = solve(problem, **options)
    except (TypeError, ValueError, AttributeError, np.linalg.LinAlgError) as error:
        raise EstimationError(
            f"estimator '{estimator}' with options {dict(options)}: {error}"
        ) from error
    if not np.isfinite(found.values).all():
        raise EstimationError(f"estimator '{estimator}' found no finite solution")
    problem = found.linearised or problem
    found = with_noise(problem, found)
    is_linear = found.drive_friction is None
    covariance, fit = honest_covariance(problem, found)
    if force_scales is not None:
        if found.guaranteed_root is not None:
            found = _with_exact_constants(found, force_scales)
        covariance = force_scale_covariance(problem, found, force_scales, covariance)
    covariance = full_covariance(problem, found, covariance)
    covariance = (covariance + covariance.T) / 2  # exactly
    rank = problem.base.rank
    return Solution(
        found,
        problem.expand(found.values)[:rank],
        covariance[:rank, :rank],
        fit,
        found.linearised,
        _drive_friction(problem, found, covariance),
        open_directions(problem, found, force_scales) if is_linear else None,
    )


def _with_exact_constants(found: Estimate, force_scales: Sequence[Array | None]) -> Estimate:
    """Say of a guaranteed set that it takes uncertain force constants as exact."""
    largest = max((float(np.max(each)) for each in force_scales if each is not None), default=0.0)
    if largest == 0:
        return found
    text = (
        f'the set takes the force constants as exact; they are uncertain by {100 * largest:.2g} % '
        '(standard deviation), which no bound of the forces covers'
    )
    warnings = [*found.diagnostics.get('warnings', []), text]
    return replace(found, diagnostics={**found.diagnostics, 'warnings': warnings})


def _drive_friction(
    problem: Problem, found: Estimate, covariance: Array
) -> IdentifiedFriction | None:
    """Friction of the drives, whose parameters follow the base parameters in `covariance`."""
    if found.drive_friction is None:
        return None
    assert found.friction_index is not None
    rank = problem.base.rank
    index = rank + found.friction_index
    return IdentifiedFriction(
        found.drive_friction,
        friction_units(found.drive_friction, problem.model),
        covariance[np.ix_(index, index)],
        covariance[:rank, index],
    )
