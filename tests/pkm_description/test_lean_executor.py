"""What an executor that is busy with messages still answers and tells."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

from graph import Graph
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

pytestmark = pytest.mark.ros
ROUNDS = 20


@pytest.fixture
def busy():
    """A graph in which a message is always due, and the number of those that came."""
    with Graph() as graph:
        count = [0]
        publisher = graph.tester.create_publisher(Bool, 'round', 10)

        def again(message: Bool) -> None:
            count[0] += 1
            publisher.publish(message)

        graph.tester.create_subscription(Bool, 'round', again, 10)
        graph.until(lambda: publisher.get_subscription_count() > 0)
        publisher.publish(Bool())
        graph.until(lambda: count[0] > ROUNDS)
        yield graph, count


def test_services_are_answered_and_are_not_waited_for_at_every_turn(busy) -> None:
    graph, count = busy
    service = graph.tester.create_service(Trigger, 'ask', lambda _, answer: answer)
    graph.call(Trigger, 'ask', Trigger.Request())
    begin, waited = count[0], []

    def turn() -> bool:
        waited.append(graph.executor.can_execute(service))
        return count[0] > begin + ROUNDS

    graph.until(turn)
    assert not all(waited)


def test_an_incompatible_partner_is_told(busy) -> None:
    graph, _ = busy
    told: list = []
    callbacks = PublisherEventCallbacks(incompatible_qos=told.append)
    effort = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    node = graph.nodes[0]
    super(type(node), node).create_publisher(Bool, 'other', effort, event_callbacks=callbacks)
    graph.tester.create_subscription(Bool, 'other', lambda _: None, 1)
    graph.until(lambda: told)
    assert told[0].total_count == 1
