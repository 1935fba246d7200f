"""Requests that no search can fulfil: which limit excludes them, and periods that fit a robot."""

from __future__ import annotations

import numpy as np

from pkm_description.errors import FeasibilityError, KinematicsError, TrajectoryError
from pkm_dynamics import BaseParameters, ClosedChainModel
from pkm_dynamics.limits.margins import Margin
from pkm_dynamics.limits.robot_limits import LimitOptions, acceleration_limit
from pkm_identification.arrays import Array
from pkm_identification.excitation.search.constraints import DesignLimits
from pkm_identification.excitation.search.design_problem import DesignProblem, DesignTask
from pkm_identification.excitation.search.starts import random_unknowns, repair

PERIOD_FACTORS = 0.08, 4.0  # of the suggested period, between which a free one lies
SUGGESTED_PERIODS = 0.5, 60.0  # [s], shorter and longer ones have to be asked for
USED_STROKE = 0.25  # of each stroke, which the suggested period lets a sine use
LEAST_STROKE = 0.005  # of each stroke, below which next to nothing is excited
STROKE_WITHOUT_LIMITS = 0.5  # [m, rad], of a joint that has none
DRAWS = 3  # random motions, one of which shows all that any motion shows
INDEPENDENT_DIRECTIONS = 1e-9  # least singular value of columns of unit length, to the largest
SMALLEST_PUSH = 1e-9  # [N, N m; kg, kg m^2]: keeps the times finite where there is no force left
RANGES = 'stroke', 'joint', 'workspace'  # limits with two ends, which stroke_margin moves inwards


def suggested_period(
    model: ClosedChainModel, harmonics: int, limits: DesignLimits | None = None
) -> float:
    """Return a period [s] at which strokes, speeds and forces are used to similar degrees."""
    options = LimitOptions(acceleration=None if limits is None else limits.acceleration)
    longest, _, _ = shortest_period(model, options, USED_STROKE)
    return float(np.clip(np.ceil(14.0 * harmonics * longest) / 10.0, *SUGGESTED_PERIODS))


def highest_frequency_period(harmonics: int, limits: DesignLimits) -> float:
    """Return the period [s] in which the last harmonic has the highest frequency allowed."""
    return harmonics / limits.highest_frequency


def free_period(
    model: ClosedChainModel, harmonics: int, limits: DesignLimits, shortest: float
) -> tuple[float, tuple[float, float]]:
    """Return the first guess and the range of a free period [s], none below `shortest`.

    The highest frequency of the limits counts, too.
    """
    shortest = max(shortest, highest_frequency_period(harmonics, limits))
    suggested = suggested_period(model, harmonics, limits)
    low, high = (max(factor * suggested, shortest) for factor in PERIOD_FACTORS)
    return max(suggested, shortest), (low, high)


def longest_period(task: DesignTask) -> float:
    """Return the longest period [s] that a task allows."""
    return task.period if task.period_range is None else task.period_range[1]


def shortest_period(
    model: ClosedChainModel, options: LimitOptions, share: float
) -> tuple[float, str, str]:
    """Return the period [s] in which a sine can use a share of every stroke, and what bounds it.

    Nominal inertia and the forces that rest at home leaves; the margins count. Then the
    kind of limit and the joint that bound it.
    """
    span = np.asarray(model.upper) - np.asarray(model.lower)
    amplitude = share * np.where(np.isfinite(span), span, STROKE_WITHOUT_LIMITS)
    speed = np.asarray(model.velocity_limit) * (1.0 - options.velocity_margin)
    rest = np.zeros((1, model.n_a))
    home = np.asarray(model.home_actuators)[None]
    still = model.inverse_dynamics(model.motion_from_actuators(home, rest, rest))[0]
    pushed = model.inverse_dynamics(model.motion_from_actuators(home, rest, rest + 1.0))[0]
    force = np.asarray(model.force_limit) * (1.0 - options.force_margin)
    left = np.maximum(force - np.abs(still), SMALLEST_PUSH)
    inertia = np.maximum(np.abs(pushed - still), SMALLEST_PUSH)
    times = {
        'velocity': 2.0 * np.pi * amplitude / speed,
        'acceleration': 2.0 * np.pi * np.sqrt(amplitude / acceleration_limit(model, options)),
        'force': 2.0 * np.pi * np.sqrt(amplitude * inertia / left),
    }
    kind = max(times, key=lambda name: float(np.max(times[name])))
    joint = int(np.argmax(times[kind]))
    return float(times[kind][joint]), kind, model.actuated_joints[joint]


def require_possible(
    model: ClosedChainModel, base: BaseParameters, task: DesignTask
) -> DesignProblem:
    """Return the problem of a task, refusing what no search can fulfil; names the limit."""
    options = LimitOptions(acceleration=task.limits.acceleration)
    bounds = model.velocity_limit, model.force_limit, acceleration_limit(model, options)
    if task.period_range is not None and not np.any(np.isfinite(bounds)):
        raise FeasibilityError(
            f"nothing bounds the speed of robot '{model.description.name}': it gives neither "
            'velocity nor effort limits; add them, a limit of the acceleration, or a period'
        )
    problem = DesignProblem(model, base, task)
    _require_home(problem)
    longest = longest_period(task)
    least, kind, name = shortest_period(model, problem.options, LEAST_STROKE)
    if longest < least:
        raise FeasibilityError(
            f'in a period of {longest:.4g} s the {kind} limit of {name} leaves less than '
            f'{LEAST_STROKE:.1%} of the stroke: a period of at least {least:.6g} s is needed, or '
            'wider limits'
        )
    require_information(problem)
    return problem


def require_samples(model: ClosedChainModel, rank: int, task: DesignTask, rate: float) -> None:
    """Refuse fewer forces, measured at a rate [Hz], than parameters; names rate and period."""
    longest = longest_period(task)
    if task.prior is not None or int(longest * rate + 1e-9) * model.n_a >= rank:
        return
    needed = int(np.ceil(rank / model.n_a))
    raise TrajectoryError(
        f'{rank} parameters cannot follow from the {int(longest * rate)} samples of '
        f'{model.n_a} forces that {longest:.4g} s hold at {rate:g} Hz: at least '
        f'{needed / longest:.4g} Hz or a period of {needed / rate:.4g} s is needed'
    )


def _require_home(problem: DesignProblem) -> None:
    """Refuse limits that rest at home breaks already; names the largest margins that it leaves."""
    report = problem.check(problem.trajectory(np.zeros(problem.size)))
    if not report.feasible:
        instead = dict.fromkeys(_wider(margin, problem.limits) for margin in report.violations)
        raise FeasibilityError(
            f'rest at home breaks the limits left by the margins: {report.message}; '
            f'{"; ".join(instead)}'
        )


def _wider(broken: Margin, limits: DesignLimits) -> str:
    """Say which margin would let rest at home be, from how the margin moves the limit."""
    value, largest, option = broken.value, 0.0, ''
    if broken.constraint == 'force':
        whole = abs(broken.limit) / (1.0 - limits.force_margin)
        value, option = abs(value), 'force_margin'
        largest = 1.0 - value / whole
    elif broken.constraint in RANGES and broken.size is not None:
        span = broken.size / (1.0 - 2.0 * limits.stroke_margin)
        largest, option = limits.stroke_margin + broken.margin / span, 'stroke_margin'
    elif broken.constraint == 'clearance':
        largest, option = value, 'clearance'
    elif broken.constraint == 'tracking':  # the stiffness of a servo grows with its square
        needed = limits.bandwidth * np.sqrt(value / broken.limit)
        return f'a servo of {np.ceil(10.0 * needed) / 10.0:g} Hz bears the weight'
    if largest > 0.0:
        return f'rest leaves a {option} of at most {np.floor(1e4 * largest) / 1e4:g}'
    return (
        f'no margin helps: the {broken.constraint} limit of {broken.name} would have to lie '
        f'beyond {value:.6g} {broken.unit}'
    )


def require_information(problem: DesignProblem) -> None:
    """Refuse more parameters than motions within limits and harmonics can show; names them."""
    rank, hidden, _ = most_informative_motion(problem)
    if rank < problem.base.rank:
        raise FeasibilityError(
            f'within these limits, motions with {problem.harmonics} harmonics show only {rank} of '
            f'{problem.base.rank} directions of the parameters (hidden: {", ".join(hidden)}); ask '
            'for more harmonics or wider limits, give a prior, or leave these parameters out'
        )


def most_informative_motion(problem: DesignProblem) -> tuple[int, list[str], Array]:
    """Return how many directions random feasible motions show, what hides, and the best of them.

    The parameters that hide by name; of the motion its unknowns (n_z,).
    """
    problem = problem.refined(1)
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
        count = int(np.sum(s > INDEPENDENT_DIRECTIONS * s[0]))
        if count > best[0]:
            share = np.linalg.norm(directions[count:], axis=0)
            order = np.argsort(-share)[: len(names) - count]
            best = count, [names[i] for i in sorted(order)], z
        if count >= len(names):
            break
    return best
