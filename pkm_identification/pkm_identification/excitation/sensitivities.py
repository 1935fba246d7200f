"""Regressor and limited quantities along a motion, with their local derivatives.

A sample of a motion is its state (x, xd, xdd) in trajectory coordinates, 3 n_c numbers.
Everything that a design needs depends on one sample at a time, so the derivatives with
respect to Fourier coefficients follow exactly from those with respect to the state by
the chain rule: 3 n_c directions, however many harmonics. The local derivatives are
differences of the compiled model, central in positions and velocities and one-sided in
accelerations, in which all quantities are affine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_dynamics.conditioning import has_singularities, reciprocal_condition
from pkm_dynamics.rotations import rpy_motion

Array = NDArray[np.float64]

POSITION_STEP = 1e-6  # [m, rad]
VELOCITY_STEP = 1e-5  # [m/s, rad/s]
ACCELERATION_STEP = 1.0  # [m/s^2, rad/s^2], exact at any size


@dataclass(frozen=True)
class Samples:
    """What the model says at M states.

    Attributes
    ----------
    regressor : (M, n_a, n)
        Base regressor.
    forces : (M, n_a)
        Nominal actuator forces [N, N m].
    positions, velocities : (M, n_j)
        All scalar joints [m, rad].
    platform : (M, 3)
        Position of the platform [m].
    upright : (M, 1)
        Cosine of the platform's tilt.
    dexterity : (M, 1)
        Reciprocal condition number of the scaled actuator Jacobian.
    """

    regressor: Array
    forces: Array
    positions: Array
    velocities: Array
    platform: Array
    upright: Array
    dexterity: Array


def motion_of(model: Any, coordinates: str, states: Array, guess: Array | None = None) -> Any:
    """Return the platform motion of states (M, 3, n_c) in trajectory coordinates.

    `guess` (M, n_j) are joint positions close to those of the samples.
    """
    from pkm_dynamics import PlatformMotion

    x, xd, xdd = states[:, 0], states[:, 1], states[:, 2]
    if coordinates == 'actuators':
        return model.motion_from_actuators(x, xd, xdd)
    rotation, omega, domega = rpy_motion(x[:, 3:], xd[:, 3:], xdd[:, 3:])
    motion = PlatformMotion(
        x[:, :3],
        rotation,
        np.concatenate([xd[:, :3], omega], axis=1),
        np.concatenate([xdd[:, :3], domega], axis=1),
        guess,
    )
    return model.with_joint_states(motion)


def evaluate(
    model: Any,
    base: Any,
    coordinates: str,
    states: Array,
    guess: Array | None = None,
    poses: NDArray[np.intp] | None = None,
) -> Samples:
    """Evaluate the model at states (M, 3, n_c); the dexterity at `poses` alone, if given."""
    motion = motion_of(model, coordinates, states, guess)
    joints = model.joint_states(motion)
    full = model.regressor(motion)
    return Samples(
        full @ base.columns,
        full @ model.nominal_parameters,
        joints.positions,
        joints.velocities,
        motion.position,
        motion.rotation[:, 2:, 2],
        _dexterity(model, motion, joints.positions, poses),
    )


def _dexterity(model: Any, motion: Any, joints: Array, poses: NDArray[np.intp] | None) -> Array:
    values = np.ones((len(motion), 1))
    if has_singularities(model):
        chosen = np.arange(len(motion)) if poses is None else poses
        columns = [model.joint_names.index(name) for name in model.actuated_joints]
        values[chosen, 0] = reciprocal_condition(
            model, motion.position[chosen], motion.rotation[chosen], joints[chosen][:, columns]
        )
    return values


def linearise(
    model: Any, base: Any, coordinates: str, states: Array
) -> tuple[Samples, list[tuple[int, int, Samples]]]:
    """Evaluate at states (M, 3, n_c) together with the local derivatives.

    Returns
    -------
    samples : Samples
    derivatives : list of (order, coordinate, Samples)
        For the position (order 0), velocity (1) or acceleration (2) of a coordinate,
        the derivatives of every field of `Samples`.
    """
    count, _, n_c = states.shape
    shifts: list[Array] = [np.zeros((3, n_c))]
    for order, step in ((0, POSITION_STEP), (1, VELOCITY_STEP)):
        for i in range(n_c):
            shift = np.zeros((3, n_c))
            shift[order, i] = step
            shifts += [shift, -shift]
    for i in range(n_c):
        shift = np.zeros((3, n_c))
        shift[2, i] = ACCELERATION_STEP
        shifts.append(shift)
    # neighbours in time stay neighbours in the batch: the forward kinematics follow them
    batch = (states[:, None] + np.array(shifts)).reshape(-1, 3, n_c)
    moved = np.arange(len(shifts)) < 1 + 2 * n_c
    poses = np.flatnonzero(np.tile(moved, count))
    near = model.joint_states(motion_of(model, coordinates, states)).positions
    guess = np.repeat(near, len(shifts), axis=0)
    flat = evaluate(model, base, coordinates, batch, guess, poses)
    fields = {
        name: np.asarray(values).reshape(count, len(shifts), *values.shape[1:])
        for name, values in vars(flat).items()
    }
    fields['dexterity'][:, ~moved] = fields['dexterity'][:, :1]

    def difference(plus: int, minus: int, step: float) -> Samples:
        return Samples(**{k: (v[:, plus] - v[:, minus]) / step for k, v in fields.items()})

    derivatives = []
    for order, step in ((0, POSITION_STEP), (1, VELOCITY_STEP)):
        for i in range(n_c):
            at = 1 + 2 * (order * n_c + i)
            derivatives.append((order, i, difference(at, at + 1, 2.0 * step)))
    for i in range(n_c):
        derivatives.append((2, i, difference(1 + 4 * n_c + i, 0, ACCELERATION_STEP)))
    return Samples(**{k: v[:, 0] for k, v in fields.items()}), derivatives
