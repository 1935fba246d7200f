"""Kill workers, scheduler and client of a study at random moments: the result stays the same.

    python tests/helpers/study_kills.py KILLS SEED [OPTION ...]   of `pkm study estimators`

Needs dask.distributed. The study is run once undisturbed, in processes here, then with a
scheduler and two workers of which one part after the other is killed and started again.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

STUDY = ('study', 'estimators')
FEW = ('--runs', '8', '--periods', '3', '--scale', '1', '200')
WORKERS = 2
PARTS = ('worker', 'scheduler', 'client')
LONGEST = 600.0  # [s] of the whole study
KILL_WITHIN = 1.0  # [s] after a run was kept


def pkm(*options: str) -> list[str]:
    """Return the command."""
    return [sys.executable, '-m', 'pkm_bringup.cli', *STUDY, *options]


def free_port() -> int:
    """Return a port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return int(probe.getsockname()[1])


class Parts:
    """Scheduler, workers and client, each a process group of its own."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self.command, self.log = command, log.open('ab')
        self.port = free_port()
        self.address = f'tcp://127.0.0.1:{self.port}'
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Start what is not running."""
        dask = [sys.executable, '-m', 'dask']
        here = ('--host', '127.0.0.1', '--no-dashboard')
        wanted = {'scheduler': [*dask, 'scheduler', '--port', str(self.port), *here]}
        for number in range(WORKERS):
            threads = ('--nthreads', '1', '--nworkers', '1', '--no-dashboard')
            wanted[f'worker{number}'] = [*dask, 'worker', self.address, *threads]
        wanted['client'] = [*self.command, '--scheduler', self.address]
        for name, command in wanted.items():
            if name in self.running and self.running[name].poll() is None:
                continue
            if name == 'client':
                self._wait_for_scheduler()
            self.running[name] = subprocess.Popen(
                command, stdout=self.log, stderr=self.log, start_new_session=True
            )

    def _wait_for_scheduler(self) -> None:
        end = time.monotonic() + 30.0
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(('127.0.0.1', self.port)) == 0:
                    return
            time.sleep(0.1)

    def kill(self, part: str, random_worker: int) -> None:
        """Kill a part at once, with all its processes."""
        name = f'worker{random_worker}' if part == 'worker' else part
        process = self.running[name]
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def end(self) -> None:
        """Kill all."""
        for process in self.running.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def result_of(path: Path) -> object:
    """Return the result without what made it."""
    content = json.loads(path.read_text(encoding='utf-8'))
    del content['origin']
    return content


def kept(output: Path) -> int:
    """Return the number of runs that a study has kept."""
    return len(list(output.with_name(f'{output.name}.runs').glob('*_[0-9][0-9][0-9][0-9].json')))


def main(kills: int, seed: int, options: Sequence[str]) -> int:
    """Run both; return 0 where the results are equal and each kill met a study under way."""
    drawn = random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix='study_kills_'))
    whole, killed, log = folder / 'whole.json', folder / 'killed.json', folder / 'log'
    subprocess.run(pkm(*options, '--output', str(whole)), check=True, stdout=subprocess.DEVNULL)
    parts = Parts(pkm(*options, '--output', str(killed)), log)
    met, before, begin = list[str](), 0, time.monotonic()
    try:
        while not killed.exists():
            if time.monotonic() > begin + LONGEST:
                print(f'no result after {LONGEST:g} s; see {log}')
                return 1
            parts.start()
            if len(met) < kills:
                there = kept(killed)
                if there > before:
                    time.sleep(drawn.uniform(0.0, KILL_WITHIN))
                    part, before = PARTS[len(met) % len(PARTS)], there
                    parts.kill(part, drawn.randrange(WORKERS))
                    met.append(f'{part} after {there} runs')
            time.sleep(0.05)
    finally:
        parts.end()
    is_same = result_of(whole) == result_of(killed)
    print(f'killed: {"; ".join(met)}\nsame result: {is_same}, {time.monotonic() - begin:.0f} s')
    return 0 if is_same and len(met) == kills else 1


if __name__ == '__main__':
    count, seed, *given = sys.argv[1:] or ('5', '0')
    sys.exit(main(int(count), int(seed), given or FEW))
