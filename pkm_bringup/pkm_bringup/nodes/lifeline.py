"""Between a client and the server of its goal: each learns when the other one is gone."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from math import inf

from rcl_interfaces.srv import GetParameters
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from pkm_bringup.nodes.graph_client import GraphClient
from pkm_description.nodes.client_watch import HEARTBEAT

BEAT_PERIOD = 0.1  # [s] between heartbeats
# [s] without heartbeats until the server ends the run. Less ends healthy runs: a process is silent
# for more than 1.25 s on a machine with twice as much to do as it can.
HEARTBEAT_TIMEOUT = 2.0
# [s] from the last sign of life of a server until it counts as gone, likewise. Discovery forgets a
# killed process after 20 s only.
GONE = 1.75
DOUBT = 0.4  # [s] of silence after which a server is asked whether it lives: thrice until GONE
LISTENER = 3.0  # [s] to wait for a server that hears heartbeats; a foreign one may not


class Lifeline:
    """Sends the heartbeat of a goal and asks a silent server for a sign of life.

    A sign is what `hear` is called for, or an answer of the server's parameter service, which
    every node has; of a server without that service, its presence in the graph. To be used as a
    context manager, and `gone` to be called at least every `BEAT_PERIOD`.
    """

    def __init__(self, client: GraphClient, server: str, present: Callable[[], bool]) -> None:
        self.goal = UUID(uuid=list(uuid.uuid4().bytes))  # identifier that the goal is to have
        self._client, self._present = client, present
        self._beats = client.node.create_publisher(UUID, f'{server}/{HEARTBEAT}', 10)
        self._questions = client.node.create_client(GetParameters, f'{server}/get_parameters')
        self._calls: list[Future] = []
        self._seen = self._asked = time.monotonic()  # [s]
        self._beaten = -inf  # [s]

    def __enter__(self) -> Lifeline:
        return self

    def __exit__(self, *_: object) -> None:
        self._drop_calls()
        self._client.node.destroy_publisher(self._beats)
        self._client.node.destroy_client(self._questions)

    @property
    def heartbeat_timeout(self) -> float:
        """Timeout [s] for the goal; waits for a server that hears heartbeats, 0 without one."""
        heard = self._client.wait(lambda: self._beats.get_subscription_count() > 0, LISTENER)
        return HEARTBEAT_TIMEOUT if heard else 0.0

    def hear(self) -> None:
        """Take a sign of life of the server."""
        self._seen = time.monotonic()
        self._drop_calls()

    def gone(self) -> bool:
        """Send a heartbeat, where it is time; whether the server has been silent for too long."""
        now = time.monotonic()
        if now - self._beaten >= BEAT_PERIOD:
            self._beaten = now
            self._beats.publish(self.goal)
        if any(call.done() for call in self._calls):
            self.hear()
        if not self._questions.service_is_ready():
            if self._present():
                self.hear()
        elif now - max(self._seen, self._asked) > DOUBT:
            self._asked = now
            self._calls.append(self._questions.call_async(GetParameters.Request()))
        return now - self._seen > GONE

    def _drop_calls(self) -> None:
        for call in self._calls:
            self._questions.remove_pending_request(call)
        self._calls.clear()
