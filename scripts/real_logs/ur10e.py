"""Universal Robots UR10e: exciting and point-to-point motions with motor currents."""

from __future__ import annotations

from math import pi
from pathlib import Path

from arm_urdf import Axis, arm_urdf
from real_log import Converted, RealLog, Samples, table

JOINTS = (
    'shoulder_pan_joint',
    'shoulder_lift_joint',
    'elbow_joint',
    'wrist_1_joint',
    'wrist_2_joint',
    'wrist_3_joint',
)
AXES = (
    Axis(0.0, 0.0, 0.1807, effort=330, velocity=2.1, mass=7.4, constant=10.0),
    Axis(0.0, pi / 2, 0.0, effort=330, velocity=2.1, mass=13.1, constant=10.6956),
    Axis(-0.6127, 0.0, 0.0, effort=150, velocity=3.2, mass=4.0, constant=8.4566),
    Axis(-0.57155, 0.0, 0.17415, effort=56, velocity=3.2, mass=2.1, constant=9.0029),
    Axis(0.0, pi / 2, 0.11985, effort=56, velocity=3.2, mass=2.0, constant=9.48),
    Axis(0.0, -pi / 2, 0.11655, effort=56, velocity=3.2, mass=0.6, constant=10.1232),
)
RECORDINGS = {
    'train_1': 'identification_data/ur-20_02_12-50sec_12harm.csv',
    'train_2': 'identification_data/ur-20_02_10-30sec_12harm.csv',
    'test_1': 'identification_data/ur-20_02_12-40sec_12harm.csv',
    'test_2': 'validation_data/ur-20_01_17-ptp_10_points.csv',
}


def convert(source: Path) -> Converted:
    """Read the logs: time, positions, velocities, currents, and desired values, left out here."""
    recordings = {}
    for stem, file in RECORDINGS.items():
        values = table(source / 'dataset_ur10e' / file, 31, delimiter=',')
        recordings[stem] = Samples(
            time=values[:, 0],
            positions=values[:, 1:7],
            velocities=values[:, 7:13],
            currents=values[:, 13:19],
        )
    return Converted(JOINTS, arm_urdf('ur10e', AXES, JOINTS), SIDECAR, recordings)


SIDECAR = """title: Universal Robots UR10e without tool
home: {joints: {shoulder_pan_joint: 0, shoulder_lift_joint: -1.57, elbow_joint: 0.5,
  wrist_1_joint: -1.57, wrist_2_joint: 0.5, wrist_3_joint: 0}}
transition_velocity: 0.01
sources: {'*.origin': 'Denavit-Hartenberg parameters of the manufacturer', '*.mass': manufacturer,
  '*.force_constant': UR10E_parameters.txt of the repository of the data}
"""

LOG = RealLog(
    name='ur10e',
    robot='Universal Robots UR10e, six axes',
    source='https://github.com/shamilmamedov/dynamic_calibration, commit 11af40e; S. Mamedov, '
    'S. Mikhel, Frontiers in Robotics and AI 2020',
    licence='none stated in the repository: for own studies only',
    conventions='SI. Motor currents [A]; their constants, gears included, are those that the '
    'authors identified with a payload (of axis 1 only a bound). Stamps of the controller every '
    '8, 10 or 12 ms with few digits. Standstill before and after the motion.',
    split='two exciting motions train (50 s and 30 s, 12 harmonics); another of 40 s and a tour '
    'through ten points test',
    convert=convert,
)
