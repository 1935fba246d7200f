"""Long work beside an executor that must stay responsive."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from rclpy.node import Node
from rclpy.task import Future

T = TypeVar('T')


class Background:
    """One worker thread whose results a coroutine of the node's executor can await.

    Parameters
    ----------
    node
        The node whose executor is woken when work is done.
    name
        Of the thread.
    """

    def __init__(self, node: Node, name: str) -> None:
        self._node = node
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)

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

    def close(self) -> None:
        """Drop what has not begun."""
        self._pool.shutdown(wait=False, cancel_futures=True)
