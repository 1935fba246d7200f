"""A ROS graph in one process: nodes under test and one that listens and talks."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress

import rclpy
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.node import Node
from ros_domain import fresh_domain

from pkm_description.nodes.running import LeanExecutor

WINDING_DOWN = 2.0  # [s] at most
LONGEST = 180.0  # [s] until a condition holds, on a machine that has other things to do


class Tester(Node):
    """A node without parameters and events: each of them costs time at every wait."""

    def __init__(self) -> None:
        super().__init__('tester', start_parameter_services=False, enable_rosout=False)

    def create_publisher(self, *arguments, **options):
        none = PublisherEventCallbacks(use_default_callbacks=False)
        return super().create_publisher(*arguments, event_callbacks=none, **options)

    def create_subscription(self, *arguments, **options):
        none = SubscriptionEventCallbacks(use_default_callbacks=False)
        return super().create_subscription(*arguments, event_callbacks=none, **options)


class Graph:
    """Nodes on one executor, with everything that a tester hears by topic.

    Used as a context manager. Nodes are made by `add` after the context exists; their
    parameters come as `name:=value`, and so do the names of topics and nodes to `remap`.
    """

    def __init__(self, *parameters: str, remap: Sequence[str] = ()) -> None:
        self.parameters = parameters
        self.remap = remap
        self.heard: dict[str, list] = defaultdict(list)
        self.clients: dict = {}  # of services, by their names

    def __enter__(self) -> Graph:
        arguments = ['--ros-args']
        for parameter in self.parameters:
            arguments += ['-p', parameter]
        for names in self.remap:
            arguments += ['-r', names]
        domain = fresh_domain()
        self._outer_domain = os.environ.get('ROS_DOMAIN_ID')
        os.environ['ROS_DOMAIN_ID'] = str(domain)
        rclpy.init(args=arguments, domain_id=domain)
        self.executor = LeanExecutor()
        self.nodes: list[Node] = []
        self.tester = self.add(Tester)
        return self

    def __exit__(self, *_: object) -> None:
        self._wind_down()
        for node in self.nodes:
            getattr(node, 'close', lambda: None)()
        self.executor.shutdown()
        for node in self.nodes:
            node.destroy_node()
        rclpy.shutdown()
        if self._outer_domain is None:
            del os.environ['ROS_DOMAIN_ID']
        else:
            os.environ['ROS_DOMAIN_ID'] = self._outer_domain

    def _wind_down(self) -> None:
        """Let robots come to rest, as at a signal: closed at once, a controller waits for them."""
        ends = [node.wind_down for node in self.nodes if hasattr(node, 'wind_down')]
        with suppress(TimeoutError):
            self.until(lambda: all([end() for end in ends]), WINDING_DOWN)

    def add(self, create):
        """Create a node and let it run."""
        node = create()
        self.nodes.append(node)
        self.executor.add_node(node)
        return node

    def kill(self, node) -> None:
        """Take a node away, as if its process had died."""
        self.nodes.remove(node)
        self.executor.remove_node(node)
        node.destroy_node()

    def listen(self, message_type, topic, qos=1000):
        """Collect the messages of a topic."""
        self.tester.create_subscription(message_type, topic, self.heard[topic].append, qos)

    def until(self, condition, timeout=LONGEST):
        """Run the nodes until a condition holds; an error when it never does.

        One on the last message does not hold before the first has come.
        """
        end = time.monotonic() + timeout

        def holds() -> bool:
            try:
                return bool(condition())
            except IndexError:
                return False

        while not holds():
            if time.monotonic() > end:
                raise TimeoutError(f'the condition did not come true in {timeout} s')
            self.executor.spin_once(timeout_sec=0.02)

    def call(self, service_type, name, request):
        """Call a service and return its response."""
        if name not in self.clients:
            self.clients[name] = self.tester.create_client(service_type, name)
        client = self.clients[name]
        self.until(client.service_is_ready)
        future = client.call_async(request)
        self.until(future.done)
        return future.result()
