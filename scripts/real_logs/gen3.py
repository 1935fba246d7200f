"""Kinova Gen3: short motions of one axis and of all, with torques from motor currents."""

from __future__ import annotations

from math import pi
from pathlib import Path

from arm_urdf import Axis, arm_urdf
from real_log import Converted, RealLog, Samples, table

JOINTS = tuple(f'joint_{number}' for number in range(1, 8))
RATE = 1000.0  # [Hz]
FOLDER = 'data/kinova'
RECORDINGS = {
    'train_1': 'identification_data/RecordTrajectory_quadratic',
    **{f'train_{n + 1}': f'jointwise_motion/joint_{n}_trapez' for n in range(1, 8)},
    'test_1': 'identification_data/RunTrajectory1',
    'test_2': 'identification_data/Trajectory1',
}
AXES = (
    Axis(0.0, pi, -0.28481, effort=95, velocity=1.4),
    Axis(0.0, pi / 2, -0.01175, effort=95, velocity=1.4),
    Axis(0.0, -pi / 2, -0.42076, effort=95, velocity=1.4),
    Axis(0.0, pi / 2, -0.01275, effort=95, velocity=1.4),
    Axis(0.0, -pi / 2, -0.31436, effort=45, velocity=1.3),
    Axis(0.0, pi / 2, -0.00035, effort=45, velocity=1.3),
    Axis(0.0, -pi / 2, -0.10593, effort=45, velocity=1.3),
)


def convert(source: Path) -> Converted:
    """Read the logs: numbers of rows, positions, velocities, torques of currents at column 29."""
    recordings = {}
    for stem, file in RECORDINGS.items():
        values = table(source / FOLDER / f'{file}.csv', 36, delimiter=',', skiprows=1)
        recordings[stem] = Samples(
            time=values[:, 0] / RATE,
            positions=values[:, 1:8],
            velocities=values[:, 8:15],
            efforts=values[:, 29:36],
        )
    return Converted(JOINTS, arm_urdf('gen3', AXES, JOINTS), SIDECAR, recordings)


SIDECAR = """title: Kinova Gen3, seven axes
home: {joints: {joint_1: 0, joint_2: 0.3, joint_3: 0, joint_4: 1.2, joint_5: 0, joint_6: 0.5,
  joint_7: 0}}
transition_velocity: 0.01
sources: {'*.origin': description of the manufacturer, '*.mass': assumed}
"""

LOG = RealLog(
    name='gen3',
    robot='Kinova Gen3, seven axes',
    source='https://github.com/SedkiLmm/dynamic-identification, commit ff2f3be',
    licence='MIT (the repository)',
    conventions='SI, 1 kHz by the number of the row. Torques of motor currents. Frames of the '
    'URDF of the manufacturer, gen3.urdf.',
    split='a motion of all axes (5 s) and one of each axis alone (3 to 7 s) train; another motion '
    'of all axes, of 2 s, twice, tests',
    convert=convert,
)
