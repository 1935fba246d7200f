"""How messages travel: no node of the project waits for the start of another one.

Fast DDS sends within a host through shared memory. The first message to a node that has just
started waits a third of a second where that node does not listen at this very moment
(https://github.com/eProsima/Fast-DDS/issues/6535), and all of the sender's messages wait with
it: a controller sends no force meanwhile. UDP does not wait, and reaches nodes with either.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path

from rclpy.utilities import get_rmw_implementation_identifier

TRANSPORTS, PROFILES = 'FASTDDS_BUILTIN_TRANSPORTS', 'FASTRTPS_DEFAULT_PROFILES_FILE'
DISCOVERY, PEERS = 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_STATIC_PEERS'
LOCALHOST_ONLY = 'ROS_LOCALHOST_ONLY'  # the older name, which still overrules
UDP, LOOPBACK = 'UDPv4', str(Path(__file__).with_name('loopback_transport.xml'))


def avoid_shared_memory(environment: MutableMapping[str, str] = os.environ) -> None:
    """Let nodes that start in this environment send over UDP; called before ROS is initialized.

    What somebody has chosen stays: transports or profiles of Fast DDS, another middleware, and
    peers beside the local host. On the local host alone rmw_fastrtps adds shared memory whatever
    the transports are, so a profile takes its place there; its range is the same.
    """
    transports, profile = environment.get(TRANSPORTS, ''), environment.get(PROFILES, '')
    if transports not in ('', UDP) or profile not in ('', LOOPBACK):
        return
    if not get_rmw_implementation_identifier().startswith('rmw_fastrtps'):
        return
    is_local = environment.get(DISCOVERY, '').upper() == 'LOCALHOST'
    if is_local or environment.get(LOCALHOST_ONLY) == '1':
        if not environment.get(PEERS):
            environment[PROFILES] = LOOPBACK
            environment[DISCOVERY] = 'SYSTEM_DEFAULT'  # that of the profile
            environment.pop(LOCALHOST_ONLY, None)
    elif not profile:
        environment[TRANSPORTS] = UDP
