"""Whether the client of a goal lives: the line to its process, and its heartbeat."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from unique_identifier_msgs.msg import UUID

from pkm_description.errors import TrajectoryError
from pkm_description.nodes.process_line import ProcessLine

HEARTBEAT = 'heartbeat'  # topic of a server, below its name: the identifiers of goals
# [s] without heartbeats after which a client is gone, for one that hangs or is on another machine:
# the line tells of all others at once. On a machine with twice as much to do as it can a healthy
# process is silent for more than 1.25 s.
HEARTBEAT_TIMEOUT = 5.0


class ClientWatch:
    """Tells when the client of a goal is gone: who asks for it sends the goal's identifier.

    `hear` takes what comes on the topic `HEARTBEAT`, and `look` looks at line and clock. Two looks
    in a row must find the client silent: after a pause of this process the first one may come
    before the messages that have waited. `on_lost` must not call `begin` or `end`.
    """

    def __init__(self, on_lost: Callable[[str], None]) -> None:
        self._on_lost = on_lost  # with what to say, once a goal
        self.lost = ''  # what was said of the goal that began last
        self._lock = threading.Lock()  # goals begin and end in another thread than that of `look`
        self._goal: bytes | None = None
        self._line: ProcessLine | None = None
        self._timeout = 0.0  # [s]
        self._heard = 0.0  # [s] of the steady clock
        self._doubted = False

    def begin(self, goal: bytes, timeout: float) -> None:
        """Watch the client of this goal; with a timeout [s] of zero there is nothing to hear.

        Raises TrajectoryError for a timeout that is no time.
        """
        if not 0.0 <= timeout < math.inf:
            raise TrajectoryError(
                f'heartbeat_timeout: a time is needed, or 0 for none, got {timeout:g}'
            )
        with self._lock:
            if timeout > 0.0:
                self._goal, self._line = goal, ProcessLine(goal, offers=False)
            self._timeout, self._heard, self._doubted = timeout, time.monotonic(), False
            self.lost = ''

    def end(self) -> None:
        """Watch nobody; the goal has ended."""
        with self._lock:
            if self._line is not None:
                self._line.end()
            self._goal = self._line = None

    def hear(self, beat: UUID) -> None:
        """Take a heartbeat."""
        if bytes(beat.uuid) == self._goal:
            self._heard, self._doubted = time.monotonic(), False

    def look(self) -> None:
        """Tell when the client is gone, or has been silent for too long."""
        with self._lock:
            if self._goal is not None and (reason := self._loss()):
                self._goal, self.lost = None, reason
                self._on_lost(reason)

    def _loss(self) -> str:
        if self._line is not None and self._line.is_cut():
            return 'the client is gone'
        silent = time.monotonic() - self._heard
        if silent <= self._timeout:
            return ''
        if not self._doubted:
            self._doubted = True
            return ''
        return f'no heartbeat of the client for {silent:.2f} s'
