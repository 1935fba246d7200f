"""Runs in one process and in several: the same results, errors that name the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest

from pkm_bringup.studies.seeds import in_processes, over_seeds
from pkm_description.errors import SimulationError


def estimate(size: int, seed: int) -> np.ndarray:
    """Sums long enough that their order depends on the number of threads."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(20 * size, size))
    return np.linalg.solve(rows.T @ rows, rows.T @ random.normal(size=20 * size))


def fail_at(bad: int, seed: int) -> int:
    if seed == bad:
        raise SimulationError('fell over')
    return seed


@pytest.mark.parametrize('workers', [1, 2])
def test_in_the_order_of_the_seeds_and_told(workers):
    told = []
    found = over_seeds(
        partial(estimate, 100), 3, 5, workers, lambda *state: told.append(state), 'ls: '
    )
    for k, each in enumerate(found):
        np.testing.assert_array_equal(each, over_seeds(partial(estimate, 100), 1, 5 + k, 1)[0])
    assert told == [(f'ls: run {k} of 3 done', k / 3) for k in (0, 1, 2, 3)]


@pytest.mark.parametrize('workers', [1, 2])
def test_the_first_failure_names_its_seed_and_ends_all(workers):
    with pytest.raises(SimulationError, match='^run with seed 8: fell over$'):
        over_seeds(partial(fail_at, 8), 4, 7, workers)
    assert in_processes(partial(fail_at, -1), [3, 1, 2], workers) == [3, 1, 2]


SLEEPER = """
import os, time
from pathlib import Path

def sleep(folder, seed):
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(60.0)
"""
COMMAND = """
import signal
from functools import partial
from pkm_bringup.studies.seeds import over_seeds
from sleeper import sleep

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in jobs of the background
try:
    over_seeds(partial(sleep, 'processes'), 4, 0, 2)
except KeyboardInterrupt:
    raise SystemExit(130)
"""


def test_an_interrupt_ends_all_processes(tmp_path):
    processes = tmp_path / 'processes'
    processes.mkdir()
    (tmp_path / 'sleeper.py').write_text(SLEEPER)
    parent = subprocess.Popen(
        [sys.executable, '-c', COMMAND],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    while len(list(processes.iterdir())) < 2:
        assert parent.poll() is None
        time.sleep(0.01)
    os.killpg(parent.pid, signal.SIGINT)  # as a terminal does
    _, shown = parent.communicate(timeout=20.0)
    assert parent.returncode == 130 and shown == b''
    for path in processes.iterdir():
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.name), 0)
