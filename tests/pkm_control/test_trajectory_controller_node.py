"""Node `trajectory_controller` on real rclpy, in lockstep with the simulated robot."""

from __future__ import annotations

import time
from collections import defaultdict

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')

from action_msgs.msg import GoalStatus  # noqa: E402
from checks_here import check_here  # noqa: E402
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue  # noqa: E402
from graph import Graph  # noqa: E402
from lifecycle_msgs.msg import State, Transition  # noqa: E402
from lifecycle_msgs.srv import ChangeState, GetState  # noqa: E402
from rclpy.action import ActionClient  # noqa: E402
from rclpy.qos import QoSProfile, ReliabilityPolicy  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Bool, Float64, Float64MultiArray, String  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from unique_identifier_msgs.msg import UUID  # noqa: E402

from pkm_control.control_types import ErrorCode  # noqa: E402
from pkm_control.nodes.trajectory_controller import TrajectoryControllerNode  # noqa: E402
from pkm_description import load  # noqa: E402
from pkm_description.nodes.qos import LATCHED  # noqa: E402
from pkm_dynamics import ClosedChainModel  # noqa: E402
from pkm_dynamics.nodes.simulated_robot import SimulatedRobot  # noqa: E402
from pkm_dynamics.nodes.trajectory_messages import to_message  # noqa: E402
from pkm_dynamics.trajectories import CircleTrajectory, FourierTrajectory, Phase, PointToPoint  # noqa: E402
from pkm_msgs.action import FollowPlatformTrajectory  # noqa: E402
from pkm_msgs.msg import ControllerState, DynamicParameters, ParametricTrajectory  # noqa: E402
from pkm_msgs.srv import SetModel  # noqa: E402

pytestmark = pytest.mark.ros
Result = FollowPlatformTrajectory.Result
MODEL = ClosedChainModel(load('palida'))
HOME = [*MODEL.home_position, 0.0, 0.0, 0.0]
RATE = 250  # [Hz] of the simulated robot: most of a cycle's cost is ROS


def shake(period: float = 0.6, amplitude: float = 0.02, robot: str = 'palida') -> FourierTrajectory:
    sine = np.full((6, 1), amplitude)
    return FourierTrajectory(period, HOME, sine, np.zeros((6, 1)), robot=robot)


class Controller(Graph):
    """A controller, a tester, and a simulated robot unless the tester plays it."""

    def __init__(self, *parameters: str, robot: bool = True) -> None:
        rates = (f'rate:={RATE}.0', 'bridged_cycles:=12') if robot else ()
        super().__init__('lockstep:=true', 'update_mode:=state', 'seed:=3', *rates, *parameters)
        self.with_robot = robot
        self._sorted = 0  # states of the controller that are in `_by_phase`
        self._by_phase: dict[int, list] = defaultdict(list)

    def __enter__(self) -> Controller:
        super().__enter__()
        for kind, topic in (
            (DiagnosticArray, 'diagnostics'),
            (Float64MultiArray, 'effort_controller/commands'),
            (ControllerState, 'trajectory_controller/state'),
        ):
            self.listen(kind, topic)
        self.action = ActionClient(
            self.tester,
            FollowPlatformTrajectory,
            'trajectory_controller/follow_platform_trajectory',
        )
        self.states = self.tester.create_publisher(JointState, 'joint_states', 1000)
        self.node = self.add(TrajectoryControllerNode)
        if self.with_robot:
            self.add(SimulatedRobot)
        self.until(self.action.server_is_ready)
        return self

    def transition(self, number: int) -> bool:
        request = ChangeState.Request(transition=Transition(id=number))
        done = self.call(ChangeState, 'trajectory_controller/change_state', request).success
        if done and number == Transition.TRANSITION_CONFIGURE:
            check_here(self.node)
        return done

    def lifecycle(self) -> int:
        response = self.call(GetState, 'trajectory_controller/get_state', GetState.Request())
        return response.current_state.id

    def activate(self) -> None:
        assert self.transition(Transition.TRANSITION_CONFIGURE)
        if not self.with_robot:
            self.until(lambda: self.states.get_subscription_count() > 0)
            self.play(0)
        self.until(lambda: self.node.loop.has_recent_state)
        assert self.transition(Transition.TRANSITION_ACTIVATE)

    def play(self, step: int, positions=MODEL.home_actuators, names=MODEL.actuated_joints) -> None:
        message = JointState(name=list(names), position=list(positions))
        message.header.stamp.nanosec = step * 1_000_000
        self.states.publish(message)

    def send(self, trajectory, **fields):
        message = trajectory if not hasattr(trajectory, 'evaluate') else to_message(trajectory)
        goal = FollowPlatformTrajectory.Goal(trajectory=message, ramp_time=0.3)
        for name, value in fields.items():
            setattr(goal, name, value)
        self.feedback: list = []
        future = self.action.send_goal_async(
            goal, feedback_callback=lambda message: self.feedback.append(message.feedback)
        )
        self.until(future.done)
        return future.result()

    def result(self, handle):
        future = handle.get_result_async()
        self.until(future.done, 60.0)
        return future.result()

    def rejection(self, trajectory, **fields) -> str:
        """Code and reason of a goal that is aborted before anything moves."""
        handle = self.send(trajectory, **fields)
        assert handle.accepted
        final = self.result(handle)
        assert final.status == GoalStatus.STATUS_ABORTED and not final.result.name
        return f'{ErrorCode(final.result.error_code).name}: {final.result.error_msg}'

    def diagnosed(self) -> DiagnosticStatus:
        silent = DiagnosticStatus(values=[KeyValue()])
        statuses = [silent, *(array.status[0] for array in self.heard['diagnostics'])]
        return [s for s in statuses if s is silent or s.name == '/trajectory_controller'][-1]

    @property
    def commands(self) -> list:
        return self.heard['effort_controller/commands']

    def seen(self, phase: Phase) -> list:
        states = self.heard['trajectory_controller/state']
        for state in states[self._sorted :]:
            self._by_phase[state.phase].append(state)
        self._sorted = len(states)
        return self._by_phase[phase]


def test_a_motion_from_start_to_end() -> None:
    with Controller('feedforward:=nominal') as graph:
        for _ in range(20):
            graph.executor.spin_once(timeout_sec=0.005)
        assert graph.commands == []
        assert graph.rejection(shake()).startswith('NOT_ACTIVE: ')
        graph.activate()
        handle = graph.send(shake(), periods=2)
        assert handle.accepted
        assert graph.rejection(shake()).startswith('BUSY: a motion is under way')
        final = graph.result(handle)
        assert final.status == GoalStatus.STATUS_SUCCEEDED
        assert final.result.error_code == Result.NONE
        assert list(final.result.name) == MODEL.actuated_joints
        assert 0.0 < max(final.result.tracking_rms) < 1e-3
        assert graph.feedback and len(graph.feedback[-1].position_error) == 6
        moving = [message for message in graph.feedback if message.phase != Phase.HOLD]
        left = [message.time_left for message in moving]
        assert left == sorted(left, reverse=True) and min(left, default=0.0) >= 0.0
        fractions = [message.fraction for message in moving]
        assert fractions == sorted(fractions) and max(fractions, default=0.0) <= 1.0
        graph.until(lambda: graph.seen(Phase.RAMP_OUT) and len(graph.seen(Phase.HOLD)) > 20)
        run = graph.seen(Phase.RUN)
        period = round(0.6 * RATE)
        assert len(run) == 2 * period  # every cycle of them
        first, later = run[:period], run[period:]
        for one, other in zip(first, later, strict=True):
            np.testing.assert_allclose(one.desired_position, other.desired_position, atol=1e-9)
        assert run[0].model == 'nominal'
        errors = np.array([np.subtract(s.desired_position, s.position) for s in run])
        rms = np.sqrt(np.mean(errors**2, axis=0))
        np.testing.assert_allclose(final.result.tracking_rms, rms, rtol=1e-9)
        np.testing.assert_allclose(final.result.tracking_max, np.abs(errors).max(axis=0))
        for one in run[::25]:
            forces = np.add(one.feedforward, one.feedback)
            np.testing.assert_allclose(one.command, forces, rtol=1e-12)
        moved = np.gradient([s.desired_position for s in first], 1.0 / RATE, axis=0)[1:-1]
        speeds = np.array([s.desired_velocity for s in first[1:-1]])
        np.testing.assert_allclose(speeds, moved, atol=1e-3 * np.abs(moved).max())
        assert np.abs(np.mean([s.feedforward for s in run], axis=0)).min() > 20.0  # weight
        assert np.abs(np.mean([s.feedback for s in run], axis=0)).max() < 20.0
        assert graph.transition(Transition.TRANSITION_DEACTIVATE)
        graph.until(lambda: not any(graph.commands[-1].data))


def test_cancel_in_the_middle_stops_within_a_period_and_holds() -> None:
    with Controller('feedforward:=nominal') as graph:
        graph.activate()
        handle = graph.send(shake(), periods=100)
        graph.until(lambda: graph.seen(Phase.RUN))
        graph.until(handle.cancel_goal_async().done)
        final = graph.result(handle)
        assert final.status == GoalStatus.STATUS_CANCELED
        assert final.result.error_code == Result.CANCELED
        held = len(graph.seen(Phase.HOLD))
        graph.until(lambda: len(graph.seen(Phase.HOLD)) > held + 12)
        assert 0 < len(graph.seen(Phase.STOPPING)) <= 0.5 * RATE  # stop_time
        states = graph.heard['trajectory_controller/state']
        desired = np.array([s.desired_position for s in states])
        assert np.abs(np.diff(desired, n=2, axis=0)).max() < 30.0 / RATE**2  # [m]: no jump
        assert np.abs(desired[-1] - np.array(states[-1].position)).max() < 2e-3
        assert graph.lifecycle() == State.PRIMARY_STATE_ACTIVE


def test_goals_are_rejected_with_the_reason() -> None:
    with Controller() as graph:
        graph.activate()
        wide = CircleTrajectory(HOME, [0.0, 0.0, 0.0], 0.4, 0.5)
        broken = to_message(shake())
        broken.sine[3] = float('nan')
        for trajectory, fields, reason in (
            (shake(robot='other'), {}, "WRONG_ROBOT: the trajectory is for robot 'other'"),
            (shake(), {'periods': 0}, 'BAD_TRAJECTORY: periods'),
            (shake(), {'ramp_time': -1.0}, 'BAD_TRAJECTORY: ramp_time'),
            (shake(), {'heartbeat_timeout': float('nan')}, 'BAD_TRAJECTORY: heartbeat_timeout'),
            (shake(), {'heartbeat_timeout': -1.0}, 'BAD_TRAJECTORY: heartbeat_timeout'),
            (shake(), {'heartbeat_timeout': float('inf')}, 'BAD_TRAJECTORY: heartbeat_timeout'),
            (broken, {}, 'BAD_TRAJECTORY: sine'),
            (wide, {}, 'INFEASIBLE: '),
        ):
            found = graph.rejection(trajectory, **fields)
            assert found.startswith(reason)
        assert 'strut at t = ' in found
        assert not graph.seen(Phase.APPROACH)


def test_model_is_replaced_or_refused_with_the_reason() -> None:
    def parameters() -> DynamicParameters:
        return DynamicParameters(
            robot='palida',
            description_digest=MODEL.description.digest,
            estimator='wls',
            standard_name=list(MODEL.parameter_names),
            standard_value=MODEL.nominal_parameters.tolist(),
        )

    def refused(code: int, text: str, **changes) -> None:
        model = parameters()
        for name, value in changes.items():
            setattr(model, name, value)
        request = SetModel.Request(source='identified', parameters=model)
        response = graph.call(SetModel, service, request)
        assert (response.success, response.error_code) == (False, code)
        assert text in response.error_msg

    service, codes = 'trajectory_controller/set_model', SetModel.Response
    names, values = list(MODEL.parameter_names), MODEL.nominal_parameters.tolist()
    with Controller() as graph:
        refused(codes.WRONG_STATE, 'not configured')
        graph.activate()
        refused(codes.WRONG_ROBOT, "'other'", robot='other')
        refused(codes.WRONG_ROBOT, 'digest', description_digest='0' * 64)
        refused(codes.WRONG_ROBOT, 'digest missing', description_digest='')
        less = {'standard_name': names[1:], 'standard_value': values[1:]}
        refused(codes.WRONG_PARAMETERS, 'missing', **less)
        refused(codes.WRONG_PARAMETERS, 'not finite', standard_value=[float('nan'), *values[1:]])
        refused(codes.NOT_PHYSICAL, names[0], standard_value=[-1.0, *values[1:]])
        impossible = list(values)
        impossible[names.index('platform.Izz')] = -5.0
        refused(codes.NOT_PHYSICAL, "body 'platform'", standard_value=impossible)
        unknown = graph.call(SetModel, service, SetModel.Request(source='mine'))
        assert unknown.error_code == codes.UNKNOWN_SOURCE
        for left_out, name in (('rigid_body', 'rigid body'), ('friction', 'friction')):
            request = SetModel.Request(source='identified', parameters=parameters())
            setattr(request, left_out, False)
            assert graph.call(SetModel, service, request).success
            graph.until(
                lambda name=name: (
                    graph.heard['trajectory_controller/state'][-1].model == f'wls without {name}'
                )
            )


@pytest.mark.parametrize(
    ('bad', 'reason'),
    [
        ({'positions': [np.nan] * 6}, 'not finite'),
        ({'positions': [0.8] * 5}, '6 joint names, but 5 positions'),
        (
            {'positions': [0.8] * 7, 'names': [*MODEL.actuated_joints, MODEL.actuated_joints[0]]},
            'is named twice',
        ),
    ],
)
def test_bad_joint_states_end_all_commands(bad: dict, reason: str) -> None:
    with Controller(robot=False) as graph:
        graph.activate()
        handle = graph.send(shake(), periods=5)
        assert handle.accepted
        graph.play(1)
        graph.until(lambda: len(graph.commands) >= 2)
        graph.play(2, **bad)
        final = graph.result(handle)
        assert final.status == GoalStatus.STATUS_ABORTED
        assert final.result.error_code == Result.BAD_STATE
        assert reason in final.result.error_msg
        graph.until(lambda: graph.lifecycle() == State.PRIMARY_STATE_INACTIVE)
        graph.until(lambda: graph.diagnosed().level == DiagnosticStatus.ERROR)
        assert reason in graph.diagnosed().message
        graph.until(lambda: not any(graph.commands[-1].data))
        count = len(graph.commands)
        graph.play(3)
        for _ in range(20):
            graph.executor.spin_once(timeout_sec=0.005)
        assert len(graph.commands) == count


def test_silence_of_the_robot_ends_all_commands() -> None:
    with Controller('lockstep_timeout:=0.3', robot=False) as graph:
        assert graph.transition(Transition.TRANSITION_CONFIGURE)
        assert not graph.transition(Transition.TRANSITION_ACTIVATE)  # no state yet
        graph.until(lambda: graph.states.get_subscription_count() > 0)
        graph.play(0)
        graph.until(lambda: graph.node.loop.has_recent_state)
        assert graph.transition(Transition.TRANSITION_ACTIVATE)
        graph.until(lambda: graph.lifecycle() == State.PRIMARY_STATE_INACTIVE)
        graph.until(lambda: graph.diagnosed().level == DiagnosticStatus.ERROR)
        assert 'STATE_TIMEOUT' in graph.diagnosed().message
        graph.until(lambda: graph.commands and not any(graph.commands[-1].data))


def test_lifecycle_requests_out_of_turn_are_answered_and_change_nothing() -> None:
    with Controller() as graph:
        assert not graph.transition(Transition.TRANSITION_ACTIVATE)
        assert not graph.transition(Transition.TRANSITION_DEACTIVATE)
        graph.activate()
        assert not graph.transition(Transition.TRANSITION_ACTIVATE)
        assert not graph.transition(Transition.TRANSITION_CONFIGURE)
        assert graph.lifecycle() == State.PRIMARY_STATE_ACTIVE
        count = len(graph.commands)
        graph.until(lambda: len(graph.commands) > count + 20)
        assert graph.transition(Transition.TRANSITION_DEACTIVATE)
        graph.node._go_inactive()
        assert not graph.transition(Transition.TRANSITION_DEACTIVATE)
        assert graph.lifecycle() == State.PRIMARY_STATE_INACTIVE


def test_an_unexpected_error_of_a_transition_stops_commands() -> None:
    with Controller() as graph:
        graph.activate()

        loop = graph.node.loop
        graph.node._callbacks[State.TRANSITION_STATE_DEACTIVATING] = lambda _: 1 / 0
        assert not graph.transition(Transition.TRANSITION_DEACTIVATE)
        assert graph.node.loop is None and not loop.commanding
        assert graph.lifecycle() == State.PRIMARY_STATE_UNCONFIGURED


def test_malformed_goals_are_rejected_and_the_controller_goes_on(monkeypatch) -> None:
    def times(kind: int, *time: float) -> ParametricTrajectory:
        return ParametricTrajectory(
            type=kind,
            coordinates=ParametricTrajectory.PLATFORM_COORDINATES,
            time=list(time),
            positions=HOME * len(time),
        )

    sampled, points = ParametricTrajectory.SAMPLED, ParametricTrajectory.POINT_TO_POINT
    with Controller() as graph:
        graph.activate()

        def refused(reason: str, trajectory, **fields) -> None:
            assert graph.rejection(trajectory, **fields).startswith(f'BAD_TRAJECTORY: {reason}')

        refused('time: a step of 1e-300 s', times(sampled, 0.0, 1e-300, 1.0))
        refused('time: a duration of 1e+308 s', times(sampled, 0.0, 1e308))
        refused('time: a step of 1e-300 s', times(points, 0.0, 1e-300, 1.0))
        refused('duration: 86000', times(points, 0.0, 86000.0))
        refused('approach_speed', shake(), approach_speed=1e-300)
        refused('ramp_time', shake(), ramp_time=1e300)
        refused('duration', shake(period=1e-300))
        with monkeypatch.context() as patch:
            patch.setattr('pkm_control.nodes.follow_server.trajectory_arguments', lambda _: 1 / 0)
            refused('ZeroDivisionError', shake())
        assert graph.lifecycle() == State.PRIMARY_STATE_ACTIVE
        count = len(graph.commands)
        graph.until(lambda: len(graph.commands) > count + 20)


def test_stamps_jumping_ahead_abort_the_motion() -> None:
    with Controller(robot=False) as graph:
        graph.activate()
        handle = graph.send(shake(), periods=5)
        assert handle.accepted
        graph.play(1)
        graph.until(lambda: len(graph.commands) >= 2)
        graph.play(900)
        final = graph.result(handle)
        assert final.status == GoalStatus.STATUS_ABORTED
        assert final.result.error_code == Result.BAD_STATE
        assert 'jumped ahead by 0.899' in final.result.error_msg
        graph.until(lambda: graph.lifecycle() == State.PRIMARY_STATE_INACTIVE)


def test_a_lost_client_stops_its_motion() -> None:
    with Controller() as graph:
        graph.activate()
        final = graph.result(graph.send(shake(), periods=500, heartbeat_timeout=0.5))
        assert final.result.error_code == Result.CLIENT_LOST
        assert 'no heartbeat of the client' in final.result.error_msg
        assert graph.node.loop.commanding  # it holds


def test_a_client_with_a_heartbeat_is_followed_to_the_end() -> None:
    with Controller() as graph:
        beats = graph.tester.create_publisher(UUID, 'trajectory_controller/heartbeat', 10)
        graph.activate()
        handle = graph.send(shake(), periods=3, heartbeat_timeout=0.5)
        graph.tester.create_timer(0.05, lambda: beats.publish(handle.goal_id))
        assert graph.result(handle).result.error_code == Result.NONE


def test_best_effort_states_are_heard() -> None:
    with Controller(robot=False) as graph:
        quality = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
        graph.tester.destroy_publisher(graph.states)
        graph.states = graph.tester.create_publisher(JointState, 'joint_states', quality)
        graph.activate()
        graph.until(lambda: graph.commands)


def test_a_protective_stop_is_latched_until_its_reset() -> None:
    with Controller('feedforward:=nominal') as graph:
        topic = graph.tester.create_publisher(Bool, 'trajectory_controller/protective_stop', 10)
        graph.until(lambda: topic.get_subscription_count() > 0)
        graph.activate()
        handle = graph.send(shake(), periods=500)
        graph.until(lambda: graph.seen(Phase.RUN))
        topic.publish(Bool(data=True))
        final = graph.result(handle)
        assert final.result.error_code == Result.PROTECTIVE_STOP
        graph.until(lambda: graph.lifecycle() == State.PRIMARY_STATE_INACTIVE)
        assert 'PROTECTIVE_STOP' in graph.diagnosed().message
        assert not graph.transition(Transition.TRANSITION_ACTIVATE)
        reset = 'trajectory_controller/reset_protective_stop'
        assert not graph.call(Trigger, reset, Trigger.Request()).success
        topic.publish(Bool(data=False))
        graph.until(lambda: graph.call(Trigger, reset, Trigger.Request()).success)
        assert graph.transition(Transition.TRANSITION_ACTIVATE)
        assert graph.result(graph.send(shake())).result.error_code == Result.NONE


def ready(graph) -> str:
    return graph.heard['trajectory_controller/ready_to_move'][-1].data


def test_drives_that_are_not_ready_stop_the_robot_and_keep_it_inactive() -> None:
    with Controller('feedforward:=nominal', 'drives_say_ready:=true') as graph:
        graph.listen(String, 'trajectory_controller/ready_to_move', LATCHED)
        drives = graph.tester.create_publisher(Bool, 'drives/ready', LATCHED)
        assert graph.transition(Transition.TRANSITION_CONFIGURE)
        graph.until(lambda: graph.node.loop.has_recent_state)
        assert not graph.transition(Transition.TRANSITION_ACTIVATE)
        graph.until(lambda: 'have not said' in ready(graph))
        drives.publish(Bool(data=True))
        graph.until(lambda: ready(graph) == 'the controller is not active: activate it')
        assert graph.transition(Transition.TRANSITION_ACTIVATE)
        graph.until(lambda: ready(graph) == '')
        handle = graph.send(shake(), periods=500)
        graph.until(lambda: graph.seen(Phase.RUN))
        graph.until(lambda: ready(graph) == 'a motion is under way')
        drives.publish(Bool(data=False))
        final = graph.result(handle)
        assert final.result.error_code == Result.DRIVES_NOT_READY
        graph.until(lambda: graph.lifecycle() == State.PRIMARY_STATE_INACTIVE)
        graph.until(lambda: ready(graph) == 'the drives say that they are not ready')
        drives.publish(Bool(data=True))  # what it stopped for is over, and told as such
        graph.until(lambda: 'activate it; it stopped for DRIVES_NOT_READY' in ready(graph))
        assert graph.transition(Transition.TRANSITION_ACTIVATE)
        graph.until(lambda: ready(graph) == '')
        graph.transition(Transition.TRANSITION_DEACTIVATE)
        graph.until(lambda: ready(graph) == 'the controller is not active: activate it')


def test_an_enabling_device_lets_the_robot_move_slowly_while_it_is_held() -> None:
    limit = 0.15  # [m/s]
    with Controller(
        'feedforward:=nominal', 'enabling_device:=true', f'reduced_speed:={limit}'
    ) as graph:
        device = graph.tester.create_publisher(Bool, 'trajectory_controller/enabling_device', 10)
        graph.activate()
        refused = graph.result(graph.send(shake(), periods=3))
        assert refused.result.error_code == Result.ENABLING_DEVICE
        assert graph.node.loop.commanding  # it holds
        timer = graph.tester.create_timer(0.02, lambda: device.publish(Bool(data=True)))
        held = graph.node._safety.interlocks
        graph.until(lambda: held.of_motion(time.monotonic()) is None)
        handle = graph.send(shake(), periods=500)
        graph.until(lambda: graph.seen(Phase.RUN), 60.0)
        controller = graph.node.loop.controller
        motion = controller._desired._execution
        instants = np.linspace(motion.execution.ramp_start, motion.execution.run_start + 0.5, 200)
        twists = motion.motion(
            instants / max(controller._largest_rate, 1e-9), controller.model
        ).twist
        fastest = np.linalg.norm(twists[:, :3], axis=1).max()
        assert 0.0 < controller._largest_rate < 1.0 and fastest < 1.001 * limit
        graph.tester.destroy_timer(timer)  # it falls silent
        final = graph.result(handle)
        assert final.result.error_code == Result.ENABLING_DEVICE
        assert 'silent' in final.result.error_msg
        assert graph.node.loop.commanding


def test_another_node_that_commands_stops_the_robot_and_keeps_it_inactive() -> None:
    with Controller('feedforward:=nominal') as graph:
        graph.activate()
        handle = graph.send(shake(), periods=500)
        graph.until(lambda: graph.seen(Phase.RUN))
        other = graph.tester.create_publisher(Float64MultiArray, 'effort_controller/commands', 10)
        final = graph.result(handle)
        assert final.result.error_code == Result.FOREIGN_COMMANDS
        assert '/tester' in final.result.error_msg
        graph.until(lambda: graph.lifecycle() == State.PRIMARY_STATE_INACTIVE)
        assert not graph.transition(Transition.TRANSITION_ACTIVATE)
        graph.tester.destroy_publisher(other)
        graph.until(lambda: graph.transition(Transition.TRANSITION_ACTIVATE))


def test_a_deactivated_robot_rests_on_its_brakes_before_the_force_goes() -> None:
    with Controller('feedforward:=nominal') as graph:
        graph.listen(Bool, 'brakes/closed', LATCHED)
        graph.activate()
        handle = graph.send(shake(), periods=500)
        graph.until(lambda: graph.seen(Phase.RUN))
        assert graph.transition(Transition.TRANSITION_DEACTIVATE)
        assert graph.result(handle).result.error_code == Result.DEACTIVATED
        zero = [not any(command.data) for command in graph.commands]
        assert zero.index(True) == len(zero) - 1  # one, the last
        assert graph.heard['brakes/closed'][-1].data
        last = graph.seen(Phase.HOLD)[-20:]
        moved = np.ptp([list(state.position) for state in last], axis=0)
        assert moved.max() < 2e-4  # noise of the sensors; it does not fall


def test_the_speed_override_slows_motions_down_and_pauses_them() -> None:
    with Controller('feedforward:=nominal') as graph:
        override = graph.tester.create_publisher(Float64, 'trajectory_controller/speed_override', 1)
        graph.until(lambda: override.get_subscription_count() > 0)
        graph.activate()
        handle = graph.send(shake(), periods=3)
        graph.until(lambda: graph.seen(Phase.RUN))
        for refused in (float('nan'), 1.5, -0.1):
            override.publish(Float64(data=refused))
        override.publish(Float64(data=0.0))
        graph.until(lambda: graph.heard['trajectory_controller/state'][-1].rate == 0.0)
        still = graph.heard['trajectory_controller/state'][-1].trajectory_time
        graph.until(lambda: graph.heard['trajectory_controller/state'][-1].rate == 0.0)
        for _ in range(100):
            graph.executor.spin_once(timeout_sec=0.01)
        assert graph.heard['trajectory_controller/state'][-1].trajectory_time == still
        override.publish(Float64(data=0.5))
        graph.until(lambda: graph.heard['trajectory_controller/state'][-1].rate == 0.5)
        assert graph.result(handle).result.error_code == Result.NONE


def test_recovery_answers_when_it_has_nothing_to_do_or_has_done_it(monkeypatch) -> None:
    with Controller('feedforward:=nominal') as graph:
        name = 'trajectory_controller/recover'
        answer = graph.call(Trigger, name, Trigger.Request())
        assert not answer.success and 'not active' in answer.message
        graph.activate()
        answer = graph.call(Trigger, name, Trigger.Request())
        assert not answer.success and 'within their strokes' in answer.message
        # As if the robot stood 2 mm outside; the way itself has tests of its own.
        module = 'pkm_control.nodes.slow_motions.recovery_motion'
        monkeypatch.setattr(
            module,
            lambda model, q: PointToPoint(
                [0.0, 0.5], [q, q + 0.002], 'actuators', list(model.actuated_joints)
            ),
        )
        answer = graph.call(Trigger, name, Trigger.Request())
        assert answer.success and answer.message == 'the robot rests within its strokes'
        where = np.array(graph.heard['trajectory_controller/state'][-1].position)
        np.testing.assert_allclose(where, MODEL.home_actuators + 0.002, atol=5e-4)
