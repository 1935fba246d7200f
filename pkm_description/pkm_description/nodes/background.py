"""Long work and waiting beside an executor that must stay responsive."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future

T = TypeVar('T')


class Background:
    """What coroutines of a node's executor await: work in one thread, time, other futures.

    Time is that of the steady clock, whatever time the robot keeps. The executor of `node` is
    woken when work is done; `name` is that of the thread.
    """

    def __init__(self, node: Node, name: str) -> None:
        self._node = node
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._group = ReentrantCallbackGroup()

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in the thread, after what was asked before; its errors are raised here."""
        future: Future = Future()

        def call() -> None:
            try:
                outcome: tuple[Any, BaseException | None] = (work(), None)
            except BaseException as error:
                outcome = (None, error)
            future.set_result(outcome)
            if self._node.executor is not None:
                self._node.executor.wake()

        self._pool.submit(call)
        value, error = await future
        if error is not None:
            raise error
        return value

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

    def close(self) -> None:
        """Drop what has not begun."""
        self._pool.shutdown(wait=False, cancel_futures=True)
