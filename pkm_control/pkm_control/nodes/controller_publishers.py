"""Commands and controller states: messages made once, filled every cycle."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64MultiArray

from pkm_control.control_types import StepResult
from pkm_control.nodes.topic_publishers import publishers_of
from pkm_description import MotorSide
from pkm_dynamics.drive_types import COMMANDS, FORCES, VALVES
from pkm_dynamics.nodes.command_stamps import stamp_command
from pkm_msgs.msg import ControllerState

RELIABLE = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
STATES = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
STATES_OF_JOINTS = ('desired_position', 'desired_velocity', 'position')
FORCES_OF_JOINTS = ('feedforward', 'feedback', 'command')


class ControllerPublishers:
    """Publishes commands and what led to them.

    Every command carries the stamp of the joint state that it answers in its layout. The
    commands are in the order of `joints`, the actuated ones, or torques of their `motors` where the
    robot speaks of these; the states are of joints. Forces of the states are empty where the
    `drives` are valves, whose signals none should take for forces.
    """

    def __init__(
        self,
        node: Node,
        joints: Sequence[str],
        motors: MotorSide | None = None,
        drives: str = FORCES,
    ) -> None:
        self._node, self._motors = node, motors
        self._drives = drives
        self._arrays = STATES_OF_JOINTS + (FORCES_OF_JOINTS if drives == FORCES else ())
        self._zero = array('d', [0.0] * len(joints))
        self._command = Float64MultiArray(data=self._zero)
        self._state = ControllerState(name=list(joints))
        self._commands = node.create_publisher(Float64MultiArray, COMMANDS[drives], RELIABLE)
        self._states = node.create_publisher(ControllerState, '~/state', STATES)

    def publish(self, result: StepResult, stamp: Time, compute_time: float) -> None:
        """Publish the command first: a robot waits for it, nobody waits for the state."""
        stamp_command(self._command, stamp)
        self.command(result.command)
        state = self._state
        state.header.stamp = stamp
        state.phase = int(result.phase)
        for name in ('trajectory_time', 'period_index', 'model'):
            setattr(state, name, getattr(result, name))
        for name in self._arrays:
            setattr(state, name, _doubles(getattr(result, name)))
        state.saturated = result.saturated.tolist()
        state.compute_time = compute_time
        state.rate = result.rate
        self._states.publish(state)

    @property
    def bear_at_zero(self) -> bool:
        """Whether drives that are told zero bear the robot: closed valves do, up to leakage."""
        return self._drives == VALVES

    def command(self, values: NDArray[np.float64]) -> None:
        """Send forces [N, N m] or signals (n_a,), as the answer to whatever was answered last."""
        motors = self._motors
        self._command.data = _doubles(values if motors is None else motors.motor_efforts(values))
        self._commands.publish(self._command)

    def repeat(self) -> None:
        """Send the last command again."""
        self._commands.publish(self._command)

    def zero(self) -> None:
        """Send zeros, as the answer to whatever state was answered last."""
        self._command.data = self._zero
        self._commands.publish(self._command)

    def other_commanders(self) -> list[str]:
        """Names of other nodes that publish commands; one of this node's name counts, too."""
        found = publishers_of(self._node, self._commands.topic_name)
        if (own := self._node.get_fully_qualified_name()) in found:
            found.remove(own)
        return found

    def wrong_drives(self) -> str:
        """Say that somebody takes other commands, and nobody these; else empty."""
        node, taken = self._node, {}
        for drives, name in COMMANDS.items():
            topic = node.resolve_topic_name(name)  # counts know nothing of remapping
            if node.count_subscribers(topic):
                taken[drives] = topic
        if not taken or self._drives in taken:
            return ''
        ((drives, topic),) = taken.items()
        return (
            f"the robot takes {drives} on {topic}, and parameter 'drives' of the controller is "
            f"'{self._drives}': start both with the same"
        )

    def destroy(self) -> None:
        """Remove the publishers from the node."""
        self._node.destroy_publisher(self._commands)
        self._node.destroy_publisher(self._states)


def _doubles(values: NDArray[np.float64]) -> array:
    return array('d', values.tobytes())
