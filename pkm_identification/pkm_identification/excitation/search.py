"""Multi-start search for a feasible Fourier trajectory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import FeasibilityError
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification.excitation.problem import DesignProblem
from pkm_identification.excitation.sequential_convex import minimise

Array = NDArray[np.float64]
Progress = Callable[[str, float], None]

REPAIR_STEPS = 14
REFINEMENT = 8
SHRINKING = (1.0, *(1.0 - 0.0025 * 2.0**k for k in range(9)), 0.1, 0.01)
TOLERATED_EXCESS = 2e-3


@dataclass(frozen=True)
class DesignSolution:
    """A feasible trajectory and how it was found.

    Attributes
    ----------
    z : (n_z,)
        Unknowns of the problem.
    trajectory : FourierTrajectory
    objective : float
        Criterion of the robot as described, on the fine grid.
    start_objectives : list of float
        Criterion of each start after its optimisation and repair.
    random_objectives : list of float
        Criterion of every random feasible candidate, before optimisation, at the problem's
        own samples with smoothed friction: not comparable with `objective`.
    iterations : int
        In total.
    """

    z: Array
    trajectory: FourierTrajectory
    objective: float
    start_objectives: list[float]
    random_objectives: list[float]
    iterations: int


def solve_design_problem(
    problem: DesignProblem,
    *,
    starts: int = 2,
    candidates: int = 40,
    iterations: int = 120,
    seed: int = 0,
    initial: FourierTrajectory | None = None,
    progress: Progress | None = None,
) -> DesignSolution:
    """Return the best feasible trajectory of a multi-start search.

    Random candidates are shrunk towards home until they keep all limits; the best
    `starts` of them (and `initial`) are improved by sequential quadratic programming
    and checked densely. The result depends on `seed` and the options only.

    Raises
    ------
    FeasibilityError
        When rest at home already breaks a limit, or nothing informative is feasible.
    """
    report = progress or (lambda text, fraction: None)
    _require_home(problem)
    rng = np.random.default_rng(seed)
    pool = []
    for index in range(candidates if starts else 0):
        z = repair(problem, random_unknowns(problem, rng))
        pool.append((problem.value(z)[0], index, z))
        report('random candidates', 0.1 * (index + 1) / candidates)
    random_objectives = [value for value, _, _ in pool]
    chosen = [z for _, _, z in sorted(pool, key=lambda entry: entry[:2])[:starts]]
    if initial is not None:
        chosen.insert(0, repair(problem, problem.unknowns(initial)))
    best: tuple[float, Array] | None = None
    objectives, total = [], 0
    for index, z in enumerate(chosen):
        label = f'start {index + 1} of {len(chosen)}'
        span = 0.9 / len(chosen)

        def step(fraction: float, label: str = label, low: float = 0.1 + span * index) -> None:
            report(label, low + span * fraction)  # noqa: B023

        z, used = _improve(problem, z, iterations, step)
        value, _ = problem.refined(REFINEMENT).value(z)
        total += used
        objectives.append(value)
        if best is None or value < best[0]:
            best = value, z
    if best is None or not np.isfinite(best[0]):
        raise FeasibilityError(
            f'no feasible motion with {problem.harmonics} harmonics in {problem.period:g} s '
            f'excites all {problem.base.rank} parameters; more harmonics are needed'
        )
    return DesignSolution(
        best[1], problem.trajectory(best[1]), best[0], objectives, random_objectives, total
    )


def random_unknowns(problem: DesignProblem, rng: np.random.Generator) -> Array:
    """Return random unknowns, larger than what is feasible; `repair` shrinks them."""
    h = problem.harmonics
    decay = np.concatenate(
        [[0.5], 1.0 / np.arange(1, h + 1) ** 0.5, 1.0 / np.arange(1, h + 1) ** 0.5]
    )
    return (2.0 * rng.standard_normal((problem.n_c, 1 + 2 * h)) * decay).ravel()


def repair(problem: DesignProblem, z: Array, slack: float = 0.0) -> Array:
    """Shrink z towards rest at home until the sampled limits hold."""
    if np.all(problem.constraints(z) <= -slack):
        return z
    low, high = 0.0, 1.0
    for _ in range(REPAIR_STEPS):
        middle = 0.5 * (low + high)
        if np.all(problem.constraints(middle * z) <= -slack):
            low = middle
        else:
            high = middle
    return low * z


def repair_dense(problem: DesignProblem, z: Array) -> Array:
    """Shrink z towards rest at home, in growing steps, until the dense check passes."""
    for factor in SHRINKING:
        if problem.check(problem.trajectory(factor * z)).feasible:
            return np.asarray(factor * z)
    message = problem.check(problem.trajectory(z)).message
    raise FeasibilityError(f'no motion about the home pose is feasible: {message}')


def _require_home(problem: DesignProblem) -> None:
    rest = np.zeros(problem.size)
    worst = problem.constraints(rest)
    if np.any(worst > 0.0):
        message = problem.check(problem.trajectory(rest)).message
        raise FeasibilityError(f'rest at home breaks the limits left by the margins: {message}')


def _improve(
    problem: DesignProblem, z: Array, iterations: int, step: Callable[[float], None]
) -> tuple[Array, int]:
    """Optimise from z; tighten limits by what the dense check finds; repair."""
    total = 0
    problem.tightening = np.zeros_like(problem.tightening)
    start = z
    if not np.isfinite(problem.value(z)[0]):  # so slow that Coulomb friction looks viscous
        problem = problem.unsmoothed()
    budgets = [iterations, *[max(iterations // 5, 2)] * 2]
    for budget in budgets:
        done = total

        def advance(k: int, done: int = done) -> None:
            step(min((done + k) / sum(budgets), 1.0))

        z, used = minimise(problem, z, budget, advance)
        total += used
        excess = dense_excess(problem, z)
        if excess.max() <= TOLERATED_EXCESS:
            break
        problem.tightening = problem.tightening + np.maximum(1.1 * excess, 0.0)
    problem.tightening = np.zeros_like(problem.tightening)
    fine = problem.refined(REFINEMENT)
    ends = [repair_dense(problem, end) for end in (z, start)]
    return min(ends, key=lambda end: fine.value(end)[0]), total


def dense_excess(problem: DesignProblem, z: Array) -> Array:
    """Return the constraint values (C,) of the robot as described, on a finer grid."""
    return problem.refined(REFINEMENT).constraints(z)
