"""Motions by `trajectory_msgs/JointTrajectory`, as joint_trajectory_controller takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from pkm_control.control_types import ErrorCode
from pkm_control.nodes.control_loop import ControlLoop
from pkm_control.nodes.follow_server import Check, FollowServer
from pkm_control.stops import StopEvent
from pkm_description.errors import TrajectoryError
from pkm_description.transmissions.motor_side import described_side
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.limits.goal_check import GoalPlan, checked_execution
from pkm_dynamics.trajectories import Execution, SampledTrajectory, ThroughStates, Trajectory
from pkm_dynamics.trajectories.bounds import (
    LONGEST_NAME,
    MOST_COORDINATES,
    MOST_POINTS,
    require_size,
)

GOALS = QoSProfile(depth=10)
# Larger messages are not looked at in this process: turning one into numbers would hold its loop.
QUICK = 32 * 1024  # bytes
LARGEST = 64 * 1024 * 1024  # bytes: 100 000 points of a dozen joints
APPROACH_SPEED = 0.1  # [m/s, rad/s] to a first point that is due at once
CLOCKS_DIFFER = 1.0  # [s] between a header's stamp and now, at most


class JointTrajectoryInput:
    """Follows what is published on `~/joint_trajectory`, checked like any other goal.

    The joints, or their motors where the robot speaks of these, come in any order. The motion goes
    from where the robot rests through the points: quintic splines through positions, through
    positions and velocities, or accelerations, too. A message without points stops what is under
    way. Refusals are in the log and in the diagnostics.
    """

    def __init__(self, node: Node, follow: FollowServer, rate: float) -> None:
        self._node = node
        self._follow = follow
        self._rate = rate  # [Hz] of the samples of the check
        node.create_subscription(JointTrajectory, '~/joint_trajectory', self._take, GOALS, raw=True)

    def _take(self, data: bytes) -> None:
        if len(data) > LARGEST:
            reason = f'a joint trajectory of {len(data)} bytes, {LARGEST} at most'
            self._follow.reject(ErrorCode.BAD_TRAJECTORY, reason)
        elif len(data) <= QUICK and not deserialize_message(data, JointTrajectory).points:
            self._follow.revoke(StopEvent.CANCEL, 'stopped by an empty joint trajectory')
        elif self._node.executor is not None:
            self._node.executor.create_task(self._move, data)

    async def _move(self, data: bytes) -> None:
        now = self._node.get_clock().now().nanoseconds * 1e-9

        def check(loop: ControlLoop) -> Check:
            rest = loop.controller.resting_coordinates('actuators')
            return checked_joint_trajectory, (data, rest, now, self._rate)

        await self._follow.run(check)


def checked_joint_trajectory(
    model: ClosedChainModel, data: bytes, rest: Floats, now: float, rate: float
) -> Execution:
    """Return the motion of a serialised message, from `rest` (n_a,); PkmError as of any goal."""
    message = deserialize_message(data, JointTrajectory)
    return checked_execution(model, plan_of(message, model, rest, now), rate)


def plan_of(
    message: JointTrajectory, model: ClosedChainModel, rest: Floats, now: float
) -> GoalPlan:
    """Return what a message asks for of a robot that rests at `rest` (n_a,) [m, rad].

    A first point that is due at once is approached, any other is reached at its time. Efforts are
    left out: forces are the controller's. TrajectoryError names what is malformed; `now` [s] is
    that of the messages' clock.
    """
    require_size('joint_names', len(message.joint_names), MOST_COORDINATES, 'names')
    longest = max(map(len, message.joint_names), default=0)
    require_size('joint_names', longest, LONGEST_NAME, 'characters')
    require_size('points', len(message.points), MOST_POINTS, 'points')
    _require_stamp(message, now)
    motors, names = described_side(model.description), list(message.joint_names)
    ours = list(model.actuated_joints)
    if motors is None or set(names) != set(motors.motors):
        motors = None
    else:
        ours = list(motors.motors)
    if sorted(names) != sorted(ours):
        told = list(model.actuated_joints) if motors is None else ours
        raise TrajectoryError(
            f'joint_names: {", ".join(names) or "none"}; needed is each of {", ".join(told)}'
        )
    order = [names.index(name) for name in ours]
    columns = {
        'positions': _column(message, 'positions', len(names), needed=True),
        'velocities': _column(message, 'velocities', len(names)),
        'accelerations': _column(message, 'accelerations', len(names)),
    }
    if columns['velocities'] is None and columns['accelerations'] is not None:
        raise TrajectoryError('accelerations: velocities are needed besides them')
    time = np.array([_seconds(point.time_from_start) for point in message.points])
    arguments: dict[str, Any] = {}
    for field, values in columns.items():
        if values is None:
            continue
        values = values[:, order]
        if motors is not None:
            turned = motors.joint_positions if field == 'positions' else motors.joint_rates
            values = turned(values)
        if time[0] > 0.0:
            values = np.vstack([rest if field == 'positions' else 0.0 * rest, values])
        arguments[field] = values
    arguments['time'] = np.concatenate([[0.0], time]) if time[0] > 0.0 else time
    arguments |= {'coordinates': 'actuators', 'coordinate_names': list(model.actuated_joints)}
    kind: type[Trajectory] = ThroughStates if 'velocities' in arguments else SampledTrajectory
    return GoalPlan(kind, arguments, 1, 0.0, rest, APPROACH_SPEED)


def _require_stamp(message: JointTrajectory, now: float) -> None:
    stamp = _seconds(message.header.stamp)
    if stamp and abs(stamp - now) > CLOCKS_DIFFER:
        where = 'past' if stamp < now else 'future'
        raise TrajectoryError(
            f'header.stamp: {abs(stamp - now):.3g} s in the {where}; a motion begins at once, '
            'which a stamp of 0 says'
        )


def _column(
    message: JointTrajectory, field: str, count: int, needed: bool = False
) -> Floats | None:
    """Numbers (n_t, n) of all points; None where no point has them."""
    rows = [getattr(point, field) for point in message.points]
    if not needed and not any(len(row) for row in rows):
        return None
    for index, row in enumerate(rows):
        if len(row) != count:
            raise TrajectoryError(f'{field}: {len(row)} numbers of {count} joints in point {index}')
    return np.array(rows, dtype=float)


def _seconds(duration: Any) -> float:
    """Return a duration or time [s]."""
    return float(duration.sec) + 1e-9 * float(duration.nanosec)
