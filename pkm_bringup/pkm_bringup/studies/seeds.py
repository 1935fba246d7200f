"""Runs of one experiment that differ by their seed, in one process or in several."""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from functools import partial
from typing import Any, TypeVar

from joblib.externals.loky import get_reusable_executor
from threadpoolctl import threadpool_limits

from pkm_description.errors import PkmError

Argument = TypeVar('Argument')
Found = TypeVar('Found')
Update = Callable[[str, float | None], None]

SINGLE_THREAD = {
    name: '1' for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS')
}
_experiments: dict[str, Callable[[Any], Any]] = {}  # of this process: a robot is built once


def over_seeds(
    one: Callable[[int], Found],
    runs: int,
    seed: int = 0,
    workers: int | None = None,
    update: Update = lambda text, fraction: None,
    title: str = '',
) -> list[Found]:
    """Return one(seed), one(seed + 1), ..., in this order.

    Parameters
    ----------
    one
        The experiment; a function of a module or a `partial` of one.
    runs, seed
        How many, and the first.
    workers
        Processes, one a core by default; no effect on the result.
    update
        Gets how many are done.
    title
        What the progress begins with.

    Raises
    ------
    PkmError
        Of a run, in its own class; the message names the seed.
    """
    return in_processes(
        partial(_named, one), range(seed, seed + runs), workers, update, f'{title}run'
    )


def in_processes(
    one: Callable[[Argument], Found],
    arguments: Sequence[Argument],
    workers: int | None = None,
    update: Update = lambda text, fraction: None,
    text: str = 'part',
) -> list[Found]:
    """Return one(argument) of all arguments, in their order.

    Ends with the first error, and with Ctrl-C, and leaves no process at work then. The
    result does not depend on the number of processes: each computes with one thread.
    """
    total = len(arguments)

    def told(done: int) -> None:
        update(f'{text} {done} of {total} done', done / total)

    told(0)
    processes = min(workers or cores(), total)
    if processes > 1:
        return _parallel(one, arguments, processes, told)
    found = []
    with threadpool_limits(1):  # sums in another order are other sums
        for argument in arguments:
            found.append(one(argument))
            told(len(found))
    return found


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _parallel(
    one: Callable[[Any], Any], arguments: Sequence[Any], processes: int, told: Callable[[int], None]
) -> list[Any]:
    content = pickle.dumps(one)
    digest = hashlib.sha256(content).hexdigest()
    executor = get_reusable_executor(
        max_workers=processes, env=SINGLE_THREAD, initializer=_leave_interrupts
    )
    futures = [executor.submit(_call, content, digest, argument) for argument in arguments]
    try:
        for done, future in enumerate(as_completed(futures), 1):
            future.result()
            told(done)
    except BaseException:  # of a run, or Ctrl-C: nobody waits for the others
        executor.shutdown(wait=True, kill_workers=True)
        raise
    return [future.result() for future in futures]


def _leave_interrupts() -> None:
    """Ctrl-C at a terminal reaches all processes; who started the runs decides about it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _call(content: bytes, digest: str, argument: Any) -> Any:
    if digest not in _experiments:
        _experiments.clear()
        _experiments[digest] = pickle.loads(content)
    return _experiments[digest](argument)


def _named(one: Callable[[int], Found], seed: int) -> Found:
    try:
        return one(seed)
    except PkmError as error:
        raise type(error)(f'run with seed {seed}: {error}') from error
