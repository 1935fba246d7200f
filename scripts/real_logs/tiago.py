"""PAL TIAGo: arm, positions and motor currents of a mobile robot's JointStates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from real_log import Converted, RealLog, Samples, found, table

JOINTS = tuple(f'arm_{number}_joint' for number in range(1, 8))
FOLDER = 'examples/tiago'
URDF = 'urdf/tiago_48_schunk.urdf'
#: Torque of a joint per unit of its effort: gear times constant of the motor [N m/A].
CONSTANTS = np.array([*[100 * 0.136] * 2, *[-100 * 0.087] * 2, *[-336 * 0.0613] * 3])


def convert(source: Path) -> Converted:
    """Read the three tables, of the same stamps, and the URDF as it is."""
    urdf = found(source / FOLDER / URDF)
    positions, velocities, efforts = (
        table(
            source / FOLDER / f'data/identification/dynamic/tiago_{name}.csv',
            9,
            delimiter=',',
            skiprows=1,
        )
        for name in ('position', 'velocity', 'effort')
    )
    log = Samples(
        time=positions[:, 0],
        positions=positions[:, 2:],
        velocities=velocities[:, 2:],
        efforts=efforts[:, 2:] * CONSTANTS,
    )
    parts = {'train': log.part(0.0, 0.7), 'test': log.part(0.7, 1.0)}
    return Converted(JOINTS, urdf.read_text(encoding='utf-8'), SIDECAR, parts)


SIDECAR = f"""title: PAL TIAGo, arm
base: torso_lift_link
platform: arm_7_link
actuated_joints: [{', '.join(JOINTS)}]
home: {{joints: {{{', '.join(f'{name}: 0.1' for name in JOINTS)}}}}}
transition_velocity: 0.01
"""

LOG = RealLog(
    name='tiago',
    robot='PAL TIAGo, arm of seven axes on a lifting torso',
    source='https://github.com/thanhndv212/figaroh-examples, commit c0b5c7f, examples/tiago',
    licence='Apache-2.0 (stated in the sources of the repository)',
    conventions='SI, stamps of the host at about 100 Hz; 4 % of the rows repeat the positions '
    'before. Motor currents times the gears and constants of the authors; the torso, whose current '
    'has no constant, is left out. The axes rest in turn, held by their brakes.',
    split='one motion of 80 s with standstill before and after: the first 70 % train, the rest '
    'tests',
    convert=convert,
)
