"""Starts of a search in processes of their own; progress, time left and cancelling."""

from __future__ import annotations

import hashlib
import pickle
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

import numpy as np
from joblib.externals.loky import get_reusable_executor

from pkm_dynamics.processors import SINGLE_THREAD
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification.excitation.search.design_problem import DesignProblem
from pkm_identification.excitation.search.improve import Improved, Start, improve

# What is done, fraction, seconds left (nan: unknown), least criterion (nan: none yet).
Progress = Callable[[str, float, float, float], None]
Found = Callable[[FourierTrajectory, float], None]  # a motion that keeps the limits, criterion
Cancel = Callable[[], bool] | threading.Event

TELLING = 0.02  # fraction from which the time left can be told
SEARCH = 0.95  # share of the search; the rest is the check of the result
LOOKS = 0.2  # [s] between two looks at the processes
STOP = 'stop'
_problems: dict[str, DesignProblem] = {}  # of this process, so that a robot is built once


class Monitor:
    """Collects how far all starts are and tells it; knows whether to stop.

    `progress` gets how many starts have ended, the fraction done, the seconds left and the least
    criterion so far; `ended` gets what became of each start.
    """

    def __init__(
        self,
        count: int,
        progress: Progress | None,
        cancel: Cancel | None,
        ended: Callable[[Improved], None] = lambda result: None,
    ) -> None:
        self._count, self._progress, self._cancel, self._ended = count, progress, cancel, ended
        self._fractions: dict[int, float] = {}
        self._best = np.inf
        self._begin = time.monotonic()
        self.cancelled = False

    def begin(self, indices: Sequence[int]) -> None:
        """Note which starts come next."""
        self._fractions.update(dict.fromkeys(indices, 0.0))
        self._tell(np.inf)

    def watch(self, index: int) -> Callable[[float, float], bool]:
        """Return what one start calls with its fraction and criterion; true: stop."""
        return lambda fraction, value: self.update({index: (fraction, value)})

    def update(self, states: Mapping[int, tuple[float, float]]) -> bool:
        """Take fractions and criteria of running starts; return whether to stop."""
        for index, (fraction, _) in states.items():
            self._fractions[index] = max(self._fractions.get(index, 0.0), fraction)
        self._tell(min((value for _, value in states.values()), default=np.inf))
        if self._cancel is not None and not self.cancelled:
            asked = self._cancel.is_set if isinstance(self._cancel, threading.Event) else None
            self.cancelled = bool(asked() if asked else self._cancel())  # type: ignore[operator]
        return self.cancelled

    def done(self, result: Improved) -> None:
        """Note that a start has ended."""
        self._best = min(self._best, result.objective)
        self._ended(result)
        self.update({result.index: (1.0, result.objective)})

    def _tell(self, value: float) -> None:
        if self._progress is None:
            return
        fraction = sum(self._fractions.values()) / max(self._count, 1)
        elapsed = time.monotonic() - self._begin
        left = elapsed * (1.0 - fraction) / fraction if fraction > TELLING else float('nan')
        ended = sum(f >= 1.0 for f in self._fractions.values())
        shown = min(value, self._best)
        criterion = float(shown) if np.isfinite(shown) else float('nan')
        self._progress(f'{ended} of {self._count} starts', SEARCH * fraction, left, criterion)


def improve_in_processes(
    problem: DesignProblem,
    starts: Sequence[Start],
    options: dict[str, int],
    processes: int,
    monitor: Monitor,
) -> list[Improved]:
    """Improve starts in parallel; the results in the order of the starts.

    The processes are kept for the next call, but ended where an error of the caller's
    functions ends this one. They tell how far they are, and hear that they shall stop,
    through files of a temporary folder.
    """
    content = pickle.dumps(problem)
    digest = hashlib.sha256(content).hexdigest()
    executor = get_reusable_executor(
        max_workers=processes, env=SINGLE_THREAD, initializer=_leave_interrupts
    )
    with tempfile.TemporaryDirectory(prefix='pkm_design_') as name:
        folder = Path(name)
        futures: dict[Future[Improved], Start] = {
            executor.submit(_improve, content, digest, start, options, name): start
            for start in starts
        }
        left = set(futures)
        try:
            while left:
                ended, left = wait(left, timeout=LOOKS, return_when=FIRST_COMPLETED)
                for future in ended:
                    monitor.done(future.result())
                if monitor.update(_states(folder, [futures[future] for future in left])):
                    (folder / STOP).touch()
        except BaseException:  # of the caller's progress and cancel, Ctrl-C: nobody waits
            executor.shutdown(wait=True, kill_workers=True)
            raise
        results = [future.result() for future in futures]
    return sorted(results, key=lambda result: result.index)


def _leave_interrupts() -> None:
    """Ctrl-C at a terminal reaches all processes; who called the search decides about it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _states(folder: Path, starts: Sequence[Start]) -> dict[int, tuple[float, float]]:
    states = {}
    for start in starts:
        try:
            fraction, value = (folder / str(start.index)).read_text().split()
        except (OSError, ValueError):
            continue
        states[start.index] = float(fraction), float(value)
    return states


def _improve(
    content: bytes, digest: str, start: Start, options: dict[str, Any], folder: str
) -> Improved:
    if digest not in _problems:
        _problems.clear()
        _problems[digest] = pickle.loads(content)
    told = 0.0

    def watch(fraction: float, value: float) -> bool:
        nonlocal told
        if time.monotonic() - told > LOOKS:
            told = time.monotonic()
            (Path(folder) / str(start.index)).write_text(f'{fraction} {value}')
        return (Path(folder) / STOP).exists()

    return improve(_problems[digest], start, watch=watch, **options)
