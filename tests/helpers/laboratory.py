"""A robot, its controller and somebody who disturbs them, in one process and in lockstep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from action_msgs.msg import GoalStatus
from checks_here import check_here
from diagnostic_msgs.msg import DiagnosticArray
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
from pkm_description.nodes.qos import LATCHED
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.nodes.simulated_robot import SimulatedRobot
from pkm_dynamics.nodes.trajectory_messages import to_message
from pkm_dynamics.trajectories import FourierTrajectory, Phase
from pkm_msgs.action import FollowPlatformTrajectory
from pkm_msgs.msg import ControllerState
from pkm_msgs.srv import SetModel

MODEL = ClosedChainModel(load('palida'))
HOME = np.array([*MODEL.home_position, 0.0, 0.0, 0.0])
RATE = 250.0  # [Hz] of the simulated robot: most of a cycle's cost is ROS, and no fault needs more
BRIDGED = 12  # cycles: 50 ms, as by default at 1 kHz
PERIOD, AMPLITUDE = 0.8, 0.02  # [s], [m, rad]
STANDS = 5e-3  # [m/s] slower than this the robot stands: its servo is still settling
RESTS = 25  # rows without motion after which the robot rests
CONTROLLER = 'trajectory_controller'
LONGEST = 300.0  # [s] of a motion, on a machine that has other things to do
Tap = Callable[[JointState], JointState | None]


class Row(NamedTuple):
    """The plant after one cycle, without noise."""

    time: float  # [s]
    legs: np.ndarray  # (6,) [m]
    speeds: np.ndarray  # (6,) [m/s]


def way_to_rest(rows: list[Row], since: int) -> tuple[float, float]:
    """Time [s] from a row until the last one that moves, and the farthest leg's travel [m]."""
    first, after = rows[since - 1], rows[since:]
    moved = [row.time for row in after if np.abs(row.speeds).max() >= STANDS]
    travel = max(np.abs(row.legs - first.legs).max() for row in after) if after else 0.0
    return (moved[-1] - first.time if moved else 0.0), float(travel)


def shake(amplitude: float = AMPLITUDE) -> FourierTrajectory:
    """Each coordinate of the platform as a sine [m, rad]."""
    sines = amplitude * np.eye(6)[:, :, None] * np.ones((6, 6, 1))
    return FourierTrajectory(PERIOD, HOME, sines.sum(axis=1), np.zeros((6, 1)), robot='palida')


class Laboratory(Graph):
    """Nodes that many scenarios share; `fresh` makes them as new."""

    def __init__(self, *parameters: str) -> None:
        own = ('lockstep:=true', 'update_mode:=state', 'feedforward:=nominal', 'seed:=5')
        rates = f'rate:={RATE}', f'bridged_cycles:={BRIDGED}'
        super().__init__(*own, *rates, *parameters)
        self.rows: list[Row] = []
        self.asked: int | None = None  # row at which the controller was first asked to stop
        self.tap: Tap | None = None
        self.undo: list[Callable[[], None]] = []  # what a scenario has changed
        self.drive: Callable[[np.ndarray], np.ndarray] | None = None  # what drives make of commands

    def __enter__(self) -> Laboratory:
        super().__enter__()
        self.listen(DiagnosticArray, 'diagnostics')
        self.listen(Float64MultiArray, 'effort_controller/commands')
        self.listen(ControllerState, f'{CONTROLLER}/state')
        self.listen(Bool, 'brakes/closed', LATCHED)
        action = f'{CONTROLLER}/follow_platform_trajectory'
        self.action = ActionClient(self.tester, FollowPlatformTrajectory, action)
        self.protective = self.tester.create_publisher(Bool, f'{CONTROLLER}/protective_stop', 10)
        self.override = self.tester.create_publisher(Float64, f'{CONTROLLER}/speed_override', 10)
        self.controller = self.add(TrajectoryControllerNode)
        self.robot = self.add(SimulatedRobot)
        self.drives = self.tester.create_publisher(Bool, 'drives/ready', LATCHED)
        self.homed = self.tester.create_publisher(Bool, 'drives/homed', LATCHED)
        self.enabling = self.tester.create_publisher(Bool, f'{CONTROLLER}/enabling_device', 10)
        self.until(self.action.server_is_ready)
        assert self.change(Transition.TRANSITION_CONFIGURE)
        check_here(self.controller)
        self._watch()
        self._options = self.loop.controller.options
        return self

    @property
    def plant(self):
        return self.robot._plant

    @property
    def loop(self):
        return self.controller.loop

    def _watch(self) -> None:
        """Note what the plant does and when to stop, and let the tap have the joint states."""
        plant, source, stop = self.plant, self.loop._source, self.loop.controller.stop

        def noted_stop(*arguments) -> bool:
            self.asked = len(self.rows) if self.asked is None else self.asked
            return stop(*arguments)

        self.loop.controller.stop = noted_stop
        for name in ('step', 'hold'):
            whole = getattr(plant, name)

            def noted(*commands, whole=whole):
                if self.drive is not None:
                    commands = tuple(map(self.drive, commands))
                sample = whole(*commands)
                now = np.array(sample.truth_positions), np.array(sample.truth_velocities)
                self.rows.append(Row(sample.time, *now))
                return sample

            setattr(plant, name, noted)
        take = source.take

        def tapped():
            while (message := take()) is not None:
                changed = message if self.tap is None else self.tap(message)
                if changed is not None:
                    return changed
            return None

        source.take = tapped

    # -- the graph ----------------------------------------------------------------

    def change(self, number: int) -> bool:
        request = ChangeState.Request(transition=Transition(id=number))
        return bool(self.call(ChangeState, f'{CONTROLLER}/change_state', request).success)

    @property
    def active(self) -> bool:
        answer = self.call(GetState, f'{CONTROLLER}/get_state', GetState.Request())
        return bool(answer.current_state.id == State.PRIMARY_STATE_ACTIVE)

    def trigger(self, name: str) -> bool:
        return bool(self.call(Trigger, name, Trigger.Request()).success)

    def fresh(self) -> None:
        """Home, at rest, active, with nothing disturbed."""
        self.tap = self.drive = None
        while self.undo:
            self.undo.pop()()
        self.plant.mujoco_data.xfrc_applied[:] = 0.0
        if self.loop.commanding:
            self.change(Transition.TRANSITION_DEACTIVATE)
        self.until(lambda: not self.active)
        self.protective.publish(Bool(data=False))
        self.override.publish(Float64(data=1.0))
        self.until(lambda: self.trigger(f'{CONTROLLER}/reset_protective_stop'))
        self.loop.controller.change_bounds(self._options)
        self.loop.controller.feedforward = self.nominal()
        assert self.trigger('simulated_robot/reset')
        # [ns] What comes from before, or from a clock that a tap has changed, is of another robot.
        home = round(1e9 * self.plant.time)
        self.until(lambda: home <= self.loop.latest_stamp <= round(1e9 * self.plant.time))
        self.rows.clear()
        self.asked = None
        for messages in self.heard.values():
            messages.clear()
        self.until(lambda: self.active or self.try_to_activate())
        self.until(lambda: self.heard[f'{CONTROLLER}/state'])

    def bounds(self, **values: float) -> None:
        """Change bounds of the controller until it is made as new."""
        self.loop.controller.change_bounds(replace(self._options, **values))

    @property
    def interlocks(self):
        return self.controller._safety.interlocks

    def nominal(self):
        from pkm_control.feedforward import nominal_feedforward

        return nominal_feedforward(MODEL)

    def try_to_activate(self) -> bool:
        return self.loop.has_recent_state and self.change(Transition.TRANSITION_ACTIVATE)

    def send(self, trajectory=None, identifier=None, **fields):
        """Send a goal; its handle."""
        message = to_message(shake()) if trajectory is None else trajectory
        goal = FollowPlatformTrajectory.Goal(trajectory=message, ramp_time=0.3, periods=40)
        for name, value in fields.items():
            setattr(goal, name, value)
        sent = self.action.send_goal_async(goal, goal_uuid=identifier)
        self.until(sent.done)
        return sent.result()

    def result(self, handle) -> tuple[ErrorCode, str]:
        """Code and message that a goal ends with."""
        future = handle.get_result_async()
        self.until(future.done, LONGEST)
        found = future.result()
        code = ErrorCode(found.result.error_code)
        succeeded = found.status == GoalStatus.STATUS_SUCCEEDED
        assert succeeded == (code is ErrorCode.NONE)
        return code, str(found.result.error_msg)

    def moving(self, seconds: float = 0.25):
        """Let the robot run; the goal's handle, some time [s] after full speed is reached."""
        handle = self.send()
        self.until(lambda: self.phase is Phase.RUN, LONGEST)
        self.pass_by(seconds)
        return handle

    def pass_by(self, seconds: float = 1.0 / RATE) -> None:
        """Let time of the robot pass [s]."""
        end = self.plant.time + seconds - 0.5 / RATE
        self.until(lambda: self.plant.time >= end, LONGEST)

    @property
    def phase(self) -> Phase:
        result = self.loop.last_result
        return Phase.IDLE if result is None else result.phase

    def set_model(self, **fields):
        return self.call(SetModel, f'{CONTROLLER}/set_model', SetModel.Request(**fields))

    @property
    def diagnosed(self) -> str:
        """What the controller's diagnostics say last."""
        statuses = [array.status[0] for array in self.heard['diagnostics']]
        return [s.message for s in statuses if s.name == f'/{CONTROLLER}'][-1]

    # -- the robot ----------------------------------------------------------------

    def fall(self) -> None:
        """Let time pass until the brakes hold a robot that has no force any more.

        In lockstep nothing else steps it.
        """
        self.until(lambda: not self.loop.commanding)
        self.until(lambda: self.robot._close_at is not None)
        while not self.robot._braked:
            self.robot._step(np.zeros(MODEL.n_a))
        self.plant.hold()

    @property
    def stands(self) -> bool:
        return bool(np.abs(self.rows[-1].speeds).max() < STANDS)

    def rest(self, since: int) -> tuple[float, float]:
        """Time [s] from a row until the robot stands for good, and its travel [m] until then."""
        stood = 0

        def stands() -> bool:
            nonlocal stood
            if len(self.rows) > stands.seen:
                stood = stood + len(self.rows) - stands.seen if self.stands else 0
                stands.seen = len(self.rows)
            return stood > RESTS or not self.loop.commanding

        stands.seen = len(self.rows)
        self.until(stands, LONGEST)
        return way_to_rest(self.rows, since)
