"""Improvement of one start: optimise, look between the samples, tighten, repair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pkm_description.errors import FeasibilityError, KinematicsError
from pkm_identification.arrays import Array
from pkm_identification.excitation.search import starts
from pkm_identification.excitation.search.design_problem import DesignProblem
from pkm_identification.excitation.search.sequential_convex import (
    STALLED,
    merit,
    minimise,
    restored,
)

Watch = Callable[[float, float], bool]  # fraction and criterion; true: stop

REFINEMENT = 8  # of the grid that looks between the samples
TOLERATED_EXCESS = 0.01  # after a round; the rest is restored at the end
MARGINS = 0.0, 5e-4, 2e-3, 6e-3, 0.02, 0.05  # kept where the check finds more than the grid
RESTORING = 3  # steps at each margin
ROUNDS = 3  # of optimising and tightening: two are usual
SCREENING = 6  # steps after which random motions are compared


@dataclass(frozen=True)
class Start:
    """Where an improvement begins."""

    index: int  # with the seed it decides what is drawn
    z: Array | None = None  # unknowns (n_z,); a random motion without
    perturbation: float = 0.0  # relative size by which z is moved at random
    tightening: Array | None = None  # (M, C) of the limits where z was found


@dataclass(frozen=True)
class Improved:
    """What became of a start.

    The objective is the criterion of the robot as described, on a fine grid; infinite where
    nothing informative was found. Those of the random motions that were drawn are after their
    first steps, with the price of the limits that they still break.
    """

    index: int
    z: Array  # feasible unknowns (n_z,)
    objective: float
    random_objectives: list[float]
    iterations: int  # steps of the optimiser
    tightening: Array  # (M, C), by how much the limits have to be moved inwards on the coarse grid


def improve(
    problem: DesignProblem,
    start: Start,
    *,
    seed: int,
    candidates: int,
    iterations: int,
    watch: Watch = lambda fraction, value: False,
) -> Improved:
    """Return the local optimum that a start leads to; depends on nothing but the arguments."""
    rng = np.random.default_rng([seed, start.index])
    random: list[float] = []
    if start.tightening is not None:
        problem = problem.changed(tightening=start.tightening)
    if start.z is None:
        z, random = _screened(problem, candidates, rng)
    elif start.perturbation > 0.0:
        z = starts.perturbed_unknowns(problem, start.z, start.perturbation, rng)
    else:
        z = start.z
    begin, total = z, len(random) * SCREENING
    if not np.isfinite(problem.value(z)[0]):  # so slow that Coulomb friction looks viscous
        problem = problem.refined(1)
    budgets = [iterations, *[max(iterations // 4, 2)] * (ROUNDS - 1)]
    longest = sum(budgets) * len(problem.powers)
    stopped, done = False, 0
    fine = problem.refined(REFINEMENT)
    for power in problem.powers:
        problem, fine = problem.changed(power=power), fine.changed(power=power)
        sharper = power / problem.powers[0]
        for budget in budgets:

            def step(k: int, value: float, done: int = done) -> bool:
                nonlocal stopped
                stopped = stopped or watch(min((done + k) / longest, 1.0), value)
                return stopped

            z, used = minimise(problem, z, budget, step, STALLED / sharper)
            done += used
            problem = problem.followed(z, fine)
            if stopped or fine.peaks(z).max() <= TOLERATED_EXCESS:
                break
    total += done
    given = start.z is not None and start.perturbation == 0.0
    objective, z = _best_feasible(problem, fine, z, begin, given)
    return Improved(start.index, z, objective, random, total, problem.tightening)


def _screened(
    problem: DesignProblem, candidates: int, rng: np.random.Generator
) -> tuple[Array, list[float]]:
    """Return the best of some random motions after their first steps, and the value of each."""
    ends = []
    for _ in range(candidates):
        z, _ = minimise(problem, starts.fast_unknowns(problem, rng), SCREENING)
        ends.append((merit(*problem.value(z)), z))
    return min(ends, key=lambda end: end[0])[1], [value for value, _ in ends]


def _best_feasible(
    problem: DesignProblem, fine: DesignProblem, z: Array, begin: Array, given: bool
) -> tuple[float, Array]:
    """Return criterion and unknowns of z, made feasible.

    Where that fails, and where the start was `given` and not drawn, `begin` is tried, too.
    """
    found = []
    for end in (z, begin):
        try:
            feasible = _made_feasible(problem, fine, end)
        except (FeasibilityError, KinematicsError):
            continue
        found.append((fine.value(feasible)[0], feasible))
        if np.isfinite(found[-1][0]) and not given:
            break
    return min(found, key=lambda end: end[0], default=(np.inf, begin))


def _made_feasible(problem: DesignProblem, fine: DesignProblem, z: Array) -> Array:
    """Return z moved by as little as the dense check demands."""
    near = z
    for margin in MARGINS:
        if problem.check(problem.trajectory(near)).feasible:
            return near
        near = restored(problem.followed(near, fine, margin), near, RESTORING)
    return starts.repair_dense(problem, starts.repair(fine, z))
