"""Hears what the drives of a robot measure."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from pkm_bringup.nodes.graph_client import GraphClient, GraphError
from pkm_bringup.scene.live import DriveState
from pkm_description.transmissions.motor_side import spoken_by
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_msgs.msg import MotorCurrents

STATES, CURRENTS = 'joint_states', 'motor_currents'
FIRST = 30.0  # [s] until somebody must publish
AT_ONCE = 50  # messages taken in a row: more would keep a view from being drawn
LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


class StateListener(GraphClient):
    """The newest states of one robot, in the order and on the side of its actuated joints.

    Positions, velocities and efforts [N, N m] come from `topic` (sensor_msgs/JointState); where it
    has no efforts, forces are those of `motor_currents` (pkm_msgs/MotorCurrents) by the force
    constants.
    """

    def __init__(self, topic: str, model: ClosedChainModel) -> None:
        super().__init__('pkm_view', remappings={STATES: topic} if topic != STATES else None)
        self._topic, self._model = topic, model
        self._motors = spoken_by(model.description)
        motors = self._motors
        self._names = list(model.actuated_joints if motors is None else motors.motors)
        self._constants = model.force_constants if motors is None else motors.force_constants
        self._state: JointState | None = None
        self._currents = np.full(len(self._names), np.nan)
        self.node.create_subscription(JointState, STATES, self._hear_state, LATEST)
        self.node.create_subscription(MotorCurrents, CURRENTS, self._hear_currents, LATEST)
        self._heard = False  # anything, in the spin before
        self._begun, self._silent = time.monotonic(), True

    def newest(self) -> DriveState | None:
        """Return the state that came last; None where none came since the call before.

        GraphError where nobody publishes within `FIRST`.
        """
        for _ in range(AT_ONCE):
            self._heard = False
            self.spin(0.0)
            if not self._heard:
                break
        state, self._state = self._state, None
        if state is None:
            late = time.monotonic() - self._begun > FIRST
            if self._silent and late and not self.node.count_publishers(STATES):
                raise GraphError(f"nobody publishes states of the robot on '{self._topic}'")
            return None
        self._silent = False
        efforts = self._ordered(state.name, state.effort)
        if not np.isfinite(efforts).all():
            efforts = self._currents * self._constants
        positions = self._ordered(state.name, state.position)
        velocities = self._ordered(state.name, state.velocity)
        motors = self._motors
        if motors is None:
            return DriveState(positions, velocities, efforts)
        order = [motors.joints.index(name) for name in self._model.actuated_joints]
        turned: tuple[tuple[Callable[[Floats], Floats], Floats], ...] = (
            (motors.joint_positions, positions),
            (motors.joint_rates, velocities),
            (motors.joint_efforts, efforts),
        )
        return DriveState(*(turn(values)[order] for turn, values in turned))

    def _ordered(self, names: Sequence[str], values: Sequence[float]) -> Floats:
        """Values (n_a,) by the robot's own names, nan where there are none."""
        given = dict(zip(names, values, strict=False))
        return np.array([given.get(name, np.nan) for name in self._names], dtype=float)

    def _hear_state(self, message: JointState) -> None:
        self._heard = True
        if not set(self._names).isdisjoint(message.name):
            self._state = message

    def _hear_currents(self, message: MotorCurrents) -> None:
        self._heard = True
        self._currents = self._ordered(message.name, message.current)
