"""Robot and controller as nodes that speak of valves: motions, stops, watchdog, wrong drives."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip('rclpy')

from action_msgs.msg import GoalStatus  # noqa: E402
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus  # noqa: E402
from every_model import model_of  # noqa: E402
from graph import Graph  # noqa: E402
from lifecycle_msgs.msg import Transition  # noqa: E402
from lifecycle_msgs.srv import ChangeState  # noqa: E402
from rclpy.action import ActionClient  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Bool, Float64MultiArray, String  # noqa: E402

from pkm_control.control_types import ErrorCode  # noqa: E402
from pkm_control.nodes.trajectory_controller import TrajectoryControllerNode  # noqa: E402
from pkm_description.nodes.qos import LATCHED  # noqa: E402
from pkm_dynamics.nodes.simulated_robot import SimulatedRobot  # noqa: E402
from pkm_dynamics.nodes.trajectory_messages import to_message  # noqa: E402
from pkm_dynamics.trajectories import FourierTrajectory, Phase  # noqa: E402
from pkm_msgs.action import FollowPlatformTrajectory  # noqa: E402
from pkm_msgs.msg import ControllerState  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.slow]
MODEL = model_of('msi')
CONTROLLER = 'trajectory_controller'
STUDY = 0.086e-3  # [m] RMS of the axes along z, of `pkm study hydraulics`
SINKS = 1.5e-3  # [m/s] at most, on closed valves
LOCKSTEP = ('robot:=msi', 'lockstep:=true', 'update_mode:=state', 'seed:=3', 'feedforward:=nominal')
LONGEST = 400.0  # [s] of a motion, on a machine that has other things to do


def sine() -> FourierTrajectory:
    """The motion that [H] names as usual, along z."""
    wave = np.zeros((6, 1))
    wave[2] = 0.025
    home = np.concatenate([MODEL.home_position, np.zeros(3)])
    return FourierTrajectory(0.2, home, wave, np.zeros((6, 1)), robot='msi')


class Nodes(Graph):
    """A robot and, where it is wanted, its controller."""

    def __init__(self, *parameters: str, controller: bool = True) -> None:
        super().__init__(*parameters)
        self._with_controller = controller

    def __enter__(self) -> Nodes:
        super().__enter__()
        self.listen(DiagnosticArray, 'diagnostics')
        self.listen(JointState, 'joint_states')
        self.listen(Bool, 'brakes/closed', LATCHED)
        if self._with_controller:
            self.listen(ControllerState, f'{CONTROLLER}/state')
            self.listen(String, f'{CONTROLLER}/ready_to_move', LATCHED)
            name = f'{CONTROLLER}/follow_platform_trajectory'
            self.action = ActionClient(self.tester, FollowPlatformTrajectory, name)
            self.controller = self.add(TrajectoryControllerNode)
        self.robot = self.add(SimulatedRobot)
        self.until(lambda: self.heard['joint_states'])
        return self

    @property
    def plant(self):
        return self.robot._plant

    def speed(self) -> float:
        return float(np.abs(self.plant.sample.truth_velocities).max())

    def change(self, number: int) -> bool:
        request = ChangeState.Request(transition=Transition(id=number))
        return bool(self.call(ChangeState, f'{CONTROLLER}/change_state', request).success)

    def configure(self) -> None:
        assert self.change(Transition.TRANSITION_CONFIGURE)
        self.until(lambda: self.controller.loop.has_recent_state)

    def send(self, **fields):
        goal = FollowPlatformTrajectory.Goal(trajectory=to_message(sine()), ramp_time=0.5)
        for name, value in fields.items():
            setattr(goal, name, value)
        sent = self.action.send_goal_async(goal)
        self.until(sent.done)
        return sent.result()

    def result(self, handle):
        future = handle.get_result_async()
        self.until(future.done, LONGEST)
        return future.result()

    def diagnosed(self, node: str) -> DiagnosticStatus:
        found = [each for array in self.heard['diagnostics'] for each in array.status]
        return [each for each in found if each.name == f'/{node}'][-1]

    def pass_by(self, seconds: float) -> None:
        """Let time of the robot pass [s]."""
        end = self.plant.time + seconds
        self.until(lambda: self.plant.time >= end, LONGEST)


def test_a_motion_a_stop_and_the_end() -> None:
    with Nodes(*LOCKSTEP, 'drives:=valves') as graph:
        graph.listen(Float64MultiArray, 'valve_controller/commands')
        graph.configure()
        assert graph.change(Transition.TRANSITION_ACTIVATE)
        final = graph.result(graph.send(periods=3))
        assert final.result.error_code == ErrorCode.NONE, final.result.error_msg
        assert 0.4 * STUDY < np.sqrt(np.mean(np.square(final.result.tracking_rms))) < 1.3 * STUDY
        signals = np.abs([each.data for each in graph.heard['valve_controller/commands']])
        assert 0.5 < signals.max() < 0.9
        state = graph.heard[f'{CONTROLLER}/state'][-1]
        assert len(state.desired_position) == 6 == len(graph.heard['joint_states'][-1].effort)
        assert len(state.command) == len(state.feedforward) == len(state.feedback) == 0

        handle = graph.send(periods=50)
        phase = lambda: graph.controller.loop.last_result.phase  # noqa: E731
        graph.until(lambda: phase() is Phase.RUN, LONGEST)
        canceled = handle.cancel_goal_async()
        graph.until(canceled.done)
        assert graph.result(handle).status == GoalStatus.STATUS_CANCELED
        graph.pass_by(0.2)
        assert phase() is Phase.HOLD and graph.speed() < 5e-3
        held = graph.plant.positions
        graph.pass_by(0.3)
        np.testing.assert_allclose(graph.plant.positions, held, rtol=0, atol=5e-5)

        learning = graph.result(graph.send(learning=FollowPlatformTrajectory.Goal.LEARN))
        assert learning.result.error_code == ErrorCode.LEARNING
        assert 'which valves do not take' in learning.result.error_msg

        assert graph.change(Transition.TRANSITION_DEACTIVATE)
        graph.until(lambda: graph.heard['valve_controller/commands'][-1].data.tolist() == [0.0] * 6)
        graph.until(lambda: graph.heard['brakes/closed'][-1].data)


def test_without_a_controller_the_valves_close() -> None:
    """A robot that runs freely, slowly enough for a busy machine."""
    free = ('robot:=msi', 'drives:=valves', 'realtime_factor:=0.1', 'effects.force_noise:=false')
    with Nodes(*free, controller=False) as graph:
        commands = graph.tester.create_publisher(Float64MultiArray, 'valve_controller/commands', 10)
        graph.until(lambda: commands.get_subscription_count() > 0)

        def moves() -> bool:
            commands.publish(Float64MultiArray(data=[0.1] * 6))
            return graph.speed() > 0.08

        graph.until(moves)
        graph.until(lambda: graph.heard['brakes/closed'][-1].data)
        graph.pass_by(0.1)
        before, start = graph.plant.positions, graph.plant.time
        graph.pass_by(0.1)
        rate = (graph.plant.positions - before) / (graph.plant.time - start)
        assert np.all(np.abs(rate) < SINKS)
        graph.until(lambda: graph.diagnosed('simulated_robot').message == 'valves closed')

        commands.publish(Float64MultiArray(data=[812.0] * 6))
        graph.until(lambda: graph.diagnosed('simulated_robot').message == 'commands were rejected')
        assert graph.heard['brakes/closed'][-1].data
        forces = graph.tester.create_publisher(Float64MultiArray, 'effort_controller/commands', 10)
        told = 'commands on /effort_controller/commands are not for these drives'
        graph.until(lambda: graph.diagnosed('simulated_robot').message.startswith(told))
        assert graph.diagnosed('simulated_robot').level == DiagnosticStatus.ERROR
        assert forces.get_subscription_count() == 0


@pytest.mark.parametrize(('robot', 'controller'), [('valves', 'forces'), ('forces', 'valves')])
def test_wrong_drives_are_refused(robot: str, controller: str) -> None:
    given = f'simulated_robot:drives:={robot}', f'{CONTROLLER}:drives:={controller}'
    with Nodes(*LOCKSTEP, *given) as graph:
        graph.configure()
        graph.until(graph.controller._output.wrong_drives)
        assert not graph.change(Transition.TRANSITION_ACTIVATE)
        assert graph.plant.time == 0.0 and not graph.controller.loop.commanding
        told = f"the robot takes {robot} on /.*, and parameter .* controller is '{controller}'"
        ready = graph.heard[f'{CONTROLLER}/ready_to_move']
        graph.until(lambda: re.match(told, ready[-1].data))


def test_drives_that_a_robot_does_not_have_are_refused() -> None:
    with Graph('robot:=palida', 'drives:=valves') as graph:
        node = graph.add(TrajectoryControllerNode)
        request = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_CONFIGURE))
        assert not graph.call(ChangeState, f'{CONTROLLER}/change_state', request).success
        assert node.loop is None
