"""Pseudo-inertia of a body: positive definite for the masses that can exist.

[[tr(I)/2 1 - I, m c], [(m c)^T, m]], linear in the ten standard parameters.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.description import frozen
from pkm_dynamics.array_types import Floats


def pseudo_inertia(parameters: ArrayLike) -> Floats:
    """Return the pseudo-inertia (..., 4, 4) of standard parameters (..., 10)."""
    p = np.asarray(parameters, dtype=float)
    return np.einsum('ijk,...k->...ij', pseudo_inertia_basis(), p)


@cache
def pseudo_inertia_basis() -> Floats:
    """Return (4, 4, 10), not to be changed: pseudo-inertia = basis @ standard parameters."""
    basis = np.zeros((4, 4, 10))
    basis[3, 3, 0] = 1.0
    for i in range(3):
        basis[i, 3, 1 + i] = basis[3, i, 1 + i] = 1.0
    products = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    for k, (i, j) in enumerate(products, start=4):
        if i == j:
            basis[:3, :3, k] += 0.5 * np.eye(3)
            basis[i, i, k] -= 1.0
        else:
            basis[i, j, k] = basis[j, i, k] = -1.0
    return frozen(basis)
