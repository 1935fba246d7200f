"""Standard parameters with given base values, as near to nominal ones as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkm_description import EstimationError
from pkm_dynamics.parameters.transfers import FIELDS

if TYPE_CHECKING:
    from pkm_dynamics.model import ClosedChainModel
    from pkm_dynamics.parameters.base_parameters import BaseParameters

Floats = NDArray[np.float64]

_SMALLEST_BODY = 1e-3  # share of the heaviest body's mass
_SMALLEST_RADIUS = 1e-2  # share of the largest body's radius


def body_indices(parameter_names: list[str]) -> dict[str, NDArray[np.int64]]:
    """Return the ten parameter indices of each body that has all of them."""
    where = {name: i for i, name in enumerate(parameter_names)}
    owners = [name.rpartition('.')[0] for name in parameter_names if name.endswith('.Ixx')]
    return {
        owner: np.array([where[f'{owner}.{field}'] for field in FIELDS])
        for owner in owners
        if all(f'{owner}.{field}' in where for field in FIELDS)
    }


def parameter_scales(model: ClosedChainModel, nominal: Floats) -> Floats:
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


def nearest_standard_parameters(
    base: BaseParameters, values: ArrayLike, nominal: ArrayLike | None = None
) -> Floats:
    """Standard parameters (n_p,) with `base.matrix @ p == values`, nearest to `nominal`.

    Distances are weighted by `parameter_scales`; parameters of one design stay equal,
    declared zeros stay zero. The bodies need not be physical: for that see
    `pkm_identification.physical.nearest.physical_parameters`.
    """
    model = base.model
    beta = np.asarray(values, dtype=float)
    if beta.shape != (base.rank,) or not np.all(np.isfinite(beta)):
        raise EstimationError(
            f'values must be {base.rank} finite numbers, one a base parameter, not the shape '
            f'{beta.shape}'
        )
    start = np.array(model.nominal_parameters if nominal is None else nominal, dtype=float)
    if start.shape != (model.n_p,) or not np.all(np.isfinite(start)):
        raise EstimationError(
            f'nominal must be {model.n_p} finite numbers in the order of parameter_names, not the '
            f'shape {start.shape}'
        )
    space = base.space
    free = space.reduce(start)
    scale = space.reduce(parameter_scales(model, start))
    combinations = base.matrix @ space.expand
    change = np.linalg.lstsq(combinations * scale, beta - combinations @ free, rcond=None)[0]
    free = free + scale * change
    # A second step takes out the rounding of the first.
    free = (
        free
        + scale * np.linalg.lstsq(combinations * scale, beta - combinations @ free, rcond=None)[0]
    )
    return np.asarray(space.expand @ free)
