"""Brakes behind topics."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from rclpy.node import Node
from std_msgs.msg import Bool

from pkm_control.control_types import ControlFault, ErrorCode
from pkm_description.nodes.qos import LATCHED

POLL = 0.02  # [s] between looks at brakes that are opening


class Brakes:
    """Asks on `brakes/close` and hears on `brakes/closed` (std_msgs/Bool, the last one kept)."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._close = node.create_publisher(Bool, 'brakes/close', LATCHED)
        self._reports = node.create_subscription(Bool, 'brakes/closed', self._hear, LATCHED)
        self._asked: bool | None = None
        self._reported: bool | None = None  # last, whenever that was
        self.closed = False  # as they report since they were asked

    @property
    def commanded(self) -> bool:
        """Whether anything takes commands for brakes."""
        return bool(self._close.get_subscription_count() > 0)

    @property
    def hindrance(self) -> str:
        """Why no motion may begin: asked to open, they last reported to be closed; else empty."""
        if self._asked is False and self._reported:
            return 'the brakes say that they are closed, though they were asked to open'
        return ''

    async def require_open(self, sleep: Callable[[float], Awaitable[None]], longest: float) -> None:
        """Wait for brakes that were asked to open; ControlFault where they stay closed.

        They have `longest` [s] of waiting, counted by its steps: a machine that stalls takes
        none of it away.
        """
        waited = 0.0
        while hindrance := self.hindrance:
            if waited >= longest:
                raise ControlFault(
                    ErrorCode.DRIVES_NOT_READY, f'{hindrance}; {longest:g} s were waited for it'
                )
            await sleep(POLL)
            waited += POLL

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
        self.closed = self._reported = bool(message.data)
