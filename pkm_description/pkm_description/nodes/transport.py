"""How messages travel: no node of the project waits for the start of another one.

Fast DDS sends within a host through shared memory. The first message to a node that has just
started waits a third of a second where that node does not listen at this very moment
(https://github.com/eProsima/Fast-DDS/issues/6535), and all of the sender's messages wait with
it: a controller sends no force meanwhile. UDP does not wait, and reaches nodes with either.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import MutableMapping
from pathlib import Path

from rclpy.utilities import get_rmw_implementation_identifier

TRANSPORTS, PROFILES = 'FASTDDS_BUILTIN_TRANSPORTS', 'FASTRTPS_DEFAULT_PROFILES_FILE'
DISCOVERY, PEERS = 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_STATIC_PEERS'
LOCALHOST_ONLY = 'ROS_LOCALHOST_ONLY'  # the older name, which overrules range and peers
SERVER = 'ROS_DISCOVERY_SERVER'
UDP, LOOPBACK = 'UDPv4', str(Path(__file__).with_name('loopback_transport.xml'))
OWN_PROFILES = 'DEFAULT_FASTRTPS_PROFILES.xml'  # that Fast DDS reads in the working folder
RANGES = ('', 'OFF', 'SUBNET', 'SYSTEM_DEFAULT')  # rcl takes any other word for LOCALHOST


def avoid_shared_memory(environment: MutableMapping[str, str] = os.environ) -> None:
    """Let nodes that start in this environment send over UDP.

    Called before the process has had any node: Fast DDS reads its profiles once. What somebody has
    chosen stays: transports, profiles or a discovery server of Fast DDS, another middleware, and
    peers beside the local host. On the local host alone rmw_fastrtps adds shared memory whatever
    the transports are, so a profile takes its place there; no other host reaches such a node.
    """
    transports, profile = environment.get(TRANSPORTS, ''), environment.get(PROFILES, '')
    if transports not in ('', UDP) or profile not in ('', LOOPBACK) or environment.get(SERVER):
        return
    if Path(OWN_PROFILES).exists():
        return
    if not get_rmw_implementation_identifier().startswith('rmw_fastrtps'):
        return
    is_alone = environment.get(LOCALHOST_ONLY) == '1'
    if is_alone or environment.get(DISCOVERY, '') not in RANGES:
        if is_alone or not environment.get(PEERS):
            environment[PROFILES] = LOOPBACK
            environment[DISCOVERY] = 'SYSTEM_DEFAULT'  # that of the profile
            environment[LOCALHOST_ONLY] = '0'
            environment[PEERS] = ''
    elif not profile:
        environment[TRANSPORTS] = UDP


def main() -> None:
    """Print the changes of the environment as a shell takes them."""
    environment = dict(os.environ)
    avoid_shared_memory(environment)
    for name, value in sorted(environment.items() - os.environ.items()):
        print(f'export {name}={shlex.quote(value)}')


if __name__ == '__main__':
    main()
