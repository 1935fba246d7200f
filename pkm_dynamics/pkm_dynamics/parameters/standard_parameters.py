"""Which standard parameters a body has, and the sizes of their natural changes."""

from __future__ import annotations

import numpy as np

from pkm_dynamics.array_types import Floats, Integers
from pkm_dynamics.drive_forces import STIFFNESS
from pkm_dynamics.equations.dynamic_model import DynamicModel
from pkm_dynamics.parameters.parameter_table import INERTIAL_NAMES

_SMALLEST_BODY = 1e-3  # share of the heaviest body's mass
_SMALLEST_RADIUS = 1e-2  # share of the largest body's radius
_SHARE_OF_LIMIT = 1e-2  # of a drive's force limit: the order of offsets and ripple


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
    about the frame's origin); friction and rotors by their values; forces of drives by
    their values or a share of the drive's force limit.
    """
    scales = np.maximum(np.abs(nominal), 1e-3 * np.max(np.abs(nominal), initial=1e-300))
    index = np.array([*body_indices(model.parameter_names).values()], dtype=int).reshape(-1, 10)
    bodies = nominal[index]
    masses = np.maximum(bodies[:, 0], _SMALLEST_BODY * max(bodies[:, 0].max(initial=0.0), 1e-3))
    radii = np.sqrt(np.maximum(0.5 * bodies[:, [4, 7, 9]].sum(axis=1) / masses, 0.0))
    radii = np.maximum(radii, _SMALLEST_RADIUS * (radii.max(initial=0.0) or 0.1))
    powers = np.repeat([0, 1, 2], [1, 3, 6])
    scales[index] = masses[:, None] * radii[:, None] ** powers
    for kind in ('friction', 'rotor'):
        mask = model.parameter_mask(kind)
        if mask.any():
            typical = float(np.median(np.abs(nominal[mask])))
            scales[mask] = np.maximum(np.abs(nominal[mask]), 0.1 * max(typical, 1e-3))
    mask = model.parameter_mask('drive')
    if mask.any():
        scales[mask] = np.maximum(np.abs(nominal[mask]), _drive_scales(model))
    return scales


def _drive_scales(model: DynamicModel) -> Floats:
    """Size (n_d,) of the forces of drives: of their limits, over their strokes for a stiffness."""
    finite = np.isfinite(model.force_limit)
    force = np.where(finite, _SHARE_OF_LIMIT * np.where(finite, model.force_limit, 0.0), 1.0)
    stroke = model.upper - model.lower
    stroke = np.where(np.isfinite(stroke) & (stroke > 0.0), stroke, 1.0)
    drives = model.drive_forces
    springs = drives.kinds == STIFFNESS
    return np.asarray(force[drives.actuators] / np.where(springs, stroke[drives.actuators], 1.0))
