"""Inertia of a mechanism as its actuators feel it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.errors import SimulationError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.model import ClosedChainModel


def inertia_matrix(model: ClosedChainModel, positions: ArrayLike | None = None) -> Floats:
    """Inertia of the mechanism as the actuators feel it, (n_a, n_a) [kg, kg m^2].

    Column i is the change of the actuator forces at rest when actuator i accelerates
    by one unit and the others do not; at actuator positions (n_a,), home by default.
    """
    q = np.asarray(model.home_actuators if positions is None else positions, dtype=float)
    count = len(q)
    at_rest = np.tile(q, (count + 1, 1))
    accelerations = np.vstack([np.zeros(count), np.eye(count)])
    motion = model.motion_from_actuators(at_rest, np.zeros_like(at_rest), accelerations)
    forces = model.inverse_dynamics(motion)
    return (forces[1:] - forces[0]).T


def effective_inertia(model: ClosedChainModel) -> Floats:
    """Inertia (n_a,) [kg, kg m^2] that one actuator moves at home while the others are free.

    The reciprocal diagonal of the inverse of `inertia_matrix`. It is smaller than the
    diagonal itself, which holds the other actuators still, and so gives gains that
    leave the light modes of the coupled mechanism enough stability. Raises SimulationError
    when the inertia matrix of the model is not positive definite.
    """
    matrix = inertia_matrix(model)
    matrix = 0.5 * (matrix + matrix.T)
    if not np.isfinite(matrix).all() or np.linalg.eigvalsh(matrix)[0] <= 0.0:
        raise SimulationError(
            f"robot '{model.description.name}': the inertia that the actuators feel at home is "
            'not positive definite; check masses and inertias'
        )
    return 1.0 / np.diag(np.linalg.inv(matrix))
