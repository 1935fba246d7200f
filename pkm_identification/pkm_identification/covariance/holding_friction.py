"""Friction that holds the drives at rest, where no model tells its force."""

from __future__ import annotations

import numpy as np

from pkm_dynamics import ClosedChainModel
from pkm_dynamics.friction_laws import DriveFriction
from pkm_identification.arrays import Array
from pkm_identification.estimators.consistent.friction_columns import linear_names


def holding_friction(
    model: ClosedChainModel, standard: Array, friction: DriveFriction | None, slow: Array
) -> Array:
    """Largest friction (n_a,) [N, N m] of drives at rest: that at slow speeds (n_a,).

    From standard parameters (n_p,) and friction laws. A drive at rest holds what lies below it, in
    either direction, and laws that vanish with the speed tell nothing of that.
    """
    linear = dict(zip(model.parameter_names, standard.tolist(), strict=True))
    dry = [
        max((linear[name] for name in linear_names(joint)[:-1] if name in linear), default=0.0)
        for joint in model.actuated_joints
    ]
    viscous = [linear.get(linear_names(joint)[-1], 0.0) for joint in model.actuated_joints]
    found = np.array(dry) + np.array(viscous) * slow
    if friction is not None:
        found = found + friction.forces(slow[None])[0]
    return np.maximum(found, 0.0)
