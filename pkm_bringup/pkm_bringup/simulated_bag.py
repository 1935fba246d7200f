"""A bag of a simulated robot, as a real robot's driver and `ros2 bag record` leave one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pkm_identification.datasets import BagWriter
from pkm_identification.datasets.bags.bag_recording import METADATA
from pkm_identification.datasets.bags.message_types import jazzy_typestore
from pkm_identification.datasets.force_messages import CURRENTS, JOINT_STATE, POSITIONS

FRAME = 'base_link'


def write_bag(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write what was measured (`measured_arrays`), and nothing that a driver does not know.

    `joint_states` holds positions [m, rad], `motor_currents` currents [A] in its efforts, or forces
    [N, N m] where a joint has no force constant; both are sensor_msgs/JointState, each with its own
    stamps.
    """
    store = jazzy_typestore()
    types = store.types
    header, stamp_of = types['std_msgs/msg/Header'], types['builtin_interfaces/msg/Time']
    names, none = [str(name) for name in arrays['joint_names']], np.zeros(0)
    efforts = arrays['currents'] if 'currents' in arrays else arrays['efforts']
    messages = []
    for topic, times, signal in (
        (POSITIONS, arrays['time'], arrays['positions']),
        (CURRENTS, arrays['truth_time'], efforts),
    ):
        for time, row in zip(times, signal, strict=True):
            stamp = round(1e9 * float(time))
            both = (row, none, none) if topic == POSITIONS else (none, none, row)
            when = header(stamp_of(*divmod(stamp, 10**9)), FRAME)
            content = store.serialize_cdr(types[JOINT_STATE](when, names, *both), JOINT_STATE)
            messages.append((stamp, f'/{topic}', content))
    with BagWriter(path) as writer:
        for stamp, topic, content in sorted(messages, key=lambda message: message[0]):
            writer.write(topic, JOINT_STATE, content, stamp)


def write_joint_states(path: Path, arrays: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """Write a compressed bag of positions [m, rad] and efforts [N, N m] in the same messages.

    `metadata` are what a recording says of itself: a period [s], say.
    """
    store = jazzy_typestore()
    types = store.types
    header, stamp_of = types['std_msgs/msg/Header'], types['builtin_interfaces/msg/Time']
    names, none = [str(name) for name in arrays['joint_names']], np.zeros(0)
    rows = zip(arrays['time'], arrays['positions'], arrays['efforts'], strict=True)
    with BagWriter(path, compressed=True) as writer:
        writer.write_text(f'/{METADATA}', yaml.safe_dump(dict(metadata)), 0)
        for time, positions, efforts in rows:
            stamp = round(1e9 * float(time))
            when = header(stamp_of(*divmod(stamp, 10**9)), FRAME)
            message = types[JOINT_STATE](when, names, positions, none, efforts)
            content = store.serialize_cdr(message, JOINT_STATE)
            writer.write(f'/{POSITIONS}', JOINT_STATE, content, stamp)
