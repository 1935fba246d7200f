"""Parallel robot 3-PRS of the UPV: three vertical ball screws, the forces asked of them."""

from __future__ import annotations

from math import acos, cos, pi, sin, sqrt
from pathlib import Path

from arm_urdf import Axis, arm_urdf, ball
from real_log import Converted, RealLog
from upv import COMMANDS, DATA, recording

LEGS = ('leg_1', 'leg_2', 'leg_3')
JOINTS = tuple(f'{leg}_screw' for leg in LEGS)
ANGLES = (0.0, 2 * pi / 3, 4 * pi / 3)  # [rad] of the screws about the vertical
#: Radius of the screws, length of a leg, side of the platform's triangle [m]: fitted to the angles
#: of the legs that the controller logged (x_coord.txt), which they explain to 0.002 mm.
RADIUS, LENGTH, SIDE = 0.38452034, 0.51399193, 0.51601103
#: Angle of the legs below the horizontal when all screws are at zero [rad].
HOME = acos((RADIUS - SIDE / sqrt(3)) / LENGTH)
#: By stem: experiment, and the first and last share of it that are taken. At the beginning of
#: three of them the carriages lie on their stops, and the drives do not obey a constant command.
RECORDINGS = {
    'train_1': ('21_04_2021-15_43_26', 0.0, 0.7),
    'train_2': ('20_04_2021-16_39_05', 0.31, 1.0),
    'test_1': ('21_04_2021-15_43_26', 0.7, 1.0),
    'test_2': ('21_04_2021-15_33_50', 0.31, 1.0),
    'test_3': ('15_04_2021-18_03_12', 0.345, 1.0),
}


def urdf() -> str:
    """Return the robot's URDF: the first leg carries the platform, the others close at it.

    Platform and base are parallel at home; the platform's origin is the tip of the first leg.
    """
    axes = {}
    for leg, angle in zip(LEGS, ANGLES, strict=True):
        axes[f'{leg}_screw'] = Axis(
            0.0,
            0.0,
            0.0,
            angle,
            effort=2000,
            velocity=1.0,
            mass=5.0,
            prismatic=True,
            link=f'{leg}_carriage',
            parent='base_link',
        )
        axes[f'{leg}_hinge'] = Axis(
            RADIUS, -pi / 2, 0.0, pi - HOME, mass=2.0, link=f'{leg}_rod', driven=False
        )
    axes['platform_tilt'] = Axis(
        LENGTH, 0.0, 0.0, HOME - pi / 2, link='ring_1', mass=0.0, parent='leg_1_rod', driven=False
    )
    axes['platform_lean'] = Axis(0.0, pi / 2, 0.0, pi / 2, link='ring_2', mass=0.0, driven=False)
    axes['platform_turn'] = Axis(0.0, -pi / 2, 0.0, -pi / 2, link='platform', mass=20, driven=False)
    across = SIDE / sqrt(3)
    closures = [
        ball(
            f'{leg}_ball',
            f'{leg}_rod',
            (LENGTH, 0.0, 0.0),
            (across * (cos(angle) - 1), across * sin(angle), 0.0),
        )
        for leg, angle in zip(LEGS[1:], ANGLES[1:], strict=True)
    ]
    return arm_urdf('upv3prs', tuple(axes.values()), tuple(axes), '\n'.join(closures))


def convert(source: Path) -> Converted:
    """Read parts of four experiments."""
    recordings = {
        stem: recording(source / f'exp_data/exp_{name}', axes=3).part(first, last)
        for stem, (name, first, last) in RECORDINGS.items()
    }
    return Converted(JOINTS, urdf(), SIDECAR, recordings)


SIDECAR = """title: parallel robot 3-PRS of the UPV
platform: platform
home: {joints: {leg_1_screw: 0, leg_2_screw: 0, leg_3_screw: 0}}
transition_velocity: 0.001
same_design:
- [leg_1_carriage, leg_2_carriage, leg_3_carriage]
- [leg_1_rod, leg_2_rod, leg_3_rod]
sources: {'*.origin': fitted to the angles of the legs that the controller logged,
  '*.mass': nominal}
"""

LOG = RealLog(
    name='upv3prs',
    robot='parallel robot 3-PRS of the Universitat Politecnica de Valencia, three ball screws',
    source=DATA,
    licence='none stated in the repository: for own studies only',
    conventions='Positions of the carriages [m] in steps of 0.02 mm, every 10 ms with stamps. '
    + COMMANDS.format(
        'They are taken as newtons: at rest they are the gravity compensation of the controller, '
        '207, 281 and 230 N. '
    )
    + 'Positive positions and forces are taken as upwards; the platform hangs below the carriages. '
    'Geometry fitted to the log of the nine joints of the controller.',
    split='the first 70 % of a motion of 68 s in all three axes, and a stroke up and down, train; '
    'its last 30 %, the same stroke a day later and one under another controller, test; the rests '
    'before the strokes, without power, are left out',
    convert=convert,
)
