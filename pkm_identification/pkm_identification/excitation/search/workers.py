"""Starts of a search in processes of their own."""

from __future__ import annotations

import hashlib
import pickle
import signal
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

from joblib.externals.loky import get_reusable_executor

from pkm_dynamics.single_thread import SINGLE_THREAD
from pkm_identification.excitation.search.design_problem import DesignProblem
from pkm_identification.excitation.search.improve import Improved, Start, improve
from pkm_identification.excitation.search.monitor import Monitor

LOOKS = 0.2  # [s] between two looks at the processes
STOP = 'stop'
_problems: dict[str, DesignProblem] = {}  # of this process, so that a robot is built once


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
                    monitor.done(futures[future].index, future.result().objective)
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
