"""Rethink Baxter, left arm: random and periodic motions with the torques of its springs."""

from __future__ import annotations

from math import pi
from pathlib import Path

import numpy as np
from arm_urdf import Axis, arm_urdf
from real_log import Converted, RealLog, Samples, table

JOINTS = tuple(f'left_{name}' for name in ('s0', 's1', 'e0', 'e1', 'w0', 'w1', 'w2'))
RATE = 100.0  # [Hz]
FOLDER = 'Dataset'
RECORDINGS = {
    'train_1': 'Training/Random',
    'train_2': 'Training/sin_XYZ_10s_T2_5_Tz_4T_r18',
    'train_3': 'Training/sin_XYZ_8s_T2_Tz_4T_r5',
    'test_1': 'Test/circle_XZ_T2_5_r10',
    'test_2': 'Test/square',
    'test_3': 'Test/sin_XYZ_12_5s_T2_5_Tz_5T_r18',
}
AXES = (
    Axis(0.0, 0.0, 0.27035, effort=50, velocity=1.5, mass=5.7),
    Axis(0.069, -pi / 2, 0.0, pi / 2, effort=100, velocity=1.5, mass=3.2),
    Axis(0.0, pi / 2, 0.36442, effort=50, velocity=1.5, mass=4.3),
    Axis(0.069, -pi / 2, 0.0, effort=50, velocity=1.5, mass=2.1),
    Axis(0.0, pi / 2, 0.37429, effort=15, velocity=4, mass=2.2),
    Axis(0.01, -pi / 2, 0.0, effort=15, velocity=4, mass=1.6),
    Axis(0.0, pi / 2, 0.115975, effort=15, velocity=4, mass=0.5),
)


def convert(source: Path) -> Converted:
    """Read the logs: positions, velocities and torques of seven joints."""
    recordings = {}
    for stem, file in RECORDINGS.items():
        values = table(source / FOLDER / f'{file}_ang_vel_torq.csv', 21, skiprows=1)
        recordings[stem] = Samples(
            time=np.arange(len(values)) / RATE,
            positions=values[:, :7],
            velocities=values[:, 7:14],
            efforts=values[:, 14:21],
        )
    return Converted(JOINTS, arm_urdf('baxter', AXES, JOINTS), SIDECAR, recordings)


SIDECAR = """title: Rethink Baxter, left arm
home: {joints: {left_s0: 0, left_s1: -0.5, left_e0: 0, left_e1: 1.2, left_w0: 0, left_w1: 0.5,
  left_w2: 0}}
transition_velocity: 0.01
sources: {'*.origin': baxter_common of the manufacturer, '*.mass': likewise}
"""

LOG = RealLog(
    name='baxter',
    robot='Rethink Baxter, left arm of seven axes with springs in the drives',
    source='https://github.com/EduardoRosLab/Baxter_Dynamic_Model, commit 4b89e93',
    licence='none stated in the repository: for own studies only',
    conventions='SI, 100 Hz without stamps (the rate is that of positions and velocities). '
    'Positions in steps of 0.38 mrad. Joint torques that the arm reports; its second joint has '
    'gravity springs beside the drive. Frames of the description of the manufacturer.',
    split='a random motion and two paths of the training set of the source train; three of the '
    'four paths of its test set test',
    convert=convert,
)
