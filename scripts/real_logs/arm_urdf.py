"""The URDF of an arm, open or closed, from its published Denavit-Hartenberg parameters."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy.spatial.transform import Rotation


@dataclass(frozen=True)
class Axis:
    """A joint of an arm in modified (Craig's) Denavit-Hartenberg parameters, and its limits.

    A standard table has the same rows with `a` and `alpha` one row later. `offset` is the
    angle of the common normal where the joint's position is zero; prismatic joints slide along z.
    """

    a: float  # [m]
    alpha: float  # [rad]
    d: float  # [m]
    offset: float = 0.0  # [rad]
    effort: float = 1000.0  # largest force or torque [N, N m]
    velocity: float = 10.0  # largest speed [rad/s, m/s]
    mass: float = 1.0  # nominal, where none is published [kg]; 0: a ring, which is no body
    prismatic: bool = False
    constant: float | None = None  # torque of a current, at the joint [N m/A]
    link: str = ''  # name of the body that it moves; by default numbered, the last: platform
    parent: str = ''  # body that it stands on, by default that of the axis before
    driven: bool = True


STROKE = 7.0  # [rad, m] limits of the joints: a log is what the joints did, not what they may


def arm_urdf(name: str, axes: Sequence[Axis], joints: Sequence[str], closures: str = '') -> str:
    """Return the URDF of an arm whose last link is the platform.

    `closures` are `<constraint>` elements. Masses are nominal and inertias those of balls of 0.1 m:
    they only say which parameters there are. Estimates do not rest on them.
    """
    lines = [f'<robot name="{name}">', '  <link name="base_link"/>']
    before = 'base_link'
    for number, (axis, joint) in enumerate(zip(axes, joints, strict=True), 1):
        child = axis.link or ('platform' if number == len(axes) else f'link{number}')
        lines += _link(child, axis.mass) + _joint(joint, axis.parent or before, child, axis)
        before = child
    driven = {joint: axis.constant for axis, joint in zip(axes, joints, strict=True) if axis.driven}
    return '\n'.join([*lines, *closures.splitlines(), drives(name, driven), '</robot>']) + '\n'


def drives(name: str, constants: Mapping[str, float | None]) -> str:
    """Return the `<ros2_control>` of the joints with a drive and their force constants."""
    lines = [f'  <ros2_control name="{name}" type="system">']
    for joint, constant in constants.items():
        lines += [
            f'    <joint name="{joint}">',
            '      <command_interface name="effort"/>',
            '      <state_interface name="position"/>',
        ]
        if constant is not None:
            lines.append(f'      <param name="force_constant">{constant:g}</param>')
        lines.append('    </joint>')
    return '\n'.join([*lines, '  </ros2_control>'])


def ball(name: str, parent: str, place: Sequence[float], tip: Sequence[float]) -> str:
    """Return a ball joint between a place of a body and one of the platform: a closure."""
    return f"""  <constraint name="{name}" type="spherical">
    <parent link="{parent}"/> <parent_origin xyz="{_numbers(place)}"/>
    <child link="platform"/> <child_origin xyz="{_numbers(tip)}"/>
  </constraint>"""


def _link(name: str, mass: float) -> list[str]:
    if not mass:
        return [f'  <link name="{name}"/>']
    inertia = 0.4 * mass * 0.1**2
    return [
        f'  <link name="{name}">',
        f'    <inertial><origin xyz="0 0 0"/><mass value="{mass:g}"/>',
        f'      <inertia ixx="{inertia:g}" iyy="{inertia:g}" izz="{inertia:g}" ixy="0" ixz="0"'
        ' iyz="0"/>',
        '    </inertial>',
        '  </link>',
    ]


def _joint(name: str, parent: str, child: str, axis: Axis) -> list[str]:
    twist = Rotation.from_euler('x', axis.alpha)
    place = twist.apply([axis.a, 0.0, axis.d])
    with warnings.catch_warnings():  # at right angles roll and yaw turn about one axis
        warnings.simplefilter('ignore', UserWarning)
        turn = (twist * Rotation.from_euler('z', axis.offset)).as_euler('xyz')
    return [
        f'  <joint name="{name}" type="{"prismatic" if axis.prismatic else "revolute"}">',
        f'    <parent link="{parent}"/> <child link="{child}"/>',
        f'    <origin xyz="{_numbers(place)}" rpy="{_numbers(turn)}"/> <axis xyz="0 0 1"/>',
        f'    <limit lower="{-STROKE:g}" upper="{STROKE:g}" effort="{axis.effort:g}"'
        f' velocity="{axis.velocity:g}"/>',
        '  </joint>',
    ]


def _numbers(values: Sequence[float]) -> str:
    return ' '.join(f'{value + 0.0:.12g}' for value in values)
