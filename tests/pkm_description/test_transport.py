"""Nodes send over UDP, whatever the range of discovery, and meet nodes that do not."""

from __future__ import annotations

import json
import os
import shlex
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

LOOPBACK_ADDRESS = '0100007F'  # 127.0.0.1 as /proc/net/udp writes it
VARIABLES = TRANSPORTS, PROFILES, DISCOVERY, PEERS, LOCALHOST_ONLY
LOCAL = (
    {DISCOVERY: 'LOCALHOST'},
    {LOCALHOST_ONLY: '1'},
    {LOCALHOST_ONLY: '1', PEERS: '192.0.2.1'},  # rcl does not look at the peers then
    {DISCOVERY: 'local'},  # rcl takes it for LOCALHOST
)
RANGES = (*LOCAL, {DISCOVERY: 'SUBNET'}, {})
CHOSEN = (
    {TRANSPORTS: 'DEFAULT', DISCOVERY: 'LOCALHOST'},
    {PROFILES: '/mine.xml', DISCOVERY: 'LOCALHOST'},
    {PEERS: '192.0.2.1', DISCOVERY: 'LOCALHOST'},
    {TRANSPORTS: 'SHM', DISCOVERY: 'SUBNET'},
    {'ROS_DISCOVERY_SERVER': '192.0.2.1:11811'},
)
# A node that says its name until it has heard the partner's, and a while longer. It prints whether
# it has shared memory of Fast DDS, and the addresses of its own UDP sockets.
MEETS = """
import json, os, sys
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
    shared = 'fastrtps_port' in maps.read()
own = {os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd')
       if os.path.exists(f'/proc/self/fd/{n}')}
with open('/proc/net/udp') as table:
    rows = [line.split() for line in list(table)[1:]]
bound = [row[1] for row in rows if f'socket:[{row[9]}]' in own]
print(json.dumps([shared, sorted({address.partition(':')[0] for address in bound})]))
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
    """Where the range is the local host, nothing listens on another address."""
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    environment = kept | given | {'ROS_DOMAIN_ID': str(fresh_domain())}
    nodes = [
        meets('one', 'other', 'ours', environment),
        meets('other', 'one', 'plain', environment),
    ]
    try:
        ours, plain = (json.loads(each.communicate(timeout=120)[0]) for each in nodes)
    finally:
        for each in nodes:
            each.kill()
    assert not ours[0] and plain[0]
    if given in LOCAL:
        assert ours[1] == [LOOPBACK_ADDRESS]


@pytest.mark.parametrize('given', CHOSEN)
def test_a_choice_stays(given) -> None:
    environment = dict(given)
    avoid_shared_memory(environment)
    assert environment == given


def test_whoever_starts_processes_hands_it_on() -> None:
    """Once more, and after somebody has set the range again."""
    environment = {DISCOVERY: 'LOCALHOST', TRANSPORTS: 'UDPv4'}
    for _ in range(2):
        avoid_shared_memory(environment)
        assert environment[PROFILES] == LOOPBACK
        assert environment[DISCOVERY] == 'SYSTEM_DEFAULT'
    environment[DISCOVERY] = 'LOCALHOST'
    avoid_shared_memory(environment)
    assert environment[DISCOVERY] == 'SYSTEM_DEFAULT'


def test_profiles_in_the_working_folder_are_a_choice(tmp_path, monkeypatch) -> None:
    """Fast DDS reads them beside those that a variable names."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'DEFAULT_FASTRTPS_PROFILES.xml').write_text('<dds/>')
    environment = {DISCOVERY: 'LOCALHOST'}
    avoid_shared_memory(environment)
    assert environment == {DISCOVERY: 'LOCALHOST'}


def test_another_middleware_is_left_alone(monkeypatch) -> None:
    monkeypatch.setattr(transport, 'get_rmw_implementation_identifier', lambda: 'rmw_zenoh_cpp')
    environment = {DISCOVERY: 'LOCALHOST'}
    avoid_shared_memory(environment)
    assert environment == {DISCOVERY: 'LOCALHOST'}


def test_a_shell_can_take_it(monkeypatch, capsys) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(DISCOVERY, 'LOCALHOST')
    transport.main()
    printed = capsys.readouterr().out.splitlines()
    assert f'export {DISCOVERY}=SYSTEM_DEFAULT' in printed
    assert f'export {PROFILES}={shlex.quote(LOOPBACK)}' in printed
