"""Positions and forces of the actuated joints, from the topics that a robot publishes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from pkm_description.errors import PkmError
from pkm_description.transmissions.motor_side import spoken_by
from pkm_dynamics import ClosedChainModel
from pkm_identification.result.result import IdentificationResult
from pkm_msgs.msg import MotorCurrents

# Hears publishers of either kind.
MEASURED = QoSProfile(depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)
Taker = Callable[[float, np.ndarray], Any]  # of a stamp [s] and values (n_a,)


class MeasuredSamples:
    """Follows `joint_states` and `motor_currents`, of joints or of their motors.

    Currents become forces with the force constants of `result`, where it has some of its own,
    else of the description. Messages without a finite value of each joint, and those that the
    takers refuse by a PkmError, are skipped and counted.
    """

    def __init__(
        self,
        node: Node,
        model: ClosedChainModel,
        result: IdentificationResult | None,
        on_positions: Taker,
        on_forces: Taker,
    ) -> None:
        self.skipped = 0
        self.stamp = JointState().header.stamp  # of the latest positions
        self._node = node
        self._on_positions, self._on_forces = on_positions, on_forces
        self._names = joints = list(model.actuated_joints)
        self._constants = np.asarray(model.force_constants)
        if result is not None and result.force_constants is not None:
            found = result.force_constants.by_joint
            given = zip(joints, self._constants.tolist(), strict=True)
            self._constants = np.array([found.get(name, value) for name, value in given])
        self._motors = motors = spoken_by(model.description)
        if motors is not None:
            self._names = list(motors.motors)
            own = self._constants * np.abs(np.diag(motors.matrix))
            self._constants = np.where(motors.coupled, motors.force_constants, own)
        node.create_subscription(JointState, 'joint_states', self.take_state, MEASURED)
        node.create_subscription(MotorCurrents, 'motor_currents', self.take_currents, MEASURED)

    def take_state(self, message: JointState) -> None:
        """Take one joint state."""
        positions = self._by_joint(message.name, message.position)
        if positions is None:
            return
        if self._motors is not None:
            positions = self._motors.joint_positions(positions)
        self.stamp = message.header.stamp
        self._take(self._on_positions, message.header.stamp, positions)

    def take_currents(self, message: MotorCurrents) -> None:
        """Take the currents of one instant."""
        currents = self._by_joint(message.name, message.current)
        if currents is None:
            return
        forces = currents * self._constants
        if self._motors is not None:
            forces = self._motors.joint_efforts(forces)
        self._take(self._on_forces, message.header.stamp, forces)

    def _take(self, taker: Taker, stamp: Any, values: np.ndarray) -> None:
        try:
            taker(stamp.sec + 1e-9 * stamp.nanosec, values)
        except PkmError as error:
            self._skip(str(error))

    def _by_joint(self, names: Sequence[str], values: Sequence[float]) -> np.ndarray | None:
        """Values of the actuated joints, or their motors, in order; None where one is missing."""
        given = dict(zip(names, values, strict=False))
        missing = [name for name in self._names if not np.isfinite(given.get(name, np.nan))]
        if missing:
            self._skip(f"no finite value of joint '{missing[0]}'")
            return None
        return np.array([given[name] for name in self._names])

    def _skip(self, reason: str) -> None:
        self.skipped += 1
        self._node.get_logger().warning(f'sample skipped: {reason}', throttle_duration_sec=5.0)
