"""KUKA LBR iiwa 14: one motion at 25 Hz with the torques of its joint sensors."""

from __future__ import annotations

from math import pi
from pathlib import Path

import numpy as np
from arm_urdf import Axis, arm_urdf
from real_log import Converted, RealLog, Samples, table

JOINTS = tuple(f'joint_{number}' for number in range(1, 8))
FILE = 'data/gprProcessedActualData.csv'
RATE = 25.0  # [Hz]
AXES = (
    Axis(0.0, 0.0, 0.36, effort=320, velocity=1.48),
    Axis(0.0, -pi / 2, 0.0, effort=320, velocity=1.48),
    Axis(0.0, pi / 2, 0.42, effort=176, velocity=1.75),
    Axis(0.0, pi / 2, 0.0, effort=176, velocity=1.31),
    Axis(0.0, -pi / 2, 0.4, effort=110, velocity=2.27),
    Axis(0.0, -pi / 2, 0.0, effort=40, velocity=2.36),
    Axis(0.0, pi / 2, 0.126, effort=40, velocity=2.36),
)


def convert(source: Path) -> Converted:
    """Read positions, velocities, accelerations (left out) and torques."""
    values = table(source / FILE, 28, delimiter=',')
    log = Samples(
        time=np.arange(len(values)) / RATE,
        positions=values[:, :7],
        velocities=values[:, 7:14],
        efforts=-values[:, 21:28],
    )
    parts = {'train': log.part(0.0, 0.7), 'test': log.part(0.7, 1.0)}
    return Converted(JOINTS, arm_urdf('iiwa14', AXES, JOINTS), SIDECAR, parts)


SIDECAR = """title: KUKA LBR iiwa 14
home: {joints: {joint_1: 0, joint_2: 0.5, joint_3: 0, joint_4: -1, joint_5: 0, joint_6: 0.5,
  joint_7: 0}}
transition_velocity: 0.01
sources: {'*.origin': 'Denavit-Hartenberg parameters of the manufacturer', '*.mass': assumed}
"""

LOG = RealLog(
    name='iiwa14',
    robot='KUKA LBR iiwa 14, seven axes',
    source='https://github.com/RaphaelUebersax/Incrementally_Learning_and_Exploiting_Inverse_'
    'Dynamics, commit 01c9db4',
    licence='none stated in the repository: for own studies only',
    conventions='SI without stamps: 25 Hz, since a row moves the positions by 40 ms of the '
    'velocities. Torques [N m] of the joint sensors with the opposite sign: with the sign of the '
    'log and the URDF beside it, gravity would point upwards.',
    split='one motion of 30 s: the first 70 % train, the last 30 % test',
    convert=convert,
)
