"""A bag of a simulated robot, as a real robot's driver and `ros2 bag record` leave one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pkm_identification.datasets import BagWriter
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
