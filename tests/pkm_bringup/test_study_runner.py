"""Runs of a study: the same in any number of processes, kept, and continued after a stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pkm_bringup import cli
from pkm_bringup.outputs import OutputError
from pkm_bringup.runner import KeptRuns, Runner, SchedulerError
from pkm_description.errors import SimulationError


def estimate(size: int, seed: int) -> np.ndarray:
    """Sums long enough that their order depends on the number of threads."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(20 * size, size))
    return np.linalg.solve(rows.T @ rows, rows.T @ random.normal(size=20 * size))


def stop_at(bad: int, folder: str, seed: int) -> dict:
    """Note that the run was called; fail at one seed."""
    (Path(folder) / f'{seed}_{len(list(Path(folder).iterdir()))}').touch()
    if seed == bad:
        raise SimulationError('fell over')
    return {'seed': seed, 'values': np.array([0.1 * seed, np.inf]), 'found': np.bool_(True)}


def shortened(monkeypatch):
    """A study of two cases that take no time."""
    from pkm_bringup.studies import uf_pkm_study

    monkeypatch.setattr(uf_pkm_study, 'SAMPLES', 50)
    monkeypatch.setattr(uf_pkm_study, 'TABLES', (('4.4', ('xy',), {}),))
    monkeypatch.setattr(uf_pkm_study, 'NOISY_TABLES', (('4.14', {}),))
    monkeypatch.setattr(uf_pkm_study, 'LEVELS', uf_pkm_study.LEVELS[:1])
    return uf_pkm_study


def seeds(*numbers: int) -> list[dict]:
    return [{'seed': number} for number in numbers]


@pytest.mark.parametrize('workers', [1, 2])
def test_in_the_order_of_the_cases_and_told(workers):
    told = []
    runner = Runner(workers, lambda *state: told.append(state))
    found = runner.map(partial(estimate, 100), seeds(5, 6, 7), 'ls: run')
    for k, each in enumerate(found):
        assert each == Runner(1).map(partial(estimate, 100), seeds(5 + k))[0]
    assert [state[:2] for state in told] == [(f'ls: run {k} of 3 done', k / 3) for k in range(4)]
    left = [state[2] for state in told]
    assert np.isnan(left[0]) and left[1] > 0 and left[2] > 0 and left[3] == 0


@pytest.mark.parametrize('workers', [1, 2])
def test_the_first_failure_names_its_case_and_ends_all(workers, tmp_path):
    with pytest.raises(SimulationError, match='^run with seed 8: fell over$'):
        Runner(workers).map(partial(stop_at, 8, str(tmp_path)), seeds(8))


@pytest.mark.parametrize('workers', [1, 2])
def test_a_stopped_study_continues_with_the_runs_that_are_there(workers, tmp_path):
    calls, output, origin = tmp_path / 'calls', tmp_path / 'study.json', {'options': {'runs': 5}}
    calls.mkdir()
    with pytest.raises(SimulationError):
        Runner(1, kept=KeptRuns(output, origin)).map(
            partial(stop_at, 3, str(calls)), seeds(0, 1, 2, 3, 4)
        )
    kept = KeptRuns(output, origin)
    told = []
    runner = Runner(workers, lambda *state: told.append(state), kept)
    found = runner.map(partial(stop_at, -1, str(calls)), seeds(0, 1, 2, 3, 4))
    assert found == Runner(1).map(partial(stop_at, -1, str(calls)), seeds(0, 1, 2, 3, 4))
    assert found[1] == {'seed': 1, 'values': [0.1, np.inf], 'found': True}
    assert told[0][:2] == ('run 3 of 5 done', 0.6) and told[-1][1] == 1.0
    called = [int(path.name.split('_')[0]) for path in calls.iterdir()]
    assert [called.count(seed) for seed in range(5)] == [2, 2, 2, 3, 2]  # with the comparison
    kept.remove()
    assert list(tmp_path.iterdir()) == [calls]


def test_runs_with_other_options_are_not_continued(tmp_path):
    output = tmp_path / 'study.json'
    KeptRuns(output, {'seed': 0})
    KeptRuns(output, {'seed': 1}).write('run', 0, '{}')  # nothing was kept before
    assert KeptRuns(output, {'seed': 1}).read('run', 2) == {0: {}}
    with pytest.raises(OutputError, match="study.json.runs' holds runs with other options"):
        KeptRuns(output, {'seed': 0})


def test_the_command_continues_an_interrupted_study(tmp_path, monkeypatch, capsys):
    """The second run is interrupted; the study that continues gives what one at once gives."""
    study = shortened(monkeypatch)
    one_run, called = study.one_run, []

    def interrupted(samples, **case):
        called.append(case['seed'])
        if len(called) == 3:
            raise KeyboardInterrupt
        return one_run(samples, **case)

    options = ['study', 'uf_pkm', '--runs', '2', '--workers', '1']
    command = [*options, '--output', str(tmp_path / 'study.json')]
    monkeypatch.setattr(study, 'one_run', interrupted)
    assert cli.main(command) == 130
    assert [path.name for path in tmp_path.iterdir()] == ['study.json.runs']
    assert cli.main(command) == 0
    assert called == [0, 0, 1, 1]
    assert [path.name for path in tmp_path.iterdir()] == ['study.json']
    content = json.loads((tmp_path / 'study.json').read_text())
    assert content['origin']['options'] == {'noise': 0.01, 'runs': 2, 'seed': 0}
    capsys.readouterr()
    assert cli.main([*options, '--json']) == 0
    again = json.loads(capsys.readouterr().out)
    for case, other in zip(content['cases'], again['cases'], strict=True):
        assert case['values'] == other['values'] and case['worst'] == other['worst']


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
from pkm_bringup.runner import Runner
from sleeper import sleep

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in jobs of the background
try:
    Runner(2).map(partial(sleep, 'processes'), [{'seed': seed} for seed in range(4)])
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


class Cluster:
    """In place of `distributed.Client`: threads here, and what was asked of them."""

    addresses: list[str] = []

    def __init__(self, address: str, **_: object) -> None:
        self.addresses.append(address)

    def get_executor(self, **_: object) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(2)

    def close(self) -> None:
        pass


def test_a_study_with_a_scheduler_computes_there_and_finds_the_same(monkeypatch, capsys):
    modules = {'distributed': {'Client': Cluster}, 'distributed.comm': {'CommClosedError': OSError}}
    for name, content in modules.items():
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(**content))
    shortened(monkeypatch)
    command = ['study', 'uf_pkm', '--runs', '2', '--workers', '1', '--json']
    found = []
    for more in ([], ['--scheduler', 'tcp://there:8786']):
        assert cli.main([*command, *more]) == 0
        cases = json.loads(capsys.readouterr().out)['cases']
        found.append([(case['values'], case['worst']) for case in cases])  # without times
    assert set(Cluster.addresses) == {'tcp://there:8786'}
    assert found[0] == found[1]


def test_a_scheduler_needs_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, 'distributed', None)
    with pytest.raises(SchedulerError, match='pip install distributed'):
        Runner(1, scheduler='tcp://there:8786').map(partial(estimate, 5), seeds(1))


def test_a_scheduler_of_dask_distributed():
    distributed = pytest.importorskip('distributed')
    with distributed.LocalCluster(1, threads_per_worker=1, processes=False) as cluster:
        runner = Runner(scheduler=cluster.scheduler_address)
        found = runner.map(partial(estimate, 20), seeds(1, 2))
        assert found == Runner(1).map(partial(estimate, 20), seeds(1, 2))
    with pytest.raises(SchedulerError, match='no scheduler at'):
        Runner(scheduler='nonsense://there').map(partial(estimate, 5), seeds(1))
