"""Rotors that a description does not have and the data do not tell from the inertia of the links.

The inertia of a rotor adds to the diagonal of the mass matrix. For the first axes of an arm an
inertia of a link does the same [Gautier 1991]: such a rotor changes no force that the model can
make. Whether bodies can have an estimate depends on it all the same, because an inertia that no
link can have, a link and its rotor can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array
from pkm_identification.estimators.consistent.physically_consistent import ConsistencyDiagnostics
from pkm_identification.estimators.consistent.weighing import CONTRADICTED
from pkm_identification.model_selection.friction_choice import with_new_names
from pkm_identification.model_selection.term_equations import DISTINCT
from pkm_identification.regression.preparation import ParameterOptions, Prepared
from pkm_identification.regression.problem import Problem, build_problem
from pkm_identification.regression.solution import Solution

ROTOR = 'rotor'
SHARE = 0.01  # of the residuals: rotors that change forces by less are not needed
NO_ROTOR = 1e-6  # of the largest one that was added: less is the solver's zero


def with_hidden_rotors(
    prepared: Prepared,
    model: ClosedChainModel,
    solution: Solution,
    parameters: ParameterOptions,
    solve: Callable[[ClosedChainModel, ParameterOptions], Solution],
) -> tuple[ClosedChainModel, Solution]:
    """Model and solution of physical bodies, with hidden rotors where the links alone cannot be.

    `solve` estimates with a model and its parameters. As long as the data do not contradict the
    bodies of the description, or rotors do not change the forces, both stay as they are. A warning
    names what was added.
    """
    found = solution.estimate.diagnostics
    if not isinstance(found, ConsistencyDiagnostics) or found.nominal_spread is not None:
        return model, solution
    if found.p_value_physical > CONTRADICTED:
        return model, solution
    joints = hidden_rotors(prepared, model, parameters)
    if not joints:
        return model, solution
    extended = _with_rotors(model, joints)
    wider = solve(extended, with_new_names(parameters, model, extended))
    if not _changes_forces(solution, wider):
        return model, solution
    estimate = wider.estimate
    warnings = (*estimate.warnings, _sentence(extended, joints, wider))
    return extended, replace(wider, estimate=replace(estimate, warnings=warnings))


def hidden_rotors(
    prepared: Prepared, model: ClosedChainModel, parameters: ParameterOptions
) -> list[str]:
    """Drives without a rotor in the model whose rotor would make forces that its bodies make."""
    known = set(model.parameter_names)
    drives = [joint for joint in model.description.driven_joints if f'{joint}.{ROTOR}' not in known]
    if not drives:
        return []
    extended = _with_rotors(model, drives)
    problem = build_problem(
        prepared.signals, extended, **with_new_names(parameters, model, extended)
    )
    told = _told(problem, {f'{joint}.{ROTOR}' for joint in drives})
    return [joint for joint in drives if f'{joint}.{ROTOR}' not in told]


def _told(problem: Problem, rotors: set[str]) -> set[str]:
    """Those of the rotors whose forces no other parameters of a problem make."""
    space = problem.base.space
    members = dict(zip(space.labels, space.members, strict=True))
    own = [rotors.intersection(members.get(name, ())) for name in problem.names]
    rows = np.concatenate([run.compact.regressor.reshape(-1, problem.size) for run in problem.runs])
    is_rotor = np.array([bool(each) for each in own], dtype=bool)
    outside = _outside(rows[:, is_rotor], rows[:, ~is_rotor])
    told = np.flatnonzero(is_rotor)[outside >= DISTINCT]
    return set().union(*(own[k] for k in told))


def _outside(columns: Array, others: Array) -> Array:
    """Shares (k,) of the squared lengths of columns (n, k) that lie outside the span of others."""
    size = np.linalg.norm(others, axis=0)
    basis, spread, _ = np.linalg.svd(others / np.where(size > 0, size, 1.0), full_matrices=False)
    basis = basis[:, spread > np.finfo(float).eps * len(others) * spread.max(initial=0.0)]
    left = columns - basis @ (basis.T @ columns)
    power = np.sum(columns**2, axis=0)
    return np.asarray(np.sum(left**2, axis=0) / np.where(power > 0, power, 1.0))


def _with_rotors(model: ClosedChainModel, joints: list[str]) -> ClosedChainModel:
    return model.with_drive_terms({joint: {ROTOR: 0.0} for joint in joints})


def _changes_forces(before: Solution, after: Solution) -> bool:
    """Whether bodies and rotors of a solution make other forces than the bodies of that without."""
    rank, names = after.problem.base.rank, list(after.problem.base.names)
    change = np.array(after.values)
    for name, value in zip(before.problem.base.names, before.values, strict=True):
        if name in names:
            change[names.index(name)] -= value
    free = after.problem.free[after.problem.free < rank]
    moved = left = 0.0
    for run in after.problem.runs:
        rows = run.compact
        moved += float(np.sum((rows.regressor[..., : len(free)] @ change[free]) ** 2))
        left += float(np.sum(rows.residuals(after.estimate.values) ** 2))
    return moved > SHARE**2 * left


def _sentence(model: ClosedChainModel, joints: list[str], solution: Solution) -> str:
    """Say which rotors an estimate has beyond the description."""
    standard = solution.estimate.standard_parameters
    assert standard is not None
    names = list(model.parameter_names)
    places = {joint: names.index(f'{joint}.{ROTOR}') for joint in joints}
    least = NO_ROTOR * max(float(standard[k]) for k in places.values())
    values = ', '.join(
        f"'{joint}' {standard[k]:.3g} {model.parameter_units[k]}"
        for joint, k in places.items()
        if standard[k] > least
    )
    return (
        'the links alone cannot have what the data show: the bodies of this estimate have rotors '
        f'that the description lacks and the data do not tell from the links ({values})'
    )
