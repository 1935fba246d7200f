"""Master tool manipulator of the da Vinci Research Kit: a parallelogram arm with a gimbal."""

from __future__ import annotations

from math import pi
from pathlib import Path

import numpy as np
from arm_urdf import Axis, arm_urdf
from real_log import Converted, RealLog, Samples, table

JOINTS = tuple(
    'outer_yaw shoulder_pitch elbow elbow_pitch rod wrist_platform wrist_pitch wrist_yaw '
    'wrist_roll'.split()
)
PASSIVE = ('elbow', 'rod')
DRIVEN = tuple(name for name in JOINTS if name not in PASSIVE)
MOTORS = tuple(f'motor_{number}' for number in range(1, 8))
FOLDER = 'data/mtm/measured_trajectory'
RATE = 200.0  # [Hz]
#: Joints by motors: the tendon of the wrist's platform runs along the arm.
TENDON = np.eye(7)
TENDON[3, 1:3] = 0.6697, -0.6697
ARM, CRANK = 0.2794, 0.1  # [m] sides of the parallelogram
LARGE = {'effort': 10, 'velocity': 20, 'mass': 0.5}
AXES = (
    Axis(0.0, 0.0, -0.2154, link='column', **LARGE),
    Axis(0.0, -pi / 2, 0.0, pi / 2, link='upper_arm', **LARGE),
    Axis(ARM, 0.0, 0.0, pi / 2, link='forearm', driven=False, **LARGE),
    Axis(0.0, -pi / 2, 0.0, pi, link='crank', parent='column', **LARGE),
    Axis(CRANK, 0.0, 0.0, -pi / 2, link='rod_link', driven=False, **LARGE),
    Axis(0.3645, -pi / 2, 0.151, link='gimbal', parent='forearm', **LARGE),
    Axis(0.0, pi / 2, 0.0, link='gimbal_pitch', **LARGE),
    Axis(0.0, -pi / 2, 0.0, pi / 2, link='gimbal_yaw', **LARGE),
    Axis(0.0, -pi / 2, 0.0, pi, **LARGE),
)
CLOSURE = f"""  <constraint name="parallelogram" type="revolute">
    <parent link="rod_link"/> <parent_origin xyz="{ARM} 0 0"/> <parent_axis xyz="0 0 1"/>
    <child link="forearm"/> <child_origin xyz="{CRANK} 0 0"/> <child_axis xyz="0 0 1"/>
  </constraint>"""


def convert(source: Path) -> Converted:
    """Read both logs: positions, velocities and torques of seven motors."""
    recordings = {}
    for stem, motion in {'train': 'one', 'test': 'two'}.items():
        values = table(source / FOLDER / f'{motion}_results.csv', 21, delimiter=',')
        recordings[stem] = Samples(
            time=np.arange(len(values)) / RATE,
            positions=values[:, :7],
            velocities=values[:, 7:14],
            efforts=values[:, 14:],
            side='motor',
        )
    return Converted(MOTORS, arm_urdf('mtm', AXES, JOINTS, CLOSURE), SIDECAR, recordings)


SIDECAR = f"""title: master tool manipulator, a parallelogram arm with a gimbal
home: {{joints: {{outer_yaw: 0, shoulder_pitch: 0.2, elbow_pitch: 0.3, wrist_platform: 0,
  wrist_pitch: 1, wrist_yaw: 0, wrist_roll: 0, elbow: 0.1, rod: -0.1}}}}
transition_velocity: 0.01
transmissions:
  tendon:
    joints: [{', '.join(DRIVEN)}]
    motors: [{', '.join(MOTORS)}]
    matrix: {TENDON.tolist()}
sources: {{'*.origin': 'modified Denavit-Hartenberg parameters of Wang et al. 2019',
  '*.mass': assumed}}
"""

LOG = RealLog(
    name='mtm',
    robot='master tool manipulator of the da Vinci Research Kit, seven axes and a closed loop',
    source='https://github.com/WPI-AIM/dvrk_dynamics_identification, commit 7697d3a; Y. Wang, '
    'R. Gondokaryono, A. Munawar, G. S. Fischer, IEEE RA-L 2019',
    licence='none stated in the repository: for own studies only',
    conventions='SI, 200 Hz without stamps; 14 % of the rows repeat the row before. Torques [N m] '
    'of motor currents. The log and the recordings have motors; in the YAML joints = M motors, '
    'where the wrist platform turns with its motor and with 0.6697 times the shoulder '
    'less the elbow. The torque of the cable along joint 4 and the spring of joint 5 are in the '
    'data.',
    split='one exciting motion of 30 s trains, another tests',
    convert=convert,
)
