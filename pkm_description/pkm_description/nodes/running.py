"""Start, spin and end a node: signals end it cleanly, errors name what is wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from pkm_description.errors import PkmError


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
    create_executor: Callable[[], Executor] = SingleThreadedExecutor,
) -> int:
    """Run one node until a signal ends it.

    Parameters
    ----------
    create : callable
        Makes the node. A method `close` of the node, if it has one, is called at the
        end, before the node is destroyed.
    args : sequence of str, optional
        Command line, as `rclpy.init` takes it.
    create_executor : callable
        Makes the executor; not the multi-threaded one, whose timing is erratic.

    Returns
    -------
    int
        Exit status: 0 after SIGINT or SIGTERM, 1 after an error, which is printed.
    """
    rclpy.init(args=None if args is None else list(args))
    node = None
    executor = create_executor()
    try:
        node = create()
        executor.add_node(node)
        while rclpy.ok():  # spin() of the events executor takes a whole core
            executor.spin_once(timeout_sec=1.0)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except (PkmError, ParameterException) as error:
        name = node.get_name() if node is not None else 'error'
        print(f'{name}: {error}', file=sys.stderr)
        return 1
    finally:
        if node is not None:
            close = getattr(node, 'close', None)
            if close is not None:
                close()
            executor.shutdown(timeout_sec=1.0)
            node.destroy_node()
        rclpy.try_shutdown()
    return 0
