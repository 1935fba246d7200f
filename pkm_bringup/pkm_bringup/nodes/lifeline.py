"""Between a client and the server of its goal: each learns when the other one is gone."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from math import inf

from unique_identifier_msgs.msg import UUID

from pkm_bringup.nodes.graph_client import GraphClient
from pkm_description.nodes.client_watch import HEARTBEAT, HEARTBEAT_TIMEOUT
from pkm_description.nodes.process_line import ProcessLine

BEAT_PERIOD = 0.1  # [s] between heartbeats
GONE = HEARTBEAT_TIMEOUT  # [s] likewise, from the last sign of life of a server
LISTENER = 3.0  # [s] to wait for a server that hears heartbeats; a foreign one may not


class Lifeline:
    """Sends the heartbeat of a goal and looks for signs of life of its server.

    A sign is what `hear` is called for; of a server that hears no heartbeats, and may say nothing,
    its presence in the graph. To be used as a context manager, and `gone` to be called at least
    every `BEAT_PERIOD`.
    """

    def __init__(self, client: GraphClient, server: str, present: Callable[[], bool]) -> None:
        self.goal = UUID(uuid=list(uuid.uuid4().bytes))  # identifier that the goal is to have
        self._client, self._present = client, present
        self._line = ProcessLine(bytes(self.goal.uuid), offers=True)
        self._beats = client.node.create_publisher(UUID, f'{server}/{HEARTBEAT}', 10)
        self._seen = time.monotonic()  # [s]
        self._beaten = -inf  # [s]

    def __enter__(self) -> Lifeline:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()
        self._client.node.destroy_publisher(self._beats)

    @property
    def heartbeat_timeout(self) -> float:
        """Timeout [s] for the goal; waits for a server that hears heartbeats, 0 without one."""
        heard = self._client.wait(lambda: self._is_heard, LISTENER)
        return HEARTBEAT_TIMEOUT if heard else 0.0

    def hear(self) -> None:
        """Take a sign of life of the server."""
        self._seen = time.monotonic()

    def gone(self) -> bool:
        """Send a heartbeat, where it is time; whether the server is gone, or silent for long."""
        if self._line.is_cut():  # first: what is sent to a process that is gone may wait for it
            return True
        now = time.monotonic()
        if now - self._beaten >= BEAT_PERIOD:
            self._beaten = now
            self._beats.publish(self.goal)
        if not self._is_heard and self._present():
            self.hear()
        return now - self._seen > GONE

    @property
    def _is_heard(self) -> bool:
        return bool(self._beats.get_subscription_count() > 0)
