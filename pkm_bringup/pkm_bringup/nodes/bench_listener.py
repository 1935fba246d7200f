"""Publication times of joint states and commands, heard from outside."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from pkm_bringup.bench.frame import spread
from pkm_bringup.processes import ProcessError
from pkm_identification.nodes.recorder import header_stamp

HEAD = 80  # bytes of a serialised message that hold its stamp or label
LABEL = re.compile(rb'stamp:(\d+)\.(\d{9})')
LEAST = 100  # messages
RELIABLE = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)


class LoopListener:
    """Joins each command to the joint state that it answers, by the stamp in its label.

    The messages are fetched in bulk, unread, and no executor knows of them: a wake-up for
    each would load the machine. At least one `fetch` a second, else messages are lost.
    """

    def __init__(self) -> None:
        self._node = Node('pkm_bench_listener')
        self._states: list[tuple[bytes, int]] = []
        self._commands: list[tuple[bytes, int]] = []
        topics = (
            (JointState, 'joint_states', self._states),
            (Float64MultiArray, 'effort_controller/commands', self._commands),
        )
        self._sources = [
            (self._node.create_subscription(kind, topic, _ignore, RELIABLE, raw=True), kind, heard)
            for kind, topic, heard in topics
        ]

    def __enter__(self) -> LoopListener:
        return self

    def __exit__(self, *_: object) -> None:
        self._node.destroy_node()

    def fetch(self) -> None:
        """Take all messages that have come."""
        for subscription, kind, heard in self._sources:
            while (taken := subscription.handle.take_message(kind, True)) is not None:
                heard.append((taken[0][:HEAD], taken[1]['source_timestamp']))

    def begin(self) -> None:
        """Forget what has been heard."""
        self.fetch()
        self._states.clear()
        self._commands.clear()

    def figures(self) -> dict[str, Any]:
        """Return the figures since `begin`; intervals and latencies in us.

        The latency runs from the publication of a joint state to that of the first
        command that answers it, both as stamped by the middleware where they happen.
        """
        self.fetch()
        if min(len(self._states), len(self._commands)) < LEAST:
            raise ProcessError(
                f'only {len(self._states)} joint states and {len(self._commands)} commands came'
            )
        states = {header_stamp(head): at for head, at in self._states}
        answers: dict[int | None, int] = {}
        for head, at in self._commands:
            answers.setdefault(_answered_stamp(head), at)
        latency = [(at - states[key]) * 1e-9 for key, at in answers.items() if key in states]
        times = np.array([at for _, at in self._commands], dtype=np.int64)
        elapsed = float(times[-1] - times[0]) * 1e-9
        figures = {'command_interval': spread(np.diff(times) * 1e-9)}
        figures['state_to_command'] = spread(latency)
        rate = (len(times) - 1) / elapsed
        return {'duration': elapsed, 'commands': len(times), 'rate': rate, **figures}


def _ignore(_: Any) -> None:
    """Do nothing: `fetch` takes the messages."""


def _answered_stamp(head: bytes) -> int | None:
    """Stamp of the joint state that a serialised command answers [ns]."""
    match = LABEL.search(head)
    return None if match is None else int(match[1]) * 1_000_000_000 + int(match[2])
