"""Franka Emika Panda: an exciting motion with the torques of its joint sensors."""

from __future__ import annotations

from math import pi
from pathlib import Path

from arm_urdf import Axis, arm_urdf
from real_log import Converted, RealLog, Samples, table

JOINTS = tuple(f'panda_joint{number}' for number in range(1, 8))
FOLDER = 'matlab/data/Exciting_Traj/Trajectory_1/rbt_log'
AXES = (
    Axis(0.0, 0.0, 0.333, effort=87, velocity=2.175, mass=4.97),
    Axis(0.0, -pi / 2, 0.0, effort=87, velocity=2.175, mass=0.65),
    Axis(0.0, pi / 2, 0.316, effort=87, velocity=2.175, mass=3.23),
    Axis(0.0825, pi / 2, 0.0, effort=87, velocity=2.175, mass=3.59),
    Axis(-0.0825, -pi / 2, 0.384, effort=12, velocity=2.61, mass=1.23),
    Axis(0.0, pi / 2, 0.0, effort=12, velocity=2.61, mass=1.67),
    Axis(0.088, pi / 2, 0.0, effort=12, velocity=2.61, mass=0.74),
)


def convert(source: Path) -> Converted:
    """Read the text files of the motion; positions, velocities and torques are one column."""

    def column(name: str, count: int) -> object:
        return table(source / FOLDER / f'exciting_traj_{name}.txt', 1).reshape(-1, count)

    log = Samples(
        time=column('time', 1)[:, 0],  # type: ignore[index]
        positions=column('positions', 7),  # type: ignore[arg-type]
        efforts=column('torques', 7),  # type: ignore[arg-type]
        velocities=column('velocity', 7),  # type: ignore[arg-type]
    )
    parts = {'train': log.part(0.0, 0.7), 'test': log.part(0.7, 1.0)}
    return Converted(JOINTS, arm_urdf('panda', AXES, JOINTS), SIDECAR, parts)


SIDECAR = """title: Franka Emika Panda without hand
home: {joints: {panda_joint1: 0, panda_joint2: 0, panda_joint3: 0, panda_joint4: -1.5,
  panda_joint5: 0, panda_joint6: 1.5, panda_joint7: 0}}
transition_velocity: 0.01
sources: {'*.origin': 'Denavit-Hartenberg parameters of the manufacturer',
  '*.mass': 'Gaz et al. 2019'}
"""

LOG = RealLog(
    name='panda',
    robot='Franka Emika Panda, seven axes',
    source='https://github.com/marcocognetti/FrankaEmikaPandaDynModel, commit 24d85ce; C. Gaz, '
    'M. Cognetti, A. Oliva, P. Robuffo Giordano, A. De Luca, IEEE RA-L 2019',
    licence='GPL-3.0 (the repository)',
    conventions='SI. Torques of the sensors behind the gears, gravity included. The stamps are '
    "those of the host: they jitter by a quarter of the robot's 1 ms, 6 % of the rows repeat the "
    'row before, some cycles are missing.',
    split='one motion of 21 s: the first 70 % train, the last 30 % test',
    convert=convert,
)
