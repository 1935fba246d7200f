"""Friction that grows with the load of joints: estimates with the loads that they make.

The regressor has a column N s(v) for each load factor, with the load N of a joint as standard
parameters make it. These are the description's at first, then those of the estimate, which is
repeated until it stays. What forces do not show of the bodies stays as in the description, and
with it its share of the loads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification.force_constants.force_constant_request import ForceConstantRequest
from pkm_identification.regression.solution import Solution

ITERATIONS = 30  # a factor of 0.6 each reaches the tolerance; load friction shrinks far faster
TOLERANCE = 1e-6  # of the forces: what an estimate changes when it has settled
SHARE = 0.01  # of the standard deviations: a change this small means nothing either


def with_own_loads(
    model: ClosedChainModel, solution: Solution, solve: Callable[[ClosedChainModel], Solution]
) -> tuple[ClosedChainModel, Solution]:
    """Model and solution whose loads are those of its parameters, from a first solution.

    `solve` estimates with a model. EstimationError where the estimates do not settle.
    """
    for _ in range(ITERATIONS):
        before = solution
        values = before.problem.base.standard_parameters(before.values)
        model = model.with_load_parameters(values)
        solution = solve(model)
        if _has_settled(before, solution):
            return model, solution
    deviations = np.maximum(np.sqrt(np.diag(solution.covariance)), 1e-300)
    worst = int(np.argmax(np.abs(solution.values - before.values) / deviations))
    raise EstimationError(
        f'the estimate does not settle with the loads of the joints in {ITERATIONS} iterations: '
        f"'{solution.problem.base.names[worst]}' still changes from {before.values[worst]:.6g} to "
        f'{solution.values[worst]:.6g}; fix load factors that the data do not show, or leave '
        'them out'
    )


def require_no_payload(request: ForceConstantRequest, model: ClosedChainModel) -> None:
    """Raise EstimationError where a payload would load the joints whose friction grows with it."""
    if any(request.payloads):
        joint = model.loaded_places[0].name
        raise EstimationError(
            f"the friction of '{joint}' grows with its load, and the loads of recordings with a "
            'payload are not modelled: identify from recordings without one'
        )


def _has_settled(before: Solution, after: Solution) -> bool:
    """Whether two solutions differ by nothing that data or forces show."""
    change = after.values - before.values
    deviations = np.sqrt(np.diag(after.covariance))
    if np.all(np.abs(change) <= SHARE * deviations):
        return True
    of_base = after.problem.free < len(change)
    free = after.problem.free[of_base]
    rows = np.concatenate([run.compact.regressor[..., of_base] for run in after.problem.runs])
    moved, forces = rows @ change[free], rows @ after.values[free]
    return bool(np.linalg.norm(moved) <= TOLERANCE * np.linalg.norm(forces))
