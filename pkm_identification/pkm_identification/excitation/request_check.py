"""Requests that no search can fulfil: the reason, and the nearest that is possible."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import FeasibilityError, KinematicsError, TrajectoryError
from pkm_dynamics.limits.feasibility import check_feasibility
from pkm_dynamics.limits.limits import LimitOptions, acceleration_limit
from pkm_dynamics.limits.margins import FeasibilityReport, Margin
from pkm_identification.excitation.design_periods import longest_period, refreshed, shortest_period
from pkm_identification.excitation.nearest import PERIODS, nearest_requests, relaxable, widest
from pkm_identification.excitation.search.design_problem import DesignProblem, DesignTask
from pkm_identification.excitation.search.starts import random_unknowns, repair

Array = NDArray[np.float64]

LEAST_STROKE = 0.005  # of the stroke, below which nothing is excited
DRAWS = 3
FURTHER_HARMONICS = 8
INDEPENDENT = 1e-9  # singular value of columns of unit length
CLEARLY = 1e-6  # the same, of what is proposed instead of an impossible request
OPTIONS_OF = {
    'force': ('force_margin', 'force_uncertainty'),
    'velocity': ('velocity_margin',),
    'joint_velocity': ('velocity_margin',),
    'acceleration': ('acceleration',),
    'stroke': ('stroke_margin',),
    'joint': ('stroke_margin',),
    'workspace': ('stroke_margin',),
    'tilt': ('stroke_margin',),
    'aperture': ('stroke_margin', 'aperture'),
    'clearance': ('clearance',),
    'conditioning': ('condition_factor',),
}


def require_possible(model: Any, base: Any, task: DesignTask) -> DesignProblem:
    """Return the problem of a task, refusing what no search can fulfil.

    Raises
    ------
    TrajectoryError, FeasibilityError
        With the reason, and the nearest that is possible.
    """
    require_bounds(model, task)
    problem = DesignProblem(model, base, task)
    require_home(problem)
    require_period(problem)
    require_information(problem)
    return problem


def is_possible(model: Any, base: Any, task: DesignTask) -> bool:
    """Whether `require_possible` would let a task pass, and not just so."""
    problem = DesignProblem(model, base, refreshed(model, task))
    if not rest_report(model, problem.options).feasible:
        return False
    if longest_period(problem.task) < shortest_period(model, problem.options, LEAST_STROKE)[0]:
        return False
    return shown_rank(problem, CLEARLY)[0] >= base.rank


def require_bounds(model: Any, task: DesignTask) -> None:
    """Refuse a free period where nothing bounds the speed of the actuators."""
    options = LimitOptions(acceleration=task.limits.acceleration)
    bounds = model.velocity_limit, model.force_limit, acceleration_limit(model, options)
    if task.period_range is not None and not np.any(np.isfinite(bounds)):
        raise FeasibilityError(
            f"nothing bounds the speed of robot '{model.description.name}': it gives neither "
            'velocity nor effort limits; add them, a limit of the acceleration, or a period'
        )


def rest_report(model: Any, options: LimitOptions) -> FeasibilityReport:
    """Return the margins of rest at home."""
    home = np.asarray(model.home_actuators)[None]
    rest = model.motion_from_actuators(home, 0.0 * home, 0.0 * home)
    return check_feasibility(model, rest, **dataclasses.asdict(options))


def require_home(problem: DesignProblem) -> None:
    """Refuse limits that rest at home breaks already.

    Raises
    ------
    FeasibilityError
        Names the limits, and the largest margins or least limits with which a design is
        possible.
    """
    report = rest_report(problem.model, problem.options)
    if report.feasible:
        return
    reason = f'rest at home breaks the limits left by the margins: {report.message}'
    kinds = [margin.constraint for margin in report.violations]
    raise FeasibilityError(f'{reason}; {_possible_instead(problem, kinds, report.violations)}')


def _possible_instead(
    problem: DesignProblem, kinds: list[str], broken: list[Margin], further: tuple[str, ...] = ()
) -> str:
    """Return what to ask for instead, where the limits of some kinds are too narrow."""
    candidates = relaxable(problem.model, problem.task)
    wanted = {name for kind in kinds for name in OPTIONS_OF.get(kind, ())}.union(further)
    possible = partial(is_possible, problem.model, problem.base)
    names = [name for name in candidates if name in wanted]
    if text := nearest_requests(problem.task, names, possible):
        return f'possible is {text}'
    needed = ' and '.join(
        f'the {margin.constraint} limit of {margin.name} would have to lie beyond '
        f'{abs(margin.value) if margin.constraint == "force" else margin.value:.6g} {margin.unit}'
        for margin in broken
    )
    return f'no margin helps: {needed}' if needed else 'no option alone helps'


def require_period(problem: DesignProblem) -> None:
    """Refuse a period in which the limits leave next to no motion; names the shortest."""
    longest = longest_period(problem.task)
    least, kind, name = shortest_period(problem.model, problem.options, LEAST_STROKE)
    if longest < least:
        instead = _possible_instead(problem, [kind], [], ('period',))
        raise FeasibilityError(
            f'in a period of {longest:.4g} s the {kind} limit of {name} leaves less than '
            f'{LEAST_STROKE:.1%} of the stroke; {instead}'
        )


def require_samples(model: Any, rank: int, task: DesignTask, sampling_rate: float) -> None:
    """Refuse fewer measured forces than parameters; names the least rate and period."""
    longest = longest_period(task)
    if task.prior is not None or int(longest * sampling_rate + 1e-9) * model.n_a >= rank:
        return
    needed = int(np.ceil(rank / model.n_a))
    raise TrajectoryError(
        f'{rank} parameters cannot follow from the {int(longest * sampling_rate)} samples of '
        f'{model.n_a} forces that {longest:.4g} s hold at {sampling_rate:g} Hz: at least '
        f'{needed / longest:.4g} Hz or a period of {needed / sampling_rate:.4g} s is needed'
    )


def require_information(problem: DesignProblem) -> None:
    """Refuse more parameters than any motion within limits and harmonics can show.

    Raises
    ------
    FeasibilityError
        Names the least number of harmonics or the nearest limits with which all show, or
        the parameters that hide anyway.
    """
    rank, hidden = shown_rank(problem)
    wanted = problem.base.rank
    if rank >= wanted:
        return
    task, model, base = problem.task, problem.model, problem.base
    reason = (
        f'within these limits, motions with {task.harmonics} harmonics show only {rank} of '
        f'{wanted} directions of the parameters (hidden: {", ".join(hidden)})'
    )
    more = dataclasses.replace(task, harmonics=task.harmonics + FURTHER_HARMONICS)
    names, possible = relaxable(model, task), partial(is_possible, model, base)
    if widest(more, names, possible, PERIODS[::4]) is None:
        raise FeasibilityError(
            f'{reason}, and neither more harmonics nor wider limits help: leave these '
            'parameters out or give a prior'
        )
    if possible(more):
        low, high = task.harmonics, more.harmonics
        while high - low > 1:
            middle = (low + high) // 2
            enough = possible(dataclasses.replace(task, harmonics=middle))
            low, high = (low, middle) if enough else (middle, high)
        raise FeasibilityError(f'{reason}; at least {high} harmonics are needed')
    text = nearest_requests(task, names, possible)
    instead = f'possible is {text}' if text else 'wider limits and more harmonics would show all'
    raise FeasibilityError(f'{reason}; {instead}')


def shown_rank(problem: DesignProblem, least: float = INDEPENDENT) -> tuple[int, list[str]]:
    """Return how many directions random motions show, and the parameters that hide.

    `least` is the smallest singular value that counts, of columns of unit length.
    """
    rank, hidden, _ = _most_shown(problem, least)
    return rank, hidden


def informative_motion(problem: DesignProblem) -> Array:
    """Return the unknowns of the feasible random motion that shows most directions."""
    return _most_shown(problem, INDEPENDENT)[2]


def _most_shown(problem: DesignProblem, least: float) -> tuple[int, list[str], Array]:
    problem = problem.unsmoothed()
    names = problem.base.names
    best: tuple[int, list[str], Array] = -1, list(names), np.zeros(problem.size)
    for seed in range(DRAWS):
        z = repair(problem, random_unknowns(problem, np.random.default_rng(seed)))
        try:
            rows = problem.information_rows(z)
        except KinematicsError:
            continue
        lengths = np.linalg.norm(rows, axis=0)
        rows = rows / np.where(lengths > 0.0, lengths, 1.0)
        _, s, directions = np.linalg.svd(rows, full_matrices=True)
        count = int(np.sum(s > least * s[0]))
        if count > best[0]:
            share = np.linalg.norm(directions[count:], axis=0)
            order = np.argsort(-share)[: len(names) - count]
            best = count, [names[i] for i in sorted(order)], z
        if count >= len(names):
            break
    return best
