"""The control loop's logic with joint states and commands that never leave the process."""

from __future__ import annotations

import math
import time
from types import SimpleNamespace

import numpy as np
import pytest
from gantry import Gantry

pytest.importorskip('rclpy')

from sensor_msgs.msg import JointState  # noqa: E402

from pkm_control.control_types import ControlFault, ErrorCode  # noqa: E402
from pkm_control.controller import TrajectoryController  # noqa: E402
from pkm_control.feedforward import nominal_feedforward  # noqa: E402
from pkm_control.gains import servo_gains  # noqa: E402
from pkm_control.nodes.control_loop import ControlLoop  # noqa: E402
from pkm_control.nodes.joint_state_reader import JointStateReader  # noqa: E402
from pkm_dynamics.trajectories import PointToPoint  # noqa: E402

AXES = ['x', 'y', 'z']


def state(nanoseconds: int, positions=(0.0, 0.0, 0.0), names=AXES) -> JointState:
    message = JointState(name=list(names), position=list(positions))
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(nanoseconds, 10**9)
    return message


class Clock:
    """A steady clock that stands still until it is moved on."""

    def __init__(self) -> None:
        self.now = 100.0
        self.perf_counter = time.perf_counter

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr('pkm_control.nodes.control_loop.time', clock)
    return clock


class Bench:
    """A loop, the states waiting for it, and everything it said."""

    def __init__(self, rate: float | None = None, timeout: float = 5.0) -> None:
        self.waiting: list[JointState] = []
        self.sent: list[str] = []
        self.faults: list[ControlFault] = []
        self.outcomes: list = []
        model = Gantry()
        controller = TrajectoryController(model, servo_gains(model), nominal_feedforward(model))
        output = SimpleNamespace(
            publish=lambda result, stamp, compute_time: self.sent.append('command'),
            repeat=lambda: self.sent.append('repeat'),
            zero=lambda: self.sent.append('zero'),
        )
        source = SimpleNamespace(
            wait=self._wait, take=lambda: self.waiting.pop(0) if self.waiting else None
        )
        self.loop = ControlLoop(
            controller,
            JointStateReader(AXES, ['passive']),
            source,
            output,
            rate,
            timeout,
            self.faults.append,
            self.outcomes.append,
        )

    def _wait(self, timeout: float) -> bool:
        end = time.monotonic() + timeout
        while not self.waiting and time.monotonic() < end:
            time.sleep(1e-4)
        return bool(self.waiting)

    def feed(self, message: JointState) -> None:
        if self.loop.take_state(message):
            self.loop.cycle()


def active() -> Bench:
    bench = Bench()
    bench.feed(state(10**9))
    bench.loop.activate()
    return bench


def test_nothing_is_sent_before_activation() -> None:
    bench = Bench()
    for k in range(5):
        bench.feed(state(k * 10**6))
    bench.loop.deactivate()
    assert bench.sent == []


def test_activation_needs_a_valid_recent_state(clock) -> None:
    bench = Bench(timeout=0.01)
    with pytest.raises(ControlFault, match='no joint state'):
        bench.loop.activate()
    bench.feed(state(0, (0.0, math.nan, 0.0)))
    with pytest.raises(ControlFault, match='y: measured position is not finite'):
        bench.loop.activate()
    bench.feed(state(10**6))
    clock.now += 0.0101
    assert not bench.loop.has_recent_state
    with pytest.raises(ControlFault, match='no joint state'):
        bench.loop.activate()
    assert bench.sent == [] and bench.faults == []
    bench.feed(state(2 * 10**6))
    clock.now += 0.0099
    bench.loop.activate()
    assert bench.sent == ['command']


def test_one_command_for_each_state_and_the_same_again_for_a_repeated_one() -> None:
    bench = active()
    bench.feed(state(10**9 + 10**6))
    bench.feed(state(10**9 + 10**6))
    bench.feed(state(10**9 + 2 * 10**6))
    assert bench.sent == ['command', 'command', 'repeat', 'command']


@pytest.mark.parametrize(
    ('message', 'text'),
    [
        (state(2 * 10**9, (0.0, 0.0, math.inf)), 'z: measured position is not finite'),
        (state(2 * 10**9, (0.0, 0.0)), '3 joint names, but 2 positions'),
        (state(2 * 10**9, (0.0, 0.0), ['x', 'y']), "joint 'z' is missing"),
        (state(2 * 10**9, (0.0,) * 4, [*AXES, 'w']), "unknown joint 'w'"),
        (state(2 * 10**9, (0.0,) * 4, [*AXES, 'x']), 'named twice'),
        (state(2 * 10**9, (), ()), "joint 'x' is missing; got none"),
        (state(10**8), 'went back'),
    ],
)
def test_bad_states_send_zero_once_and_no_more(message: JointState, text: str) -> None:
    bench = active()
    q = np.zeros(6)
    bench.loop.controller.start(bench.loop.controller.plan(PointToPoint([0.0, 1.0], [q, q + 0.01])))
    bench.feed(state(10**9 + 10**6))
    bench.feed(message)
    bench.feed(state(3 * 10**9))
    assert bench.sent == ['command', 'command', 'zero']
    assert text in str(bench.faults[0]) and len(bench.faults) == 1
    assert bench.faults[0].code is ErrorCode.BAD_STATE
    assert [outcome.code for outcome in bench.outcomes] == [ErrorCode.BAD_STATE]
    assert not bench.loop.commanding and not bench.loop.controller.active


def test_joints_are_matched_by_name_and_passive_ones_ignored() -> None:
    bench = active()
    names = ['z', 'passive', 'x', 'y']
    bench.feed(state(10**9 + 10**6, (0.03, 9.0, 0.01, 0.02), names))
    np.testing.assert_array_equal(bench.loop.last_result.position, [0.01, 0.02, 0.03])


def test_watchdog_sends_zero_once_and_ends_the_motion(clock) -> None:
    bench = Bench(timeout=0.02)
    bench.feed(state(0))
    bench.loop.activate()
    controller = bench.loop.controller
    controller.start(controller.plan(PointToPoint([0.0, 1.0], [np.zeros(6), np.full(6, 0.01)])))
    clock.now += 0.0199
    bench.loop.watch()
    assert bench.faults == []
    clock.now += 0.0002
    for _ in range(3):
        bench.loop.watch()
    bench.feed(state(10**6))
    assert bench.sent == ['command', 'zero']
    assert bench.faults[0].code is ErrorCode.STATE_TIMEOUT
    assert str(bench.faults[0]) == 'no joint state for 0.020 s (limit 0.02 s)'
    assert [outcome.code for outcome in bench.outcomes] == [ErrorCode.STATE_TIMEOUT]


def test_watchdog_does_not_take_old_stamps_for_life(clock) -> None:
    bench = Bench(timeout=0.05)
    bench.feed(state(0))
    bench.loop.activate()
    for _ in range(5):
        assert bench.faults == []
        clock.now += 0.012
        bench.feed(state(0))
        bench.loop.watch()
    assert bench.faults[0].code is ErrorCode.STATE_TIMEOUT
    assert 'no joint state with a new stamp' in str(bench.faults[0])
    assert bench.sent[-1] == 'zero'


def test_watchdog_counts_from_the_activation(clock) -> None:
    """A state that was recent enough to activate with is not at once too old."""
    bench = Bench(timeout=0.05)
    bench.feed(state(0))
    clock.now += 0.04
    bench.loop.activate()
    clock.now += 0.04
    bench.loop.watch()
    assert bench.faults == []
    clock.now += 0.011
    bench.loop.watch()
    assert bench.faults[0].code is ErrorCode.STATE_TIMEOUT


def test_missed_deadlines_are_counted_and_not_made_up_for(clock) -> None:
    bench = Bench(rate=100.0)
    bench.feed(state(10**9))
    bench.loop.activate()
    deadline = bench.loop._turn(100.0)
    assert deadline == clock.now == pytest.approx(100.01)  # slept until then
    clock.now += 0.015  # less than a period late
    deadline = bench.loop._turn(deadline)
    assert deadline == pytest.approx(100.02) and bench.loop.statistics.missed == 0
    clock.now += 0.048
    deadline = bench.loop._turn(deadline)
    assert deadline == pytest.approx(100.07) and bench.loop.statistics.missed == 4
    assert clock.now == pytest.approx(100.073)


def test_deactivation_sends_zero_once_and_reports_the_motion() -> None:
    bench = active()
    controller = bench.loop.controller
    controller.start(controller.plan(PointToPoint([0.0, 1.0], [np.zeros(6), np.full(6, 0.01)])))
    bench.loop.deactivate()
    bench.loop.deactivate()
    assert bench.sent == ['command', 'zero']
    assert [outcome.code for outcome in bench.outcomes] == [ErrorCode.DEACTIVATED]
    assert bench.faults == []


def test_an_error_in_the_model_stops_commands(capsys) -> None:
    bench = active()

    def broken(model, motion):
        raise ZeroDivisionError('by nothing')

    bench.loop.controller.feedforward = SimpleNamespace(name='broken', forces=broken)
    bench.feed(state(10**9 + 10**6))
    assert bench.sent == ['command', 'zero']
    assert 'ZeroDivisionError: by nothing' in str(bench.faults[0])


def test_thread_keeps_its_deadlines_and_repeats_for_want_of_states() -> None:
    bench = Bench(rate=200.0, timeout=60.0)
    bench.waiting.append(state(0))
    bench.loop.start()
    end = time.monotonic() + 20.0
    while not bench.loop.has_recent_state and time.monotonic() < end:
        time.sleep(1e-3)
    bench.loop.activate()
    while len(bench.sent) < 20 and time.monotonic() < end:
        time.sleep(1e-3)
    bench.loop.close()
    assert bench.sent[:3] == ['command', 'repeat', 'repeat'] and bench.sent[-1] == 'zero'
    assert bench.loop.statistics.repeated == len(bench.sent) - 2


def test_thread_in_lockstep_answers_every_state() -> None:
    bench = Bench(timeout=60.0)
    bench.waiting.append(state(0))
    bench.loop.start()
    end = time.monotonic() + 20.0
    while not bench.loop.has_recent_state and time.monotonic() < end:
        time.sleep(1e-3)
    bench.loop.activate()
    for k in range(1, 50):
        bench.waiting.append(state(k * 10**6))
        while len(bench.sent) <= k and time.monotonic() < end:
            time.sleep(1e-4)
    bench.loop.close()
    assert bench.sent == ['command'] * 50 + ['zero']


def running(rate: float | None = None) -> Bench:
    """A loop in its thread, commanding."""
    bench = Bench(rate=rate, timeout=60.0)
    bench.waiting.append(state(0))
    bench.loop.start()
    wait_for(lambda: bench.loop.has_recent_state)
    bench.loop.activate()
    return bench


def wait_for(condition, timeout: float = 20.0) -> None:
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end
        time.sleep(1e-3)


def broken(*_: object) -> None:
    raise OSError('cable pulled')


@pytest.mark.parametrize('rate', [None, 200.0])
@pytest.mark.parametrize('place', ['take', 'read'])
def test_an_error_of_the_loop_stops_commands_and_not_the_thread(place, rate, capsys) -> None:
    bench = running(rate)
    owner = bench.loop._source if place == 'take' else bench.loop._reader
    whole = getattr(owner, place)
    setattr(owner, place, broken)
    bench.waiting.append(state(10**6))
    wait_for(lambda: bench.faults)
    assert 'OSError: cable pulled' in str(bench.faults[0])
    assert bench.sent[-1] == 'zero' and bench.sent.count('zero') == 1
    assert not bench.loop.commanding and bench.loop.running
    setattr(owner, place, whole)
    bench.waiting.append(state(2 * 10**6))
    wait_for(lambda: bench.loop.has_recent_state)
    bench.loop.activate()
    bench.loop.close()
    assert len(bench.faults) == 1


@pytest.mark.parametrize('place', ['zero', '_on_fault', '_on_outcome'])
def test_a_stop_survives_errors_of_what_it_calls(place, capsys) -> None:
    bench = running()
    controller = bench.loop.controller
    controller.start(controller.plan(PointToPoint([0.0, 1.0], [np.zeros(6), np.full(6, 0.01)])))
    setattr(bench.loop._output if place == 'zero' else bench.loop, place, broken)
    bench.waiting.append(state(10**6, (0.0, math.nan, 0.0)))
    wait_for(lambda: 'cable pulled' in capsys.readouterr().err)
    wait_for(lambda: place == '_on_fault' or bench.faults)
    assert not bench.loop.commanding and bench.loop.running
    assert not controller.active
    bench.loop.close()


def test_a_thread_that_ended_is_noticed() -> None:
    bench = running()
    bench.loop._stop.set()
    wait_for(lambda: not bench.loop.running)
    bench.loop.watch()
    assert 'control thread has ended' in str(bench.faults[0])
    assert not bench.loop.commanding and bench.sent[-1] == 'zero'


def test_a_fault_of_the_first_cycle_is_one_of_the_activation() -> None:
    bench = Bench()
    bench.feed(state(10**9))
    bench.loop.controller.feedforward = SimpleNamespace(name='broken', forces=broken)
    with pytest.raises(ControlFault, match='cable pulled'):
        bench.loop.activate()
    assert not bench.loop.commanding and bench.sent == ['zero']
