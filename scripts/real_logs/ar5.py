"""Rokae AR5 arm: joints driven by sines, with the torques of its sensors."""

from __future__ import annotations

from math import pi
from pathlib import Path

from arm_urdf import Axis, arm_urdf
from real_log import Converted, RealLog, Samples, table

JOINTS = tuple(f'joint_{number}' for number in range(1, 8))
FILE = 'src/config/dynamics_identification_data_real.csv'
AXES = (
    Axis(0.0, 0.0, 0.174522, effort=108, velocity=3.05),
    Axis(0.0, -pi / 2, 0.0, effort=108, velocity=3.05),
    Axis(0.0, pi / 2, 0.314726, effort=66, velocity=4.7),
    Axis(0.01, -pi / 2, 0.0, effort=66, velocity=5.2),
    Axis(-0.01, pi / 2, 0.272656, effort=19, velocity=4.2),
    Axis(0.0, -pi / 2, 0.0, -pi / 2, effort=19, velocity=4.2),
    Axis(0.0, -pi / 2, 0.0, pi / 2, effort=19, velocity=4.2),
)


def convert(source: Path) -> Converted:
    """Read the log: time, positions, velocities, accelerations (left out) and torques."""
    values = table(source / FILE, 29, delimiter=',', skiprows=1)
    log = Samples(
        time=values[:, 0],
        positions=values[:, 1:8],
        velocities=values[:, 8:15],
        efforts=values[:, 22:29],
    )
    parts = {'train': log.part(0.0, 0.7), 'test': log.part(0.7, 1.0)}
    return Converted(JOINTS, arm_urdf('ar5', AXES, JOINTS), SIDECAR, parts)


SIDECAR = """title: Rokae AR5 arm without tool
home: {joints: {joint_1: 0, joint_2: 0.3, joint_3: 0, joint_4: 1, joint_5: 0, joint_6: 0,
  joint_7: 0}}
gravity: [9.81, 0, 0]
transition_velocity: 0.01
sources: {gravity: 'found from the data: its direction is not told',
  '*.origin': 'modified Denavit-Hartenberg parameters beside the data', '*.mass': assumed}
"""

LOG = RealLog(
    name='ar5',
    robot='Rokae AR5 arm, seven axes',
    source='https://github.com/FrankJIE09/Dynamics_identification_Frank, commit 758dc8d',
    licence='none stated in the repository: for own studies only',
    conventions='SI, 50 Hz, even stamps, torques [N m] of the joint sensors; measured velocities '
    'in steps of 0.87 mrad/s. The arm is mounted on its side: with gravity along x of its base the '
    'model fits the training part ten times better than with any other direction.',
    split='one motion of 60 s: the first 70 % train, the last 30 % test',
    convert=convert,
)
