"""KUKA LBR Med 7: a motion at 100 Hz through ROS 2, with the torques of its joint sensors."""

from __future__ import annotations

from math import pi
from pathlib import Path

import numpy as np
from arm_urdf import Axis, arm_urdf
from real_log import Converted, RealLog, Samples, table

JOINTS = tuple(f'A{number}' for number in range(1, 8))
FILE = 'src/test/measurements.csv'
RATE = 100.0  # [Hz]
AXES = (
    Axis(0.0, 0.0, 0.34, effort=176, velocity=1.7),
    Axis(0.0, -pi / 2, 0.0, effort=176, velocity=1.7),
    Axis(0.0, pi / 2, 0.4, effort=110, velocity=1.7),
    Axis(0.0, pi / 2, 0.0, effort=110, velocity=2.3),
    Axis(0.0, -pi / 2, 0.4, effort=110, velocity=2.4),
    Axis(0.0, -pi / 2, 0.0, effort=40, velocity=3.1),
    Axis(0.0, pi / 2, 0.091, effort=40, velocity=3.1),
)


def convert(source: Path) -> Converted:
    """Read the log: positions, torques, external torques (left out)."""
    values = table(source / FILE, 21, delimiter=',', skiprows=1)
    log = Samples(
        time=np.arange(len(values)) / RATE, positions=values[:, :7], efforts=values[:, 7:14]
    )
    parts = {'train': log.part(0.3, 1.0), 'test': log.part(0.0, 0.3)}
    return Converted(JOINTS, arm_urdf('med7', AXES, JOINTS), SIDECAR, parts)


SIDECAR = """title: KUKA LBR Med 7 R800 with a docking flange
home: {joints: {A1: 0, A2: 0.5, A3: 0, A4: -1, A5: 0, A6: 0.8, A7: 0}}
transition_velocity: 0.01
sources: {'*.origin': 'URDF beside the data', '*.mass': assumed}
"""

LOG = RealLog(
    name='med7',
    robot='KUKA LBR Med 7, seven axes',
    source='https://github.com/lbr-stack/dynamic_parameter_identification, commit 58b4d88',
    licence='MIT',
    conventions='SI, 100 Hz without stamps; 22 % of the rows repeat the row before. Torques [N m] '
    'of the joint sensors, gravity included.',
    split='one motion of 16 s that grows: the first 30 % test, the rest train',
    convert=convert,
)
