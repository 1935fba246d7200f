"""The heartbeat of the client of a goal."""

from __future__ import annotations

import time
from collections.abc import Callable

from unique_identifier_msgs.msg import UUID

HEARTBEAT = 'heartbeat'  # topic of a server, below its name: the identifiers of goals


class ClientWatch:
    """Tells when the client of a goal is gone: who asks for it sends the goal's identifier.

    `hear` takes what comes on the topic `HEARTBEAT`, and `look` looks at the clock. Two looks in a
    row must find the client silent: after a pause of this process the first one may come before
    the messages that have waited.
    """

    def __init__(self, on_lost: Callable[[str], None]) -> None:
        self._on_lost = on_lost  # with what to say, once a goal
        self._goal: bytes | None = None
        self._timeout = 0.0  # [s]
        self._heard = 0.0  # [s] of the steady clock
        self._doubted = False

    def begin(self, goal: bytes, timeout: float) -> None:
        """Watch the client of this goal; with a timeout [s] of zero there is nothing to hear."""
        self._timeout, self._heard, self._doubted = timeout, time.monotonic(), False
        self._goal = goal if timeout > 0.0 else None

    def end(self) -> None:
        """Watch nobody."""
        self._goal = None

    def hear(self, beat: UUID) -> None:
        """Take a heartbeat."""
        if bytes(beat.uuid) == self._goal:
            self._heard, self._doubted = time.monotonic(), False

    def look(self) -> None:
        """Tell when the client has been silent for too long."""
        silent = time.monotonic() - self._heard
        if self._goal is None or silent <= self._timeout:
            return
        if not self._doubted:
            self._doubted = True
            return
        self._goal = None
        self._on_lost(f'no heartbeat of the client for {silent:.2f} s')
