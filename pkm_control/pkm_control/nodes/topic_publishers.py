"""Who publishes a topic."""

from __future__ import annotations

from rclpy.node import Node


def publishers_of(node: Node, topic: str) -> list[str]:
    """Names of the nodes that publish a topic, one for each publisher."""
    found = node.get_publishers_info_by_topic(topic)
    return sorted(f'{each.node_namespace.rstrip("/")}/{each.node_name}' for each in found)
