"""Multi-start search for a feasible Fourier trajectory, in parallel processes.

First random starts, then starts around the best of them, in rounds of fixed size; a long
search begins anew when such a line has come to its end. What a start is depends on the
results of the rounds before and on the seed, not on how many processes share the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from pkm_description.errors import FeasibilityError
from pkm_dynamics.processors import cores
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification.arrays import Array
from pkm_identification.excitation.search.design_problem import DesignProblem
from pkm_identification.excitation.search.improve import Improved, Start, improve
from pkm_identification.excitation.search.starts import repair
from pkm_identification.excitation.search.workers import (
    Cancel,
    Found,
    Monitor,
    Progress,
    improve_in_processes,
)

__all__ = ['DesignSolution', 'solve_design_problem']


RANDOM_SHARE = 0.3  # of the starts; the others begin near the best that were found
MOST_RANDOM = 8  # of a line: more find no better region
ROUND = 4  # starts at once, after the random ones
BEST = 2  # results that a round begins near
PERTURBATIONS = (0.35, 0.2, 0.1)  # relative sizes, in turn
LINE = 48  # starts after which the search begins anew


@dataclass(frozen=True)
class DesignSolution:
    """A feasible trajectory and how it was found."""

    z: Array  # unknowns (n_z,)
    trajectory: FourierTrajectory
    objective: float  # criterion of the robot as described, on the fine grid
    start_objectives: list[float]  # of each start after its optimisation and repair
    random_objectives: list[float]  # of every random candidate, with smoothed friction
    iterations: int  # in total
    cancelled: bool  # ended before its time


def solve_design_problem(
    problem: DesignProblem,
    *,
    starts: int = 8,
    candidates: int = 2,
    iterations: int = 60,
    seed: int = 0,
    initial: FourierTrajectory | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    found: Found | None = None,
) -> DesignSolution:
    """Return the best feasible trajectory of a multi-start search.

    Options as of `design_excitation`; each of the `starts`, beside `initial`, is the best of
    `candidates` random motions or begins near the best that was found.
    """
    options = {'seed': seed, 'candidates': candidates, 'iterations': iterations}
    count = starts + (initial is not None)

    def ended(result: Improved) -> None:
        if found is not None and np.isfinite(result.objective):
            found(problem.trajectory(result.z), result.objective)

    monitor = Monitor(count, progress, cancel, ended)
    rng = np.random.default_rng([seed, 2**31])
    amplitudes = rng.standard_normal(problem.shape) * problem.scale[:, None]
    reference = repair(problem, problem.joined(amplitudes, problem.task.period))
    problem = problem.regularised(reference)
    results: list[Improved] = []
    for batch in _rounds(problem, starts, initial, results):
        monitor.begin([start.index for start in batch])
        results += _run(problem, batch, options, workers, monitor)
        results.sort(key=lambda result: result.index)
        if monitor.cancelled:
            break
    feasible = [result for result in results if np.isfinite(result.objective)]
    if not feasible:
        raise FeasibilityError(
            'the design was cancelled before a feasible motion was found'
            if monitor.cancelled
            else f'no feasible motion with {problem.harmonics} harmonics was found from '
            f'{len(results)} starts; more starts, harmonics or a longer period may help'
        )
    best = min(feasible, key=lambda result: result.objective)
    return DesignSolution(
        best.z,
        problem.trajectory(best.z),
        best.objective,
        [result.objective for result in results],
        [value for result in results for value in result.random_objectives],
        sum(result.iterations for result in results),
        monitor.cancelled,
    )


def _rounds(
    problem: DesignProblem, starts: int, initial: FourierTrajectory | None, results: list[Improved]
) -> Iterator[list[Start]]:
    """Yield the starts of each round; `results` grows between them."""
    indices = range(starts)
    for begin in range(0, starts, LINE):
        line = indices[begin : begin + LINE]
        first = min(max(int(np.ceil(RANDOM_SHARE * len(line))), 2), MOST_RANDOM, len(line))
        batch = [Start(index) for index in line[:first]]
        if begin == 0 and initial is not None:
            batch.append(Start(starts, problem.unknowns(initial)))
        yield batch
        for index in range(first, len(line), ROUND):
            found = [result for result in results if result.index >= begin]
            best = sorted(found, key=lambda result: result.objective)[:BEST]
            yield [_near(best[k % len(best)], k) for k in line[index : index + ROUND]]
    if starts == 0 and initial is not None:
        yield [Start(starts, problem.unknowns(initial))]


def _near(result: Improved, index: int) -> Start:
    size = PERTURBATIONS[index // BEST % len(PERTURBATIONS)]
    return Start(index, result.z, size, result.tightening)


def _run(
    problem: DesignProblem,
    batch: list[Start],
    options: dict[str, int],
    workers: int | None,
    monitor: Monitor,
) -> Iterable[Improved]:
    """Improve some starts, here or in processes."""
    processes = min(workers or cores(), len(batch))
    if processes > 1:
        return improve_in_processes(problem, batch, options, processes, monitor)
    found = []
    with threadpool_limits(1):  # sums in another order are other sums
        for start in batch:
            found.append(improve(problem, start, watch=monitor.watch(start.index), **options))
            monitor.done(found[-1])
            if monitor.cancelled:
                break
    return found
