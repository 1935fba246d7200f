"""Random starts of the search and the repair of what leaves a limit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pkm_description.errors import FeasibilityError
from pkm_identification.arrays import Array
from pkm_identification.excitation.search.design_problem import DesignProblem

FREE_PERIOD = -2.0, 1.5  # mean and spread of its unknown: faster than suggested
FAST_PERIODS = 3.0  # times the least period, up to which fast motions are drawn
BISECTIONS = 14  # of a size: to less than a ten-thousandth
SLOWER = 1.25  # steps in which a period grows
SHRINKING = (1.0, *(1.0 - 0.0025 * 2.0**k for k in range(9)), 0.1, 0.01)


def random_unknowns(problem: DesignProblem, rng: np.random.Generator) -> Array:
    """Return random unknowns, larger than what is feasible; `repair` shrinks them."""
    decay = 1.0 / np.sqrt(np.arange(1, problem.harmonics + 1))
    sizes = np.concatenate([[0.5], decay, decay])
    z = (2.0 * rng.standard_normal(problem.shape) * sizes).ravel()
    return np.append(z, rng.normal(*FREE_PERIOD)) if problem.free else z


def fast_unknowns(problem: DesignProblem, rng: np.random.Generator) -> Array:
    """Return random unknowns within the geometric limits, too fast for the others.

    A free period is near its lower end, so that speeds and forces exceed what is allowed. An
    optimiser that prices violations slows such a motion down until it uses them fully, and
    ends much better than from a motion that is feasible, because slow, from the beginning.
    """
    z = random_unknowns(problem, rng)
    if problem.task.period_range is not None:
        low, high = problem.task.period_range
        longest = min(FAST_PERIODS * low, high)
        period = float(low * (longest / low) ** rng.uniform())
        z = problem.joined(problem.split(z)[0], period)
    return within_geometry(problem, z)


def perturbed_unknowns(
    problem: DesignProblem, z: Array, size: float, rng: np.random.Generator
) -> Array:
    """Return z with amplitudes moved at random, by `size` of their root mean square."""
    amplitudes = problem.split(z)[0] / problem.scale[:, None]
    spread = size * max(float(np.sqrt(np.mean(amplitudes**2))), 1e-3)
    moved = z.copy()
    moved[: amplitudes.size] += spread * rng.standard_normal(amplitudes.size)
    return within_geometry(problem, moved)


def within_geometry(problem: DesignProblem, z: Array) -> Array:
    """Return the largest motion like z, about home, that keeps all limits but speed and force."""
    return _shrink(problem, z, lambda trial: problem.geometric_excess(trial) <= 0.0)


def repair(problem: DesignProblem, z: Array) -> Array:
    """Make z keep the sampled limits: a smaller path, a longer period where it is free.

    The path shrinks towards home until strokes, joints, workspace, clearances and
    singularity distance hold; speeds and forces are then met by a longer period, and by
    shrinking further where that does not suffice.
    """
    if problem.free:
        low, high = problem.task.period_range or (0.0, np.inf)
        amplitudes, period = problem.split(z)
        z = problem.joined(amplitudes, float(np.clip(period, low, high)))
        z = within_geometry(problem, z)
        for _ in range(BISECTIONS):
            slower = problem.slowed(z, SLOWER)
            if np.all(problem.constraints(z) <= 0.0) or np.array_equal(slower, z):
                break
            z = slower
    return _shrink(problem, z, lambda trial: bool(np.all(problem.constraints(trial) <= 0.0)))


def _shrink(problem: DesignProblem, z: Array, holds: Callable[[Array], bool]) -> Array:
    if holds(z):
        return z
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if holds(problem.shrunk(z, middle)):
            low = middle
        else:
            high = middle
    return problem.shrunk(z, low)


def repair_dense(problem: DesignProblem, z: Array) -> Array:
    """Shrink z towards rest at home, and slow it down, until the dense check passes."""
    for factor in SHRINKING:
        trial = problem.slowed(problem.shrunk(z, factor), 1.0 / factor)
        if problem.check(problem.trajectory(trial)).feasible:
            return trial
    message = problem.check(problem.trajectory(z)).message
    raise FeasibilityError(f'no motion about the home pose is feasible: {message}')


def random_start(
    problem: DesignProblem, candidates: int, rng: np.random.Generator
) -> tuple[Array, list[float]]:
    """Return the best of some random repaired motions, and the criterion of each."""
    drawn = [repair(problem, random_unknowns(problem, rng)) for _ in range(candidates)]
    values = [problem.value(z)[0] for z in drawn]
    return drawn[values.index(min(values))], values
