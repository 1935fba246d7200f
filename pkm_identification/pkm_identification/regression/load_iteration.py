"""Friction that grows with the load of joints: estimates with the loads that they make.

The regressor has a column N s(v) for each load factor, with the load N of a joint as standard
parameters make it. These are the description's at first, then those of the estimate, which is
repeated until it stays. What forces do not show of the bodies stays as in the description, and
with it its share of the loads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification.force_constants.force_constant_request import ForceConstantRequest
from pkm_identification.regression.solution import Solution

ITERATIONS = 30  # a factor of 0.6 each reaches the tolerance; load friction shrinks far faster
TOLERANCE = 1e-6  # of the forces: what an estimate changes when it has settled
SHARE = 0.01  # of the standard deviations: a change this small means nothing either
# Correlation of a load factor with Coulomb friction from which their columns are one for the noise,
# and deviations of a factor that is told from none
ALIKE, TOLD = 0.95, 2.0
COULOMB = ('coulomb', 'coulomb_positive', 'coulomb_negative')


def with_own_loads(
    model: ClosedChainModel, solution: Solution, solve: Callable[[ClosedChainModel], Solution]
) -> tuple[ClosedChainModel, Solution]:
    """Model and solution whose loads are those of its parameters, from a first solution.

    `solve` estimates with a model. The solution warns of load friction that the data do not tell
    from Coulomb friction. EstimationError where the estimates do not settle.
    """
    for _ in range(ITERATIONS):
        before = solution
        values = before.problem.base.standard_parameters(before.values)
        model = model.with_load_parameters(values)
        solution = solve(model)
        if _has_settled(before, solution):
            found = solution.estimate
            warnings = (*found.warnings, *not_told_apart(model, solution))
            return model, replace(solution, estimate=replace(found, warnings=warnings))
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


def not_told_apart(model: ClosedChainModel, solution: Solution) -> list[str]:
    """Sentences on joints whose load friction is Coulomb friction for the data.

    The load of such a joint is constant, in all motions or in those of the data.
    """
    base, names = solution.problem.base, list(solution.problem.base.names)
    standard = list(model.parameter_names)
    free = set(solution.problem.free.tolist())
    found = []
    for place in model.loaded_places:
        load, own = f'{place.name}.load', [f'{place.name}.{each}' for each in COULOMB]
        rows = np.flatnonzero(base.matrix[:, standard.index(load)])
        same = [names[i] for i in rows if not names[i].endswith('.load')]
        dry = [names.index(name) for name in own if name in names]
        if same:
            found.append(
                f"'{load}' is not identifiable: the load of the joint is constant in every motion, "
                f'and its friction is part of {", ".join(f"{name!r}" for name in same)}'
            )
        elif load in names and names.index(load) in free:
            if _is_like(solution, names.index(load), [i for i in dry if i in free]):
                found.append(
                    f"'{load}' is not identifiable: the load of the joint hardly changes in these "
                    'data, which do not tell its friction from Coulomb friction'
                )
    return found


def _is_like(solution: Solution, load: int, dry: list[int]) -> bool:
    """Whether a load factor is uncertain, and by what Coulomb friction can take."""
    deviations = np.sqrt(np.diag(solution.covariance))
    if not np.isfinite(deviations[load]):
        return any(not np.isfinite(deviations[each]) for each in dry)
    if abs(solution.values[load]) > TOLD * deviations[load]:
        return False
    shared = solution.covariance[load, dry] / np.maximum(deviations[load] * deviations[dry], 1e-300)
    return bool(np.any(np.abs(shared) > ALIKE))


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
