"""Positions and forces of the joints, from every kind of message that drives publish."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from graph import Graph
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

import pkm_description
from pkm_dynamics import ClosedChainModel
from pkm_identification.nodes.measured_samples import MeasuredSamples
from pkm_msgs.msg import MotorCurrents

pytestmark = pytest.mark.ros
NUMBERS = [2.0, -1.0]


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(pkm_description.load('five_bar'))


class Listener(Node):
    """A node that keeps what it measures."""

    def __init__(self, model, unit):
        super().__init__('listener')
        self.positions, self.forces = [], []
        self.samples = MeasuredSamples(
            self,
            model,
            None,
            lambda time, values: self.positions.append((time, values)),
            lambda time, values: self.forces.append((time, values)),
            unit,
        )


def published(graph, model, kind):
    """The function that publishes one instant, and the listener's names."""
    names = list(model.actuated_joints)
    states = graph.tester.create_publisher(JointState, 'joint_states', 10)
    others = {'own': JointState, 'array': Float64MultiArray, 'currents': MotorCurrents}
    topic = None
    if kind in others:
        topic = graph.tester.create_publisher(others[kind], 'motor_currents', 10)

    def publish(second):
        state = JointState(name=names[::-1], position=[0.2, 0.1])
        state.header.stamp.sec = second
        if kind == 'beside':
            state.effort = NUMBERS[::-1]
        states.publish(state)
        states.publish(JointState(name=['gripper'], position=[0.1], effort=[9.0]))
        if kind == 'array':
            topic.publish(Float64MultiArray(data=NUMBERS))
        elif kind == 'own':
            topic.publish(JointState(header=state.header, name=names, effort=NUMBERS))
        elif kind == 'currents':
            topic.publish(MotorCurrents(header=state.header, name=names, current=NUMBERS))

    return publish


@pytest.mark.parametrize(
    ('kind', 'unit'),
    [
        ('currents', 'auto'),
        ('beside', 'auto'),
        ('beside', 'ampere'),
        ('own', 'newton'),
        ('array', 'ampere'),
    ],
)
def test_forces_from_every_kind_of_message(model, kind, unit):
    with Graph() as graph:
        publish = published(graph, model, kind)
        node = graph.add(lambda: Listener(model, unit))
        seconds = iter(range(1, 10_000))
        # again and again: who publishes is not known at once
        graph.until(lambda: publish(next(seconds)) or node.forces)
        # the state may come after its currents, but for an array, which takes the time from it
        when = node.forces[-1][0]
        graph.until(lambda: when in [stamp for stamp, _ in node.positions])
    amperes = unit == 'ampere' or kind == 'currents'
    forces = node.forces[-1][1]
    np.testing.assert_allclose(
        forces, np.multiply(NUMBERS, model.force_constants if amperes else 1)
    )
    np.testing.assert_array_equal(node.positions[-1][1], [0.1, 0.2])
    assert node.samples.skipped == 0 and node.samples.problem == ''


def test_an_array_of_unknown_unit_is_told_and_not_taken(model):
    with Graph() as graph:
        publish = published(graph, model, 'array')
        node = graph.add(lambda: Listener(model, 'auto'))
        # a publisher of an earlier test may still be known
        told = 'may hold currents or forces'
        graph.until(lambda: publish(1) or told in node.samples.problem)
    assert not node.forces


def test_arrays_of_another_length_and_of_no_number_are_skipped(model):
    with Graph() as graph:
        publish = published(graph, model, 'array')
        node = graph.add(lambda: Listener(model, 'ampere'))
        seconds = iter(range(1, 10_000))
        graph.until(lambda: publish(next(seconds)) or node.forces)
        for data in ([1.0], [1.0, np.nan], []):
            node.samples.take_forces(Float64MultiArray(data=data))
    assert node.samples.skipped == 3
