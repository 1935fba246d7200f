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
from rclpy.client import Client
from rclpy.event_handler import EventHandler
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor, SingleThreadedExecutor, TimeoutObject
from rclpy.node import Node
from rclpy.service import Service
from rclpy.signals import SignalHandlerOptions

from pkm_description.errors import PkmError
from pkm_description.nodes.transport import avoid_shared_memory

LONGEST_WAIT = 0.02  # [s] until a signal is noticed
LONGEST_WIND_DOWN = 10.0  # [s] from a signal to the end of a node
SERVICES_EVERY, EVENTS_EVERY = 5e-3, 0.5  # [s] how often an executor under way looks at them
LAST_ANSWERS = 5  # turns of the executor in which answers of a node that has ended go out
PAUSE = 1e-3  # [s] after a failed callback, so that one that always fails takes no whole core


class FatalError(PkmError):
    """An error in a callback that ends the node; any other is logged."""


class LeanExecutor(SingleThreadedExecutor):
    """A single-threaded executor that does not wait for everything at every turn.

    Waiting costs by the number of entities, and most of them are seldom due. While messages come,
    services and clients are looked at every `SERVICES_EVERY`, and events of quality of service
    (an incompatible partner; two of each publisher and subscription) every `EVENTS_EVERY`: they
    stay until then. A graph in lockstep takes two thirds of the processor time.
    """

    _services = _events = True  # whether the present wait is for them
    _services_at = _events_at = 0.0  # [s] of the latest wait for them

    def can_execute(self, entity: Any) -> bool:
        """Return whether to wait for an entity."""
        if isinstance(entity, EventHandler) and not self._events:
            return False
        if isinstance(entity, (Service, Client)) and not self._services:
            return False
        return bool(super().can_execute(entity))

    def _wait_for_ready_callbacks(
        self, timeout_sec: Any = None, nodes: Any = None, condition: Any = lambda: False
    ) -> Any:
        """Choose what to wait for; without services never longer than until they are due."""
        now = time.monotonic()
        self._services = now - self._services_at > SERVICES_EVERY
        self._events = now - self._events_at > EVENTS_EVERY
        if self._services:
            self._services_at = now
        elif not isinstance(timeout_sec, TimeoutObject):
            is_endless = timeout_sec is None or timeout_sec < 0
            timeout_sec = SERVICES_EVERY if is_endless else min(timeout_sec, SERVICES_EVERY)
        if self._events:
            self._events_at = now
        yield from super()._wait_for_ready_callbacks(timeout_sec, nodes, condition)


def quick_executor() -> Executor:
    """Return the executor with the least delay between a message and its callback.

    That is the events executor where rclpy has one, which takes two thirds of the
    single-threaded executor's time; not for nodes with actions, which keep it busy.
    """
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        return LeanExecutor()
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
    avoid_shared_memory()
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
