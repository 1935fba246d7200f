"""A subscription that a thread of its own serves, not the executor.

An rclpy executor takes several hundred microseconds to bring a message to a callback,
most of it for looking after all other entities of the node. A control loop at 1 kHz
takes its messages itself.
"""

from __future__ import annotations

from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import QoSProfile


class NeverExecuted(CallbackGroup):
    """Keeps the executor's hands off its entities."""

    def can_execute(self, entity: Any) -> bool:
        """Return False."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Return False."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Do nothing."""


class PolledSubscription:
    """Messages of one topic, waited for and taken by one thread."""

    def __init__(self, node: Node, message_type: Any, topic: str, qos: QoSProfile) -> None:
        self._node = node
        self._group = NeverExecuted()
        self._subscription = node.create_subscription(
            message_type, topic, lambda _: None, qos, callback_group=self._group
        )
        handle = node.context.handle
        self._wait_set = rclpy_implementation.WaitSet(1, 0, 0, 0, 0, 0, handle)

    def wait(self, timeout: float) -> bool:
        """Wait at most `timeout` [s] for a message; whether one is there."""
        self._wait_set.clear_entities()
        self._wait_set.add_subscription(self._subscription.handle)
        self._wait_set.wait(int(timeout * 1e9))
        return bool(self._wait_set.get_ready_entities('subscription'))

    def take(self) -> Any:
        """Return the oldest message that has not been taken, or None."""
        taken = self._subscription.handle.take_message(self._subscription.msg_type, False)
        return None if taken is None else taken[0]

    def destroy(self) -> None:
        """Remove the subscription from the node; no thread may use it any more."""
        self._node.destroy_subscription(self._subscription)
