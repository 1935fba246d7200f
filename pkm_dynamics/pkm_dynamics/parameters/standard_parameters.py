"""Which standard parameters a body has, and the sizes of their natural changes."""

from __future__ import annotations

import numpy as np

from pkm_dynamics.array_types import Floats, Integers
from pkm_dynamics.equations.dynamic_model import DynamicModel
from pkm_dynamics.parameters.parameter_table import INERTIAL_NAMES

_SMALLEST_BODY = 1e-3  # share of the heaviest body's mass
_SMALLEST_RADIUS = 1e-2  # share of the largest body's radius


def body_indices(parameter_names: list[str]) -> dict[str, Integers]:
    """Return the ten parameter indices of each body that has all of them."""
    where = {name: i for i, name in enumerate(parameter_names)}
    owners = [name.rpartition('.')[0] for name in parameter_names if name.endswith('.Ixx')]
    return {
        owner: np.array([where[f'{owner}.{field}'] for field in INERTIAL_NAMES])
        for owner in owners
        if all(f'{owner}.{field}' in where for field in INERTIAL_NAMES)
    }


def parameter_scales(model: DynamicModel, nominal: Floats) -> Floats:
    """Size of a natural change of each parameter (n_p,), from the nominal bodies.

    Mass m, first moment m r, inertia m r^2 with r the body's own radius (of its mass
    about the frame's origin); friction and rotors by their values.
    """
    scales = np.maximum(np.abs(nominal), 1e-3 * np.max(np.abs(nominal), initial=1e-300))
    bodies = {name: nominal[index] for name, index in body_indices(model.parameter_names).items()}
    heaviest = max((float(body[0]) for body in bodies.values()), default=1.0)
    masses = {
        name: max(float(body[0]), _SMALLEST_BODY * max(heaviest, 1e-3))
        for name, body in bodies.items()
    }
    radii = {
        name: float(np.sqrt(max(0.5 * (body[4] + body[7] + body[9]) / masses[name], 0.0)))
        for name, body in bodies.items()
    }
    largest = max(radii.values(), default=0.0) or 0.1
    for name, index in body_indices(model.parameter_names).items():
        mass, radius = masses[name], max(radii[name], _SMALLEST_RADIUS * largest)
        scales[index] = mass * np.array([1.0] + [radius] * 3 + [radius**2] * 6)
    for kind in ('friction', 'rotor'):
        mask = model.parameter_mask(kind)
        if mask.any():
            typical = float(np.median(np.abs(nominal[mask])))
            scales[mask] = np.maximum(np.abs(nominal[mask]), 0.1 * max(typical, 1e-3))
    return scales
