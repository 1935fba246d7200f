"""The model of the drives that `friction='auto'` chooses, and what residuals ask for beyond one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification.model_selection.candidate_terms import Candidate
from pkm_identification.model_selection.term_selection import select_terms
from pkm_identification.options import ESTIMATORS, names
from pkm_identification.regression.preparation import ParameterOptions, Prepared
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.solution import Solution
from pkm_identification.result.drive_terms import DriveTermDiagnostics, Term, TriedTerm

# Samples a second of processor time are many hundred thousand, but those of a long recording
# would double the time of an identification: beyond so many nothing is asked
MOST_ASKED = 200_000
PHYSICAL = ('feasible', 'nonlinear_friction')  # the second is the first with friction laws
# Why an estimator takes no law: its columns are not those of standard parameters
WITHOUT_LAWS = {
    'maximum_likelihood': 'moves the motion with the forces of standard parameters alone',
    'tls': 'knows the noise of the columns of standard parameters alone',
    'ellipsoid': 'bounds standard parameters alone',
    'output_error': 'simulates the robot with standard parameters alone',
}


@dataclass(frozen=True)
class DriveModel:
    """Terms of drives beyond a description."""

    terms: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of `with_drive_terms`
    # friction laws by joint, with their parameters but the amplitude
    laws: Mapping[str, tuple[str, tuple[float, ...]]] = field(default_factory=dict)
    without: tuple[str, ...] = ()  # base parameters that a law stands in place of
    tried: tuple[TriedTerm, ...] = ()
    refused: str = ''  # why no laws were offered


def why_no_laws(estimator: str, own: Mapping[str, Any]) -> str:
    """Say why an estimator with such options takes no friction laws; '' where it does."""
    reason = WITHOUT_LAWS.get(estimator, '')
    if own.get('measurement') == 'energy':
        reason = 'balances the energy of standard parameters alone'
    return f"friction laws were not tried: '{estimator}' {reason}" if reason else ''


def require_known_forces(prepared: Prepared) -> None:
    """Raise EstimationError where force constants or payloads are unknown."""
    if not prepared.request.is_plain:
        raise EstimationError(
            "friction='auto' needs known force constants and payloads: estimate them first, then "
            'give them by force_constants='
        )


def choose_drive_model(
    problem: Problem, parameters: ParameterOptions, refused: str = ''
) -> DriveModel:
    """Choose terms of the drives by forward selection; see `term_selection`.

    Friction laws among them, but where they are `refused` for some reason.
    EstimationError where the data are too long.
    """
    # names in `estimate` are those of the description
    may_change = parameters['estimate'] is None
    selected = select_terms(problem, not refused, may_change)
    without = [name for each in selected.tried if each.is_taken for name in each.replaces]
    terms, laws = _terms(selected.taken), _laws(selected.taken)
    return DriveModel(terms, laws, tuple(without), selected.tried, refused)


def with_new_names(
    parameters: ParameterOptions, before: ClosedChainModel, after: ClosedChainModel
) -> ParameterOptions:
    """Estimate what a model has more than the one before, where `estimate` names parameters."""
    estimate = parameters['estimate']
    if estimate is None or after is before:
        return parameters
    shared, reduced = parameters['shared'], parameters['reduced']
    old, new = (
        each.base_parameters(shared=shared, reduced=reduced).names for each in (before, after)
    )
    own = [estimate] if isinstance(estimate, str) else list(estimate)
    return {**parameters, 'estimate': [*own, *(name for name in new if name not in old)]}


def estimator_with_laws(
    estimator: str, own: Mapping[str, Any], chosen: DriveModel
) -> tuple[str, dict[str, Any]]:
    """Return estimator and options that fit the laws that were chosen.

    Among physical bodies laws are those of `nonlinear_friction`, which estimates their shapes
    too. EstimationError where its `law` is given all the same.
    """
    if estimator not in PHYSICAL:
        return estimator, dict(own)
    if 'law' in own:
        raise EstimationError("friction='auto' chooses the laws: leave law= out")
    fitting = 'nonlinear_friction' if chosen.laws else 'feasible'
    known = names(ESTIMATORS[fitting])
    options = {name: value for name, value in own.items() if name in known}
    if chosen.laws:
        options['law'] = {joint: law for joint, (law, _) in chosen.laws.items()}
    return fitting, options


def drive_term_diagnostics(
    solution: Solution,
    chosen: DriveModel,
    ask: Callable[[Problem, Sequence[str]], TriedTerm | None],
) -> DriveTermDiagnostics:
    """Return what was tried, and what the residuals of a solution still ask for.

    `ask` gives the missing term of a problem with friction laws of some joints, as `asked_for`.
    """
    samples = sum(len(run.signals) for run in solution.problem.runs)
    if samples > MOST_ASKED or any(run.is_long for run in solution.problem.runs):
        said = f'no missing term was looked for in so many samples ({samples}): give a part of them'
        return DriveTermDiagnostics(None, chosen.tried, chosen.refused or said)
    return DriveTermDiagnostics(
        ask(solution.problem, _with_laws(solution)), chosen.tried, chosen.refused
    )


def _with_laws(solution: Solution) -> list[str]:
    """Joints whose friction has a law in a solution."""
    friction = solution.drive_friction
    return [] if friction is None else [name.rpartition('.')[0] for name in friction.names]


def _terms(taken: Sequence[Candidate]) -> dict[str, dict[str, Any]]:
    """Terms by joint as `with_drive_terms` takes them, values at zero."""
    found: dict[str, dict[str, Any]] = {}
    for each in taken:
        if each.term.is_law:
            continue
        section: dict[str, Any] = {str(each.term): 0.0}
        if each.term is Term.SPRING:
            section = {'stiffness': 0.0, 'rest': 0.0}
        elif each.term is Term.PRESLIDING:
            section = {'presliding': each.shape[0]}
        elif each.term is Term.RIPPLE:
            harmonics = list(each.harmonics)
            section = {'ripple': {'period': each.shape[0], 'harmonics': harmonics}}
        for joint in each.joints:
            found.setdefault(joint, {}).update(section)
    return found


def _laws(taken: Sequence[Candidate]) -> dict[str, tuple[str, tuple[float, ...]]]:
    laws = [each for each in taken if each.term.is_law]
    return {joint: (str(each.term), each.shape) for each in laws for joint in each.joints}
