"""Positions and forces of the actuated joints, from the topics that a robot publishes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from pkm_description.errors import DatasetError, PkmError
from pkm_description.transmissions.motor_side import spoken_by
from pkm_dynamics import ClosedChainModel
from pkm_identification.datasets.force_messages import (
    ARRAY,
    AUTO,
    CURRENTS,
    POSITIONS,
    ForceMessages,
)
from pkm_identification.nodes.force_topic import MESSAGES, ForceTopic, numbers_by_name
from pkm_identification.result.result import IdentificationResult

# Hears publishers of either kind.
MEASURED = QoSProfile(depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)
Taker = Callable[[float, np.ndarray], Any]  # of a stamp [s] and values (n_a,)
LOOK_PERIOD = 0.1  # [s] between looks at who publishes currents
# Looks at which joint states have efforts and nobody publishes currents, until the efforts are
# taken: a publisher that has just come may not be known yet.
LOOKS = 5


class MeasuredSamples:
    """Follows `joint_states` and the currents or forces, of joints or of their motors.

    These are on `motor_currents`, else among the joint states (`ForceTopic`). Currents become
    forces with the force constants of `result`, where it has some of its own, else of the
    description. Messages of other joints alone are left out; those without a finite value of each
    joint, and those that the takers refuse by a PkmError, are skipped and counted.
    """

    def __init__(
        self,
        node: Node,
        model: ClosedChainModel,
        result: IdentificationResult | None,
        on_positions: Taker,
        on_forces: Taker,
        force_unit: str = AUTO,
    ) -> None:
        self.skipped = 0
        self.problem = ''  # why no currents or forces are taken
        self.stamp = JointState().header.stamp  # of the latest positions
        self._node = node
        self._on_positions, self._on_forces = on_positions, on_forces
        joints = list(model.actuated_joints)
        self._constants = np.asarray(model.force_constants)
        if result is not None and result.force_constants is not None:
            found = result.force_constants.by_joint
            given = zip(joints, self._constants.tolist(), strict=True)
            self._constants = np.array([found.get(name, value) for name, value in given])
        self._motors = motors = spoken_by(model.description)
        if motors is not None:
            own = self._constants * np.abs(np.diag(motors.matrix))
            self._constants = np.where(motors.coupled, motors.force_constants, own)
        self._topic = ForceTopic(node, model, force_unit)
        self._names = self._topic.names
        self._forces: ForceMessages | None = None
        self._subscription: Any = None  # of the currents or forces
        self._has_stamp = False
        self._looks = 0
        self._subscribe(JointState, 'joint_states', self.take_state)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(LOOK_PERIOD, self._look, clock=steady)

    def _subscribe(self, kind: Any, topic: str, take: Callable[[Any], None]) -> Any:
        return self._node.create_subscription(kind, topic, take, MEASURED)

    def _unsubscribe(self, subscription: Any) -> None:
        self._node.destroy_subscription(subscription)

    def _look(self) -> None:
        """Find out which messages hold the currents or forces, and follow them."""
        try:
            found = self._topic.chosen()
        except DatasetError as error:
            self.problem = str(error)
            self._node.get_logger().error(self.problem, throttle_duration_sec=5.0)
            return
        self.problem = ''
        if found is None or found == self._forces:
            self._looks = 0
            return
        if found.topic == POSITIONS:
            self._looks += 1
            if self._forces is not None or self._looks < LOOKS:
                return  # a driver that starts anew is waited for
        self._follow(found)

    def _follow(self, found: ForceMessages) -> None:
        if self._subscription is not None:
            self._unsubscribe(self._subscription)
            self._subscription = None
        self._forces = found
        if found.topic == CURRENTS:
            kind = MESSAGES[found.message_type]
            self._subscription = self._subscribe(kind, CURRENTS, self.take_forces)
        what = 'currents' if found.are_currents else 'forces'
        self._node.get_logger().info(f"{what} from '{found.topic}' ({found.message_type})")

    def take_state(self, message: JointState) -> None:
        """Take one joint state."""
        self._topic.hear_state(message)
        positions = self._by_joint(message.name, message.position)
        if positions is None:
            return
        if self._motors is not None:
            positions = self._motors.joint_positions(positions)
        self.stamp, self._has_stamp = message.header.stamp, True
        self._take(self._on_positions, message.header.stamp, positions)
        if self._forces is not None and self._forces.topic == POSITIONS:
            self.take_forces(message)

    def take_forces(self, message: Any) -> None:
        """Take the currents or forces of one instant, in messages of the kind that was found."""
        assert self._forces is not None
        has_stamp = self._forces.message_type != ARRAY
        if not has_stamp and not self._has_stamp:
            return  # no joint state has told the time yet
        names, numbers = numbers_by_name(message, self._forces)
        if len(numbers) != len(names):
            self._skip(f'{len(numbers)} currents or forces of {len(names)} joints')
            return
        forces = self._by_joint(names, numbers)
        if forces is None:
            return
        if self._forces.are_currents:
            forces = forces * self._constants
        if self._motors is not None:
            forces = self._motors.joint_efforts(forces)
        stamp = message.header.stamp if has_stamp else self.stamp
        self._take(self._on_forces, stamp, forces)

    def _take(self, taker: Taker, stamp: Any, values: np.ndarray) -> None:
        try:
            taker(stamp.sec + 1e-9 * stamp.nanosec, values)
        except PkmError as error:
            self._skip(str(error))

    def _by_joint(self, names: Sequence[str], values: Sequence[float]) -> np.ndarray | None:
        """Values of the actuated joints, or their motors, in order; None where one is missing."""
        given = dict(zip(names, values, strict=False))
        if given.keys().isdisjoint(self._names):
            return None  # a gripper or a rail shares the topic
        missing = [name for name in self._names if not np.isfinite(given.get(name, np.nan))]
        if missing:
            self._skip(f"no finite value of joint '{missing[0]}'")
            return None
        return np.array([given[name] for name in self._names])

    def _skip(self, reason: str) -> None:
        self.skipped += 1
        self._node.get_logger().warning(f'sample skipped: {reason}', throttle_duration_sec=5.0)
