"""Three slides and a hinge in a row, no two alike: every limit and every force is plain.

`across` moves along y, `along` along x, `lift` along z, `tip` turns about x with its centre of
mass on the axis. Gravity points down. The drives are listed in another order than the joints
stand in the chain. The base and the platform are spheres.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from urdf_builder import control, inertial, joint, robot

from pkm_description import Description, Friction, loads
from pkm_dynamics import ClosedChainModel, PlatformMotion

ORDER = ('lift', 'tip', 'across', 'along')  # of the drives
LOWER = {'across': -0.25, 'along': -0.5, 'lift': -0.75, 'tip': -1.0}
UPPER = {'across': 0.75, 'along': 1.5, 'lift': 0.25, 'tip': 0.5}
VELOCITY = {'across': 2.0, 'along': 4.0, 'lift': 1.0, 'tip': 8.0}
EFFORT = {'across': 64.0, 'along': 128.0, 'lift': 256.0, 'tip': 4.0}
MOVED = {'across': 7.0, 'along': 5.0, 'lift': 3.0, 'tip': 0.25}  # [kg, kg m^2] by each drive
GRAVITY = 8.0
RADII = 0.125, 0.0625  # [m] of the spheres at the base and on the platform
OBSTACLE = (2.0, 0.0, 0.0)  # [m] centre of that at the base
WORKSPACE = 'workspace: {position_lower: [-0.5, -.inf, -0.5], position_upper: [1.25, 0.5, .inf]'

# Two motors move `lift` and `tip` together, one moves `across` by a screw, none is of `along`.
GEARS = """
transmissions:
  wrist:
    joints: [lift, tip]
    motors: {one: {force_constant: 0.5}, two: {force_constant: 0.25}}
    matrix: [[0.02, 0.01], [0.04, -0.03]]
  rail: {joints: [across], motors: [screw], lead: -0.005}
"""
WRIST = '    matrix: [[0.02, 0.01], [0.04, -0.03]]\n'
TURNED_GEARS = GEARS.replace(WRIST, f'{WRIST}    offset: [0.0, 0.2]\n')


def slides(tilt: float | None = None) -> Description:
    """Return the robot, with a largest tilt of its platform [rad] where one is given."""
    parents = {'across': 'base_link', 'along': 'bridge', 'lift': 'carriage', 'tip': 'column'}
    children = {'across': 'bridge', 'along': 'carriage', 'lift': 'column', 'tip': 'platform'}
    axes = {'across': (0, 1, 0), 'along': (1, 0, 0), 'lift': (0, 0, 1), 'tip': (1, 0, 0)}
    body = inertial(2.0, (0.0, 0.0, 0.0), 0.25 * np.eye(3))
    top = inertial(1.0, (0.0, 0.0, 0.0), 0.25 * np.eye(3))
    parts = [f'<link name="base_link">{_sphere(RADII[0], OBSTACLE)}</link>']
    for name, child in children.items():
        shape = _sphere(RADII[1], (0.0, 0.0, 0.0)) if name == 'tip' else ''
        parts.append(f'<link name="{child}">{top if name == "tip" else body}{shape}</link>')
        kind = 'revolute' if name == 'tip' else 'prismatic'
        limit = LOWER[name], UPPER[name], VELOCITY[name], EFFORT[name]
        parts.append(joint(name, kind, parents[name], child, axis=axes[name], limit=limit))
    parts.append(control(ORDER))
    tail = '}' if tilt is None else f', tilt: {tilt}}}'
    gravity = f'gravity: [0.0, 0.0, {-GRAVITY}]'
    home = 'home: {joints: {across: 0.0, along: 0.0, lift: 0.0, tip: 0.0}}'
    return loads(robot('slides', parts), f'{gravity}\n{home}\n{WORKSPACE}{tail}\n')


def rubbing_slides(friction: Mapping[str, tuple[float, float]]) -> ClosedChainModel:
    """Return the model with Coulomb and viscous friction [N, N s/m] by joint."""
    description = slides()
    joints = tuple(
        replace(each, friction=Friction(*friction[each.name], 0.0)) for each in description.joints
    )
    return ClosedChainModel(replace(description, joints=joints))


def three_sines(
    model: ClosedChainModel, time: np.ndarray, seed: int, period: float
) -> PlatformMotion:
    """Three sines on every drive, through a third of its stroke."""
    rng = np.random.default_rng(seed)
    stroke = model.upper - model.lower
    size, phase = rng.uniform(0.3, 1.0, (3, model.n_a)), rng.uniform(0, 6, (3, model.n_a))
    size *= stroke / 6.0 / size.sum(axis=0)
    w = 2 * np.pi * np.arange(1, 4) / period
    angle = time[:, None, None] * w[:, None] + phase
    centre = 0.5 * (model.upper + model.lower)
    return model.motion_from_actuators(
        centre + np.sum(size * np.sin(angle), axis=1),
        np.sum(size * w[:, None] * np.cos(angle), axis=1),
        -np.sum(size * w[:, None] ** 2 * np.sin(angle), axis=1),
    )


def _sphere(radius: float, centre: tuple[float, float, float]) -> str:
    place = ' '.join(map(str, centre))
    return (
        f'<collision><origin xyz="{place}"/><geometry><sphere radius="{radius}"/></geometry>'
        '</collision>'
    )
