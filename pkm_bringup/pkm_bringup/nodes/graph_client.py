"""A node of this process that waits for the other nodes of a graph."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import rclpy
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from pkm_bringup.processes import ProcessError

SPIN = 0.05  # [s]
Client = TypeVar('Client', bound='GraphClient')


class GraphError(ProcessError):
    """A server refused, failed or did not answer; the message is the server's own."""


class GraphClient:
    """Listens while it waits.

    `check` is called then, and raises when waiting has become pointless: a node has ended. ROS
    takes no signals over: Ctrl-C is an interrupt, after which a goal can be canceled. `remappings`
    are other names of topics and services, by the usual ones, and of the namespace, by `__ns`.
    """

    def __init__(
        self,
        name: str,
        check: Callable[[], None] = lambda: None,
        remappings: Mapping[str, str] | None = None,
    ) -> None:
        self._check, self._is_first = check, not rclpy.ok()
        if self._is_first:
            rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        rules = [f'{old}:={new}' for old, new in (remappings or {}).items()]
        words = [word for rule in rules for word in ('-r', rule)]
        self.node = rclpy.create_node(name, cli_args=['--ros-args', *words])
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._actions: dict[str, ActionClient] = {}

    def __enter__(self: Client) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown(timeout_sec=1.0)
        self.node.destroy_node()
        if self._is_first:
            rclpy.try_shutdown()

    def action(self, kind: Any, name: str) -> ActionClient:
        """Return the client of an action, always the same."""
        if name not in self._actions:
            self._actions[name] = ActionClient(self.node, kind, name)
        return self._actions[name]

    def spin(self, seconds: float = SPIN) -> None:
        """Listen until something has come, at most for some time [s]."""
        self._check()
        self._executor.spin_once(timeout_sec=seconds)

    def wait(self, done: Callable[[], bool], limit: float, pause: float = SPIN) -> bool:
        """Listen until a condition holds, at most for `limit` [s]; whether it holds.

        The condition is looked at whenever something has come, and each `pause` [s].
        """
        end = time.monotonic() + limit
        while not done() and time.monotonic() < end:
            self.spin(pause)
        return done()
