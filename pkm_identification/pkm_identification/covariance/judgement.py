"""What residuals, regressor and real bodies say about an estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pkm_dynamics.friction_laws import DriveFriction
from pkm_identification.arrays import Array
from pkm_identification.covariance.axis_residuals import AxisResiduals
from pkm_identification.covariance.fixed_values import contradicted_values
from pkm_identification.covariance.held_out_errors import held_out_errors
from pkm_identification.covariance.holding_friction import holding_friction
from pkm_identification.covariance.residual_tests import analyse_residuals
from pkm_identification.physical.nearest import ConsistentParameters, nearest_consistent
from pkm_identification.regression.numerics import with_variance
from pkm_identification.regression.preparation import Phase, Progress
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Run, in_blocks
from pkm_identification.regression.solution import Solution
from pkm_identification.regression.weighted_least_squares import Estimate, whitened_rows
from pkm_identification.result.diagnostics import (
    ConditionNumbers,
    FixedContradiction,
    ResidualFindings,
)
from pkm_identification.result.force_errors import SLOW, ForceErrors

LARGE = 0.1  # of the RMS force: residuals above it are no noise of a drive worth a model
PLACES = 30  # of a run, where friction at rest is looked at: its mean to a few percent
COLOURED = 1e-3  # p-value of the test of a flat spectrum, one of some dozen


@dataclass(frozen=True)
class Judgement:
    """Residuals, condition and physical consistency of an estimate."""

    residuals: Array | None  # measured minus predicted forces (n, n_a) of all runs, if not long
    residual_rms: Array  # (n_a,) of the rows
    analysis: tuple[AxisResiduals, ...]  # one entry a run and actuator
    condition: ConditionNumbers  # of the regressor
    consistent: ConsistentParameters  # the nearest physically consistent parameters
    contradicted: tuple[FixedContradiction, ...]  # fixed parameters that the data want elsewhere
    force_errors: ForceErrors  # of predictions of other motions
    findings: ResidualFindings


def judge(solution: Solution, any_value: Sequence[int], report: Progress) -> Judgement:
    """Judge a solution; base parameters with the indices `any_value` count as unknown."""
    report(Phase.ANALYSING, 0.7)
    found, fitted, base = solution.estimate, solution.fitted, solution.problem.base
    in_time = [
        None if run.signals.is_long else _residuals(run, solution.values, found.drive_friction)
        for run in solution.problem.runs
    ]
    known = [each for each in in_time if each is not None]
    condition = condition_numbers(fitted, found)
    analysis = analyse_residuals(fitted, found, in_time)
    spread = found.covariance if fitted is not solution.problem else _of_free(solution)
    holding = _holding(solution)
    force_errors = held_out_errors(fitted, found, in_time, spread, holding)
    report(Phase.CHECKING, 0.8)
    if found.standard_parameters is not None:
        consistent = ConsistentParameters(np.asarray(found.standard_parameters))
    else:
        covariance = with_variance(solution.covariance, np.array(any_value, dtype=np.int64))
        consistent = nearest_consistent(solution.values, covariance, base)
    power = sum(np.sum(run.compact.residuals(found.values) ** 2, axis=0) for run in fitted.runs)
    return Judgement(
        residuals=np.concatenate(known) if len(known) == len(in_time) else None,
        residual_rms=np.sqrt(power / sum(run.count for run in fitted.runs)),
        analysis=analysis,
        condition=condition,
        consistent=consistent,
        force_errors=force_errors,
        contradicted=contradicted_values(fitted, found, solution.fit.covariance_scale, any_value),
        findings=_findings(force_errors, analysis, fitted.runs[0].model.actuated_joints),
    )


def _findings(
    errors: ForceErrors, analysis: Sequence[AxisResiduals], joints: Sequence[str]
) -> ResidualFindings:
    """Name the actuators with large or coloured residuals."""
    coloured = {each.joint for each in analysis if each.whiteness_p_value < COLOURED}
    return ResidualFindings(
        large=tuple(np.array(joints)[errors.relative > LARGE].tolist()),
        coloured=tuple(joint for joint in joints if joint in coloured),
    )


def _holding(solution: Solution) -> Array:
    """Friction (n_a,) of drives at rest: that at a slow speed of the data, where they are known."""
    base, model = solution.problem.base, solution.problem.model
    signals = [each for each in (run.signals for run in solution.problem.runs) if not each.is_long]
    slow = np.full(solution.problem.axes, float(model.description.transition_velocity))
    places = np.zeros((0, solution.problem.axes))  # home
    if signals:
        some = [np.linspace(0, len(each) - 1, PLACES).astype(int) for each in signals]
        rows = [each.positions[own] for each, own in zip(signals, some, strict=True)]
        places = np.concatenate(rows)
        power = sum(np.sum(each.velocities**2, axis=0) for each in signals)
        slow = SLOW[-1] * np.sqrt(power / sum(map(len, signals)))
    standard = base.columns @ solution.values
    return holding_friction(model, standard, solution.estimate.drive_friction, slow, places)


def _of_free(solution: Solution) -> Array:
    """Covariance (f, f) of the free parameters, as far as it is that of base parameters."""
    free = solution.problem.free
    known = free < len(solution.covariance)
    found = np.array(solution.estimate.covariance)
    found[np.ix_(known, known)] = solution.covariance[np.ix_(free[known], free[known])]
    return found


def condition_numbers(problem: Problem, estimate: Estimate) -> ConditionNumbers:
    """Condition numbers of the regressor of an estimate; infinite where a column is zero."""
    plain = np.concatenate(
        [run.compact.regressor.reshape(-1, problem.size) for run in problem.runs]
    )
    weighted = _condition(_scaled(whitened_rows(problem, estimate.row_noise)[0]))
    own = estimate.condition_number
    return ConditionNumbers(
        condition_number=own if np.isfinite(own) else weighted,
        condition_number_unscaled=_condition(plain),
        condition_number_scaled=_condition(_scaled(plain)),
        condition_number_weighted=weighted,
    )


def _residuals(run: Run, values: Array, friction: DriveFriction | None) -> Array:
    """Measured minus predicted forces (n, n_a) at the samples, before the band."""
    signals, standard = run.signals, run.base.columns @ values

    def predicted(part: slice) -> Array:
        return run.model.inverse_dynamics(signals.motion(run.model, part), standard)

    residuals = signals.forces - in_blocks(len(signals), predicted)
    return residuals if friction is None else residuals - friction.forces(signals.velocities)


def _scaled(matrix: Array) -> Array:
    length = np.linalg.norm(matrix, axis=0)
    return matrix / np.where(length > 0, length, 1.0)


def _condition(matrix: Array) -> float:
    if not matrix.any(axis=0).all():  # where rounding alone would make the smallest value
        return float('inf')
    singular = np.linalg.svd(np.linalg.qr(matrix, mode='r'), compute_uv=False)
    return float(singular[0] / singular[-1]) if singular[-1] > 0 else float('inf')
