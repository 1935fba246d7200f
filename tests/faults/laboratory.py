"""A robot, its controller and somebody who lets them fail, in lockstep on one executor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from graph import Graph
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64, Float64MultiArray
from std_srvs.srv import Trigger

from pkm_control.control_types import ErrorCode
from pkm_control.nodes.trajectory_controller import TrajectoryControllerNode
from pkm_description import load
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.nodes.simulated_robot import SimulatedRobot
from pkm_dynamics.nodes.trajectory_messages import to_message
from pkm_dynamics.trajectories import FourierTrajectory, Phase
from pkm_msgs.action import FollowPlatformTrajectory

MODEL = ClosedChainModel(load('palida'))
HOME = np.array([*MODEL.home_position, 0.0, 0.0, 0.0])
NODE = 'trajectory_controller'
REST_SPEED = 0.01  # [m/s] of a leg; the noise of the sensors alone moves it by less
AFTER_REST = 100  # cycles to look for a drop


def shake(amplitude: float = 0.02) -> FourierTrajectory:
    """Return a motion of all coordinates, a little off home so that it has an approach."""
    centre = HOME + [0.0, 0.0, 0.02, 0.0, 0.0, 0.0]
    sine = np.full((6, 1), amplitude)
    return FourierTrajectory(0.5, centre, sine, np.zeros((6, 1)), robot='palida')


class Laboratory(Graph):
    """The graph, a tap on the joint states of the controller, and the plant's own truth."""

    def __init__(self) -> None:
        super().__init__('lockstep:=true', 'update_mode:=state', 'seed:=3', 'feedforward:=nominal')
        self.alter: Callable[[JointState], JointState | None] | None = None
        self.event: float | None = None  # [s] of the plant
        self.truth: list[tuple[float, np.ndarray, np.ndarray, float]] = []
        self._clients: dict[str, Any] = {}

    def __enter__(self) -> Laboratory:
        super().__enter__()
        self.listen(DiagnosticArray, 'diagnostics')
        self.action = ActionClient(
            self.tester, FollowPlatformTrajectory, f'{NODE}/follow_platform_trajectory'
        )
        create = self.tester.create_publisher
        self.stops = create(Bool, f'{NODE}/protective_stop', 10)
        self.overrides = create(Float64, f'{NODE}/speed_override', 10)
        self.node = self.add(TrajectoryControllerNode)
        self.robot = self.add(SimulatedRobot)
        self.plant = self.robot._plant
        self._watch_the_plant()
        self.until(self.action.server_is_ready)
        self.until(lambda: self.stops.get_subscription_count() > 0)
        assert self.transition(Transition.TRANSITION_CONFIGURE)
        self._tap()
        return self

    def _watch_the_plant(self) -> None:
        for name in ('step', 'hold'):
            self._after(self.plant, name, self._note)

    def _note(self) -> None:
        sample = self.plant.sample
        height = float(self.plant.mujoco_data.body('platform').xpos[2])
        self.truth.append(
            (self.plant.time, sample.truth_positions, sample.truth_velocities, height)
        )

    def _tap(self) -> None:
        loop = self.node.loop
        take = loop._source.take

        def tapped() -> JointState | None:
            message = take()
            if message is None or self.alter is None:
                return message
            self.mark()
            return self.alter(message)

        loop._source.take = tapped
        for owner, name in ((loop.controller, 'stop'), (loop.controller, 'brake')):
            self._before(owner, name, self.mark)

    @staticmethod
    def _after(owner: Any, name: str, do: Callable[[], None]) -> None:
        original = getattr(owner, name)

        def wrapped(*arguments: Any) -> Any:
            result = original(*arguments)
            do()
            return result

        setattr(owner, name, wrapped)

    @staticmethod
    def _before(owner: Any, name: str, do: Callable[[], None]) -> None:
        original = getattr(owner, name)

        def wrapped(*arguments: Any) -> Any:
            do()
            return original(*arguments)

        setattr(owner, name, wrapped)

    def mark(self) -> None:
        """Note when the controller first learns of the fault."""
        if self.event is None:
            self.event = self.plant.time

    # -- what a user does ---------------------------------------------------------

    def call(self, service_type: Any, name: str, request: Any) -> Any:
        """Call a service by a client that is kept."""
        if name not in self._clients:
            self._clients[name] = self.tester.create_client(service_type, name)
        self.until(self._clients[name].service_is_ready)
        future = self._clients[name].call_async(request)
        self.until(future.done)
        return future.result()

    def trigger(self, name: str) -> bool:
        """Call a service without arguments; whether it succeeded."""
        return bool(self.call(Trigger, name, Trigger.Request()).success)

    def transition(self, number: int) -> bool:
        """Ask for a transition; whether it was made."""
        request = ChangeState.Request(transition=Transition(id=number))
        return bool(self.call(ChangeState, f'{NODE}/change_state', request).success)

    @property
    def active(self) -> bool:
        """Whether the controller is."""
        state = self.call(GetState, f'{NODE}/get_state', GetState.Request()).current_state.id
        return bool(state == State.PRIMARY_STATE_ACTIVE)

    def activate(self) -> bool:
        """Activate as soon as a valid state is there."""
        loop = self.node.loop
        self.until(lambda: loop.has_recent_state and self._is_new(loop._latest.nanoseconds))
        return self.transition(Transition.TRANSITION_ACTIVATE)

    def _is_new(self, nanoseconds: int) -> bool:
        return abs(nanoseconds * 1e-9 - self.plant.time) < 0.5 * self.plant.step_time

    def fresh(self) -> None:
        """Bring everything back to the beginning: robot at home, active, at rest."""
        self.alter = None
        if self.active:
            assert self.transition(Transition.TRANSITION_DEACTIVATE)
        if self.node._safety.protective_stop.latched:
            self.stops.publish(Bool(data=False))
            self.until(lambda: self.trigger(f'{NODE}/reset_protective_stop'))
        assert self.trigger('simulated_robot/reset')
        assert self.activate()
        for messages in self.heard.values():
            messages.clear()
        self.event, self.truth[:] = None, []

    def send(self, periods: int = 100, trajectory: FourierTrajectory | None = None) -> Any:
        """Send a goal and return its handle."""
        goal = FollowPlatformTrajectory.Goal(
            trajectory=to_message(trajectory or shake()), periods=periods, ramp_time=0.3
        )
        future = self.action.send_goal_async(goal)
        self.until(future.done)
        return future.result()

    def result(self, handle: Any) -> FollowPlatformTrajectory.Result:
        """Wait for the result of a goal."""
        future = handle.get_result_async()
        self.until(future.done, 60.0)
        return future.result().result

    def until_phase(self, phase: Phase) -> None:
        """Wait until the motion is in this phase, and a tenth of a second further."""
        loop = self.node.loop
        self.until(lambda: loop.last_result is not None and loop.last_result.phase is phase)
        start = self.plant.time
        self.until(lambda: self.plant.time > start + 0.1)
        assert loop.last_result.phase is phase

    def reason(self) -> str:
        """Return the last message of the controller's diagnostics that is an error."""
        found = [
            status.message
            for array in self.heard['diagnostics']
            for status in array.status
            if status.name == f'/{NODE}' and status.level == DiagnosticStatus.ERROR
        ]
        return found[-1] if found else ''

    # -- what came of it ----------------------------------------------------------

    def settle(self) -> None:
        """Let the robot go on until it rests, braked where the commands have ended."""
        if self.node.loop.commanding:
            start = len(self.truth)
            self.until(lambda: len(self.truth) > start + AFTER_REST)
            return
        # In lockstep nothing steps the robot any more: its drives keep the last force, zero.
        while not self.robot._braked:
            self.robot._step(np.zeros(MODEL.n_a))
        for _ in range(AFTER_REST):
            self.plant.hold()
        self.robot._publish()

    def figures(self) -> tuple[float, float, float, float]:
        """Time to rest [s], travel [mm], drop after that [mm], largest speed at the event [m/s].

        The travel is the longest way of a leg; the drop is that of the platform below where it
        came to rest.
        """
        if self.event is None:
            return 0.0, 0.0, 0.0, 0.0
        after = [row for row in self.truth if row[0] >= self.event - 1e-9]
        positions = np.array([row[1] for row in after])
        speeds = np.abs([row[2] for row in after]).max(axis=1)
        heights = np.array([row[3] for row in after])
        moving = np.flatnonzero(speeds > REST_SPEED)
        rest = int(moving[-1]) + 1 if len(moving) else 0
        assert rest < len(after), 'the robot never came to rest'
        way = np.abs(np.diff(positions[: rest + 1], axis=0)).sum(axis=0).max()
        drop = max(0.0, heights[rest] - heights[rest:].min())
        return after[rest][0] - self.event, 1e3 * way, 1e3 * drop, float(speeds[0])

    def limits_left(self) -> bool:
        """Whether any leg has left its stroke."""
        positions = np.array([row[1] for row in self.truth])
        return bool(((positions < MODEL.lower) | (positions > MODEL.upper)).any())


def succeeded(result: FollowPlatformTrajectory.Result) -> bool:
    """Whether a motion ran to its end."""
    return bool(result.error_code == ErrorCode.NONE)


def another_commander(lab: Laboratory) -> Callable[[], None]:
    """Create a second publisher of commands; the returned function takes it away."""
    other = lab.tester.create_publisher(Float64MultiArray, 'effort_controller/commands', 10)
    return lambda: lab.tester.destroy_publisher(other)
