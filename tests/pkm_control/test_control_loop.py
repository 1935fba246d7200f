"""The control loop's logic with joint states and commands that never leave the process."""

from __future__ import annotations

import itertools
import math
import threading
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
from pkm_control.nodes.control_loop import ControlLoop  # noqa: E402
from pkm_control.nodes.joint_state_reader import JointStateReader  # noqa: E402
from pkm_control.stops import StopEvent  # noqa: E402
from pkm_dynamics.joint_servo.gains import servo_gains  # noqa: E402
from pkm_dynamics.trajectories import Phase, PointToPoint  # noqa: E402

AXES = ['x', 'y', 'z']


def state(nanoseconds: int, positions=(0.0, 0.0, 0.0), names=AXES) -> JointState:
    message = JointState(name=list(names), position=list(positions))
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(nanoseconds, 10**9)
    return message


class Clock:
    """A steady clock that stands still until it is moved on."""

    def __init__(self) -> None:
        self.now = 100.0
        self.computing = 50.0

    def monotonic(self) -> float:
        return self.now

    def perf_counter(self) -> float:
        """Whatever is timed takes 1/4 s."""
        self.computing += 0.25
        return self.computing

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
        self.published: list[tuple] = []
        self.faults: list[ControlFault] = []
        self.outcomes: list = []
        model = Gantry()
        controller = TrajectoryController(model, servo_gains(model), nominal_feedforward(model))
        self.brakes: list[bool] = []  # what they were asked, True to close
        self.output = SimpleNamespace(
            publish=self._publish,
            repeat=lambda: self.sent.append('repeat'),
            command=lambda forces: self.sent.append('bridge'),
            zero=lambda: self.sent.append('zero'),
            bear_at_zero=False,
        )
        self.drives = SimpleNamespace(close=self._close_brakes, closed=False, commanded=True)
        source = SimpleNamespace(
            wait=self._wait,
            take=lambda: self.waiting.pop(0) if self.waiting else None,
            number=None,
            publishers=['/robot', '/other'],
        )
        self.loop = ControlLoop(
            controller,
            JointStateReader(AXES),
            source,
            self.output,
            self.drives,
            rate,
            timeout,
            self.faults.append,
            self.outcomes.append,
        )

    def _publish(self, result, stamp, compute_time) -> None:
        self.sent.append('command')
        self.published.append((result, stamp, compute_time))

    def _close_brakes(self, close: bool) -> None:
        if self.brakes[-1:] != [close]:
            self.brakes.append(close)

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
        (state(2 * 10**9, (0.0,) * 4, [*AXES, 'x']), 'named twice'),
        (state(2 * 10**9, (0.0, 0.0), ['x', 'y']), 'got x, y'),
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


def test_messages_of_other_joints_are_no_states() -> None:
    bench = active()
    bench.feed(state(10**9 + 10**6, (1.0,), ['gripper']))
    assert bench.sent == ['command'] and bench.faults == []
    bench.feed(state(10**9 + 10**6, (0.0, 9.0, 0.0, 0.0), ['x', 'gripper', 'y', 'z']))
    assert bench.sent == ['command', 'command'] and bench.faults == []


def test_states_of_a_second_source_stop_the_robot_and_are_not_used(clock) -> None:
    bench = active()
    stamps, number = itertools.count(10**9 + 10**6, 10**6), 1000

    def send(number: int, x: float) -> None:
        if bench.loop.take_state(state(next(stamps), (x, 0.0, 0.0)), number):
            bench.loop.cycle()
        clock.now += 1e-3

    for _ in range(3):
        number += 1
        send(number, 0.0)
    assert bench.loop.foreign_states == ''
    for other in range(3):
        number += 1
        send(50 + other, 1e-3)
        send(number, 0.0)
        assert bench.loop.last_result.position[0] == 0.0
    assert bench.loop.stopping and '/robot, /other' in bench.loop.foreign_states
    for _ in range(400):
        number += 1
        send(number, 0.0)
    assert bench.faults[0].code is ErrorCode.FOREIGN_STATES and not bench.loop.commanding
    with pytest.raises(ControlFault, match='two sources') as refused:
        bench.loop.activate()
    assert refused.value.code is ErrorCode.FOREIGN_STATES
    for _ in range(1100):  # the other one has gone
        number += 1
        send(number, 0.0)
    bench.loop.activate()
    assert bench.loop.commanding


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


def test_the_ends_of_the_timeout_belong_to_it(clock) -> None:
    bench = Bench(timeout=0.25)
    bench.feed(state(0))
    clock.now += 0.25
    assert bench.loop.has_recent_state and bench.loop.state_age == 0.25
    bench.loop.activate()
    clock.now += 0.25
    bench.loop.watch()
    assert bench.faults == []
    bench.loop.take_state(state(0))  # the old stamp once more
    clock.now += 0.25
    bench.loop.watch()
    assert str(bench.faults[0]) == 'no joint state with a new stamp for 0.500 s (limit 0.25 s)'


def test_a_message_of_long_ago_is_no_state_with_an_old_stamp(clock) -> None:
    bench = Bench(timeout=0.25)
    bench.feed(state(0))
    bench.loop.activate()
    clock.now += 0.125
    bench.loop.take_state(state(0))
    clock.now += 0.375
    bench.loop.watch()
    assert str(bench.faults[0]) == 'no joint state for 0.500 s (limit 0.25 s)'


def test_the_watchdog_sleeps_where_nothing_is_commanded(clock) -> None:
    bench = Bench(timeout=0.25)
    assert bench.loop.state_age == math.inf and not bench.loop.has_recent_state
    bench.loop.watch()
    bench.feed(state(0))
    clock.now += 9.0
    bench.loop.watch()
    assert bench.faults == [] and bench.sent == []


def test_a_clock_that_stands_still_may_be_activated_with(clock) -> None:
    """Where nothing is commanded, a state with an old stamp is a sign of life."""
    bench = Bench(timeout=0.25)
    for _ in range(3):
        bench.feed(state(10**9))
        clock.now += 0.2
    assert bench.loop.has_recent_state
    bench.loop.activate()
    bench.feed(state(10**9))
    assert bench.loop.state_age == pytest.approx(0.2)


def test_time_of_the_controller_is_that_of_the_stamps(clock) -> None:
    bench = Bench()
    bench.feed(state(41 * 10**9 - 20_000_000))
    bench.loop.activate()
    bench.feed(state(41 * 10**9 + 30_000_001))
    first, second = bench.published
    assert first[0].time == 0.0
    assert second[0].time == pytest.approx(0.050000001, abs=1e-14)
    assert (second[1].sec, second[1].nanosec) == (41, 30_000_001)
    assert second[2] == 0.25  # what the clock says that it took
    assert bench.loop.last_result is second[0]
    summary = bench.loop.statistics.summary()
    assert (summary.cycles, summary.compute_p50, summary.late_p99) == (2, 0.25, 0.0)


def test_a_stop_is_final_for_the_state_that_was_answered() -> None:
    bench = active()
    bench.loop.deactivate()
    bench.feed(state(10**9))
    assert bench.sent == ['command', 'zero'] and bench.loop.statistics.between == 0


def test_an_activation_begins_anew() -> None:
    bench = active()
    bench.feed(state(10**9))
    assert bench.loop.statistics.between == 1 and bench.loop.fault is None
    bench.feed(state(10**9 + 10**6, (0.0, math.nan, 0.0)))
    assert bench.loop.fault is bench.faults[0]
    bench.feed(state(10**9))
    bench.loop.activate()
    assert bench.loop.fault is None and bench.loop.commanding
    assert bench.loop.statistics.between == 0 and bench.loop.statistics.cycles == 1
    assert bench.sent == ['command', 'repeat', 'zero', 'command']
    bench.loop.deactivate()
    assert bench.loop.fault is None  # nothing failed


def test_a_motion_that_ends_is_reported_once() -> None:
    bench = active()
    controller, q = bench.loop.controller, np.zeros(6)
    controller.start(controller.plan(PointToPoint([0.0, 0.1], [q, q])))
    for k in range(1, 5):
        bench.feed(state(10**9 + k * 60_000_000))
    assert [outcome.code for outcome in bench.outcomes] == [ErrorCode.NONE]
    assert bench.sent == ['command'] * 5 and bench.faults == []


def test_the_newest_of_the_waiting_states_counts() -> None:
    bench = Bench()
    assert bench.loop.take_states() is False
    bench.waiting += [state(10**6, (math.nan,) * 3), state(2 * 10**6, (0.1, 0.2, 0.3))]
    assert bench.loop.take_states() is True and bench.waiting == []
    bench.loop.activate()
    np.testing.assert_array_equal(bench.loop.last_result.position, [0.1, 0.2, 0.3])
    bench.loop.deactivate()
    bench.waiting += [state(3 * 10**6), state(4 * 10**6, (math.nan,) * 3)]
    assert bench.loop.take_states() is False and not bench.loop.has_recent_state


class PassingTime:
    """No states, for as long as the clock is told to wait."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def wait(self, timeout: float) -> bool:
        self.clock.now += timeout
        return False

    def take(self) -> None:
        return None


def test_silence_in_lockstep_is_noticed_soon_after_the_timeout(clock) -> None:
    bench = Bench(timeout=0.5)
    bench.feed(state(0))
    bench.loop.activate()
    bench.loop._source = PassingTime(clock)
    for _ in range(1000):
        if not bench.faults:
            bench.loop._turn(clock.now)
    assert bench.faults[0].code is ErrorCode.STATE_TIMEOUT
    assert 100.5 < clock.now < 100.55
    assert bench.sent == ['command', 'zero']


@pytest.mark.parametrize('rate', [None, 4.0])
def test_a_turn_without_commands_takes_states_and_sends_nothing(clock, rate) -> None:
    bench = Bench(rate)
    bench.waiting.append(state(0))
    assert bench.loop._turn(1.0) == clock.now == 100.0
    assert bench.loop.has_recent_state and bench.sent == []


def test_in_lockstep_a_turn_answers_new_states_alone(clock) -> None:
    bench = active()
    bench.waiting += [state(10**9 + 10**6), state(10**9 + 2 * 10**6)]
    assert bench.loop._turn(0.0) == 100.0
    bench.loop._source = PassingTime(clock)
    bench.loop._turn(0.0)
    bench.loop._source = SimpleNamespace(wait=lambda timeout: True, take=lambda: None)
    bench.loop._turn(0.0)
    assert bench.sent == ['command', 'command']


def test_lateness_is_what_a_cycle_begins_after_its_deadline(clock) -> None:
    bench = Bench(rate=4.0)
    bench.feed(state(0))
    bench.loop.activate()
    bench.waiting.append(state(10**6))
    deadline = bench.loop._turn(100.0)
    clock.now += 0.375
    bench.waiting.append(state(2 * 10**6))
    assert bench.loop._turn(deadline) == 100.5
    summary = bench.loop.statistics.summary()
    assert summary.late_p50 == pytest.approx(0.0625)  # in the middle of 0 and 1/8 s
    assert bench.sent == ['command', 'command']


@pytest.mark.parametrize(
    ('late', 'missed'), [(0.0, 0), (0.1875, 0), (0.25, 1), (0.4375, 1), (0.5, 2), (2.3125, 9)]
)
def test_deadlines_are_missed_by_whole_periods(clock, late, missed) -> None:
    bench = Bench(rate=4.0)
    bench.feed(state(0))
    bench.loop.activate()
    deadline = bench.loop._turn(100.0)
    clock.now = deadline + 0.25 + late
    now = clock.now
    deadline = bench.loop._turn(deadline)
    assert deadline == 100.5 + missed * 0.25 and clock.now == now
    assert bench.loop.statistics.missed == missed


def test_an_error_that_stays_is_printed_once(capsys) -> None:
    bench = active()
    for error in (OSError('cable pulled'), OSError('cable pulled'), OSError('no power')):
        bench.loop._survive(error)
    printed = capsys.readouterr().err
    assert printed.count('OSError: cable pulled') == 1
    assert printed.count('OSError: no power') == 1
    assert bench.sent == ['command', 'zero'] and len(bench.faults) == 1
    assert bench.faults[0].code is ErrorCode.BAD_STATE
    with pytest.raises(ControlFault, match='no power'):
        bench.loop.activate()


def test_closing_ends_commands_and_the_thread() -> None:
    before = threading.enumerate()
    bench = running()
    (thread,) = [thread for thread in threading.enumerate() if thread not in before]
    assert thread.daemon  # it keeps no process alive
    bench.loop.close()
    assert not bench.loop.running and not thread.is_alive() and bench.sent == ['command', 'zero']
    Bench().loop.close()  # one that was never started


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


def advance(bench: Bench, begin: int, cycles: int) -> list[float]:
    """Go on for some cycles of 10 ms; what the vertical drive is commanded."""
    for k in range(cycles):
        where = bench.loop.last_result.desired_position
        bench.feed(state(begin + k * 10_000_000, where))
    return [result.command[2] for result, *_ in bench.published[-cycles:]]


WEIGHT = 98.1  # [N] of the gantry


def test_an_error_in_the_model_ends_in_brakes_before_the_force_goes(capsys) -> None:
    bench = active()

    def broken(model, motion):
        raise ZeroDivisionError('by nothing')

    ours = SimpleNamespace(name='broken', forces=broken, along=broken, states=None)
    bench.loop.controller.feedforward = ours
    borne = advance(bench, 10**9 + 10**6, 20)
    assert 'ZeroDivisionError: by nothing' in capsys.readouterr().err
    np.testing.assert_allclose(borne, WEIGHT)
    advance(bench, 10**9 + 201 * 10**6, 10)
    assert 'ZeroDivisionError: by nothing' in str(bench.faults[0])
    assert bench.sent[-1] == 'zero' and not bench.loop.commanding
    assert bench.brakes == [False, True]


def test_a_shut_down_rests_on_the_path_then_closes_brakes_then_sends_zero() -> None:
    bench = active()
    controller = bench.loop.controller
    controller.start(controller.plan(PointToPoint([0.0, 2.0], [np.zeros(6), np.full(6, 0.02)])))
    advance(bench, 10**9 + 10**6, 50)
    assert bench.brakes == [False]
    bench.loop.shut_down()
    assert bench.loop.stopping and bench.loop.commanding
    with pytest.raises(ControlFault, match='the robot is stopping: controller deactivated'):
        controller.plan(PointToPoint([0.0, 1.0], [np.zeros(6), np.zeros(6)]))
    borne = advance(bench, 10**9 + 501 * 10**6, 44)
    assert bench.brakes == [False] and np.min(borne) > 0.9 * WEIGHT  # 0.4 s to rest
    assert [outcome.code for outcome in bench.outcomes] == [ErrorCode.DEACTIVATED]
    advance(bench, 10**9 + 941 * 10**6, 4)
    assert bench.brakes == [False, True] and bench.loop.commanding  # they take their time
    bench.drives.closed = True
    advance(bench, 10**9 + 981 * 10**6, 2)
    assert not bench.loop.commanding and bench.sent[-1] == 'zero'
    assert bench.faults == [] and len(bench.outcomes) == 1


def test_without_brakes_that_take_commands_the_last_force_stays() -> None:
    bench = active()
    bench.drives.commanded = False
    bench.loop.shut_down()
    advance(bench, 10**9 + 10**6, 30)
    assert not bench.loop.commanding and 'zero' not in bench.sent
    assert bench.published[-1][0].command[2] == pytest.approx(WEIGHT)


@pytest.mark.parametrize('commanded', [False, True])
def test_valves_are_closed_at_the_end_whether_or_not_brakes_take_commands(commanded: bool) -> None:
    """Closed valves bear the robot: there the last signal must not stay."""
    bench = active()
    bench.drives.commanded, bench.output.bear_at_zero = commanded, True
    bench.loop.shut_down()
    advance(bench, 10**9 + 10**6, 30)
    bench.drives.closed = True
    advance(bench, 10**9 + 31 * 10**6, 10)
    assert not bench.loop.commanding and bench.sent[-1] == 'zero'


def test_a_fault_with_valid_states_is_a_shut_down_with_a_reason() -> None:
    bench = active()
    bench.loop.shut_down(StopEvent.PROTECTIVE_STOP, 'somebody came near')
    bench.loop.shut_down(StopEvent.FOREIGN_COMMANDS, 'too late')
    advance(bench, 10**9 + 10**6, 30)
    assert [(fault.code, str(fault)) for fault in bench.faults] == [
        (ErrorCode.PROTECTIVE_STOP, 'somebody came near')
    ]
    assert bench.loop.fault is bench.faults[0] and bench.brakes == [False, True]


def test_lost_states_cut_a_shut_down_short(clock) -> None:
    bench = Bench(timeout=0.05)
    bench.feed(state(0))
    bench.loop.activate()
    bench.loop.shut_down()
    clock.now += 0.06
    bench.loop.watch()
    assert bench.sent == ['command', 'zero'] and bench.brakes == [False, True]
    assert bench.faults[0].code is ErrorCode.STATE_TIMEOUT


def test_single_leaps_of_positions_are_left_out_and_lasting_ones_are_a_fault() -> None:
    bench = active()
    far = (0.0, 0.3, 0.0)  # 300 mm in a millisecond
    for k in range(1, 8):
        bench.feed(state(10**9 + k * 10**6, far if k % 3 == 0 else (0.0, 0.0, 0.0)))
    assert bench.faults == [] and bench.sent == ['command'] * 6
    for k in range(8, 30):
        bench.feed(state(10**9 + k * 10**6, far))
    assert bench.faults[0].code is ErrorCode.BAD_STATE
    assert 'y: measured position leapt from 0 to 0.3' in str(bench.faults[0])
    assert bench.sent[-1] == 'zero' and bench.brakes == [False, True]


@pytest.mark.parametrize(('seconds', 'comes'), [(0.34, True), (0.34, False), (0.0, False)])
def test_a_loop_that_stood_still_does_not_blame_the_states_alone(clock, seconds, comes) -> None:
    """A command took so long to send; then a state far ahead comes, or none, or none ever came."""
    bench = Bench(rate=1000.0, timeout=0.1)
    bench.feed(state(0))
    bench.loop.activate()
    deadline = bench.loop._turn(clock.now)
    clock.now += seconds
    if comes:
        bench.waiting.append(state(round((seconds + 0.001) * 1e9)))
    for _ in range(1 if seconds else 200):
        deadline = bench.loop._turn(deadline)
    (fault,) = bench.faults
    assert fault.code is (ErrorCode.BAD_STATE if comes else ErrorCode.STATE_TIMEOUT)
    assert (f'itself had stood still for {seconds - 0.001:.3f} s' in str(fault)) == (seconds > 0)


def test_a_loop_that_still_stands_is_told_by_whoever_looks(clock) -> None:
    """The watchdog of the node looks, too; after the next activation it is forgotten."""
    bench = Bench(rate=1000.0, timeout=0.1)
    bench.feed(state(0))
    bench.loop.activate()
    bench.loop._turn(clock.now)
    clock.now += 0.34
    bench.loop.watch()
    assert 'itself had stood still for 0.33' in str(bench.faults[0])
    bench.feed(state(10**9))
    bench.loop.activate()
    bench.feed(state(2 * 10**9, (0.0, math.nan, 0.0)))
    assert 'stood still' not in str(bench.faults[1])


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
    assert set(bench.sent[1:-1]) <= {'repeat', 'bridge'}  # held for a while, then bridged
    assert (bench.sent[0], bench.sent[-1]) == ('command', 'zero')
    assert bench.loop.statistics.between == len(bench.sent) - 2


def timed(clock, states: int = 20, interval: float = 1e-3) -> Bench:
    """A loop of 1 kHz in motion, whose states came at this interval."""
    bench = Bench(rate=1000.0, timeout=0.1)
    for k in range(states):
        bench.feed(state(round(1e9 + k * interval * 1e9)))
        if k == states - 5:
            bench.loop.activate()
            controller, far = bench.loop.controller, np.full(6, 0.5)
            controller.start(controller.plan(PointToPoint([0.0, 5.0], [np.zeros(6), far])))
        clock.now += interval
    bench.loop.cycle()
    bench.sent.clear()
    return bench


def test_lost_states_are_bridged_then_the_robot_stops_then_commands_end(clock) -> None:
    bench = timed(clock)
    sent = []
    for _ in range(120):
        bench.loop.cycle()
        sent.append(bench.sent[-1])
        clock.now += 1e-3
        bench.loop.watch()
    lost = sent.index('bridge')
    assert 0 < lost <= 3 and sent[:lost] == ['repeat'] * lost
    end = sent.index('zero')
    assert set(sent[lost:end]) == {'bridge'} and end == pytest.approx(100, abs=3)
    assert [fault.code for fault in bench.faults] == [ErrorCode.STATE_TIMEOUT]
    assert bench.loop.statistics.bridged == end - lost
    (outcome,) = bench.outcomes
    assert outcome.code is ErrorCode.STATE_TIMEOUT and 'new stamp' not in outcome.message


@pytest.mark.parametrize(('missing', 'stops'), [(49, False), (60, True)])
def test_states_that_come_back_go_on_or_find_the_robot_stopping(clock, missing, stops) -> None:
    bench = timed(clock)
    for _ in range(missing):
        bench.loop.cycle()
        clock.now += 1e-3
    q = bench.loop.last_result.desired_position
    later = 10**9 + (19 + missing) * 10**6
    bench.feed(state(later, q))
    assert bench.sent[-1] == 'command' and bench.faults == []
    assert bench.loop.controller.busy
    assert (bench.loop.last_result.phase is Phase.STOPPING) == stops
    for k in range(1, 600):
        if bench.outcomes:
            break
        bench.feed(state(later + k * 10**6, bench.loop.last_result.desired_position))
    assert [each.code for each in bench.outcomes] == [ErrorCode.STATE_TIMEOUT] * stops
    if stops:
        assert bench.outcomes[0].message.endswith('50 cycles are bridged')
        assert bench.loop.commanding and bench.faults == []


def test_a_robot_slower_than_the_loop_loses_no_state(clock) -> None:
    bench, random = timed(clock, interval=4e-3), np.random.default_rng(4)
    stamp = 10**9 + 80 * 10**6
    bench.feed(state(stamp, bench.loop.last_result.desired_position))
    for _ in range(100):
        for _ in range(int(random.integers(2, 7))):
            bench.loop.cycle()
            clock.now += 1e-3
            stamp += 10**6
        bench.feed(state(stamp, bench.loop.last_result.desired_position))
    assert 'bridge' not in bench.sent and bench.loop.statistics.bridged == 0
    assert bench.loop.statistics.summary().success_rate == 1.0


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
    owner = bench.loop._source if place == 'take' else bench.loop._states._reader
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
    bench.loop.controller.step = broken
    with pytest.raises(ControlFault, match='cable pulled'):
        bench.loop.activate()
    assert not bench.loop.commanding and bench.sent == ['zero']
