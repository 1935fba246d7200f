"""The heartbeat of the client of a goal."""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.node import Node
from rclpy.qos import QoSProfile
from unique_identifier_msgs.msg import UUID

from pkm_control.nodes.joint_state_reader import PolledSubscription


class ClientWatch:
    """Hears the identifier of the goal on `~/heartbeat` while its client lives.

    For goals that ask for it. `poll` runs in the thread of the control loop.
    """

    def __init__(self, node: Node, on_lost: Callable[[str], None]) -> None:
        self._beats = PolledSubscription(node, UUID, '~/heartbeat', QoSProfile(depth=10))
        self._on_lost = on_lost  # with what to say, once a goal
        self._goal: bytes | None = None
        self._timeout = 0.0  # [s]
        self._heard = 0.0  # [s] of the steady clock

    def begin(self, goal: bytes, timeout: float) -> None:
        """Watch the client of this goal; with a timeout [s] of zero there is nothing to hear."""
        self._timeout, self._heard = timeout, time.monotonic()
        self._goal = goal if timeout > 0.0 else None

    def end(self) -> None:
        """Watch nobody."""
        self._goal = None

    def poll(self) -> None:
        """Take what has come and look at the clock."""
        while (beat := self._beats.take()) is not None:
            if bytes(beat.uuid) == self._goal:
                self._heard = time.monotonic()
        silent = time.monotonic() - self._heard
        if self._goal is not None and silent > self._timeout:
            self._goal = None
            self._on_lost(f'no heartbeat of the client for {silent:.2f} s')

    def destroy(self) -> None:
        """Remove the subscription; no thread may poll any more."""
        self._beats.destroy()
