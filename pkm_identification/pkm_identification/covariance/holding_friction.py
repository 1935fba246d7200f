"""Friction that holds the drives at rest, where no model tells its force."""

from __future__ import annotations

import numpy as np

from pkm_dynamics import ClosedChainModel
from pkm_dynamics.friction_laws import DriveFriction
from pkm_identification.arrays import Array


def holding_friction(
    model: ClosedChainModel,
    standard: Array,
    friction: DriveFriction | None,
    slow: Array,
    positions: Array,
) -> Array:
    """Friction (n_a,) [N, N m] of drives at rest: that at slow speeds (n_a,), each moving alone.

    From standard parameters (n_p,) and friction laws, of all joints that move with the drive,
    under their loads, at positions (N, n_a) where the mechanism closes, at home where it does so
    at none. A drive at rest holds what lies below it, in either direction, and laws that vanish
    with the speed tell nothing of that. Where friction is f1 forwards and f2 backwards, the force
    is anywhere from -f2 to f1: as far from zero as up to sqrt(f1^2 - f1 f2 + f2^2) either way.
    """
    configurations, closes = model.configurations_of_actuators(positions)
    q, joints = positions[closes], configurations.joints[closes]
    if not len(q):
        q, joints = model.home_actuators[None], model.home_joints[None]
    rubbing = np.where(model.parameter_mask('friction'), standard, 0.0)
    count, both = len(q), np.concatenate([q, q])  # forwards, then backwards
    still, forces = np.zeros_like(both), np.zeros_like(both)
    for axis, rate in enumerate(slow):
        rates = np.zeros_like(both)
        rates[:count, axis], rates[count:, axis] = rate, -rate
        creeping = model.motion_from_actuators(both, rates, still, np.tile(joints, (2, 1)))
        forces[:, axis] = model.inverse_dynamics(creeping, rubbing)[:, axis]
    if friction is not None:
        forces[:count] += friction.forces(slow[None])
        forces[count:] += friction.forces(-slow[None])
    forwards, backwards = np.maximum(forces[:count], 0.0), np.maximum(-forces[count:], 0.0)
    return np.sqrt(np.mean(forwards**2 - forwards * backwards + backwards**2, axis=0))
