"""Patient side manipulator of the da Vinci Research Kit: its first four axes as a serial arm."""

from __future__ import annotations

from math import pi
from pathlib import Path

import numpy as np
from arm_urdf import Axis, arm_urdf
from real_log import Converted, RealLog, Samples, table

JOINTS = ('yaw', 'pitch', 'insertion', 'roll')
FOLDER = 'data/psm/measured_trajectory'
RATE = 200.0  # [Hz]
AXES = (
    Axis(0.0, pi / 2, 0.0, pi / 2, effort=10, velocity=4, mass=5.0),
    Axis(0.0, -pi / 2, 0.0, -pi / 2, effort=10, velocity=4, mass=3.0),
    Axis(0.0, pi / 2, -0.4318, effort=20, velocity=1, mass=0.5, prismatic=True),
    Axis(0.0, 0.0, 0.4162, effort=1, velocity=10, mass=0.1),
)


def convert(source: Path) -> Converted:
    """Read both logs: positions, velocities and torques of seven motors, of which four are kept."""
    recordings = {}
    for stem, motion in {'train': 'one', 'test': 'two'}.items():
        values = table(source / FOLDER / f'{motion}_results.csv', 21, delimiter=',')
        recordings[stem] = Samples(
            time=np.arange(len(values)) / RATE,
            positions=values[:, :4],
            velocities=values[:, 7:11],
            efforts=values[:, 14:18],
        )
    return Converted(JOINTS, arm_urdf('psm', AXES, JOINTS), SIDECAR, recordings)


SIDECAR = """title: patient side manipulator as a serial arm
home: {joints: {yaw: 0, pitch: 0, insertion: 0.1, roll: 0}}
transition_velocity: 0.01
sources: {'*.origin': 'modified Denavit-Hartenberg parameters of Wang et al. 2019',
  '*.mass': assumed}
"""

LOG = RealLog(
    name='psm',
    robot='patient side manipulator of the da Vinci Research Kit, four axes',
    source='https://github.com/WPI-AIM/dvrk_dynamics_identification, commit 7697d3a; Y. Wang, '
    'R. Gondokaryono, A. Munawar, G. S. Fischer, IEEE RA-L 2019',
    licence='none stated in the repository: for own studies only',
    conventions='SI, 200 Hz without stamps. Torques [N m, N] of motor currents. Its parallelogram '
    'is taken as one body that turns with the pitch, the counterweight as a part of the insertion, '
    'and the wrist of three axes is left out: an arm as its user would first describe it. The '
    'torque of the cable along axis 4 is in the data.',
    split='one exciting motion of 30 s trains, another tests',
    convert=convert,
)
