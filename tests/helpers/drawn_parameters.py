"""Other parameters of a robot: real bodies, friction that brakes, rotors, forces of drives."""

from __future__ import annotations

import numpy as np

from pkm_dynamics import ClosedChainModel
from pkm_dynamics.drive_forces import drive_constants
from pkm_dynamics.parameters.standard_parameters import body_indices


def drawn_parameters(model: ClosedChainModel, seed: int, alike: bool = True) -> dict[str, float]:
    """Parameters by name as a controller has them; parts of one design `alike` or not.

    Bodies get two points of mass besides, where their parameters are free to change.
    """
    random = np.random.default_rng(seed)
    values = np.array(model.nominal_parameters)
    others = ~model.parameter_mask('rigid_body')
    values[others] *= random.uniform(0.5, 2.0, others.sum())
    for index in body_indices(model.parameter_names).values():
        values[index] *= random.uniform(0.5, 2.0)
        if not alike and values[index][0] > 0.0:
            for point in random.normal(0.0, 0.1, (2, 3)):
                values[index] += 0.1 * values[index][0] * _point(point)
    if alike:
        space = model.base_parameters(shared=True, reduced=True).space
        values = np.array(space.expand @ space.reduce(values))
    found = dict(zip(model.parameter_names, values.tolist(), strict=True))
    return found | drive_constants(model.description.drive_terms)


def _point(place: np.ndarray) -> np.ndarray:
    """Ten parameters of a unit mass."""
    inertia = place @ place * np.eye(3) - np.outer(place, place)
    return np.array([1.0, *place, *inertia[np.triu_indices(3)]])
