"""The 3-RPS robot of [M]: its geometry, bodies and reduced models."""

from __future__ import annotations

import numpy as np
from urdf_builder import constraint, control, inertial, joint, robot

from pkm_description import Description, loads

SIDE = 0.4563
HEIGHT = SIDE * np.sin(np.pi / 3)
BASE_RADIUS = 0.4
#: Joints on the platform, in its frame: origin at the first, x to the second.
TOP = np.array([[0.0, 0.0, 0.0], [SIDE, 0.0, 0.0], [SIDE / 2, HEIGHT, 0.0]])
LENGTH = 0.75

YAML = f"""
home: {{position: [0, {SIDE / np.sqrt(3)}, HOME], rpy: [0, 0, {-2 * np.pi / 3}]}}
same_design:
- [leg1_stator, leg2_stator, leg3_stator]
- [leg1_slider, leg2_slider, leg3_slider]
zero_parameters:
- leg*_stator.m[xy]
- leg*_stator.I[xy]z
- leg*_slider.m[xy]
- platform.mz
- platform.I[xy]z
"""
LEVELS = f"""
equal_parameters:
- [platform.Ixy, {-SIDE / 2}*platform.my]
reduced_models:
  model_1: {{geometry: false}}
  model_2: {{}}
  model_3: {{shared: true}}
  model_4: {{shared: true, keep: [platform.m, 'platform.m[xy]']}}
"""


def rps(order: tuple[int, ...] = (0, 1, 2), extra: str = LEVELS) -> Description:
    """Legs appear in the file in the given order."""
    inset = BASE_RADIUS - SIDE / np.sqrt(3)
    home = np.sqrt(LENGTH**2 - inset**2)
    disc = np.diag([0.213375, 0.213375, 0.425124])
    parts = [
        '<link name="base_link"/>',
        '<link name="platform">',
        inertial(10.845, (SIDE / 2, HEIGHT / 3, 0), disc),
        '</link>',
        joint('float', 'floating', 'base_link', 'platform'),
    ]
    for k in order:
        angle = np.pi / 2 + k * 2 * np.pi / 3
        a = BASE_RADIUS * np.array([np.cos(angle), np.sin(angle), 0])
        leg = f'leg{k + 1}'
        parts += [
            f'<link name="{leg}_stator">',
            inertial(6.0, (0, 0, 0.05), np.diag([0.04952, 0.04952, 0.006])),
            '</link>',
            f'<link name="{leg}_slider">',
            inertial(1.8, (0, 0, -0.19), np.diag([0.026, 0.026, 0.0008])),
            '</link>',
            joint(
                f'{leg}_swing',
                'revolute',
                'base_link',
                f'{leg}_stator',
                a,
                (0, 0, angle + np.pi / 2),
                (1, 0, 0),
                (-1.5, 1.5, 10, 100),
            ),
            joint(
                f'{leg}_strut',
                'prismatic',
                f'{leg}_stator',
                f'{leg}_slider',
                (0, 0, 0),
                (0, 0, 0),
                (0, 0, 1),
                (0.5, 1.0, 2, 2000),
                '<dynamics friction="228" damping="3272"/>',
            ),
            constraint(f'{leg}_top', 'spherical', f'{leg}_slider', 'platform', (0, 0, 0), TOP[k]),
        ]
    parts.append(control([f'leg{k + 1}_strut' for k in order]))
    rotors = ', '.join(f'leg{k + 1}_strut: 483.1' for k in range(3))
    text = YAML.replace('HOME', repr(float(home))) + f'rotor_inertia: {{{rotors}}}\n' + extra
    return loads(robot('rps', parts), text)
