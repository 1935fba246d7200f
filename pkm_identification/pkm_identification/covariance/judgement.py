"""What residuals, regressor and real bodies say about an estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.covariance.residual_analysis import AxisResiduals
from pkm_identification.covariance.residual_tests import analyse_residuals, condition_numbers
from pkm_identification.covariance.residuals import residual_rms, residuals_in_time, together
from pkm_identification.physical.nearest import ConsistentParameters, nearest_consistent
from pkm_identification.regression.preparation import Phase, Progress
from pkm_identification.regression.solution import Solution
from pkm_identification.result.diagnostics import ConditionNumbers


@dataclass(frozen=True)
class Judgement:
    """Residuals, condition and physical consistency of an estimate.

    Attributes
    ----------
    residuals
        Measured minus predicted forces (n, n_a) of all runs; None where they are too long.
    residual_rms
        (n_a,) of the rows.
    analysis
        One entry a run and actuator.
    condition
        Of the regressor.
    consistent
        The nearest physically consistent parameters.
    """

    residuals: Array | None
    residual_rms: Array
    analysis: tuple[AxisResiduals, ...]
    condition: ConditionNumbers
    consistent: ConsistentParameters


def judge(solution: Solution, any_value: Sequence[int], report: Progress) -> Judgement:
    """Judge a solution; base parameters with the indices `any_value` count as unknown."""
    report(Phase.ANALYSING, 0.7)
    found, problem = solution.estimate, solution.problem
    in_time = residuals_in_time(problem, solution.values, found.drive_friction)
    condition = condition_numbers(solution.fitted, found)
    analysis = analyse_residuals(solution.fitted, found, in_time)
    report(Phase.CHECKING, 0.8)
    if found.standard_parameters is not None:
        consistent = ConsistentParameters(np.asarray(found.standard_parameters))
    else:
        covariance = solution.covariance.copy()
        for index in any_value:
            covariance[index], covariance[:, index] = 0.0, 0.0
            covariance[index, index] = np.inf
        consistent = nearest_consistent(solution.values, covariance, problem.base)
    return Judgement(
        residuals=together(in_time),
        residual_rms=residual_rms(solution.fitted, found.values),
        analysis=analysis,
        condition=condition,
        consistent=consistent,
    )
