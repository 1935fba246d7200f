"""What a node says of itself, once a second of the steady clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

PERIOD = 1.0  # [s]
Report = Callable[[], tuple[str, Mapping[str, str]]]


def publish_diagnostics(node: Node, hardware: str, report: Report, name: str = '') -> None:
    """Publish from now on the message and the values that `report` returns.

    `hardware` is the robot; the status has the full name of the node where no `name` is given.
    """
    publisher = node.create_publisher(DiagnosticArray, 'diagnostics', 10)

    def publish() -> None:
        message, values = report()
        status = DiagnosticStatus(
            name=name or node.get_fully_qualified_name(), hardware_id=hardware, message=message
        )
        status.values = [KeyValue(key=key, value=value) for key, value in values.items()]
        array = DiagnosticArray(status=[status])
        array.header.stamp = node.get_clock().now().to_msg()
        publisher.publish(array)

    node.create_timer(PERIOD, publish, clock=Clock(clock_type=ClockType.STEADY_TIME))
