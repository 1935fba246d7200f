"""Closed chains without symmetry, as descriptions."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from urdf_builder import constraint, control, inertial, joint, random_inertial, robot

from pkm_description import Description, loads


def skew_hexapod(seed: int = 3, rings: bool = True, friction: bool = True) -> Description:
    """6-UPS: every leg, joint axis and body different; 13 bodies, 19 with rings of mass."""
    rng = np.random.default_rng(seed)
    parts = [
        '<link name="base_link"/>',
        '<link name="platform">',
        random_inertial(rng, 5.0, 0.15),
        '</link>',
        joint('float', 'floating', 'base_link', 'platform'),
    ]
    base = np.radians([-14, 9, 108, 131, 228, 247]) + 0.03 * rng.normal(size=6)
    top = np.radians([-44, 48, 74, 166, 195, 283]) + 0.05 * rng.normal(size=6)
    for k in range(6):
        a = 0.6 * np.array([np.cos(base[k]), np.sin(base[k]), 0]) + 0.03 * rng.normal(size=3)
        b = 0.25 * np.array([np.cos(top[k]), np.sin(top[k]), 0.2]) + 0.03 * rng.normal(size=3)
        n = k + 1
        ring = random_inertial(rng, 0.5, 0.04) if rings else ''
        passive = f'<dynamics friction="{0.1 + 0.05 * k}" damping="{0.02 * n}"/>'
        passive = passive if friction else ''
        drive = f'<dynamics friction="{3.0 + k}" damping="{10.0 + k}"/>' if friction else ''
        cut = '<dynamics damping="0.05"/>' if friction and k == 2 else ''
        parts += [
            f'<link name="ring{n}">{ring}</link>',
            f'<link name="stator{n}">',
            random_inertial(rng, 4.0, 0.15),
            '</link>',
            f'<link name="slider{n}">',
            random_inertial(rng, 2.0, 0.15),
            '</link>',
            joint(
                f'first{n}',
                'revolute',
                'base_link',
                f'ring{n}',
                a,
                (np.pi + 0.1 * rng.normal(), 0.1 * rng.normal(), base[k]),
                (1, 0, 0),
                (-1.2, 1.2, 20, 100),
                passive,
            ),
            joint(
                f'second{n}',
                'revolute',
                f'ring{n}',
                f'stator{n}',
                (0, 0, 0),
                0.05 * rng.normal(size=3),
                (0, 1, 0),
                (-1.5, 1.0, 20, 100),
                passive,
            ),
            joint(
                f'drive{n}',
                'prismatic',
                f'stator{n}',
                f'slider{n}',
                (0, 0, 0),
                (0, 0, 0),
                (0, 0, 1),
                (0.5, 1.4, 3, 500),
                drive,
            ),
            constraint(
                f'top{n}', 'spherical', f'slider{n}', 'platform', (0, 0, 0), b, dynamics=cut
            ),
        ]
    parts.append(control([f'drive{n}' for n in range(1, 7)]))
    return loads(
        robot('skew_hexapod', parts),
        'home: {position: [0.02, -0.01, -0.8], rpy: [0.05, -0.03, 0.1]}\n'
        'gravity: [0.3, -0.2, -9.7]\n'
        'rotor_inertia: {drive1: 0.7, drive4: 1.3}\n',
    )


def tripod() -> Description:
    """3-RPS with unequal bodies: three degrees of freedom, a floating platform."""
    rng = np.random.default_rng(5)
    parts = [
        '<link name="base_link"/>',
        '<link name="platform">',
        random_inertial(rng, 8.0, 0.2),
        '</link>',
        joint('float', 'floating', 'base_link', 'platform'),
    ]
    for k, angle in enumerate(np.radians([90, 210, 330])):
        n = k + 1
        a = 0.4 * np.array([np.cos(angle), np.sin(angle), 0])
        b = 0.26 * np.array([np.cos(angle), np.sin(angle), 0])
        parts += [
            f'<link name="stator{n}">',
            random_inertial(rng, 6.0, 0.1),
            '</link>',
            f'<link name="slider{n}">',
            random_inertial(rng, 2.0, 0.1),
            '</link>',
            joint(
                f'swing{n}',
                'revolute',
                'base_link',
                f'stator{n}',
                a,
                (0, 0, angle + np.pi / 2),
                (1, 0, 0),
                (-1.0, 1.0, 10, 100),
            ),
            joint(
                f'drive{n}',
                'prismatic',
                f'stator{n}',
                f'slider{n}',
                (0, 0, 0),
                (0, 0, 0),
                (0, 0, 1),
                (0.5, 1.0, 2, 2000),
                '<dynamics friction="20" damping="300"/>',
            ),
            constraint(f'top{n}', 'spherical', f'slider{n}', 'platform', (0, 0, 0), b),
        ]
    parts.append(control(['drive1', 'drive2', 'drive3']))
    return loads(robot('tripod', parts), 'home: {position: [0, 0, 0.72]}\n')


def five_bar() -> Description:
    """Planar five-bar in space: one revolute constraint, so three of its rows are redundant."""
    rng = np.random.default_rng(8)
    parts = ['<link name="base_link"/>']
    for name in ('upper1', 'upper2', 'lower1'):
        parts += [f'<link name="{name}">', random_inertial(rng, 1.0, 0.1), '</link>']
    parts += ['<link name="platform">', random_inertial(rng, 0.8, 0.1), '</link>']
    limit = (-3.0, 3.0, 20, 50)
    parts += [
        joint(
            'shoulder1',
            'revolute',
            'base_link',
            'upper1',
            (-0.1, 0, 0),
            (0, 0, 2.2),
            (0, 0, 1),
            limit,
            '<dynamics friction="0.2" damping="0.1"/>',
        ),
        joint(
            'elbow1', 'revolute', 'upper1', 'lower1', (0.25, 0, 0), (0, 0, -1.6), (0, 0, 1), limit
        ),
        joint(
            'shoulder2',
            'revolute',
            'base_link',
            'upper2',
            (0.1, 0, 0),
            (0, 0, 0.9),
            (0, 0, 1),
            limit,
        ),
        joint(
            'elbow2', 'revolute', 'upper2', 'platform', (0.25, 0, 0), (0, 0, 1.6), (0, 0, 1), limit
        ),
        constraint(
            'tip',
            'revolute',
            'lower1',
            'platform',
            (0.3, 0, 0),
            (0.3, 0, 0),
            (0, 0, 1),
            (0, 0, 1),
            dynamics='<dynamics friction="0.05"/>',
        ),
        control(['shoulder1', 'shoulder2']),
    ]
    return loads(robot('five_bar', parts), 'gravity: [0, -9.81, 0]\n')


def serial_arm() -> Description:
    """Three revolute joints in a row, no loop: the platform is the last link."""
    rng = np.random.default_rng(9)
    parts = ['<link name="base_link"/>']
    previous = 'base_link'
    for k, (name, axis) in enumerate(
        (('turret', (0, 0, 1)), ('arm', (0, 1, 0)), ('platform', (0.1, 1, 0.2)))
    ):
        parts += [
            f'<link name="{name}">',
            random_inertial(rng, 3.0 - k, 0.15),
            '</link>',
            joint(
                f'joint{k + 1}',
                'revolute',
                previous,
                name,
                (0.05 * k, 0.02, 0.3),
                (0.1, 0.2 * k, 0.0),
                axis,
                (-2.5, 2.5, 10, 100),
                '<dynamics friction="0.5" damping="0.2"/>',
            ),
        ]
        previous = name
    parts.append(control(['joint1', 'joint2', 'joint3']))
    home = 'home: {joints: {joint1: 0.3, joint2: 0.5, joint3: -0.4}}\n'
    return loads(robot('serial_arm', parts), home)


def four_bar(kind: str = 'revolute') -> Description:
    """Planar four-bar whose last joint is a revolute or a universal constraint."""
    parts = ['<link name="base_link"/>']
    for name, mass in (('crank', 1.0), ('platform', 1.5), ('rocker', 1.2)):
        parts += [
            f'<link name="{name}">',
            inertial(mass, (0.15, 0.01, 0.0), np.diag([0.002, 0.02, 0.021])),
            '</link>',
        ]
    limit = (-3.0, 3.0, 20, 50)
    parts += [
        joint(
            'crank_joint',
            'revolute',
            'base_link',
            'crank',
            (0, 0, 0),
            (0, 0, 1.2),
            (0, 0, 1),
            limit,
        ),
        joint(
            'coupler_joint',
            'revolute',
            'crank',
            'platform',
            (0.2, 0, 0),
            (0, 0, -1.0),
            (0, 0, 1),
            limit,
        ),
        joint(
            'rocker_joint',
            'revolute',
            'base_link',
            'rocker',
            (0.5, 0, 0),
            (0, 0, 1.4),
            (0, 0, 1),
            limit,
        ),
        constraint(
            'last',
            kind,
            'platform',
            'rocker',
            (0.45, 0, 0),
            (0.3, 0, 0),
            (0, 0, 1),
            (0, 0, 1) if kind == 'revolute' else (1, 0, 0),
        ),
        control(['crank_joint']),
    ]
    return loads(robot('four_bar', parts), 'gravity: [0, -9.81, 0]\n')


def stretched_bars(distance: float = 1.0, offset: float = 0.0) -> str:
    """Two bars stretched between two points: they can bend out of line only if they stretch."""

    def bar(name):
        return (
            f'<link name="{name}"><inertial><mass value="1"/>'
            '<inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>'
        )

    limit = '<limit lower="-1" upper="1" effort="9" velocity="9"/>'
    return f'''<robot name="toggle"><link name="base_link"/>{bar('crank')}{bar('platform')}
      <joint name="first" type="revolute"><parent link="base_link"/><child link="crank"/>
        <axis xyz="0 0 1"/>{limit}</joint>
      <joint name="second" type="revolute"><parent link="crank"/><child link="platform"/>
        <origin xyz="0.5 0 0"/><axis xyz="0 0 1"/>{limit}</joint>
      <constraint name="end" type="spherical">
        <parent link="base_link"/><parent_origin xyz="{distance!r} 0 {offset}"/>
        <child link="platform"/><child_origin xyz="0.5 0 0"/></constraint>
      <ros2_control name="d" type="system"><joint name="first">
        <command_interface name="effort"/></joint></ros2_control></robot>'''


def changed(description: Description, kind: str, name: str, **changes: Any) -> Description:
    """The robot with other fields of one of its links, joints, constraints or actuators."""
    key = 'joint' if kind == 'actuators' else 'name'
    items = tuple(
        dataclasses.replace(item, **changes) if getattr(item, key) == name else item
        for item in getattr(description, kind)
    )
    return dataclasses.replace(description, **{kind: items})
