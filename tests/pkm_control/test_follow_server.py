"""Goals of the action from check to result, without a graph."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from gantry import Gantry

pytest.importorskip('rclpy')

from rclpy.action import CancelResponse  # noqa: E402

from pkm_control.control_types import (  # noqa: E402
    ControlFault,
    ControllerOptions,
    ErrorCode,
    Outcome,
    TrackingStatistics,
)
from pkm_control.controller import TrajectoryController  # noqa: E402
from pkm_control.feedforward import nominal_feedforward  # noqa: E402
from pkm_control.interlocks import Interlocks
from pkm_control.learning import learning_file  # noqa: E402
from pkm_control.learning.learning_law import Verdict  # noqa: E402
from pkm_control.learning.repetition import Repetition  # noqa: E402
from pkm_control.nodes import follow_server, motion_learning  # noqa: E402
from pkm_control.stops import StopEvent  # noqa: E402
from pkm_description.errors import KinematicsError  # noqa: E402
from pkm_dynamics.joint_servo.gains import servo_gains  # noqa: E402
from pkm_dynamics.limits import goal_check  # noqa: E402
from pkm_dynamics.limits.instants import instants_of  # noqa: E402
from pkm_dynamics.nodes.trajectory_messages import to_message  # noqa: E402
from pkm_dynamics.trajectories import FourierTrajectory, Phase, PointToPoint  # noqa: E402
from pkm_msgs.action import FollowPlatformTrajectory  # noqa: E402


class Handle:
    """A goal as the server sees it; `ended` is how it was concluded."""

    def __init__(self, trajectory, **fields) -> None:
        self.goal_id = SimpleNamespace(uuid=bytes(16))
        message = to_message(trajectory) if hasattr(trajectory, 'evaluate') else trajectory
        self.request = FollowPlatformTrajectory.Goal(trajectory=message, **fields)
        self.is_cancel_requested = False
        self.is_active = True
        self.ended: list[str] = []
        self.feedback: list = []
        self.publish_feedback = self.feedback.append
        for name in ('succeed', 'canceled', 'abort'):
            setattr(self, name, lambda name=name: self.ended.append(name))


class Bench:
    """The server with a controller of the gantry, holding it at its origin."""

    def __init__(self, monkeypatch) -> None:
        model = Gantry()
        self.controller = TrajectoryController(
            model,
            servo_gains(model),
            nominal_feedforward(model),
            ControllerOptions(max_interval=1e9),
        )
        self.controller.activate(np.zeros(3))
        self.loop: SimpleNamespace | None = SimpleNamespace(
            controller=self.controller,
            lock=threading.RLock(),
            commanding=True,
            fault=None,
            last_result=None,
        )
        self.interlocks = Interlocks(False, False, 1e9)
        self.woken = 0
        self.rejected: list[tuple[ErrorCode, str]] = []
        self.checked: list = []
        self.meanwhile: Callable[[], None] = lambda: None  # what happens during the check
        self.report = SimpleNamespace(feasible=True, message='')
        self.errors: list[str] = []
        logger = SimpleNamespace(
            info=lambda text: None, warning=lambda text: None, error=self.errors.append
        )
        self.node = SimpleNamespace(
            executor=SimpleNamespace(wake=self._wake), get_logger=lambda: logger
        )
        self.actions: dict = {}
        monkeypatch.setattr(
            follow_server, 'ActionServer', lambda *_, **given: self.actions.update(given)
        )
        monkeypatch.setattr(
            follow_server, 'Background', lambda node, name: SimpleNamespace(run=self._run)
        )
        monkeypatch.setattr(goal_check, 'check_feasibility', self._check)
        description = model.description
        beside = SimpleNamespace(description=description, start=lambda: None, call=self._call)
        self.abandoned = 0
        beside.abandon = self._abandon
        monkeypatch.setattr(follow_server, 'WorkerProcess', lambda _: beside)
        self.server = follow_server.FollowServer(
            self.node,
            lambda: self.loop,
            500.0,
            lambda *reason: self.rejected.append(reason),
            SimpleNamespace(begin=lambda *_: None, end=lambda: None),
            self.interlocks,
            reduced_speed=0.25,
            brakes=lambda: None,
            opening_time=1.0,
            learning=(None, 0.2),
        )

    def _wake(self) -> None:
        self.woken += 1

    async def _run(self, work):
        return work()

    def _abandon(self) -> None:
        self.abandoned += 1

    def _call(self, longest, function, *arguments):
        assert longest == goal_check.LONGEST_CHECK
        return function(self.controller.model, *arguments)

    def _check(self, model, probe, rate):
        assert model is self.controller.model
        instants_of(probe, rate)  # as the check itself, it refuses too many
        self.checked.append((probe, rate))
        self.meanwhile()
        return self.report

    def execute(self, handle: Handle):
        """Begin a goal; its coroutine, which waits for the end of the motion."""
        running = self.actions['execute_callback'](handle)
        running.send(None)
        return running

    def cancel(self, handle: Handle) -> None:
        handle.is_cancel_requested = True
        assert self.actions['cancel_callback'](handle) == CancelResponse.ACCEPT

    def refused(self, handle: Handle) -> tuple[ErrorCode, str]:
        """Code and reason of a goal that ends before anything moves."""
        busy = self.controller.busy
        result = ended(self.actions['execute_callback'](handle))
        assert not result.name and self.controller.busy == busy
        assert (ErrorCode(result.error_code), result.error_msg) == self.rejected[-1]
        assert len(handle.ended) == 1
        return self.rejected[-1]


def ended(running) -> FollowPlatformTrajectory.Result:
    with pytest.raises(StopIteration) as caught:
        running.send(None)
    return caught.value.value


def line(duration: float = 1.0, robot: str = '') -> PointToPoint:
    there = np.array([0.02, 0.01, -0.03, 0.0, 0.0, 0.0])
    return PointToPoint([0.0, duration], [np.zeros(6), there], robot=robot)


def shake() -> FourierTrajectory:
    return FourierTrajectory(0.5, [0.0] * 6, np.full((6, 1), 0.01), np.zeros((6, 1)))


@pytest.fixture
def bench(monkeypatch) -> Bench:
    return Bench(monkeypatch)


def statistics() -> TrackingStatistics:
    found = TrackingStatistics.empty(3)
    found.add(np.array([0.1, -0.2, 0.3]), True, True)
    found.add(np.array([0.3, -0.4, 0.1]), False, True)
    return found


@pytest.mark.parametrize('robot', ['', 'gantry'])
def test_a_goal_is_followed_to_its_end(bench: Bench, robot: str) -> None:
    handle = Handle(line(robot=robot))
    running = bench.execute(handle)
    assert bench.controller.busy and handle.ended == []
    running.send(None)  # it goes on waiting
    bench.server.finish(Outcome(ErrorCode.NONE, 'as commanded', statistics()))
    bench.server.finish(Outcome(ErrorCode.DEACTIVATED, 'too late', statistics()))
    assert bench.woken == 1
    result = ended(running)
    assert handle.ended == ['succeed'] and bench.rejected == []
    assert (result.error_code, result.error_msg) == (0, 'as commanded')
    assert list(result.name) == ['x', 'y', 'z']
    np.testing.assert_allclose(result.tracking_rms, np.sqrt([0.05, 0.1, 0.05]))
    np.testing.assert_allclose(result.tracking_max, [0.3, 0.4, 0.3])
    assert result.saturated_fraction == 0.5


def test_the_arguments_of_a_goal_are_those_of_its_motion(bench: Bench) -> None:
    bench.execute(Handle(shake(), periods=3, ramp_time=0.25, approach_speed=0.4))
    execution = bench.controller._desired._execution.execution
    assert (execution.periods, execution.ramp_time, execution.approach_speed) == (3, 0.25, 0.4)
    ((probe, rate),) = bench.checked
    assert (probe.periods, probe.ramp_time, probe.approach_speed) == (1, 0.25, 0.4)
    assert rate == 500.0


def test_feedback_flows_while_the_goal_moves_the_robot(bench: Bench) -> None:
    handle = Handle(line())
    bench.meanwhile = bench.server.publish_feedback  # checked, not yet moving
    bench.loop.last_result = bench.controller.step(0.0, np.zeros(3))
    bench.server.publish_feedback()
    running = bench.execute(handle)
    assert handle.feedback == []
    bench.loop.last_result = None
    bench.server.publish_feedback()
    assert handle.feedback == []
    bench.controller.step(1.0, np.zeros(3))
    bench.loop.last_result = bench.controller.step(1.25, [0.001, 0.002, 0.003])
    bench.server.publish_feedback()
    (feedback,) = handle.feedback
    assert (feedback.phase, feedback.fraction, feedback.time_left) == (Phase.RUN, 0.25, 0.75)
    u = 0.25
    moved = u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
    expected = moved * np.array([0.02, 0.01, -0.03]) - [0.001, 0.002, 0.003]
    np.testing.assert_allclose(feedback.position_error, expected, atol=1e-12)
    handle.is_active = False
    bench.server.publish_feedback()
    handle.is_active, loop, bench.loop = True, bench.loop, None
    bench.server.publish_feedback()
    bench.loop = loop
    bench.server.finish(Outcome(ErrorCode.NONE, '', statistics()))
    ended(running)
    bench.server.publish_feedback()
    assert len(handle.feedback) == 1


def test_a_motion_that_ends_early_aborts_the_goal_with_the_reason(bench: Bench) -> None:
    handle = Handle(line())
    running = bench.execute(handle)
    bench.node.executor = None  # the node is about to go
    bench.server.finish(Outcome(ErrorCode.LIMIT_VIOLATED, 'z: left', statistics()))
    result = ended(running)
    assert handle.ended == ['abort']
    assert (result.error_code, result.error_msg) == (111, 'z: left')
    assert list(result.name) == ['x', 'y', 'z']


def test_a_result_without_a_controller_has_no_figures(bench: Bench) -> None:
    handle = Handle(line())
    running = bench.execute(handle)
    bench.server.finish(Outcome(ErrorCode.DEACTIVATED, 'cleaned up', statistics()))
    bench.loop = None
    result = ended(running)
    assert handle.ended == ['abort'] and result.error_code == 110
    assert not result.name and not result.tracking_rms and not result.tracking_max


def test_cancel_stops_the_motion_of_its_goal_alone(bench: Bench) -> None:
    handle = Handle(line())
    running = bench.execute(handle)
    where = bench.controller.step(0.0, np.zeros(3)).desired_position
    bench.cancel(Handle(line()))
    running_on = bench.controller.step(0.25, where)
    assert running_on.phase is Phase.RUN
    bench.cancel(handle)
    stopping = bench.controller.step(0.375, running_on.desired_position)
    assert stopping.phase is Phase.STOPPING
    outcome = bench.controller.step(2.0, stopping.desired_position).outcome
    assert outcome is not None
    bench.server.finish(outcome)
    result = ended(running)
    assert handle.ended == ['canceled']
    assert (result.error_code, result.error_msg) == (108, 'canceled by the client')
    assert bench.rejected == []
    bench.cancel(handle)  # nothing is left of it
    bench.loop = None
    bench.cancel(handle)


@pytest.mark.parametrize(
    ('code', 'requested'), [(ErrorCode.CANCELED, False), (ErrorCode.TRACKING_ERROR, True)]
)
def test_a_goal_is_canceled_where_the_client_asked_for_that_end(bench, code, requested) -> None:
    handle = Handle(line())
    running = bench.execute(handle)
    handle.is_cancel_requested = requested
    bench.server.finish(Outcome(code, '', statistics()))
    assert ended(running).error_code == code and handle.ended == ['abort']


def test_a_goal_canceled_during_its_check_does_not_move(bench: Bench) -> None:
    handle = Handle(line())
    bench.meanwhile = lambda: bench.cancel(handle)
    assert bench.refused(handle) == (ErrorCode.CANCELED, 'canceled by the client')
    assert handle.ended == ['canceled'] and bench.abandoned == 1


def test_a_lost_client_ends_the_check_of_its_goal(bench: Bench) -> None:
    """Whatever the check that was ended says."""

    def lost() -> None:
        bench.server.revoke(StopEvent.CLIENT_LOST, 'the client is gone')
        raise KinematicsError('ended')

    bench.meanwhile = lost
    handle = Handle(line())
    assert bench.refused(handle) == (ErrorCode.CLIENT_LOST, 'the client is gone')
    assert handle.ended == ['abort'] and bench.abandoned == 1
    bench.meanwhile = lambda: None
    bench.execute(Handle(line()))  # that is over
    assert bench.controller.busy


def test_a_goal_canceled_before_its_check_is_not_checked(bench: Bench) -> None:
    handle = Handle(line())
    bench.cancel(handle)
    assert bench.refused(handle) == (ErrorCode.CANCELED, 'canceled by the client')
    assert bench.checked == [] and bench.abandoned == 0


def test_one_goal_at_a_time(bench: Bench) -> None:
    first, second, third = Handle(line()), Handle(line()), Handle(line())
    bench.meanwhile = lambda: bench.refused(second)  # while the first is checked
    running = bench.execute(first)
    assert [code for code, _ in bench.rejected] == [ErrorCode.BUSY]
    bench.meanwhile = lambda: None
    assert bench.refused(third)[0] is ErrorCode.BUSY
    assert second.ended == third.ended == ['abort'] and first.ended == []
    bench.server.finish(Outcome(ErrorCode.NONE, '', statistics()))
    ended(running)
    bench.controller.deactivate()
    bench.controller.activate(np.zeros(3))
    bench.execute(Handle(line()))
    assert bench.controller.busy


def test_goals_that_cannot_begin_are_refused(bench: Bench) -> None:
    assert bench.refused(Handle(line(robot='other'))) == (
        ErrorCode.WRONG_ROBOT,
        "the trajectory is for robot 'other', this is 'gantry'",
    )
    code, reason = bench.refused(Handle(line(), periods=2))
    assert code is ErrorCode.BAD_TRAJECTORY and reason.startswith('periods: ')
    assert bench.checked == []
    bench.report = SimpleNamespace(feasible=False, message='too far by 1 m')
    assert bench.refused(Handle(line())) == (ErrorCode.INFEASIBLE, 'too far by 1 m')

    def singular() -> None:
        raise KinematicsError('no closed configuration')

    bench.meanwhile = singular
    assert bench.refused(Handle(line())) == (ErrorCode.INFEASIBLE, 'no closed configuration')
    bench.meanwhile = lambda: 1 / 0
    code, reason = bench.refused(Handle(line()))
    assert (code, reason) == (ErrorCode.BAD_TRAJECTORY, 'ZeroDivisionError: division by zero')
    assert len(bench.errors) == 1 and 'Traceback' in bench.errors[0]
    bench.loop.commanding = False
    assert bench.refused(Handle(line()))[0] is ErrorCode.NOT_ACTIVE
    bench.loop = None
    inactive = (ErrorCode.NOT_ACTIVE, 'the controller is not active')
    assert bench.refused(Handle(line())) == inactive


def test_a_check_has_two_million_samples_at_most(bench: Bench) -> None:
    code, reason = bench.refused(Handle(line(4000.001)))
    assert code is ErrorCode.BAD_TRAJECTORY
    assert reason.startswith('duration: 4000 s take 2e+06 samples of the check, 2e+06 at most')
    assert bench.checked == []
    bench.execute(Handle(line(3999.0)))  # 500 a second
    assert bench.controller.busy


def test_what_happens_during_the_check_refuses_the_goal(bench: Bench) -> None:
    def fail() -> None:
        bench.loop.commanding = False
        bench.loop.fault = ControlFault(ErrorCode.STATE_TIMEOUT, 'no joint state')

    bench.meanwhile = fail
    assert bench.refused(Handle(line())) == (ErrorCode.STATE_TIMEOUT, 'no joint state')
    bench.loop.commanding, bench.loop.fault = True, None

    def deactivate() -> None:
        bench.loop.commanding = False

    bench.meanwhile = deactivate
    assert bench.refused(Handle(line()))[0] is ErrorCode.NOT_ACTIVE
    bench.loop.commanding = True

    def clean_up() -> None:
        bench.loop = None

    bench.meanwhile = clean_up
    assert bench.refused(Handle(line()))[0] is ErrorCode.NOT_ACTIVE


def test_the_end_of_a_motion_that_no_goal_asked_for_is_nobodys(bench: Bench) -> None:
    bench.server.finish(Outcome(ErrorCode.NONE, '', statistics()))
    assert bench.woken == 0


class Learned:
    """Stands in for what was learned of a motion; keeps what it was learned from."""

    def __init__(self, heard: tuple) -> None:
        self.heard = heard
        self.history = [SimpleNamespace(rms=1e-5, verdict=Verdict.LEARNED)]
        self.begun = 0

    def repetition(self, execution) -> Repetition:
        self.begun += 1
        return Repetition(execution, self.heard[3].scope, 3)


@pytest.fixture
def learned(monkeypatch) -> list[Learned]:
    """All that is learned, in its order."""
    found: list[Learned] = []

    def learn(model, *heard):
        found.append(Learned(heard))
        return found[-1]

    monkeypatch.setattr(learning_file, 'learned_from', learn)
    return found


def follow(bench: Bench, trajectory, end: Outcome | None = None, **fields):
    """Run a goal with some cycles to its end, or to another; its result."""
    handle = Handle(trajectory, **fields)
    running = bench.execute(handle)
    for _ in range(1100):
        bench.clock += 1e-3
        result = bench.controller.step(bench.clock, bench.controller._desired.last.position)
        if result.outcome is not None:
            bench.server.finish(end or result.outcome)
            return ended(running)
    raise AssertionError('the motion has not ended')


def test_goals_that_ask_for_it_learn_and_use_what_was_learned(bench: Bench, learned) -> None:
    Goal = FollowPlatformTrajectory.Goal
    bench.clock = 0.0
    there, back = line(0.2), PointToPoint([0.0, 0.2], [line().positions[1], np.zeros(6)])
    result = follow(bench, there)
    assert not learned and not result.learning_msg and not result.learning_repetitions
    follow(bench, back)
    result = follow(bench, there, learning=Goal.LEARN)
    assert len(learned) == 1 and result.learning_msg == Verdict.LEARNED.value
    assert result.learning_repetitions == 1 and list(result.learning_rms) == [1e-5]
    before, recorded = learned[0].heard[4:6]
    assert before is None and len(recorded.time) > 190
    follow(bench, back, learning=Goal.APPLY_LEARNED)  # another motion: nothing is known
    assert len(learned) == 1
    follow(bench, there, learning=Goal.LEARN)
    assert learned[0].begun == 1 and learned[1].heard[4] is learned[0]
    follow(bench, back)
    follow(bench, there, learning=Goal.APPLY_LEARNED)
    assert learned[1].begun == 1 and len(learned) == 2
    follow(bench, back)
    follow(bench, there, learning=Goal.LEARN_ANEW)
    assert learned[1].begun == 1 and learned[2].heard[4] is None
    follow(bench, back)
    bench.controller.feedforward = nominal_feedforward(bench.controller.model, friction=False)
    follow(bench, there, learning=Goal.LEARN)
    assert learned[3].heard[4] is None  # of another model


def test_a_repetition_that_was_stopped_is_not_learned_from(bench: Bench, learned) -> None:
    bench.clock = 0.0
    end = Outcome(ErrorCode.LIMIT_VIOLATED, 'z: left', statistics())
    result = follow(bench, line(0.2), end, learning=FollowPlatformTrajectory.Goal.LEARN)
    assert not learned and 'z: left' in result.learning_msg


def test_learning_that_cannot_be_is_refused_before_anything_moves(bench: Bench, tmp_path) -> None:
    code, reason = bench.refused(Handle(line(), learning=7))
    assert code is ErrorCode.BAD_TRAJECTORY and 'learning: 7' in reason
    code, reason = bench.refused(Handle(line(), learning=1, learn_period=True))
    assert code is ErrorCode.LEARNING and 'no period' in reason
    bench.server._learnings = motion_learning.MotionLearnings(tmp_path, 0.2, bench.server.compute)
    bench.clock = 0.0
    plan = bench.controller.plan(line())
    key = motion_learning.motion_key(
        *(bench.controller.model, plan, bench.controller.feedforward), motion_learning.Scope.MOTION
    )
    bench.server._learnings._path(key).write_text('{}')
    code, reason = bench.refused(Handle(line(), learning=1))
    assert code is ErrorCode.LEARNING and 'broken' in reason
