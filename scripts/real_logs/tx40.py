"""Staubli TX40: an exciting motion, positions and torques of the motors."""

from __future__ import annotations

from math import pi
from pathlib import Path

import numpy as np
from arm_urdf import Axis, arm_urdf
from real_log import Converted, LogError, RealLog, Samples, table

JOINTS = tuple(f'joint_{number}' for number in range(1, 7))
MOTORS = tuple(f'motor_{number}' for number in range(1, 7))
FOLDER = 'examples/staubli_TX40/data'
#: Turns of a motor per turn of its joint; motor 6 also turns with joint 5.
GEARS = np.diag([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
GEARS[5, 4] = 32.0
INTERVAL = 0.0002  # [s]
ZERO = np.array([0.0, -pi / 2, pi / 2, 0.0, 0.0, 0.0])  # positions where the encoders are zero
AXES = (
    Axis(0.0, 0.0, 0.32, effort=132, velocity=5.0, mass=10.5),
    Axis(0.0, -pi / 2, 0.0, effort=132, velocity=5.0, mass=3.6),
    Axis(0.225, 0.0, 0.035, effort=103, velocity=7.5, mass=4.1),
    Axis(0.0, pi / 2, 0.225, effort=46, velocity=7.2, mass=3.6),
    Axis(0.0, -pi / 2, 0.0, effort=43, velocity=5.6, mass=1.0),
    Axis(0.0, pi / 2, 0.0, pi, effort=31, velocity=12.2, mass=0.2),
)


def convert(source: Path) -> Converted:
    """Read both tables, which are of the motors."""
    motors, torques = (
        table(source / FOLDER / f'{name}.csv', 6, delimiter=',', skiprows=1)
        for name in ('pos_read_data', 'curr_data')
    )
    if motors.shape != torques.shape:
        raise LogError(f'{len(motors)} positions, but {len(torques)} torques')
    log = Samples(
        time=INTERVAL * np.arange(len(motors)), positions=motors, efforts=torques, side='motor'
    )
    parts = {'train': log.part(0.3, 1.0), 'test': log.part(0.0, 0.3)}
    return Converted(MOTORS, arm_urdf('tx40', AXES, JOINTS), SIDECAR, parts)


SIDECAR = f"""title: Staubli TX40 without tool
home: {{joints: {{joint_1: 0, joint_2: 0, joint_3: 0.5, joint_4: 0, joint_5: 0.5, joint_6: 0}}}}
transition_velocity: 0.01
transmissions:
  gears:
    joints: [{', '.join(JOINTS)}]
    motors: {{{': , '.join(MOTORS)}: {{rotor_inertia: 0, friction: {{coulomb: 0, viscous: 0}}}}}}
    reduction: {GEARS.tolist()}
    offset: {ZERO.tolist()}
sources: {{'*.origin': 'modified Denavit-Hartenberg parameters of the URDF beside the data',
  '*.mass': 'URDF beside the data', transmissions: converter of the repository}}
"""

LOG = RealLog(
    name='tx40',
    robot='Staubli TX40, six axes',
    source='https://github.com/thanhndv212/figaroh-examples, commit c0b5c7f, '
    'examples/staubli_TX40; data of LS2N Nantes',
    licence='Apache-2.0 (stated in the sources of the repository)',
    conventions='SI. The log has positions of the motors [rad] and their torques [N m] at 5 kHz '
    'without stamps; the recordings have them as they are. The transmission is in the YAML: gears '
    '32, 32, 45, -48, 45, 32, motor 6 also turns with joint 5, encoder zeros of joints 2 and 3 are '
    'at -90 and 90 degrees. Friction and rotor of motor 6 act on the sum of joints 5 and 6.',
    split='one motion of 8 s and a second of standstill after it: the first 30 % test, the rest '
    'with the standstill train',
    convert=convert,
)
