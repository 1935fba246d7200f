"""Predicted forces of an identified model, with their derivatives by its parameters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_identification.arrays import Array
from pkm_identification.result.identified_friction import IdentifiedFriction


class Prediction(NamedTuple):
    """Forces along a motion of N samples."""

    forces: Array  # (N, n_a) [N, N m]
    gradient: Array  # derivatives (N, n_a, k) by base parameters (r) and those of friction laws
    covariance: Array  # (k, k) of these parameters


def predict_forces(
    model: ClosedChainModel,
    motion: PlatformMotion,
    columns: Array,
    values: Array,
    covariance: Array,
    friction: IdentifiedFriction | None,
) -> Prediction:
    """Predict the forces of base parameters (r,) with a covariance (r, r), and of friction.

    `columns` (n_p, r) makes their regressor from that of the standard parameters.
    """
    regressor = model.regressor(motion) @ columns
    forces = regressor @ values
    if friction is None:
        return Prediction(forces, regressor, covariance)
    velocities = model.actuator_states(motion).velocities
    cross = friction.cross_covariance
    return Prediction(
        forces + friction.law.forces(velocities),
        np.concatenate([regressor, friction.law.jacobian(velocities)], axis=-1),
        np.block([[covariance, cross], [cross.T, friction.covariance]]),
    )
