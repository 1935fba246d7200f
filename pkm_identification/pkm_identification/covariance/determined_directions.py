"""Directions of the parameters that the data determine."""

from __future__ import annotations

import numpy as np

from pkm_identification.arrays import Array

LEAST_INFORMATION = 1e-13  # of the largest variance, scaled: less is rounding of zero


def determined_directions(bread: Array) -> Array:
    """Directions (f, f') T that the data determine, with T T^T the bread of an estimate."""
    scale = np.sqrt(np.diag(bread))
    inverse = np.where(scale > 0, 1 / np.where(scale > 0, scale, 1.0), 0.0)
    sizes, vectors = np.linalg.eigh(bread * np.outer(inverse, inverse))
    kept = sizes > LEAST_INFORMATION * max(float(sizes[-1]), 1e-300)
    return np.asarray((vectors[:, kept] * np.sqrt(sizes[kept])) * scale[:, None])
