"""Node `description_publisher`: the robot's description, latched."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import String

from pkm_description.assembly import CLOSURE_TOLERANCE, Assembly
from pkm_description.loader import load
from pkm_description.nodes.graph_health import DIGEST
from pkm_description.nodes.node_parameters import NodeParameter, declare_parameters
from pkm_description.nodes.node_status import publish_status
from pkm_description.nodes.qos import LATCHED
from pkm_description.nodes.running import run_node
from pkm_description.transmissions.calibration import machine_digest, published_text

PARAMETERS = (
    NodeParameter('robot', 'palida', 'library name of the robot, or path of a description'),
    NodeParameter('diagnostics_period', 1.0, 'time between diagnostics', 's', 0.01, 3600.0),
)


class DescriptionPublisher(Node):
    """Publishes the URDF and its sidecar once, latched, and the closure gap at home.

    `robot_description` is the expanded URDF with its constraints, which other URDF
    tools read as a tree; `robot_description_yaml` is what a URDF cannot say, with the machine's
    calibration behind it.
    """

    def __init__(self) -> None:
        super().__init__('description_publisher')
        values = declare_parameters(self, PARAMETERS)
        description = self._description = load(values['robot'])
        assembly = Assembly(description)
        residual, _ = assembly.closure(assembly.home())
        gap = float(abs(residual).max(initial=0.0))
        self._verdict = DiagnosticStatus.OK, 'loops closed at home'
        if gap > CLOSURE_TOLERANCE:
            self._verdict = DiagnosticStatus.ERROR, 'loops gape at home'
        self._values = {
            'closure gap at home [m]': f'{gap:.3e}',
            'closing constraints': str(len(description.constraints)),
            'actuated joints': str(len(description.actuated_joints)),
            DIGEST: machine_digest(description),
        }
        self._urdf = self.create_publisher(String, 'robot_description', LATCHED)
        self._yaml = self.create_publisher(String, 'robot_description_yaml', LATCHED)
        self._diagnostics = self.create_publisher(DiagnosticArray, 'diagnostics', 10)
        self._urdf.publish(String(data=description.urdf))
        self._yaml.publish(String(data=published_text(description)))
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(values['diagnostics_period'], self._publish_diagnostics, clock=steady)
        self.get_logger().info(
            f"robot '{description.name}': {len(description.actuated_joints)} actuated joints, "
            f'{len(description.constraints)} closing constraints, closure gap {gap:.1e} m'
        )

    def _publish_diagnostics(self) -> None:
        level, message = self._verdict
        robot = self._description.name
        publish_status(self, self._diagnostics, robot, message, self._values, level)


def main(args: Sequence[str] | None = None) -> None:
    """Run the node until it is interrupted."""
    sys.exit(run_node(DescriptionPublisher, args))


if __name__ == '__main__':
    main()
