"""Runs of a study: in one process or in several, kept one by one, continued after a stop."""

from __future__ import annotations

import json
import platform
import shutil
import signal
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, as_completed
from contextlib import contextmanager
from math import nan
from pathlib import Path
from threading import Event
from typing import Any

from joblib.externals.loky import get_reusable_executor
from threadpoolctl import threadpool_limits

from pkm_bringup.outputs import OutputError
from pkm_bringup.views.design_view import Tell
from pkm_description.errors import PkmError
from pkm_dynamics.atomic_write import write_text_atomically
from pkm_dynamics.processors import SINGLE_THREAD, cores

Case = Mapping[str, Any]

LIBRARIES = ('numpy', 'scipy', 'numba', 'mujoco', 'cvxpy', 'clarabel')  # in the origin
LONGEST_ANSWER = 10.0  # [s] of a scheduler
ORIGIN = 'origin.json'  # in the folder of the runs: options and versions


def _quiet(
    text: str, fraction: float | None = None, seconds_left: float = nan, criterion: float = nan
) -> None:
    """Show nothing."""


class SchedulerError(PkmError):
    """A scheduler cannot be reached, or has ended."""


class Runner:
    """Calls one function for many cases, as many processes share them.

    The number of `workers` (one a core by default) has no effect on the result: each computes
    with one thread, and every result passes through its text, whether computed or read. `tell`
    gets what is being done, the fraction done (None where unknown) and the time left [s] (nan
    where unknown). The first Ctrl-C sets `interrupted` where a study ends with what it has.
    With the address of a `scheduler` of dask.distributed its workers compute in place of
    processes here.
    `files` are what the study makes beside its result, by name: each writes a new file.
    """

    def __init__(
        self,
        workers: int | None = None,
        tell: Tell = _quiet,
        kept: KeptRuns | None = None,
        interrupted: Event | None = None,
        scheduler: str | None = None,
    ) -> None:
        self.workers, self.tell, self.scheduler = workers, tell, scheduler
        self.interrupted = interrupted or Event()
        self.files: dict[str, Callable[[Path], object]] = {}
        self._kept = kept

    def update(self, text: str, fraction: float | None = None) -> None:
        """Tell what is being done beside the runs."""
        self.tell(text, fraction, nan)

    def map(
        self, one: Callable[..., Any], cases: Sequence[Case], text: str = 'run', name: str = 'run'
    ) -> list[Any]:
        """Return one(**case) of all cases as plain values, in their order.

        `one` is a function of a module or a `partial` of one; what it returns is numbers, texts,
        arrays (lists in the result), lists and dictionaries with texts as keys. `text` begins
        the progress, `name` is that of the runs where they are kept. The error of the first run
        that fails is raised in its own class, with the case in its message. No process is at
        work then, nor after Ctrl-C.
        """
        found = {} if self._kept is None else self._kept.read(name, len(cases))
        left = [index for index in range(len(cases)) if index not in found]
        begin, total = time.monotonic(), len(cases)

        def tell() -> None:
            here = len(left) + len(found) - total  # done here, not read
            remaining = (total - len(found)) * (time.monotonic() - begin) / here if here else nan
            self.tell(f'{text} {len(found)} of {total} done', len(found) / total, remaining)

        def done(index: int, content: str) -> None:
            if self._kept is not None:
                self._kept.write(name, index, content)
            found[index] = json.loads(content)
            tell()

        tell()
        processes = min(self.workers or cores(), len(left))
        if self.scheduler and left:
            with _workers_of(self.scheduler) as executor:
                _share_out(executor, one, cases, left, done)
        elif processes > 1:
            with _processes(processes) as executor:
                _share_out(executor, one, cases, left, done)
        else:
            for index in left:
                done(index, _call(one, cases[index]))
        return [found[index] for index in range(total)]

    def map_seeds(
        self,
        one: Callable[..., Any],
        options: Namespace,
        text: str = 'run',
        name: str = 'run',
        **case: Any,
    ) -> list[Any]:
        """`map` over the seeds of --seed and --runs, with what else a case has."""
        seeds = range(options.seed, options.seed + options.runs)
        return self.map(one, [{**case, 'seed': seed} for seed in seeds], text, name)


class KeptRuns:
    """The runs of a study with some options, kept beside its result until that is written."""

    def __init__(self, output: Path, origin: Mapping[str, Any]) -> None:
        self.folder = output.with_name(f'{output.name}.runs')
        self._origin = json.dumps(origin, indent=2, sort_keys=True)
        there = self.folder / ORIGIN
        if there.is_file() and there.read_text(encoding='utf-8') != self._origin:
            raise OutputError(
                f"'{self.folder}' holds runs with other options or versions ({ORIGIN}): "
                'remove it, or name another output'
            )

    def read(self, name: str, count: int) -> dict[int, Any]:
        """Return what is there of `count` runs."""
        return {
            index: json.loads(file.read_text(encoding='utf-8'))
            for index in range(count)
            if (file := self._file(name, index)).is_file()
        }

    def write(self, name: str, index: int, content: str) -> None:
        """Keep one run."""
        files = {self.folder / ORIGIN: self._origin, self._file(name, index): content}
        for path, text in files.items():
            if not path.is_file():
                write_text_atomically(path, text, OutputError)

    def remove(self) -> None:
        """Remove the folder: the result is written."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _file(self, name: str, index: int) -> Path:
        return self.folder / f'{name}_{index:04}.json'


def origin_of(study: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return study, options and versions that made a result; `git`: the commit of the checkout."""
    from pkm_identification.recording.metadata import git_revision, package_versions
    from pkm_identification.result.provenance import installed

    software = {'python': platform.python_version(), **package_versions(), **installed(LIBRARIES)}
    software['git'] = git_revision(Path(__file__).parent)
    return {'study': study, 'options': options, 'versions': software}


def _share_out(
    executor: Executor,
    one: Callable[..., Any],
    cases: Sequence[Case],
    left: Sequence[int],
    done: Callable[[int, str], None],
) -> None:
    futures = {executor.submit(_call, one, cases[index]): index for index in left}
    for future in as_completed(list(futures)):
        done(futures.pop(future), future.result())  # popped: thousands of texts would stay


@contextmanager
def _processes(count: int) -> Iterator[Executor]:
    """Processes of this machine; none is at work after an error."""
    executor = get_reusable_executor(
        max_workers=count, env=SINGLE_THREAD, initializer=_leave_interrupts
    )
    try:
        yield executor
    except BaseException:  # of a run, or Ctrl-C: nobody waits for the others
        executor.shutdown(wait=True, kill_workers=True)
        raise


@contextmanager
def _workers_of(scheduler: str) -> Iterator[Executor]:
    """Workers of a scheduler of dask.distributed; what is not computed is cancelled at an error."""
    try:
        from distributed import Client
        from distributed.comm import CommClosedError
    except ModuleNotFoundError:
        raise SchedulerError(
            f"the scheduler '{scheduler}' needs the package distributed: pip install distributed"
        ) from None
    try:
        client = Client(scheduler, timeout=LONGEST_ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:
        raise SchedulerError(f"no scheduler at '{scheduler}': {error}") from error
    try:
        # pure: two runs of the same arguments are one result
        executor: Executor = client.get_executor(pure=False)
        yield executor
    except (CancelledError, CommClosedError) as error:
        raise SchedulerError(
            f"the scheduler at '{scheduler}' has ended: start the same again, and it goes on"
        ) from error
    finally:
        client.close()


def _leave_interrupts() -> None:
    """Ctrl-C at a terminal reaches all processes; who started the runs decides about it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _call(one: Callable[..., Any], case: Case) -> str:
    """One run as text: floating-point numbers in full, also infinite ones."""
    try:
        with threadpool_limits(1):  # sums in another order are other sums
            return json.dumps(one(**case), default=lambda array: array.tolist())
    except PkmError as error:
        named = ', '.join(f'{name} {value}' for name, value in case.items())
        raise type(error)(f'run with {named}: {error}') from error
