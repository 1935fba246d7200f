"""Node `state_completer`: from the actuated joints to all joints and the platform."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, Transform, TransformStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from transforms3d.quaternions import mat2quat

from pkm_description.assembly import Assembly, Configuration
from pkm_description.description import Pose
from pkm_description.errors import DescriptionError, KinematicsError
from pkm_description.loader import load
from pkm_description.nodes.node_parameters import NodeParameter, declare_parameters
from pkm_description.nodes.node_status import publish_diagnostics
from pkm_description.nodes.running import quick_executor, run_node
from pkm_description.transmissions.motor_side import spoken_by

try:
    from tf2_msgs.msg import TFMessage
except ImportError:  # not in every ROS 2: the pose topic says the same
    TFMessage = None

# Hears publishers of either kind.
LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
PARAMETERS = (
    NodeParameter('robot', 'palida', 'library name of the robot, or path of a description'),
    NodeParameter('rate', 20.0, 'greatest rate of the completed states', 'Hz', 0.1, 1000.0),
)


class StateCompleter(Node):
    """Completes measured actuated positions by solving the loops.

    Each solution starts from the one before. Joint states are thinned to `rate`, by
    their stamps. Where the loops do not close the state is skipped and logged. Messages of other
    joints alone are left out.
    """

    def __init__(self) -> None:
        super().__init__('state_completer')
        values = declare_parameters(self, PARAMETERS)
        self._description = load(values['robot'])
        self._motors = spoken_by(self._description)
        self._assembly = Assembly(self._description)
        self._own = frozenset(self._description.actuated_joints)
        self._configuration: Configuration | None = None
        self._period = 1.0 / values['rate']
        self._completed_at: float | None = None
        self._complete = self.create_publisher(JointState, 'joint_states_complete', 10)
        self._pose = self.create_publisher(PoseStamped, 'platform_pose', 10)
        self._tf: Any = None
        if TFMessage is None:
            self.get_logger().info('tf2_msgs is not installed: the platform is on platform_pose')
        else:
            self._tf = self.create_publisher(TFMessage, '/tf', 100)
        self._completed = 0
        self._problem = ''
        publish_diagnostics(self, self._description.name, self._report)
        self.create_subscription(JointState, 'joint_states', self._on_state, LATEST)

    def _on_state(self, message: JointState) -> None:
        positions = dict(zip(message.name, message.position, strict=False))
        if self._motors is not None:
            positions = self._motors.named_joints(positions)
        if not self._own.intersection(positions):
            return
        stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        last = self._completed_at
        # A step back in time is a restarted robot.
        if last is not None and 0.0 <= stamp - last < self._period * (1.0 - 1e-6):
            return
        self._completed_at = stamp
        try:
            self._configuration = self._assembly.solve(positions, self._configuration)
        except (KinematicsError, DescriptionError) as error:
            self._configuration, self._problem = None, str(error)
            self.get_logger().error(f'state skipped: {error}', throttle_duration_sec=1.0)
            return
        self._completed += 1
        self._publish(message, self._configuration)

    def _report(self) -> tuple[str, dict[str, str], bytes]:
        level, message = DiagnosticStatus.OK, 'completes the joint states'
        if self._problem:
            level, message = DiagnosticStatus.WARN, f'states skipped: {self._problem}'
        elif not self._completed:
            level, message = DiagnosticStatus.WARN, 'waits for joint states'
        values = {'completed states': str(self._completed)}
        self._completed, self._problem = 0, ''
        return message, values, level

    def _publish(self, measured: JointState, configuration: Configuration) -> None:
        complete = JointState(
            name=list(self._assembly.tree.joint_names),
            position=np.asarray(configuration.joints).tolist(),
        )
        complete.header.stamp = measured.header.stamp
        self._complete.publish(complete)
        platform = self._assembly.platform_pose(configuration)
        transform = TransformStamped(
            child_frame_id=self._description.platform, transform=_transform(platform)
        )
        transform.header.stamp = measured.header.stamp
        transform.header.frame_id = self._description.base_link
        pose = PoseStamped(header=transform.header)
        place = transform.transform.translation
        pose.pose.position.x, pose.pose.position.y, pose.pose.position.z = place.x, place.y, place.z
        pose.pose.orientation = transform.transform.rotation
        self._pose.publish(pose)
        if self._tf is not None:
            self._tf.publish(TFMessage(transforms=[transform]))


def _transform(pose: Pose) -> Transform:
    transform = Transform()
    place, turn = transform.translation, transform.rotation
    place.x, place.y, place.z = map(float, pose.position)
    turn.w, turn.x, turn.y, turn.z = map(float, mat2quat(pose.rotation))
    return transform


def main(args: Sequence[str] | None = None) -> None:
    """Run the node until it is interrupted."""
    sys.exit(run_node(StateCompleter, args, quick_executor))


if __name__ == '__main__':
    main()
