"""Faults, drawn requests and whole runs in turn, for long, on a graph of processes under load.

`python tests/helpers/soak.py MINUTES [SEED]` prints what memory, threads and open files of each
process were when each kind had happened once, at half of the time and at the end. Exit status 1
where they grow, or where the graph cannot identify the robot any more.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fuzzed_requests import broken_message
from laboratory import CONTROLLER, MODEL
from lifecycle_msgs.msg import Transition
from process_laboratory import ATTEMPTS, PATIENCE, ROBOT, ProcessLaboratory
from std_srvs.srv import Trigger

from pkm_bringup.studies.runs.plants import excitation_of
from pkm_dynamics.nodes.trajectory_messages import to_message
from pkm_dynamics.trajectories import Phase
from pkm_msgs.action import Excite
from pkm_msgs.srv import Identify, SetModel

ESTIMATION = 'estimation_server'
DRAWN = 20  # requests of a kind at once
MOST_SENT = 50_000_000  # characters of a request: Fast DDS ends a process that sends over 4 GB
SETTLING = 20.0  # [s]
MOST_GROWTH = 0.05  # of memory in the second half: what allocators keep changes by less


class Taken(NamedTuple):
    """What a process takes."""

    memory: float  # [MB]
    threads: int
    files: int


class Soak(ProcessLaboratory):
    """The graph, with the estimation server, and what happens to it."""

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder)
        self.random = np.random.default_rng(seed)
        self.runs = 0
        self.identified = ''  # the latest bag

    def begin(self) -> None:
        """Start all processes, and identify the robot once."""
        self._start(ESTIMATION, ESTIMATION, data_folder=str(self.folder))
        self.ready(server=True)
        self.whole_run()

    @property
    def taken(self) -> dict[str, Taken]:
        """What each process takes now."""
        found = {}
        for name, running in self.nodes_running._running.items():
            process = Path('/proc') / str(running.process.pid)
            status = (process / 'status').read_text()
            memory, threads = (
                int(re.search(rf'{key}:\s+(\d+)', status)[1]) for key in ('VmRSS', 'Threads')
            )
            found[name] = Taken(memory / 1024, threads, len(os.listdir(process / 'fd')))
        return found

    def settled(self, first: dict[str, Taken]) -> dict[str, Taken]:
        """What each process takes when it is done with what happened last, a bag to close say."""

        def is_done() -> bool:
            taken = self.taken
            return all(
                taken[name].threads <= known.threads and taken[name].files <= known.files
                for name, known in first.items()
            )

        with suppress(TimeoutError):
            self.until(is_done, SETTLING)
        return self.taken

    def drawn(self, whole: Any) -> Any:
        """A request broken by chance, as small as one that can be sent."""
        while characters(broken := broken_message(whole, self.random)) > MOST_SENT:
            pass
        return broken

    # -- what happens ---------------------------------------------------------------

    def canceled(self) -> None:
        self.ready()
        handle = self.sent(self.follow, self.goal(periods=400))
        result = handle.get_result_async()
        self.at_full_speed(result.done)
        handle.cancel_goal_async()
        self.answered(result)

    def deactivated(self) -> None:
        self.ready()
        result = self.moving()
        self.change(Transition.TRANSITION_DEACTIVATE)
        self.answered(result)

    def protective_stop(self) -> None:
        self.ready()
        result = self.moving()
        self.ask(Trigger, f'{CONTROLLER}/protective_stop', Trigger.Request())
        self.answered(result)
        reset = f'{CONTROLLER}/reset_protective_stop'
        self.until(lambda: self.ask(Trigger, reset, Trigger.Request()).success, PATIENCE)

    def controller_stands_still(self) -> None:
        self.ready()
        result = self.moving()
        self.send(self.controller, signal.SIGSTOP)
        self.pass_by(1.0)
        self.send(self.controller, signal.SIGCONT)
        self.answered(result)

    def robot_stands_still(self) -> None:
        self.ready()
        result = self.moving()
        self.send(ROBOT, signal.SIGSTOP)
        try:
            self.answered(result)
        finally:
            self.send(ROBOT, signal.SIGCONT)

    def client_is_killed(self) -> None:
        self.ready(server=True)
        self.runs += 1
        client = self.run_client(f'killed_{self.runs}')
        self.at_full_speed(lambda: client.poll() is not None)
        client.kill()
        client.communicate()
        self.until(lambda: self.phase in (Phase.HOLD, Phase.IDLE), PATIENCE)

    def drawn_goals(self) -> None:
        self.ready()
        for _ in range(DRAWN):
            handle = self.sent(self.follow, self.drawn(self.goal(periods=2)))
            if handle.accepted:
                result = handle.get_result_async()
                handle.cancel_goal_async()
                self.answered(result)

    def drawn_requests(self) -> None:
        whole = Identify.Request(data=self.identified, estimator='wls')
        for _ in range(DRAWN):
            self.ask(Identify, f'{ESTIMATION}/identify', self.drawn(whole))
            request = self.drawn(SetModel.Request())
            self.ask(SetModel, f'{CONTROLLER}/set_model', request)

    def whole_run(self) -> None:
        """Excite the robot, and identify it from the bag."""
        for _ in range(ATTEMPTS):
            self.ready(server=True)
            self.runs += 1
            bag = self.bag(f'run_{self.runs}')
            goal = Excite.Goal(
                trajectory=to_message(excitation_of(MODEL)), periods=1, ramp_time=0.5, bag=bag
            )
            handle = self.sent(self.excite, goal)
            found = self.answered(handle.get_result_async()).result
            if not found.error_code:
                break
            print(f'run {self.runs}: {found.error_msg}', flush=True)
        else:
            raise AssertionError(f'{ATTEMPTS} runs have failed')
        self.identified = bag
        request = Identify.Request(data=bag, estimator='wls')
        answer = self.ask(Identify, f'{ESTIMATION}/identify', request)
        assert answer.success, answer.error_msg


def characters(value: Any) -> int:
    """How many characters the texts of a message have."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(map(characters, value))
    kinds = getattr(value, 'get_fields_and_field_types', dict)()
    return sum(characters(getattr(value, name)) for name in kinds)


KINDS: tuple[Callable[[Soak], None], ...] = (
    Soak.canceled,
    Soak.deactivated,
    Soak.protective_stop,
    Soak.controller_stands_still,
    Soak.robot_stands_still,
    Soak.client_is_killed,
    Soak.drawn_goals,
    Soak.drawn_requests,
    Soak.whole_run,
)


@contextmanager
def load() -> Iterator[None]:
    """Keep one core busy."""
    process = subprocess.Popen([sys.executable, '-c', 'while True: pass'])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def main() -> int:
    """Let it all happen for some minutes."""
    seconds, seed = 60.0 * float(sys.argv[1]), int((sys.argv[2:] or ['0'])[0])
    folder = Path(tempfile.mkdtemp(prefix='soak_'))
    done: Counter[str] = Counter()
    with Soak(folder, seed) as soak, load():
        soak.begin()
        begun, marks = time.monotonic(), []
        while not marks or time.monotonic() < begun + seconds:
            for kind in soak.random.permutation(np.array(KINDS, dtype=object)):
                kind(soak)
                soak.nodes_running.check()
                done[kind.__name__] += 1
            marks.append((time.monotonic() - begun, soak.settled(marks[0][1] if marks else {})))
            print(f'{marks[-1][0] / 60:.1f} min: {marks[-1][1]}', flush=True)
        soak.whole_run()
    half = next(k for k, (when, _) in enumerate(marks) if when >= marks[-1][0] / 2)
    grown = False
    print(f'{marks[-1][0] / 60:.0f} min: {dict(done)}')
    for name, last in marks[-1][1].items():
        first, middle = marks[0][1][name], marks[half][1][name]
        grows = last.memory > (1 + MOST_GROWTH) * middle.memory
        grows |= last.threads > first.threads or last.files > first.files
        grown |= grows
        told = '; '.join(
            f'{each.memory:.0f} MB, {each.threads} threads, {each.files} files'
            for each in (first, middle, last)
        )
        print(f'{name}: {told}{" GROWS" if grows else ""}')
    return int(grown)


if __name__ == '__main__':
    sys.exit(main())
