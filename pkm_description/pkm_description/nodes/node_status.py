"""What a node says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.publisher import Publisher

PERIOD = 1.0  # [s] of the steady clock
# message, values, and a level where it is not OK
Report = Callable[[], tuple[str, Mapping[str, str]] | tuple[str, Mapping[str, str], bytes]]


def publish_diagnostics(node: Node, hardware: str, report: Report, name: str = '') -> None:
    """Publish the message and the values that `report` returns, once a second from now on."""
    publisher = node.create_publisher(DiagnosticArray, 'diagnostics', 10)

    def publish() -> None:
        message, values, *given = report()
        level = given[0] if given else DiagnosticStatus.OK
        publish_status(node, publisher, hardware, message, values, level, name=name)

    node.create_timer(PERIOD, publish, clock=Clock(clock_type=ClockType.STEADY_TIME))


def publish_status(
    node: Node,
    publisher: Publisher,
    hardware: str,
    message: str,
    values: Mapping[str, str],
    level: bytes = DiagnosticStatus.OK,
    stamp: Time | None = None,
    name: str = '',
    further: Sequence[DiagnosticStatus] = (),
) -> None:
    """Publish a status, and further ones, at a stamp or now; `hardware` is the robot.

    It has the full name of the node where no `name` is given.
    """
    name = name or node.get_fully_qualified_name()
    array = DiagnosticArray(status=[status_of(name, hardware, message, values, level), *further])
    array.header.stamp = node.get_clock().now().to_msg() if stamp is None else stamp
    publisher.publish(array)


def status_of(
    name: str, hardware: str, message: str, values: Mapping[str, str], level: bytes
) -> DiagnosticStatus:
    """Return one status."""
    return DiagnosticStatus(
        name=name,
        hardware_id=hardware,
        message=message,
        level=level,
        values=[KeyValue(key=key, value=value) for key, value in values.items()],
    )
