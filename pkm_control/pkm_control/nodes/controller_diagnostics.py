"""Diagnostics of the trajectory controller."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node

from pkm_control.control_types import ErrorCode
from pkm_control.interlocks import Interlocks
from pkm_control.loop_statistics import LoopSummary
from pkm_control.nodes.control_loop import ControlLoop
from pkm_description.nodes.node_status import publish_status, status_of

LEAST_SUCCESS = 0.9  # below, somebody should look at the clock, the network or the load


class ControllerDiagnostics:
    """Publishes state, loop figures, the last fault and the last rejected goal.

    The robot's name is shown as the hardware.
    """

    def __init__(self, node: Node, robot: str) -> None:
        self._node = node
        self._robot = robot
        self._fault = ''
        self._rejection = ''
        self._publisher = node.create_publisher(DiagnosticArray, 'diagnostics', 10)

    def fault(self, code: ErrorCode, message: str) -> None:
        """Remember why commands stopped."""
        self._fault = _said(code, message)

    def rejected(self, code: ErrorCode, message: str) -> None:
        """Remember why a goal was rejected."""
        self._rejection = _said(code, message)

    def publish(
        self, loop: ControlLoop | None, hindrance: str = '', interlocks: Interlocks | None = None
    ) -> None:
        """Publish what the controller does, sees of the drives, and whether the robot may move.

        `hindrance` is why it would not follow a goal, or should not.
        """
        moving = loop is not None and loop.controller.busy and not loop.stopping
        level = DiagnosticStatus.WARN if hindrance and not moving else DiagnosticStatus.OK
        ready = self._status('ready to move', hindrance or 'yes', {}, level)
        self._publish_state(loop, hindrance, [self._drives(loop, interlocks), ready])

    def _drives(self, loop: ControlLoop | None, interlocks: Interlocks | None) -> DiagnosticStatus:
        level, message = DiagnosticStatus.OK, 'states come'
        values = {}
        if loop is None or not loop.has_recent_state:
            level, message = DiagnosticStatus.WARN, 'no valid joint states'
        if loop is not None:
            values['joint state age [s]'] = f'{loop.state_age:.4f}'
        power = None if interlocks is None else interlocks.of_power
        if power is not None:
            level, message = DiagnosticStatus.WARN, power.reason
        return self._status('drives', message, values, level)

    def _status(
        self, aspect: str, message: str, values: dict[str, str], level: bytes
    ) -> DiagnosticStatus:
        name = f'{self._node.get_fully_qualified_name()}: {aspect}'
        return status_of(name, self._robot, message, values, level)

    def _publish_state(
        self, loop: ControlLoop | None, hindrance: str, further: Sequence[DiagnosticStatus]
    ) -> None:
        level, message = DiagnosticStatus.OK, 'not configured'
        values = {'ready to move': hindrance or 'yes', 'last rejected goal': self._rejection}
        if loop is not None:
            if loop.commanding:
                self._fault = ''
            message = 'active' if loop.commanding else 'inactive, no commands'
            summary = loop.statistics.summary()
            values |= _figures(loop, summary)
            if loop.commanding and loop.period is not None and summary.compute_p50 > loop.period:
                level = DiagnosticStatus.WARN
                message += (
                    f', but a cycle takes {1e3 * summary.compute_p50:.2g} ms and the period is '
                    f'{1e3 * loop.period:.2g} ms: lower the rate'
                )
            elif loop.commanding and summary.success_rate < LEAST_SUCCESS:
                level = DiagnosticStatus.WARN
                share = loop.controller.bandwidth_share
                message += (
                    f', but only {summary.success_rate:.0%} of the states come and are answered in '
                    f'time; the servo keeps {share:.0%} of its bandwidth'
                )
            elif loop.commanding and (bounded := _bounded(loop)):
                level = DiagnosticStatus.WARN
                message += f', but the feedforward {bounded}'
            if not loop.running:
                level, message = DiagnosticStatus.ERROR, 'the control thread has ended'
        if self._fault:
            level, message = DiagnosticStatus.ERROR, f'stopped commanding: {self._fault}'
        publish_status(
            *(self._node, self._publisher, self._robot, message, values, level), further=further
        )


def _said(code: ErrorCode, message: str) -> str:
    return f'{code.name} ({int(code)}): {message}'


def _bounded(loop: ControlLoop) -> str:
    """Whose feedforward is kept near the description's now; empty where none is."""
    result = loop.last_result
    if result is None or not result.bounded.any():
        return ''
    joint = loop.controller.model.actuated_joints[int(np.argmax(result.bounded))]
    return f'of {joint} is held at max_model_difference from that of the description'


def _figures(loop: ControlLoop, summary: LoopSummary) -> dict[str, str]:
    result = loop.last_result
    missed = 0.0 if result is None else np.abs(result.desired_position - result.position).max()
    return {
        'phase': 'IDLE' if result is None or not loop.commanding else result.phase.name,
        'feedforward': loop.controller.feedforward.name,
        'position error [m, rad]': f'{missed:.3e}',
        'joint state age [s]': f'{loop.state_age:.4f}',
        'cycles': str(summary.cycles),
        'success rate [%]': f'{100 * summary.success_rate:.1f}',
        'servo bandwidth [%]': f'{100 * loop.controller.bandwidth_share:.0f}',
        'rate [Hz]': f'{summary.rate:.1f}',
        'missed deadlines': str(summary.missed),
        'cycles between states': str(summary.between),
        'bridged cycles': str(summary.bridged),
        'bounded feedforward [cycles]': str(summary.bounded),
        'compute time p50 [s]': f'{summary.compute_p50:.6f}',
        'compute time p99 [s]': f'{summary.compute_p99:.6f}',
        'compute time max [s]': f'{summary.compute_max:.6f}',
        'deadline lateness p50 [s]': f'{summary.late_p50:.6f}',
        'deadline lateness p99 [s]': f'{summary.late_p99:.6f}',
    }
