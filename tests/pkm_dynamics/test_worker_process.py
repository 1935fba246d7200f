"""Calls in a process of their own: values, errors, bounds of time and memory, its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import pkm_description
from pkm_description.errors import FeasibilityError, PkmError, TrajectoryError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.limits.goal_check import GoalPlan, checked_execution
from pkm_dynamics.trajectories import FourierTrajectory, SampledTrajectory
from pkm_dynamics.worker_process import WorkerProcess

DEADLINE = 30.0  # [s] for what takes milliseconds on an idle machine


@pytest.fixture(scope='module')
def description():
    return pkm_description.load('palida')


@pytest.fixture
def worker(description) -> Iterator[WorkerProcess]:
    worker = WorkerProcess(description)
    yield worker
    worker.close()


def goal(model, amplitude: float = 0.02, periods: int = 3) -> GoalPlan:
    home = np.r_[model.home_position, np.zeros(3)]
    sine = np.zeros((6, 2))
    sine[2, 0] = amplitude
    arguments = {'period': 2.0, 'offset': home, 'sine': sine, 'cosine': 0.0 * sine}
    return GoalPlan(FourierTrajectory, arguments, periods, 0.5, home, 0.1)


def alive(pid: int) -> bool:
    """Whether a process runs; what has ended and is not yet waited for does not."""
    try:
        with open(f'/proc/{pid}/stat') as file:
            return file.read().rsplit(')', 1)[1].split()[0] != 'Z'
    except OSError:
        return False


def gone(pid: int) -> bool:
    end = time.monotonic() + DEADLINE
    while alive(pid) and time.monotonic() < end:
        os.sched_yield()
    return not alive(pid)


def test_a_goal_comes_back_as_it_would_here(description, worker) -> None:
    model = ClosedChainModel(description)
    found = worker.call(DEADLINE, checked_execution, goal(model), 500.0)
    here = checked_execution(model, goal(model), 500.0)
    assert found.periods == 3 and found.duration == here.duration
    t = np.linspace(0.0, here.duration, 50)
    for one, other in zip(found.evaluate(t), here.evaluate(t), strict=True):
        np.testing.assert_array_equal(one, other)


def test_errors_keep_their_class_and_the_process_its_life(description, worker) -> None:
    model = ClosedChainModel(description)
    with pytest.raises(FeasibilityError, match='infeasible: .* limit'):
        worker.call(DEADLINE, checked_execution, goal(model, 0.6), 500.0)
    first = worker.pid
    with pytest.raises(TrajectoryError, match='^periods') as caught:
        worker.call(DEADLINE, checked_execution, goal(model, periods=0), 500.0)
    assert type(caught.value) is TrajectoryError
    with pytest.raises(RuntimeError, match='TypeError'):
        worker.call(DEADLINE, checked_execution)
    assert worker.pid == first


def test_the_largest_samples_come_back(description, worker) -> None:
    home = np.r_[ClosedChainModel(description).home_position, np.zeros(3)]
    time_of = np.arange(100_000) * 1e-3
    poses = np.tile(home, (100_000, 1))
    poses[:, 2] += 0.02 * np.sin(0.1 * np.pi * time_of) ** 3
    arguments = {'time': time_of, 'positions': poses}
    plan = GoalPlan(SampledTrajectory, arguments, 1, 0.0, poses[0], 0.1)
    execution = worker.call(60.0, checked_execution, plan, 500.0)
    assert execution.duration == pytest.approx(99.999)


def test_what_takes_too_long_is_refused_and_the_next_call_has_a_new_process(worker) -> None:
    worker.call(DEADLINE, _name)
    first = worker.pid
    with pytest.raises(PkmError, match='longer than 0.2 s'):
        worker.call(0.2, _wait_for_ever)
    assert gone(first)
    assert worker.call(DEADLINE, _name) == 'palida'
    assert worker.pid != first


def test_memory_is_bounded(worker) -> None:
    with pytest.raises(PkmError, match='MiB'):
        worker.call(DEADLINE, _take, 2 * 1024**3)
    assert worker.call(DEADLINE, _name) == 'palida'


def test_a_process_that_dies_is_replaced(worker) -> None:
    worker.call(DEADLINE, _name)
    os.kill(worker.pid, signal.SIGKILL)
    assert gone(worker.pid)
    assert worker.call(DEADLINE, _name) == 'palida'
    with pytest.raises(PkmError, match='has ended'):
        worker.call(DEADLINE, _die)
    assert worker.call(DEADLINE, _name) == 'palida'


def test_no_socket_is_left_of_processes_that_have_ended(worker) -> None:
    worker.call(DEADLINE, _name)
    before, errors = os.listdir('/proc/self/fd'), []
    for longest, function in ((0.2, _wait_for_ever), (DEADLINE, _die), (0.2, _wait_for_ever)):
        with pytest.raises(PkmError) as caught:
            worker.call(longest, function)
        errors.append(caught.value)  # which keeps alive what its traceback knows
        os.kill(worker.pid, signal.SIGKILL)  # between calls
        assert gone(worker.pid)
        assert worker.call(DEADLINE, _name) == 'palida'
    assert len(os.listdir('/proc/self/fd')) == len(before)


def ended_call(worker, end: Callable[[], None]) -> None:
    """Let a call that would take for ever be ended from this thread."""
    worker.call(DEADLINE, _name)
    pid, errors = worker.pid, []

    def call() -> None:
        try:
            worker.call(10.0 * DEADLINE, _wait_for_ever)
        except PkmError as error:
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    while thread.is_alive():
        end()
    thread.join(DEADLINE)
    assert len(errors) == 1 and gone(pid)


def test_a_call_that_is_abandoned_ends_and_the_next_one_has_a_new_process(worker) -> None:
    ended_call(worker, worker.abandon)
    pid = worker.pid
    worker.abandon()  # nothing is under way
    assert worker.call(DEADLINE, _name) == 'palida' and worker.pid == pid


def test_closing_ends_a_call_under_way(worker) -> None:
    ended_call(worker, worker.close)
    with pytest.raises(PkmError, match='closed'):
        worker.call(DEADLINE, _name)


@pytest.mark.parametrize('how', [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_of_it_whatever_ends_its_owner(how) -> None:
    code = (
        'import pkm_description, sys, threading\n'
        'from pkm_dynamics.worker_process import WorkerProcess\n'
        'worker = WorkerProcess(pkm_description.load("palida"))\n'
        'worker.start()\n'
        'print(worker.pid, flush=True)\n'
        'threading.Event().wait()\n'
    )
    options = {'stdout': subprocess.PIPE, 'stderr': subprocess.DEVNULL, 'text': True}
    with subprocess.Popen([sys.executable, '-c', code], **options) as owner:
        pid = int(owner.stdout.readline())
        assert alive(pid)
        owner.send_signal(how)
    assert gone(pid)


def _name(model) -> str:
    return model.description.name


def _wait_for_ever(model) -> None:
    threading.Event().wait()


def _take(model, size: int) -> int:
    return len(bytearray(size))


def _die(model) -> None:
    os._exit(1)
