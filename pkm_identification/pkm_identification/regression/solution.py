"""A problem solved by an estimator, with a covariance that was compared with the residuals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array
from pkm_identification.covariance.force_constant_covariance import (
    force_constant_covariance,
    unidentifiable_directions,
)
from pkm_identification.covariance.residual_scaling import (
    full_covariance,
    residual_scaled_covariance,
    with_noise,
)
from pkm_identification.covariance.unidentifiable_directions import UnidentifiableDirections
from pkm_identification.estimators.consistent.friction_columns import (
    FrictionColumns,
    fixed_columns,
    friction_units,
)
from pkm_identification.estimators.registry import WITHOUT_PAST, find_estimator
from pkm_identification.force_constants.force_constants import ForceConstants
from pkm_identification.force_constants.payload_estimate import PayloadEstimate
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.weighted_least_squares import Estimate
from pkm_identification.result.diagnostics import FitDiagnostics
from pkm_identification.result.identified_friction import IdentifiedFriction


@dataclass(frozen=True)
class Solution:
    """What an estimator makes of a problem."""

    estimate: Estimate  # of the free parameters, with the noise of the rows
    values: Array  # all base parameters (r,), the fixed ones included
    covariance: Array  # (r, r) of these
    fit: FitDiagnostics  # figures of the residuals against their noise
    problem: Problem  # of the robot alone, which the values belong to
    fitted: Problem  # of the estimate: the same, or one of further unknowns, linear about them
    drive_friction: IdentifiedFriction | None = None  # beyond the base parameters, if not linear
    # what the data leave open of the base parameters; None where they determine all
    unidentifiable_directions: UnidentifiableDirections | None = None
    force_constants: ForceConstants | None = None  # where they were estimated, as the payloads
    payloads: tuple[PayloadEstimate, ...] = ()


def estimated(problem: Problem, estimator: str, options: Mapping[str, Any]) -> Estimate:
    """Return what an estimator finds; EstimationError where its options cannot be used."""
    solve = find_estimator(estimator)
    if estimator in WITHOUT_PAST and problem.model.drive_states:
        raise EstimationError(
            f"estimator '{estimator}' knows no friction with a past: leave presliding and warm-up "
            'out, or take another one'
        )
    try:
        return solve(problem, **options)
    except (TypeError, ValueError, AttributeError, np.linalg.LinAlgError) as error:
        raise EstimationError(
            f"estimator '{estimator}' with options {dict(options)}: {error}"
        ) from error


def solve_problem(
    problem: Problem,
    estimator: str,
    options: Mapping[str, Any],
    force_deviations: Sequence[Array | None] | None = None,
    laws: Mapping[str, tuple[str, tuple[float, ...]]] | None = None,
) -> Solution:
    """Solve a problem by an estimator with options of its own.

    `force_deviations` are standard deviations (n_a,) of the factors that all forces of an axis may
    be off by, one a run; see `force_constant_covariance`. `laws` are friction laws by joint, with
    their parameters but the amplitude, which is estimated. EstimationError where the estimator
    or its options are unknown, or it finds no finite solution.
    """
    if laws:
        found = _with_laws(fixed_columns(problem, laws), estimator, options)
    else:
        found = estimated(problem, estimator, options)
    if not np.isfinite(found.values).all():
        raise EstimationError(f"estimator '{estimator}' found no finite solution")
    problem = found.linearised or problem
    found = with_noise(problem, found)
    covariance, fit = residual_scaled_covariance(problem, found)
    if force_deviations is not None and found.guaranteed_root is not None:
        found = _with_exact_constants(found, force_deviations)
    force_deviations = _with_rest(problem, force_deviations)
    if force_deviations is not None:
        covariance = force_constant_covariance(problem, found, force_deviations, covariance)
    covariance = full_covariance(problem, found, covariance)
    covariance = (covariance + covariance.T) / 2  # exactly
    rank = problem.base.rank
    open_ends = None
    if found.drive_friction is None:
        open_ends = unidentifiable_directions(problem, found, force_deviations)
    return Solution(
        estimate=found,
        values=problem.expand(found.values)[:rank],
        covariance=covariance[:rank, :rank],
        fit=fit,
        problem=problem,
        fitted=problem,
        drive_friction=_drive_friction(problem, found, covariance),
        unidentifiable_directions=open_ends,
    )


def _with_rest(
    problem: Problem, deviations: Sequence[Array | None] | None
) -> Sequence[Array | None] | None:
    """Add to deviations of the forces, one a run, those of drives that no run moves.

    Friction at rest may hold any part of their load: as of a uniform distribution up to all.
    """
    slow = float(problem.model.description.transition_velocity)
    if any(run.signals.is_long for run in problem.runs):
        return deviations
    rests = [np.abs(run.signals.velocities).max(axis=0) <= slow for run in problem.runs]
    still = np.all(rests, axis=0)
    if not still.any():
        return deviations
    known = [None] * len(problem.runs) if deviations is None else deviations
    return [np.sqrt((0.0 if each is None else each**2) + still / 3) for each in known]


def _with_laws(columns: FrictionColumns, estimator: str, options: Mapping[str, Any]) -> Estimate:
    """Estimate with friction laws, which are linear in all that is not given."""
    linear = columns.with_given_shapes()
    found = estimated(linear, estimator, options)
    parameters = columns.start
    parameters[~columns.constant] = found.values[columns.problem.size :]
    return replace(
        found,
        drive_friction=columns.friction(parameters),
        friction_index=columns.joint_index,
        linearised=linear,
    )


def _with_exact_constants(found: Estimate, force_deviations: Sequence[Array | None]) -> Estimate:
    """Say of a guaranteed set that it takes uncertain force constants as exact."""
    largest = max([0.0, *(float(np.max(each)) for each in force_deviations if each is not None)])
    if largest == 0:
        return found
    text = (
        f'the set takes the force constants as exact; they are uncertain by {100 * largest:.2g} % '
        '(standard deviation), which no bound of the forces covers'
    )
    return replace(found, warnings=(*found.warnings, text))


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
