"""Requests that no search can fulfil: the reason, and the nearest that is possible."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import FeasibilityError, KinematicsError, TrajectoryError
from pkm_dynamics.feasibility import check_feasibility
from pkm_dynamics.limits import LimitOptions, acceleration_limit
from pkm_dynamics.margins import Margin
from pkm_identification.excitation.problem import DesignProblem, DesignTask
from pkm_identification.excitation.starts import random_unknowns, repair

Array = NDArray[np.float64]

LEAST_STROKE = 0.005  # of the stroke, below which nothing is excited
DRAWS = 3
FURTHER_HARMONICS = 9
INDEPENDENT = 1e-9  # singular value of columns of unit length
BISECTIONS = 12
MARGIN_OF = {
    'force': 'force_margin',
    'velocity': 'velocity_margin',
    'joint_velocity': 'velocity_margin',
    'stroke': 'stroke_margin',
    'joint': 'stroke_margin',
    'workspace': 'stroke_margin',
    'tilt': 'stroke_margin',
    'aperture': 'stroke_margin',
    'clearance': 'clearance',
}


def require_home(model: Any, options: LimitOptions) -> None:
    """Refuse limits that rest at home breaks already.

    Raises
    ------
    FeasibilityError
        Names the limits, and the largest margin or least limit that home allows.
    """
    home = np.asarray(model.home_actuators)[None]
    rest = model.motion_from_actuators(home, 0.0 * home, 0.0 * home)
    report = check_feasibility(model, rest, **dataclasses.asdict(options))
    if report.feasible:
        return
    nearest = '; '.join(_nearest(model, rest, options, margin) for margin in report.violations)
    raise FeasibilityError(
        f'rest at home breaks the limits left by the margins: {report.message}; {nearest}'
    )


def _nearest(model: Any, rest: Any, options: LimitOptions, broken: Margin) -> str:
    kind, name = broken.constraint, MARGIN_OF.get(broken.constraint, '')

    def holds(value: float) -> bool:
        changed = dataclasses.asdict(dataclasses.replace(options, **{name: value}))
        found = check_feasibility(model, rest, **changed).margins.get(kind)
        return found is None or found.margin >= 0.0

    if not name or not holds(0.0):
        return (
            f'the {kind} limit of {broken.name} would have to reach '
            f'{broken.value:.6g} {broken.unit}'.rstrip()
        )
    low, high = 0.0, float(getattr(options, name))
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return f'home allows a {name} of at most {low:.4g}'


def shortest_period(model: Any, options: LimitOptions, share: float) -> tuple[float, str]:
    """Return the period [s] in which a sine can use a share of every stroke, and what bounds it.

    Nominal inertia and the forces that rest at home leaves; the margins count.
    """
    span = np.asarray(model.upper) - np.asarray(model.lower)
    amplitude = share * np.where(np.isfinite(span), span, 0.5)
    speed = np.asarray(model.velocity_limit) * (1.0 - options.velocity_margin)
    rest = np.zeros((1, model.n_a))
    home = np.asarray(model.home_actuators)[None]
    still = model.inverse_dynamics(model.motion_from_actuators(home, rest, rest))[0]
    pushed = model.inverse_dynamics(model.motion_from_actuators(home, rest, rest + 1.0))[0]
    force = np.asarray(model.force_limit) * (1.0 - options.force_margin)
    left = np.maximum(force - np.abs(still), 1e-9)
    inertia = np.maximum(np.abs(pushed - still), 1e-9)
    times = {
        'velocity': 2.0 * np.pi * amplitude / speed,
        'acceleration': 2.0 * np.pi * np.sqrt(amplitude / acceleration_limit(model, options)),
        'force': 2.0 * np.pi * np.sqrt(amplitude * inertia / left),
    }
    kind = max(times, key=lambda name: float(np.max(times[name])))
    joint = int(np.argmax(times[kind]))
    return float(times[kind][joint]), f'the {kind} limit of {model.actuated_joints[joint]}'


def require_period(model: Any, task: DesignTask, options: LimitOptions) -> None:
    """Refuse a period in which the limits leave next to no motion; names the shortest."""
    longest = task.period if task.period_range is None else task.period_range[1]
    least, reason = shortest_period(model, options, LEAST_STROKE)
    if longest < least:
        raise FeasibilityError(
            f'in a period of {longest:.4g} s {reason} leaves less than {LEAST_STROKE:.1%} of the '
            f'stroke; the shortest possible period is {least:.4g} s'
        )


def require_samples(model: Any, rank: int, task: DesignTask, sampling_rate: float) -> None:
    """Refuse fewer measured forces than parameters; names the least rate and period."""
    longest = task.period if task.period_range is None else task.period_range[1]
    if task.prior is not None or int(longest * sampling_rate + 1e-9) * model.n_a >= rank:
        return
    needed = int(np.ceil(rank / model.n_a))
    raise TrajectoryError(
        f'{rank} parameters cannot follow from the {int(longest * sampling_rate)} samples of '
        f'{model.n_a} forces that {longest:.4g} s hold at {sampling_rate:g} Hz: at least '
        f'{needed / longest:.4g} Hz or a period of {needed / sampling_rate:.4g} s is needed'
    )


def require_information(problem: DesignProblem) -> None:
    """Refuse more parameters than any motion of these harmonics can show.

    Raises
    ------
    FeasibilityError
        Names the least number of harmonics that shows all, or the parameters that none
        does.
    """
    rank, hidden = shown_rank(problem)
    wanted = problem.base.rank
    if rank >= wanted:
        return
    reason = (
        f'motions with {problem.harmonics} harmonics show only {rank} of {wanted} directions of '
        f'the parameters (hidden: {", ".join(hidden)})'
    )
    for more in range(problem.harmonics + 1, problem.harmonics + FURTHER_HARMONICS):
        task = dataclasses.replace(problem.task, harmonics=more)
        if shown_rank(DesignProblem(problem.model, problem.base, task))[0] >= wanted:
            raise FeasibilityError(f'{reason}; at least {more} harmonics are needed')
    raise FeasibilityError(
        f'{reason}, and more harmonics do not help: leave these parameters out or give a prior'
    )


def shown_rank(problem: DesignProblem) -> tuple[int, list[str]]:
    """Return how many directions random motions show, and the parameters that hide."""
    problem = problem.unsmoothed()
    names, best, hidden = problem.base.names, -1, list(problem.base.names)
    for seed in range(DRAWS):
        z = repair(problem, random_unknowns(problem, np.random.default_rng(seed)))
        try:
            rows = problem.information_rows(z)
        except KinematicsError:
            continue
        lengths = np.linalg.norm(rows, axis=0)
        rows = rows / np.where(lengths > 0.0, lengths, 1.0)
        _, s, directions = np.linalg.svd(rows, full_matrices=True)
        count = int(np.sum(s > INDEPENDENT * s[0]))
        if count > best:
            best = count
            share = np.linalg.norm(directions[count:], axis=0)
            order = np.argsort(-share)[: len(names) - count]
            hidden = [names[i] for i in sorted(order)]
        if best >= len(names):
            break
    return best, hidden
