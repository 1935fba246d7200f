"""Cobot of Shanghai Electric: three exciting motions, positions and torques of a controller."""

from __future__ import annotations

import re
from math import pi
from pathlib import Path

import numpy as np
from arm_urdf import Axis, arm_urdf
from real_log import Array, Converted, RealLog, Samples, found

JOINTS = tuple(f'joint_{number}' for number in range(1, 7))
RECORDINGS = {'train_1': 'Traj1', 'train_2': 'Traj2', 'test': 'Traj3'}
NUMBER = re.compile(r':=(-?[\d.]+(?:E[-+]?\d+)?)')
INTERVAL = 0.002  # [s]
#: Torque of a joint [N m] per unit of the log; axis 3 counts the other way.
UNIT = 101 * np.array([3.442383e-4] * 3 + [1.342773e-4] * 3) * [1, 1, -1, 1, 1, 1]
AXES = (
    Axis(0.0, 0.0, 0.1181, effort=207, velocity=2.6, mass=2.0),
    Axis(0.0, pi / 2, 0.0, effort=207, velocity=2.6, mass=3.42),
    Axis(-0.416, 0.0, 0.0, effort=207, velocity=2.6, mass=1.26),
    Axis(-0.4208, 0.0, 0.1301, effort=34, velocity=2.6, mass=0.8),
    Axis(0.0, pi / 2, 0.1021, effort=34, velocity=2.6, mass=0.8),
    Axis(0.0, -pi / 2, 0.0568, effort=34, velocity=2.6, mass=0.35),
)


def _column(path: Path) -> Array:
    """Read the numbers of a controller's array, written one a line beside their bits."""
    return np.array([float(text) for text in NUMBER.findall(found(path).read_text())])


def convert(source: Path) -> Converted:
    """Read the arrays of the controller, one file a quantity and axis."""
    recordings = {}
    for stem, motion in RECORDINGS.items():
        folder = source / 'matlab_identification/data' / f'DataOutput_{motion}'
        positions, torques = (
            np.column_stack(
                [_column(folder / f'DataOutput_{name}{axis}.txt') for axis in range(1, 7)]
            )
            for name in ('theta', 'torque')
        )
        recordings[stem] = Samples(
            time=INTERVAL * np.arange(len(positions)), positions=positions, efforts=torques * UNIT
        )
    return Converted(JOINTS, arm_urdf('shanghai', AXES, JOINTS), SIDECAR, recordings)


SIDECAR = """title: cobot of Shanghai Electric
home: {joints: {joint_1: 0, joint_2: -1.5, joint_3: 0.5, joint_4: -1, joint_5: 0.5, joint_6: 0}}
transition_velocity: 0.01
sources: {'*.origin': 'modified Denavit-Hartenberg parameters beside the data',
  '*.mass': beside the data}
"""

LOG = RealLog(
    name='shanghai',
    robot='cobot of Shanghai Electric, six axes',
    source='https://github.com/Naruton94/robot_identification, commit a75121d',
    licence='none stated in the repository: for own studies only',
    conventions='SI. Arrays of a controller at 2 ms without stamps; every value stands three '
    'times: the robot samples at 6 ms. Torques [N m] from units of the drives and the gear 101; '
    'that of axis 3 has the other sign, as the authors have it. The torques of axes 4 to 6 fall '
    'with the speed: no passive drive does that.',
    split='motions of 20 s, recorded for 22 s: two train, the third tests',
    convert=convert,
)
