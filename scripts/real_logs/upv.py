"""Parallel robots 3UPS-RPU of the UPV: four ball screws, the forces that were asked of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sin
from pathlib import Path

import numpy as np
from arm_urdf import Axis, arm_urdf, ball
from real_log import Converted, Samples, table

DATA = 'https://github.com/jeferal/parallel_robot_pc, commit c9bf358'
SOURCE = (
    f'{DATA} (data), and '
    'https://github.com/jeferal/parallel_robot, commit abf245b (kinematics, units, gains)'
)
LICENCE = 'none stated in the repositories: for own studies only'
COMMANDS = (
    'Forces are those that the controller asked for, not measured ones: a row has the command that '
    'stood when its positions were read. {}'
)
CONVENTIONS = (
    'Lengths of the limbs [m] from encoders of the motors, in steps of 0.02 mm (outer limbs) and '
    '0.0023 mm (central limb), every 10 ms with stamps; velocities [m/s] are differences of them. '
    f'{COMMANDS}'
    'Geometry from the forward kinematics and the configuration files of the controller.'
)
DAY = 86400.0  # [s]: stamps of a day keep nanoseconds in a float
LIMBS = ('outer_1', 'outer_2', 'outer_3', 'centre')
JOINTS = tuple(f'{limb}_strut' for limb in LIMBS)


@dataclass(frozen=True)
class Geometry:
    """A platform on a central limb (revolute, prismatic, universal) and three outer ones (UPS).

    The joints of the outer limbs lie on circles, radii [m] and angles [rad] of the base and of the
    platform; the central limb turns about an axis along y, `centre` [m] along x of the base.
    A limb in `turned` is built in by half a turn about itself, with its motor on the other side.
    """

    base: tuple[tuple[float, float], ...]
    platform: tuple[tuple[float, float], ...]
    centre: float
    turned: tuple[str, ...] = ()

    def urdf(self, name: str) -> str:
        """Return the robot's URDF: each limb a chain of the base, closed at the platform."""
        axes = {
            'centre_swing': Axis(self.centre, -pi / 2, 0.0, link='centre_stator', driven=False),
            'centre_strut': Axis(0.0, pi / 2, 0.0, prismatic=True, effort=2400, link='centre_rod'),
            'platform_tilt': Axis(0.0, -pi / 2, 0.0, link='yoke', mass=0.0, driven=False),
            'platform_turn': Axis(0.0, pi / 2, 0.0, link='platform', mass=9.8, driven=False),
        }
        closures = []
        for limb, (radius, angle), (across, turn) in zip(
            LIMBS, self.base, self.platform, strict=False
        ):
            x, y = radius * cos(angle), radius * sin(angle)
            side = -1 if limb in self.turned else 1
            axes[f'{limb}_swing'] = Axis(
                x,
                -side * pi / 2,
                side * y,
                side * pi / 2,
                link=f'{limb}_cross',
                parent='base_link',
                mass=0.0,
                driven=False,
            )
            axes[f'{limb}_lean'] = Axis(
                0.0, pi / 2, 0.0, pi / 2, link=f'{limb}_stator', driven=False
            )
            axes[f'{limb}_strut'] = Axis(
                0.0, -pi / 2, 0.0, prismatic=True, effort=270, link=f'{limb}_rod'
            )
            tip = (across * cos(turn), across * sin(turn), 0.0)
            closures.append(ball(f'{limb}_ball', f'{limb}_rod', (0.0, 0.0, 0.0), tip))
        return arm_urdf(name, tuple(axes.values()), tuple(axes), '\n'.join(closures))


def recording(folder: Path, newtons: np.ndarray | float = 1.0, axes: int = 4) -> Samples:
    """Read positions and commands of an experiment; `newtons`: force of a unit of the commands."""
    stamps, positions = _stamped(folder / 'joint_position.txt', axes)
    sent, commands = _stamped(folder / 'control_action.txt', axes)
    standing = np.searchsorted(sent, stamps, side='right') - 1
    both = (standing >= 0) & (stamps <= sent[-1])
    return Samples(
        time=stamps[both] - stamps[both][0],
        positions=positions[both],
        efforts=commands[standing[both]] * newtons,
    )


def _stamped(path: Path, axes: int) -> tuple[np.ndarray, np.ndarray]:
    values = table(path, 2 + axes, skiprows=1)
    return values[:, 0] % DAY + 1e-9 * values[:, 1], values[:, 2 : 2 + axes]


def converted(
    name: str, geometry: Geometry, home: str, recordings: dict[str, Samples]
) -> Converted:
    """Return a robot of this kind; `home`: the limbs' lengths at rest, as YAML."""
    sidecar = f"""title: parallel robot 3UPS-RPU of the UPV
platform: platform
home: {{joints: {{{home}}}}}
transition_velocity: 0.001
same_design:
- [outer_1_stator, outer_2_stator, outer_3_stator]
- [outer_1_rod, outer_2_rod, outer_3_rod]
sources: {{'*.origin': configuration files of the controller, '*.mass': nominal}}
"""
    return Converted(JOINTS, geometry.urdf(name), sidecar, recordings)
