"""Nodes of pkm_description on real rclpy."""

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from geometry_msgs.msg import PoseStamped  # noqa: E402
from graph import Graph  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from transforms3d.quaternions import quat2mat  # noqa: E402

import pkm_description  # noqa: E402
from pkm_description.nodes.description_publisher import LATCHED, DescriptionPublisher  # noqa: E402
from pkm_description.nodes.state_completer import StateCompleter  # noqa: E402

pytestmark = pytest.mark.ros


def test_late_listener_gets_the_whole_description():
    with Graph('robot:=palida', 'diagnostics_period:=0.05') as graph:
        graph.add(DescriptionPublisher)
        for topic in ('robot_description', 'robot_description_yaml'):
            graph.listen(String, topic, LATCHED)
        graph.listen(DiagnosticArray, 'diagnostics')
        graph.until(lambda: graph.heard['robot_description_yaml'] and graph.heard['diagnostics'])
        graph.until(lambda: graph.heard['robot_description'])
        (urdf,), (yaml,) = graph.heard['robot_description'], graph.heard['robot_description_yaml']
        (status,) = graph.heard['diagnostics'][-1].status
    received = pkm_description.loads(urdf.data, yaml.data)
    assert received.digest == pkm_description.load('palida').digest
    gap = {item.key: item.value for item in status.values}['closure gap at home [m]']
    assert float(gap) < 1e-6 and status.level == b'\x00'


def test_completed_states_have_the_measured_strut_lengths():
    description = pkm_description.load('palida')
    lengths = np.array([0.80, 0.82, 0.79, 0.83, 0.81, 0.78])
    with Graph('robot:=palida', 'rate:=1000.0') as graph:
        graph.add(StateCompleter)
        graph.listen(JointState, 'joint_states_complete')
        graph.listen(PoseStamped, 'platform_pose')
        publisher = graph.tester.create_publisher(JointState, 'joint_states', 10)
        names = list(reversed(description.actuated_joints))
        state = JointState(name=names, position=list(lengths[::-1]))

        def completed():
            state.header.stamp.nanosec += 1_000_000
            publisher.publish(state)
            return graph.heard['joint_states_complete'] and graph.heard['platform_pose']

        graph.until(completed)
        complete, pose = graph.heard['joint_states_complete'][-1], graph.heard['platform_pose'][-1]
    assert sorted(complete.name) == sorted(description.scalar_joints)
    values = dict(zip(complete.name, complete.position, strict=True))
    np.testing.assert_allclose([values[n] for n in names], lengths[::-1], atol=1e-12)
    place, turn = pose.pose.position, pose.pose.orientation
    rotation = quat2mat([turn.w, turn.x, turn.y, turn.z])
    assert pose.header.frame_id == 'base_link'
    for leg, constraint in enumerate(description.constraints):
        top = [place.x, place.y, place.z] + rotation @ constraint.child_origin.position
        base = description.joint(f'leg{leg + 1}_alpha').origin.position
        assert np.linalg.norm(top - base) == pytest.approx(lengths[leg], abs=1e-9)


def test_a_state_that_does_not_assemble_is_skipped():
    with Graph('robot:=palida', 'rate:=1000.0') as graph:
        completer = graph.add(StateCompleter)
        graph.listen(JointState, 'joint_states_complete')
        names = pkm_description.load('palida').actuated_joints
        far = JointState(name=names, position=[0.1, 5.0, 0.1, 5.0, 0.1, 5.0])
        publisher = graph.tester.create_publisher(JointState, 'joint_states', 10)
        good = JointState(name=names, position=[0.81] * 6)
        graph.until(lambda: publisher.get_subscription_count() > 0)
        for stamp, message in enumerate((far, good)):
            message.header.stamp.sec = stamp + 1
            completer._on_state(message)
        graph.until(lambda: graph.heard['joint_states_complete'])
        assert [m.header.stamp.sec for m in graph.heard['joint_states_complete']] == [2]


def test_states_are_thinned_by_their_stamps():
    with Graph('robot:=palida', 'rate:=100.0') as graph:
        completer = graph.add(StateCompleter)
        stamps = []
        completer._publish = lambda message, _: stamps.append(message.header.stamp.nanosec)
        names = pkm_description.load('palida').actuated_joints
        for milliseconds in (100, 105, 109, 110, 119, 125, 135, 20, 25, 30):
            message = JointState(name=names, position=[0.81] * 6)
            message.header.stamp.nanosec = milliseconds * 1_000_000
            completer._on_state(message)
    # The step back in time is a robot that was started again.
    assert [stamp // 1_000_000 for stamp in stamps] == [100, 110, 125, 135, 20, 30]
