"""How far the forces depend on where the centres of mass are assumed to be [O 2.89].

A body of mass m whose centre of mass is moved by dc, its inertia about that centre kept,
changes its first moments by m dc and its inertia about the frame's origin by Steiner's
term; the forces are linear in both. To first order

    dQ = S_b dc,   S_b = Y_b dp_b/dc
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pkm_dynamics.array_types import Floats
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.motion import PlatformMotion
from pkm_dynamics.parameters.parameter_terms import ParameterTerms


@dataclass(frozen=True)
class ComSensitivity:
    """Forces per shift of the centres of mass along a motion."""

    bodies: tuple[str, ...]  # links with inertia
    # (n, N, n_a, 3) [N/m, N] actuator forces per shift along each axis of the link's frame
    sensitivity: Floats
    forces: Floats  # (N, n_a) [N, N m] without any shift

    def percent_per_millimetre(self) -> dict[str, Floats]:
        """Mean norm of the change of force per millimetre by that of the force [%/mm] (3,)."""
        whole = max(float(np.linalg.norm(self.forces, axis=1).mean()), 1e-300)
        change = np.linalg.norm(self.sensitivity, axis=2).mean(axis=1)
        return dict(zip(self.bodies, 0.1 * change / whole, strict=True))


def com_sensitivity(
    model: ClosedChainModel, motion: PlatformMotion, parameters: ArrayLike | None = None
) -> ComSensitivity:
    """Forces per shift of each body's centre of mass, mass and inertia about it kept.

    `parameters` (n_p,) are standard parameters; the description's when absent. A body
    whose mass there is not positive has no centre and is left out.
    """
    values = model.counting_parameters(parameters)
    terms = ParameterTerms.of(model)
    regressor = model.regressor(motion)
    names, found = [], []
    for body, columns in zip(terms.bodies, terms.columns, strict=True):
        own = values[columns]
        if own[0] > 0.0:
            names.append(model.tree_layout.tree.body_names[body])
            found.append(regressor[:, :, columns] @ _parameter_rates(own[0], own[1:4] / own[0]))
    shape = (0, len(motion), model.n_a, 3)
    sensitivity = np.array(found) if found else np.zeros(shape)
    return ComSensitivity(tuple(names), sensitivity, regressor @ values)


def _parameter_rates(mass: float, com: Floats) -> Floats:
    """Derivatives (10, 3) of m, mx, ..., Izz by the centre of mass (3,) [m]."""
    out = np.zeros((10, 3))
    for axis, unit in enumerate(np.eye(3)):
        steiner = 2.0 * com[axis] * np.eye(3) - np.outer(unit, com) - np.outer(com, unit)
        out[1:4, axis] = mass * unit
        out[4:, axis] = mass * steiner[np.triu_indices(3)]
    return out
