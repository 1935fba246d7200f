"""Nodes send over UDP, whatever the range of discovery, and meet nodes that do not."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip('rclpy')

from ros_domain import fresh_domain  # noqa: E402

from pkm_description.nodes import transport  # noqa: E402
from pkm_description.nodes.transport import (  # noqa: E402
    DISCOVERY,
    LOCALHOST_ONLY,
    LOOPBACK,
    PEERS,
    PROFILES,
    TRANSPORTS,
    avoid_shared_memory,
)

VARIABLES = TRANSPORTS, PROFILES, DISCOVERY, PEERS, LOCALHOST_ONLY
RANGES = ({DISCOVERY: 'LOCALHOST'}, {DISCOVERY: 'SUBNET'}, {LOCALHOST_ONLY: '1'}, {})
CHOSEN = (
    {TRANSPORTS: 'DEFAULT', DISCOVERY: 'LOCALHOST'},
    {PROFILES: '/mine.xml', DISCOVERY: 'LOCALHOST'},
    {PEERS: '192.0.2.1', DISCOVERY: 'LOCALHOST'},
    {TRANSPORTS: 'SHM', DISCOVERY: 'SUBNET'},
)
# A node that says its name once a partner listens, waits for the partner's, and prints whether it
# has shared memory of Fast DDS.
MEETS = """
import sys
mine, other, how = sys.argv[1:]
if how == 'ours':
    from pkm_description.nodes.transport import avoid_shared_memory
    avoid_shared_memory()
import rclpy
from std_msgs.msg import Empty
rclpy.init()
node = rclpy.create_node(mine)
heard = []
said = node.create_publisher(Empty, mine, 10)
node.create_subscription(Empty, other, heard.append, 10)
answers = 0
while not heard or answers < 20:
    said.publish(Empty())
    rclpy.spin_once(node, timeout_sec=0.05)
    answers += bool(heard)
with open('/proc/self/maps') as maps:
    print('fastrtps_port' in maps.read())
node.destroy_node()
rclpy.shutdown()
"""


def meets(mine: str, other: str, how: str, environment: dict[str, str]) -> subprocess.Popen:
    command = [sys.executable, '-c', MEETS, mine, other, how]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.ros
@pytest.mark.skipif(not os.path.exists('/proc/self/maps'), reason='Linux only')
@pytest.mark.parametrize('given', RANGES)
def test_a_node_without_shared_memory_meets_one_that_has_it(given) -> None:
    """Fails where shared memory is used: what it costs is in `pkm_description.nodes.transport`."""
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    environment = kept | given | {'ROS_DOMAIN_ID': str(fresh_domain())}
    ours = meets('one', 'other', 'ours', environment)
    plain = meets('other', 'one', 'plain', environment)
    assert ours.communicate(timeout=120)[0].strip() == 'False'
    assert plain.communicate(timeout=120)[0].strip() == 'True'


@pytest.mark.parametrize('given', CHOSEN)
def test_a_choice_stays(given) -> None:
    environment = dict(given)
    avoid_shared_memory(environment)
    assert environment == given


def test_the_range_stays_that_of_the_local_host_for_all_who_follow() -> None:
    """Whoever starts processes hands the environment on; a test may set the range again."""
    environment = {DISCOVERY: 'localhost', TRANSPORTS: 'UDPv4'}
    for _ in range(2):
        avoid_shared_memory(environment)
        assert environment[PROFILES] == LOOPBACK
        assert environment[DISCOVERY] == 'SYSTEM_DEFAULT'
    environment[DISCOVERY] = 'LOCALHOST'
    avoid_shared_memory(environment)
    assert environment[DISCOVERY] == 'SYSTEM_DEFAULT'


def test_another_middleware_is_left_alone(monkeypatch) -> None:
    monkeypatch.setattr(transport, 'get_rmw_implementation_identifier', lambda: 'rmw_zenoh_cpp')
    environment = {DISCOVERY: 'LOCALHOST'}
    avoid_shared_memory(environment)
    assert environment == {DISCOVERY: 'LOCALHOST'}
