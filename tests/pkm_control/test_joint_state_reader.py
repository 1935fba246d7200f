"""Joint states by name, and the subscription that a thread of its own serves."""

from __future__ import annotations

import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from graph import Graph  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.qos import QoSProfile  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from pkm_control.control_types import ControlFault, ErrorCode  # noqa: E402
from pkm_control.nodes.joint_state_reader import JointStateReader, PolledSubscription  # noqa: E402


def state(**positions: float) -> JointState:
    return JointState(name=list(positions), position=list(positions.values()))


def test_positions_come_in_the_order_of_the_actuated_joints() -> None:
    reader = JointStateReader(['b', 'a'])
    np.testing.assert_array_equal(reader.read(state(a=1.0, b=2.0)), [2.0, 1.0])
    np.testing.assert_array_equal(reader.read(state(a=3.0, b=4.0)), [4.0, 3.0])
    np.testing.assert_array_equal(reader.read(state(b=5.0, passive=np.nan, a=6.0)), [5.0, 6.0])
    np.testing.assert_array_equal(reader.read(state(a=7.0, b=8.0)), [8.0, 7.0])


@pytest.mark.parametrize(
    ('message', 'reason'),
    [
        (state(a=1.0), "joint 'b' is missing; got a"),
        (state(), "joint 'b' is missing; got none"),
        (JointState(name=['a', 'b', 'a'], position=[1.0] * 3), "joint 'a' is named twice: a, b, a"),
        (JointState(name=['a', 'b'], position=[1.0]), '2 joint names, but 1 positions'),
        (state(a=np.inf, b=2.0), 'a: measured position is not finite'),
    ],
)
def test_states_that_are_not_valid_are_refused_time_and_again(message, reason) -> None:
    reader = JointStateReader(['b', 'a'])
    for _ in range(2):
        with pytest.raises(ControlFault) as caught:
            reader.read(message)
        assert str(caught.value) == f'joint_states: {reason}'
        assert caught.value.code is ErrorCode.BAD_STATE
        np.testing.assert_array_equal(reader.read(state(a=1.0, b=2.0)), [2.0, 1.0])


def test_joints_of_others_may_share_the_topic_and_the_message() -> None:
    reader = JointStateReader(['b', 'a'])
    assert not reader.concerns(state(gripper=1.0)) and not reader.concerns(state())
    ours = state(gripper=np.nan, b=2.0, rail=7.0, a=1.0)
    assert reader.concerns(ours) and reader.concerns(state(a=1.0))
    np.testing.assert_array_equal(reader.read(ours), [2.0, 1.0])
    twice = JointState(name=['rail', 'a', 'rail', 'b'], position=[9.0, 1.0, 9.0, 2.0])
    np.testing.assert_array_equal(reader.read(twice), [2.0, 1.0])


@pytest.mark.ros
def test_messages_wait_for_who_polls_them_whatever_the_executor_does() -> None:
    with Graph() as graph:
        node = graph.add(lambda: Node('listener'))
        polled = PolledSubscription(node, JointState, 'joint_states', QoSProfile(depth=10))
        assert polled.take() is None
        start = time.monotonic()
        assert polled.wait(0.05) is False
        assert time.monotonic() - start > 0.045
        publisher = graph.tester.create_publisher(JointState, 'joint_states', 10)
        graph.until(lambda: publisher.get_subscription_count() == 1)
        for position in (1.0, 2.0):
            publisher.publish(state(a=position))
        graph.until(lambda: polled.wait(0.0))
        for _ in range(5):
            graph.executor.spin_once(timeout_sec=0.0)
        taken: list = []

        def take() -> bool:
            message = polled.take()
            if message is not None:
                taken.append(message)
            return len(taken) == 2

        graph.until(take)
        assert [list(message.position) for message in taken] == [[1.0], [2.0]]
        assert all(isinstance(message, JointState) for message in taken)
        waits = []
        for _ in range(3):
            start = time.monotonic()
            assert polled.wait(1e-3) is False
            waits.append(time.monotonic() - start)
        assert min(waits) < 0.5
        polled.destroy()
        graph.until(lambda: publisher.get_subscription_count() == 0)
