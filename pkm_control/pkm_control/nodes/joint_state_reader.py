"""Joint states from `sensor_msgs/JointState`, by a subscription that its own thread serves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.callback_groups import CallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from pkm_control.control_types import ControlFault, ErrorCode
from pkm_control.nodes.topic_publishers import publishers_of
from pkm_description import MotorSide
from pkm_dynamics.array_types import Floats


class JointStateReader:
    """Finds the actuated joints by name, whatever else is published on the topic.

    The `actuated` joints are those of the result, in their order; others in a message are left
    out, and so are messages that have none of them: a gripper or a rail may share the topic. Of a
    robot that speaks of its `motors` these stand for the actuated joints in the messages.
    """

    def __init__(self, actuated: Sequence[str], motors: MotorSide | None = None) -> None:
        self._actuated = list(actuated if motors is None else motors.motors)
        self._motors = motors
        self._names: list[str] | None = None
        self._order: NDArray[np.intp] | None = None

    def concerns(self, message: JointState) -> bool:
        """Whether a message has any of the actuated joints."""
        return message.name == self._names or not set(self._actuated).isdisjoint(message.name)

    def read(self, message: JointState) -> Floats:
        """Return positions (n_a,) [m, rad].

        Raises ControlFault, BAD_STATE, naming the joint, when one is missing, there twice or not
        finite, or names and positions differ in number.
        """
        if self._names is None or message.name != self._names:
            self._order = self._match(list(message.name))
            self._names = list(message.name)
        positions = np.array(message.position, dtype=float)
        if len(positions) != len(self._names):
            raise _bad(f'{len(self._names)} joint names, but {len(positions)} positions')
        measured = positions[self._order]
        if not np.isfinite(measured).all():
            joint = self._actuated[int(np.argmin(np.isfinite(measured)))]
            raise _bad(f'{joint}: measured position is not finite')
        return measured if self._motors is None else self._motors.joint_positions(measured)

    def read_efforts(self, message: JointState) -> Floats | None:
        """Return efforts (n_a,) [N, N m] of a message that `read` took; None where it has none."""
        if self._order is None or len(message.effort) != len(message.name):
            return None
        efforts = np.array(message.effort, dtype=float)[self._order]
        return efforts if self._motors is None else self._motors.joint_efforts(efforts)

    def _match(self, names: list[str]) -> NDArray[np.intp]:
        for name in self._actuated:
            if name not in names:
                raise _bad(f"joint '{name}' is missing; got {', '.join(names) or 'none'}")
            if names.count(name) > 1:
                raise _bad(f"joint '{name}' is named twice: {', '.join(names)}")
        return np.array([names.index(name) for name in self._actuated], dtype=np.intp)


def _bad(message: str) -> ControlFault:
    return ControlFault(ErrorCode.BAD_STATE, f'joint_states: {message}')


class NeverExecuted(CallbackGroup):
    """Keeps the executor's hands off its entities."""

    def can_execute(self, entity: Any) -> bool:
        """Return False."""
        return False


class PolledSubscription:
    """Messages of one topic, waited for and taken by one thread."""

    def __init__(self, node: Node, message_type: Any, topic: str, qos: QoSProfile) -> None:
        self._node = node
        self._group = NeverExecuted()
        self._subscription = node.create_subscription(
            message_type, topic, lambda _: None, qos, callback_group=self._group
        )
        handle = node.context.handle
        counts = [1] + [0] * 5  # one subscription and nothing else
        self._wait_set = rclpy_implementation.WaitSet(*counts, handle)
        # Of the message taken last, among those of its publisher; not every middleware has it.
        self.number: int | None = None

    @property
    def publishers(self) -> list[str]:
        """Names of the nodes that publish the topic, one for each publisher."""
        return publishers_of(self._node, self._subscription.topic_name)

    def wait(self, timeout: float) -> bool:
        """Wait at most `timeout` [s] for a message; whether one is there."""
        self._wait_set.clear_entities()
        self._wait_set.add_subscription(self._subscription.handle)
        self._wait_set.wait(int(timeout * 1e9))
        return bool(self._wait_set.get_ready_entities('subscription'))

    def take(self) -> Any:
        """Return the oldest message that has not been taken, or None."""
        taken = self._subscription.handle.take_message(self._subscription.msg_type, False)
        if taken is None:
            return None
        message, self.number = taken[0], taken[1].get('publication_sequence_number')
        return message

    def destroy(self) -> None:
        """Remove the subscription from the node; no thread may use it any more."""
        self._node.destroy_subscription(self._subscription)
