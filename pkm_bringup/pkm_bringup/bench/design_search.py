"""How soon a good excitation is found: the search, random motions, and SciPy's SLSQP."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from pkm_bringup.bench.frame import Bench
from pkm_identification.arrays import Array, Indices
from pkm_identification.excitation.design import build_design_problem
from pkm_identification.excitation.search.constraints import DesignLimits
from pkm_identification.excitation.search.design_problem import DesignProblem
from pkm_identification.excitation.search.improve import REFINEMENT
from pkm_identification.excitation.search.multi_start import solve_design_problem
from pkm_identification.excitation.search.sequential_convex import Linearisation, minimise
from pkm_identification.excitation.search.starts import (
    random_start,
    random_unknowns,
    repair,
    repair_dense,
)

HARMONICS = 5
STARTS = 100_000  # more than fit into the time
RANDOM_MOTIONS = 60
STEPS = 100  # of one start
PATIENCE = 30.0  # times as long as our method takes from the same start, for SLSQP
FEASIBLE = 0.01  # constraint value up to which a trajectory under way counts as feasible


class Traced:
    """A problem that notes (CPU time, criterion, worst constraint) of what it evaluates."""

    def __init__(self, problem: DesignProblem) -> None:
        self.problem = problem
        self.begin = time.process_time()
        self.notes: list[tuple[float, float, float]] = []

    def value(self, z: Array) -> tuple[float, float]:
        """Criterion and worst constraint."""
        value, worst = self.problem.value(z)
        self.notes.append((time.process_time() - self.begin, value, worst))
        return value, worst

    def linearise(self, z: Array) -> Linearisation:
        """First-order model."""
        return self.problem.linearise(z)

    def constraints_of(self, z: Array, labels: Indices) -> Array:
        """Values of some constraints."""
        return self.problem.constraints_of(z, labels)

    def reached(self, wanted: float) -> float:
        """CPU time [s] until a feasible motion was as good as wanted; infinite if never."""
        times = [t for t, value, worst in self.notes if worst <= FEASIBLE and value <= wanted]
        return min(times, default=np.inf)

    def best(self) -> float:
        """Best criterion of a feasible motion."""
        return min((v for _, v, worst in self.notes if worst <= FEASIBLE), default=np.inf)


def measure(bench: Bench) -> dict[str, Any]:
    """Measure d-optimal designs of `HARMONICS` harmonics with a free period.

    `search` and, where it was asked for, `reference`: time [s], criterion -ln det F, starts,
    period [s]; `above_reference`: by how much the search's criterion is larger, as a fraction of
    the reference's magnitude; `random`: best and median of feasible random motions; `same_start`:
    criterion and CPU time [s] of ours and SLSQP from one start, `slsqp_reaches_ours`: whether it
    finds as good a motion at all, `ratio` of the times until then or until it was given up.
    """
    model = bench.model
    base = model.base_parameters(shared=True, reduced=True)
    problem = build_design_problem(
        model, base, {'d_optimal': 1.0}, HARMONICS, None, DesignLimits(), measuring_time=1.0
    )
    result: dict[str, Any] = {
        'unknowns': problem.size,
        'parameters': base.rank,
        'random': _random(problem, bench),
        'search': _search(problem, 'search', 0, bench.search_time, bench),
        'same_start': _same_start(problem, bench),
    }
    if bench.reference_time is not None:
        reference = _search(problem, 'reference search', 1, bench.reference_time, bench)
        difference = result['search']['criterion'] - reference['criterion']
        result['reference'] = reference
        result['above_reference'] = difference / abs(reference['criterion'])
    return result


def _random(problem: DesignProblem, bench: Bench) -> dict[str, float]:
    fine = problem.refined(REFINEMENT)
    rng = np.random.default_rng(0)
    bench.update('random motions', None)
    values = []
    for _ in range(RANDOM_MOTIONS):
        z = repair_dense(problem, repair(problem, random_unknowns(problem, rng)))
        values.append(fine.value(z)[0])
    return {'best': min(values), 'median': float(np.median(values))}


def _search(
    problem: DesignProblem, what: str, seed: int, seconds: float, bench: Bench
) -> dict[str, float]:
    begin = time.monotonic()

    def late() -> bool:
        elapsed = time.monotonic() - begin
        bench.update(what, elapsed / seconds)
        return elapsed > seconds

    solution = solve_design_problem(problem, starts=STARTS, seed=seed, cancel=late)
    return {
        'duration': time.monotonic() - begin,
        'criterion': solution.objective,
        'starts': len(solution.start_objectives),
        'period': solution.trajectory.period,
    }


def _same_start(problem: DesignProblem, bench: Bench) -> dict[str, Any]:
    z, _ = random_start(problem, 5, np.random.default_rng(1))
    bench.update('one start', None)
    with threadpool_limits(1):
        ours = Traced(problem)
        minimise(ours, z, STEPS)
        spent = time.process_time() - ours.begin
        theirs = Traced(problem)
        limit = PATIENCE * spent

        def criterion(x: Array) -> float:
            value, _ = theirs.value(x)
            elapsed = time.process_time() - theirs.begin
            bench.update('SLSQP with finite differences', elapsed / limit)
            if elapsed > limit or theirs.best() <= ours.best():
                raise _Enough
            return value if np.isfinite(value) else 1e3

        try:
            limits = {'type': 'ineq', 'fun': lambda x: -problem.constraints(x)}
            options = {'maxiter': 10_000, 'ftol': 1e-9}
            minimize(criterion, z, method='SLSQP', options=options, constraints=limits)
        except _Enough:
            pass
    wanted = ours.best()
    reaches = bool(theirs.best() <= wanted)
    after = theirs.reached(wanted) if reaches else theirs.notes[-1][0]
    return {
        'ours': {'criterion': wanted, 'cpu_time': ours.reached(wanted)},
        'slsqp': {'criterion': theirs.best(), 'cpu_time': after},
        'slsqp_reaches_ours': reaches,
        'ratio': after / ours.reached(wanted),
    }


class _Enough(Exception):
    """Ends an optimiser that has no other way to be stopped."""
