"""Messages of the simulated robot: made once, filled at every step."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from pkm_dynamics.simulation import PlantSample
from pkm_msgs.msg import MotorCurrents

MEASURED = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
CLOCK = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)


class PlantPublishers:
    """Publishers of a plant's samples; ground truth and clock only where they are wanted."""

    def __init__(self, node: Node, joints: list[str], ground_truth: bool, clock: bool) -> None:
        zeros = [0.0] * len(joints)
        self._state = JointState(name=joints, position=zeros)
        self._motor = MotorCurrents(name=joints, current=zeros)
        self._truth = JointState(name=joints, position=zeros, velocity=zeros, effort=zeros)
        self._clock = Clock()
        self._state_publisher = node.create_publisher(JointState, 'joint_states', MEASURED)
        self._motor_publisher = node.create_publisher(MotorCurrents, 'motor_currents', MEASURED)
        self._truth_publisher: Any = None
        if ground_truth:
            self._truth_publisher = node.create_publisher(JointState, 'ground_truth', MEASURED)
        self._clock_publisher: Any = None
        if clock:
            self._clock_publisher = node.create_publisher(Clock, '/clock', CLOCK)

    @property
    def state_stamp(self) -> Time:
        """Stamp of the latest joint state."""
        return self._state.header.stamp

    def publish(self, sample: PlantSample) -> None:
        """Publish a sample; the joint state last, since a controller may answer it."""
        if self._clock_publisher is not None:
            set_stamp(self._clock.clock, sample.time)
            self._clock_publisher.publish(self._clock)
        set_stamp(self._motor.header.stamp, sample.current_time)
        _fill(self._motor.current, sample.currents)
        self._motor_publisher.publish(self._motor)
        if self._truth_publisher is not None:
            set_stamp(self._truth.header.stamp, sample.current_time)
            _fill(self._truth.position, sample.truth_positions)
            _fill(self._truth.velocity, sample.truth_velocities)
            _fill(self._truth.effort, sample.truth_forces)
            self._truth_publisher.publish(self._truth)
        self.publish_state(sample)

    def publish_state(self, sample: PlantSample) -> None:
        """Publish the joint state of a sample alone."""
        set_stamp(self._state.header.stamp, sample.time)
        _fill(self._state.position, sample.positions)
        if sample.efforts is not None:
            self._state.effort = array('d', sample.efforts)
        self._state_publisher.publish(self._state)


def set_stamp(stamp: Time, time: float) -> None:
    """Write a time [s] into a stamp, to the nanosecond."""
    nanoseconds = round(time * 1e9)
    stamp.sec, stamp.nanosec = divmod(nanoseconds, 1_000_000_000)


def _fill(target: array, values: np.ndarray) -> None:
    """Overwrite the numbers of a message's array field in place."""
    memoryview(target).cast('B')[:] = np.ascontiguousarray(values).data.cast('B')
