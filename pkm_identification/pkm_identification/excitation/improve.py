"""Improvement of one start: optimise, look between the samples, tighten, repair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import FeasibilityError
from pkm_identification.excitation.problem import DesignProblem
from pkm_identification.excitation.sequential_convex import minimise
from pkm_identification.excitation.starts import (
    perturbed_unknowns,
    random_start,
    repair,
    repair_dense,
)

Array = NDArray[np.float64]
Watch = Callable[[float, float], bool]  # fraction and criterion; true: stop

REFINEMENT = 8
TOLERATED_EXCESS = 2e-3
ROUNDS = 3


@dataclass(frozen=True)
class Start:
    """Where an improvement begins.

    Attributes
    ----------
    index : int
        Its number; with the seed it decides what is drawn.
    z : (n_z,), optional
        Unknowns; a random feasible motion without.
    perturbation : float
        Relative size by which z is moved at random.
    """

    index: int
    z: Array | None = None
    perturbation: float = 0.0


@dataclass(frozen=True)
class Improved:
    """What became of a start.

    Attributes
    ----------
    index : int
    z : (n_z,)
        Feasible unknowns.
    objective : float
        Criterion of the robot as described, on a fine grid; infinite where nothing
        informative was found.
    random_objectives : list of float
        Criterion of the random motions that were drawn, on the coarse grid.
    iterations : int
    """

    index: int
    z: Array
    objective: float
    random_objectives: list[float]
    iterations: int


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
    if start.z is None:
        z, random = random_start(problem, candidates, rng)
    elif start.perturbation > 0.0:
        z = repair(problem, perturbed_unknowns(problem, start.z, start.perturbation, rng))
    else:
        z = start.z
    begin, total = z, 0
    if not np.isfinite(problem.value(z)[0]):  # so slow that Coulomb friction looks viscous
        problem = problem.unsmoothed()
    budgets = [iterations, *[max(iterations // 5, 2)] * (ROUNDS - 1)]
    stopped = False
    fine = problem.refined(REFINEMENT)
    for budget in budgets:
        done = total

        def step(k: int, value: float, done: int = done) -> bool:
            nonlocal stopped
            stopped = stopped or watch(min((done + k) / sum(budgets), 1.0), value)
            return stopped

        z, used = minimise(problem, z, budget, step)
        total += used
        excess = fine.constraints(z)
        if stopped or excess.max() <= TOLERATED_EXCESS:
            break
        problem = problem.tightened(problem.tightening + np.maximum(1.1 * excess, 0.0))
    ends = []
    for end in (z, begin):
        try:
            feasible = repair_dense(problem, end)
        except FeasibilityError:
            continue
        ends.append((fine.value(feasible)[0], feasible))
        if end is z and np.isfinite(ends[0][0]) and start.z is None:
            break
    if not ends:
        return Improved(start.index, begin, np.inf, random, total)
    objective, chosen = min(ends, key=lambda end: end[0])
    return Improved(start.index, chosen, objective, random, total)
