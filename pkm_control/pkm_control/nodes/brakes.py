"""Brakes behind topics."""

from __future__ import annotations

from rclpy.node import Node
from std_msgs.msg import Bool

from pkm_description.nodes.qos import LATCHED


class Brakes:
    """Asks on `brakes/close` and hears on `brakes/closed` (std_msgs/Bool, the last one kept)."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._close = node.create_publisher(Bool, 'brakes/close', LATCHED)
        self._reports = node.create_subscription(Bool, 'brakes/closed', self._hear, LATCHED)
        self._asked: bool | None = None
        self.closed = False  # as they report since they were asked

    @property
    def commanded(self) -> bool:
        """Whether anything takes commands for brakes."""
        return bool(self._close.get_subscription_count() > 0)

    def close(self, close: bool) -> None:
        """Ask them to close or to open, once."""
        if close is not self._asked:
            self._asked, self.closed = close, False
            self._close.publish(Bool(data=close))

    def destroy(self) -> None:
        """Remove publisher and subscription from the node."""
        self._node.destroy_subscription(self._reports)
        self._node.destroy_publisher(self._close)

    def _hear(self, message: Bool) -> None:
        self.closed = bool(message.data)
