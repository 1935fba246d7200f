"""Waiting inside coroutines of a node's executor, in elapsed time."""

from __future__ import annotations

from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future


class Waiting:
    """Sleeps and time limits on the steady clock, whatever time the robot keeps."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._group = ReentrantCallbackGroup()

    async def sleep(self, seconds: float) -> None:
        """Let other callbacks run for some time [s]."""
        await self.within(Future(), seconds)

    async def within(self, call: Future, seconds: float) -> Any:
        """Return the result of `call`, or None when it does not come within `seconds`."""
        done: Future = Future()

        def finish(value: Any) -> None:
            if not done.done():
                done.set_result(value)

        call.add_done_callback(lambda future: finish(future.result()))
        timer = self._node.create_timer(
            seconds, lambda: finish(None), clock=self._clock, callback_group=self._group
        )
        try:
            return await done
        finally:
            self._node.destroy_timer(timer)
