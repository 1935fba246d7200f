"""Planar mechanisms whose base parameters are known in closed form; the plane is x, y."""

from __future__ import annotations

import numpy as np
from urdf_builder import constraint, control, joint, random_inertial, robot

from pkm_description import Description, loads

LIMIT = (-3.0, 3.0, 20, 50)


def _body(rng: np.random.Generator, name: str) -> str:
    return f'<link name="{name}">{random_inertial(rng, 1.0, 0.1)}</link>'


def two_link_arm(length: float = 0.4, vertical: bool = True) -> Description:
    """Two parallel revolute joints, the second at `length` along x of the first link."""
    rng = np.random.default_rng(1)
    parts = [
        '<link name="base_link"/>',
        _body(rng, 'upper'),
        _body(rng, 'platform'),
        joint('shoulder', 'revolute', 'base_link', 'upper', axis=(0, 0, 1), limit=LIMIT),
        joint(
            'elbow', 'revolute', 'upper', 'platform', (length, 0, 0), axis=(0, 0, 1), limit=LIMIT
        ),
        control(['shoulder', 'elbow']),
    ]
    gravity = '[0, -9.81, 0]' if vertical else '[0, 0, -9.81]'
    home = 'home: {joints: {shoulder: 0.4, elbow: 0.6}}'
    return loads(robot('two_link_arm', parts), f'gravity: {gravity}\n{home}\n')


def four_bar(crank: float, coupler: float, rocker: float, base: float) -> Description:
    """Crank and coupler in the tree, rocker on the base; equal opposite sides: parallelogram."""
    rng = np.random.default_rng(2)
    angle = 1.1
    elbow = crank * np.array([np.cos(angle), np.sin(angle)])
    reach = np.array([base, 0.0]) - elbow
    distance = np.hypot(*reach)
    along = (distance**2 + coupler**2 - rocker**2) / (2 * distance)
    side = np.sqrt(coupler**2 - along**2)
    unit = reach / distance
    top = elbow + along * unit + side * np.array([-unit[1], unit[0]])
    coupler_angle = np.arctan2(*(top - elbow)[::-1])
    rocker_angle = np.arctan2(top[1], top[0] - base)
    parts = [
        '<link name="base_link"/>',
        *(_body(rng, n) for n in ('crank', 'platform', 'rocker')),
        joint(
            'crank_joint',
            'revolute',
            'base_link',
            'crank',
            (0, 0, 0),
            (0, 0, angle),
            (0, 0, 1),
            LIMIT,
        ),
        joint(
            'coupler_joint',
            'revolute',
            'crank',
            'platform',
            (crank, 0, 0),
            (0, 0, coupler_angle - angle),
            (0, 0, 1),
            LIMIT,
        ),
        joint(
            'rocker_joint',
            'revolute',
            'base_link',
            'rocker',
            (base, 0, 0),
            (0, 0, rocker_angle),
            (0, 0, 1),
            LIMIT,
        ),
        constraint(
            'last',
            'revolute',
            'platform',
            'rocker',
            (coupler, 0, 0),
            (rocker, 0, 0),
            (0, 0, 1),
            (0, 0, 1),
        ),
        control(['crank_joint']),
    ]
    return loads(robot('four_bar', parts), 'gravity: [0, -9.81, 0]\n')


def cart() -> Description:
    """A cart on a rail with a rotor in its drive: the two masses act as one."""
    parts = [
        '<link name="base_link"/>',
        _body(np.random.default_rng(3), 'platform'),
        joint('rail', 'prismatic', 'base_link', 'platform', axis=(1, 0, 0), limit=(-1, 1, 3, 100)),
        control(['rail']),
    ]
    return loads(robot('cart', parts), 'rotor_inertia: {rail: 0.7}\n')
