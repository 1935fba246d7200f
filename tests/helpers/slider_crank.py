"""A slider-crank whose pins rub with their loads: a description, and its forces by hand.

In the plane of x and y, gravity along -y. The crank (driven, length R, mass at its middle)
turns a rod (length L, mass at its middle) that pushes a slider along x. The description is
three-dimensional and has redundant closing rows, the free bodies below are planar.
"""

from __future__ import annotations

import numpy as np
from urdf_builder import constraint, control, inertial, joint, robot

from pkm_description import Description, loads

CRANK, ROD = 0.1, 0.35  # lengths [m]
MASSES = (0.8, 0.6, 1.5)  # [kg] crank, rod, slider
INERTIAS = (2e-3, 6e-3)  # [kg m^2] of crank and rod about their centres
GRAVITY = 9.81
ANGLE = 0.7  # of the crank at home [rad]
TRANSITION = 0.002  # [rad/s]
PINS = ('crank_pin', 'rod_pin', 'slider_pin')  # base to crank, crank to rod, rod to slider


def slider_crank(pins=(0.0, 0.0, 0.0), slide: float | None = None) -> Description:
    """Description with load factors [m] of its pins, and one of the slide."""
    rod = float(np.arcsin(-CRANK * np.sin(ANGLE) / ROD))
    reach = CRANK * np.cos(ANGLE) + ROD * np.cos(rod)
    parts = ['<link name="base_link"/>']
    for name, mass, length, inertia in (
        ('crank', MASSES[0], CRANK, INERTIAS[0]),
        ('rod', MASSES[1], ROD, INERTIAS[1]),
        ('platform', MASSES[2], 0.0, 1e-3),
    ):
        tensor = inertia * np.diag([0.1, 1.0, 1.0])
        parts.append(f'<link name="{name}">{inertial(mass, (length / 2, 0, 0), tensor)}</link>')
    limit = (-10, 10, 100, 100)
    parts += [
        joint('crank_pin', 'revolute', 'base_link', 'crank', axis=(0, 0, 1), limit=limit),
        joint('rod_pin', 'revolute', 'crank', 'rod', (CRANK, 0, 0), axis=(0, 0, 1), limit=limit),
        joint('slide', 'prismatic', 'base_link', 'platform', axis=(1, 0, 0), limit=limit),
        constraint(
            *('slider_pin', 'revolute', 'rod', 'platform'),
            parent_xyz=(ROD, 0, 0),
            parent_axis=(0, 0, 1),
            child_axis=(0, 0, 1),
        ),
        control(['crank_pin']),
    ]
    friction = ''.join(f'  {pin}: {{load: {mu}}}\n' for pin, mu in zip(PINS, pins, strict=True))
    if slide is not None:
        friction += f'  slide: {{load: {slide}}}\n'
    sidecar = (
        f'home: {{joints: {{crank_pin: {ANGLE}, rod_pin: {rod - ANGLE}, slide: {reach}}}}}\n'
        f'gravity: [0, {-GRAVITY}, 0]\ntransition_velocity: {TRANSITION}\nfriction:\n{friction}'
    )
    return loads(robot('slider_crank', parts), sidecar)


def forces_by_hand(angle, rate, acceleration, pins):
    """Torque of the crank [N m] and loads (3,) [N] of the pins, from planar free bodies.

    Eight balances (crank and rod: two forces, one moment; slider: two forces) for the pins'
    forces, the slider's side force and the torque; friction moments from the loads before.
    """
    rod, rod_rate, rod_acceleration = _rod(angle, rate, acceleration)
    first, second = _unit(angle), _unit(rod)
    middle = _middle(first, rate, acceleration, CRANK / 2)
    pin = _middle(first, rate, acceleration, CRANK)
    of_rod = pin + _middle(second, rod_rate, rod_acceleration, ROD / 2)
    of_slider = pin + _middle(second, rod_rate, rod_acceleration, ROD)
    # forces of base on crank, crank on rod, rod on slider; side force; torque
    matrix, right = np.zeros((8, 8)), np.zeros(8)
    weight = np.array([0.0, -GRAVITY])
    matrix[:2, :2], matrix[:2, 2:4] = np.eye(2), -np.eye(2)
    right[:2] = MASSES[0] * (middle - weight)
    matrix[2:4, 2:4], matrix[2:4, 4:6] = np.eye(2), -np.eye(2)
    right[2:4] = MASSES[1] * (of_rod - weight)
    matrix[4:6, 4:6], matrix[5, 6] = np.eye(2), 1.0
    right[4:6] = MASSES[2] * (of_slider - weight)
    # moments about the middles
    matrix[6, :2] = _moment(-CRANK / 2 * first)
    matrix[6, 2:4] = -_moment(CRANK / 2 * first)
    matrix[6, 7] = 1.0
    matrix[7, 2:4] = _moment(-ROD / 2 * second)
    matrix[7, 4:6] = -_moment(ROD / 2 * second)
    # crank against base, rod against crank, slider against rod
    sign = np.clip(np.array([rate, rod_rate - rate, -rod_rate]) / TRANSITION, -1.0, 1.0)
    loads = np.zeros(3)
    for _ in range(50):
        rubbing = np.asarray(pins) * loads * sign  # of the first on the second, negative
        right[6] = INERTIAS[0] * acceleration + rubbing[0] - rubbing[1]
        right[7] = INERTIAS[1] * rod_acceleration + rubbing[1] - rubbing[2]
        found = np.linalg.solve(matrix, right)
        loads = np.linalg.norm(found[:6].reshape(3, 2), axis=1)
    return found[7], loads


def _rod(angle, rate, acceleration):
    """Angle of the rod with its derivatives, from R sin(a) + L sin(b) = 0."""
    rod = np.arcsin(-CRANK * np.sin(angle) / ROD)
    rod_rate = -CRANK * np.cos(angle) * rate / (ROD * np.cos(rod))
    bent = CRANK * (np.cos(angle) * acceleration - np.sin(angle) * rate**2)
    rod_acceleration = (-bent + ROD * np.sin(rod) * rod_rate**2) / (ROD * np.cos(rod))
    return rod, rod_rate, rod_acceleration


def _unit(angle):
    return np.array([np.cos(angle), np.sin(angle)])


def _middle(along, rate, acceleration, radius):
    across = np.array([-along[1], along[0]])
    return radius * (acceleration * across - rate**2 * along)


def _moment(arm):
    """Row of the moment of a force (2,) at an arm (2,)."""
    return np.array([-arm[1], arm[0]])
