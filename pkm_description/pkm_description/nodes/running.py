"""Start, spin and end a node: signals end it cleanly, errors name what is wrong."""

from __future__ import annotations

import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import rclpy
from rclpy.event_handler import EventHandler
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from pkm_description.errors import PkmError

LONGEST_WAIT = 0.02  # [s] until a signal is noticed
LONGEST_WIND_DOWN = 10.0  # [s] from a signal to the end of a node
LOOKS_EVERY = 0.5  # [s] from one look for events of quality of service to the next
LOOKS_FOR = 2 * LONGEST_WAIT  # [s] that a look takes: a wait begins in it
LAST_ANSWERS = 5  # turns of the executor in which answers of a node that has ended go out
PAUSE = 1e-3  # [s] after a failed callback, so that one that always fails takes no whole core


class FatalError(PkmError):
    """An error in a callback that ends the node; any other is logged."""


class LeanExecutor(SingleThreadedExecutor):
    """A single-threaded executor that looks for events of quality of service now and then alone.

    Each publisher and subscription has two such events (an incompatible partner), which at every
    wait cost more than all messages: a cycle of a graph takes half the processor time without.
    What has happened stays to be seen at the next look.
    """

    def can_execute(self, entity: Any) -> bool:
        """Return whether to wait for an entity."""
        if isinstance(entity, EventHandler) and time.monotonic() % LOOKS_EVERY > LOOKS_FOR:
            return False
        return bool(super().can_execute(entity))


def quick_executor() -> Executor:
    """Return the executor with the least delay between a message and its callback.

    That is the events executor where rclpy has one, which takes two thirds of the
    single-threaded executor's time; not for nodes with actions, which keep it busy.
    """
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor()
    executor: Executor = EventsExecutor()
    return executor


def run_node(
    create: Callable[[], Node],
    args: Sequence[str] | None = None,
    create_executor: Callable[[], Executor] = LeanExecutor,
) -> int:
    """Run one node until a signal ends it; the exit status is 1 after an error, which is printed.

    An error in a callback is logged and the node runs on, unless it is a `FatalError`.
    A signal only ends the spinning: ROS is still up while the node closes, so a node can
    say goodbye, and nothing of it meets a context that is gone. Two methods of the node are
    called where it has them: after a signal `wind_down`, while it spins on, until that returns
    True or for `LONGEST_WIND_DOWN`; and `close` at the end, before the node is destroyed. The
    executor is not the multi-threaded one, whose timing is erratic.
    """
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    rclpy.init(
        args=None if args is None else list(args), signal_handler_options=SignalHandlerOptions.NO
    )
    node = None
    executor = create_executor()
    try:
        node = create()
        executor.add_node(node)
        while not stop.is_set():  # spin() of the events executor takes a whole core
            try:
                executor.spin_once(timeout_sec=LONGEST_WAIT)
            except FatalError:
                raise
            except Exception as error:
                if not rclpy.ok():
                    return 1
                _log(node, error)
                stop.wait(PAUSE)
        _wind_down(node, executor)
    except (PkmError, ParameterException) as error:
        name = node.get_name() if node is not None else 'error'
        print(f'{name}: {error}', file=sys.stderr)
        return 1
    finally:
        if node is not None:
            getattr(node, 'close', lambda: None)()
            executor.remove_node(node)
        executor.shutdown(timeout_sec=1.0)
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
        # A second signal must not meet an interpreter that is already ending.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
    return 0


def _wind_down(node: Node, executor: Executor) -> None:
    wind_down: Callable[[], bool] | None = getattr(node, 'wind_down', None)
    if wind_down is None:
        return
    deadline = time.monotonic() + LONGEST_WIND_DOWN
    last = LAST_ANSWERS
    while last and time.monotonic() < deadline and rclpy.ok():
        try:
            last -= wind_down()
            executor.spin_once(timeout_sec=PAUSE)
        except Exception as error:
            _log(node, error)


def _log(node: Node, error: Exception) -> None:
    trace = ''.join(traceback.format_exception(error))
    node.get_logger().error(f'error in a callback: {trace}', throttle_duration_sec=1.0)
