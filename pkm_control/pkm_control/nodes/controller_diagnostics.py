"""Diagnostics of the trajectory controller."""

from __future__ import annotations

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from pkm_control.nodes.control_loop import ControlLoop
from pkm_control.outcome import ErrorCode


class ControllerDiagnostics:
    """Publishes state, loop figures, the last fault and the last rejected goal.

    Parameters
    ----------
    node : rclpy.node.Node
    robot : str
        Shown as the hardware.
    """

    def __init__(self, node: Node, robot: str) -> None:
        self._node = node
        self._robot = robot
        self._fault = ''
        self._rejection = ''
        self._publisher = node.create_publisher(DiagnosticArray, 'diagnostics', 10)

    def fault(self, code: ErrorCode, message: str) -> None:
        """Remember why commands stopped."""
        self._fault = f'{code.name} ({int(code)}): {message}'

    def rejected(self, code: ErrorCode, message: str) -> None:
        """Remember why a goal was rejected."""
        self._rejection = f'{code.name} ({int(code)}): {message}'

    def publish(self, loop: ControlLoop | None) -> None:
        """Publish one status."""
        status = DiagnosticStatus(
            name=self._node.get_fully_qualified_name(), hardware_id=self._robot
        )
        values = {'last rejected goal': self._rejection}
        if loop is None:
            status.message = 'not configured'
        else:
            if loop.commanding:
                self._fault = ''
            status.message = 'active' if loop.commanding else 'inactive, no commands'
            values |= _figures(loop)
        if loop is not None and not loop.running:
            status.level = DiagnosticStatus.ERROR
            status.message = 'the control thread has ended'
        if self._fault:
            status.level = DiagnosticStatus.ERROR
            status.message = f'stopped commanding: {self._fault}'
        status.values = [KeyValue(key=key, value=value) for key, value in values.items()]
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)


def _figures(loop: ControlLoop) -> dict[str, str]:
    summary = loop.statistics.summary()
    result = loop.last_result
    error = 0.0
    if result is not None:
        error = float(np.abs(result.desired_position - result.position).max())
    return {
        'phase': 'IDLE' if result is None or not loop.commanding else result.phase.name,
        'feedforward': loop.controller.feedforward.name,
        'position error [m, rad]': f'{error:.3e}',
        'joint state age [s]': f'{loop.state_age:.4f}',
        'cycles': str(summary.cycles),
        'rate [Hz]': f'{summary.rate:.1f}',
        'missed deadlines': str(summary.missed),
        'repeated commands': str(summary.repeated),
        'compute time p50 [s]': f'{summary.compute_p50:.6f}',
        'compute time p99 [s]': f'{summary.compute_p99:.6f}',
        'compute time max [s]': f'{summary.compute_max:.6f}',
        'deadline lateness p50 [s]': f'{summary.late_p50:.6f}',
        'deadline lateness p99 [s]': f'{summary.late_p99:.6f}',
    }
