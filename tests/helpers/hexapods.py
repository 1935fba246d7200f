"""Mechanisms that are singular at known places."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation
from urdf_builder import constraint, control, inertial, joint, robot

from pkm_description import Description, loads

BODY = inertial(1.0, (0.0, 0.0, 0.0), 0.1 * np.eye(3))


def hexapod_between(base, top, home, aperture: float | None = None, more: str = '') -> Description:
    """Struts (UPS) from `base` (n, 3) to `top` (n, 3) of a platform at `home` (3,).

    `more` is further text of the YAML.
    """
    parts = [
        '<link name="base_link"/>',
        '<link name="platform">',
        BODY,
        '</link>',
        joint('float', 'floating', 'base_link', 'platform'),
    ]
    for k in range(len(base)):
        n = k + 1
        along = home + top[k] - base[k]
        along /= np.linalg.norm(along)
        first = np.cross([0.3, 0.9, 0.1], along)
        first /= np.linalg.norm(first)
        frame = np.stack([first, np.cross(along, first), along], axis=1)
        rpy = Rotation.from_matrix(frame).as_euler('xyz')
        parts += [
            f'<link name="ring{n}"/>',
            f'<link name="stator{n}">',
            BODY,
            '</link>',
            f'<link name="slider{n}">',
            BODY,
            '</link>',
            joint(
                f'first{n}',
                'revolute',
                'base_link',
                f'ring{n}',
                base[k],
                rpy,
                (1, 0, 0),
                (-1.3, 1.3, 20, 100),
            ),
            joint(
                f'second{n}',
                'revolute',
                f'ring{n}',
                f'stator{n}',
                (0, 0, 0),
                (0, 0, 0),
                (0, 1, 0),
                (-1.3, 1.3, 20, 100),
            ),
            joint(
                f'drive{n}',
                'prismatic',
                f'stator{n}',
                f'slider{n}',
                (0, 0, 0),
                (0, 0, 0),
                (0, 0, 1),
                (0.1, 3.0, 3, 500),
            ),
            constraint(
                f'top{n}',
                'spherical',
                f'slider{n}',
                'platform',
                (0, 0, 0),
                top[k],
                (0, 0, 1),
                (0, 0, 1),
            ),
        ]
    parts.append(control([f'drive{n + 1}' for n in range(len(base))]))
    extra = more if aperture is None else f'{more}workspace: {{aperture: {aperture}}}\n'
    return loads(robot('hexapod', parts), f'home: {{position: {list(map(float, home))}}}\n' + extra)


def hexapod(symmetric: bool = True, aperture: float | None = None) -> Description:
    """Base and platform of one symmetry: singular where the platform turns by 90 degrees."""
    base = np.radians([-10, 10, 110, 130, 230, 250])
    top = np.radians([-50, 50, 70, 170, 190, 290])
    a = np.stack([0.6 * np.cos(base), 0.6 * np.sin(base), 0 * base], axis=1)
    b = np.stack([0.3 * np.cos(top), 0.3 * np.sin(top), 0 * top], axis=1)
    if not symmetric:
        b[0] += [0.02, 0.03, 0.05]
    return hexapod_between(a, b, np.array([0.0, 0.0, 0.7]), aperture)


def seven_struts(more: str = 'redundant_actuation: {drives: [drive7]}\n') -> Description:
    """Asymmetric hexapod with a seventh strut in the middle: one drive too many."""
    rng = np.random.default_rng(5)
    base = np.radians([-10, 10, 110, 130, 230, 250])
    top = np.radians([-50, 50, 70, 170, 190, 290])
    a = np.stack([0.6 * np.cos(base), 0.6 * np.sin(base), 0 * base], axis=1)
    b = np.stack([0.3 * np.cos(top), 0.3 * np.sin(top), 0 * top], axis=1)
    a, b = (np.vstack([ends, [0.05, -0.03, 0.0]]) for ends in (a, b))
    home = np.array([0.0, 0.0, 0.7])
    return hexapod_between(a, b + 0.02 * rng.uniform(-1, 1, b.shape), home, more=more)


def griffis_duffy(fraction: float) -> Description:
    """Two triangles, joints at the corners of one and along the sides of the other, in turn.

    With the side joints in the middle (`fraction` 0.5) the platform moves with locked struts.
    """

    def corners(radius, turn):
        angles = np.radians([90, 210, 330]) + turn
        return radius * np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)

    base, top = corners(0.47, 0.0), corners(0.35, -np.pi / 3)
    a, b = [], []
    for k in range(3):
        a += [base[k], (1 - fraction) * base[k] + fraction * base[(k + 1) % 3]]
        after = top[(k + 1) % 3]
        b += [(1 - fraction) * top[k] + fraction * after, after]
    return hexapod_between(np.array(a), np.array(b), np.array([0.0, 0.0, -0.35]))


def parallelogram() -> Description:
    """Planar four-bar with equal opposite sides, all joints at 0 where it lies on a line."""
    parts = ['<link name="base_link"/>']
    for name in ('crank', 'platform', 'rocker'):
        parts += [f'<link name="{name}">', BODY, '</link>']
    limit = (-3.0, 3.0, 20, 50)
    parts += [
        joint(
            'crank_joint', 'revolute', 'base_link', 'crank', (0, 0, 0), (0, 0, 0), (0, 0, 1), limit
        ),
        joint(
            'coupler_joint',
            'revolute',
            'crank',
            'platform',
            (0.2, 0, 0),
            (0, 0, 0),
            (0, 0, 1),
            limit,
        ),
        joint(
            'rocker_joint',
            'revolute',
            'base_link',
            'rocker',
            (0.5, 0, 0),
            (0, 0, 0),
            (0, 0, 1),
            limit,
        ),
        constraint(
            'last', 'revolute', 'platform', 'rocker', (0.5, 0, 0), (0.2, 0, 0), (0, 0, 1), (0, 0, 1)
        ),
        control(['crank_joint']),
    ]
    home = 'home: {joints: {crank_joint: 1.2, coupler_joint: -1.2, rocker_joint: 1.2}}\n'
    return loads(robot('parallelogram', parts), home)
