"""What the nodes of a graph say of themselves, heard by one of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Container
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node

DIGEST = 'digest'  # key of the description's and calibration's SHA-256 in a status
# [s] What is no longer told, an error or a digest, ends then: five times the nodes' period, and
# what diagnostic_aggregator takes for stale by default.
STALE = 5.0


class _Told(NamedTuple):
    text: str
    heard: float  # [s]


class GraphHealth:
    """Hears `diagnostics` and keeps the errors of all nodes but those that do not matter.

    `aside` are names of nodes whose errors do not keep the robot from moving; those of `watchmen`
    must go on telling once they were heard. The time is the steady clock's.
    """

    def __init__(
        self,
        node: Node,
        aside: Container[str],
        watchmen: Container[str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._aside, self._watchmen, self._clock = aside, watchmen, clock
        self._errors: dict[str, _Told] = {}
        self._heard: dict[str, float] = {}  # of the watchmen
        self._digests: dict[str, _Told] = {}  # of descriptions, by the status that tells it
        node.create_subscription(DiagnosticArray, 'diagnostics', self.hear, 50)

    def hear(self, message: DiagnosticArray) -> None:
        """Take statuses."""
        now = self._clock()
        for status in message.status:
            node = node_of(status.name).rpartition('/')[2]
            if node in self._aside:
                continue
            if node in self._watchmen:
                self._heard[status.name] = now
            self._errors.pop(status.name, None)
            if status.level == DiagnosticStatus.ERROR:
                self._errors[status.name] = _Told(status.message, now)
            for entry in status.values:
                if entry.key == DIGEST:
                    self._digests[status.name] = _Told(entry.value, now)

    def complaint(self, digest: str) -> str:
        """Return the first error of a node, or what else is wrong; empty where all is well.

        `digest` is that of the description and calibration in use.
        """
        now = self._clock()
        for name, error in sorted(self._errors.items()):
            if now - error.heard < STALE:
                return f'{name}: {error.text}'
        for name, heard in sorted(self._heard.items()):
            if now - heard >= STALE:
                return f'{name} has fallen silent'
        for name, other in sorted(self._digests.items()):
            if other.text != digest and now - other.heard < STALE:
                return f'{name}: not the description or calibration of the robot in use'
        return ''


def node_of(status: str) -> str:
    """Full name of the node that a status is of: what stands before the colon."""
    return status.partition(':')[0]
