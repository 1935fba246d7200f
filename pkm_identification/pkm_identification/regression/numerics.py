"""Linear algebra in which the units of the parameters make no difference."""

from __future__ import annotations

import numpy as np

from pkm_identification.arrays import Array, Indices

FORGOTTEN = 0.5  # of the first standard deviation: what the data do not reduce below it
UNSEEN_COLUMN = 1e-12  # of the largest column: a parameter whose own one is smaller makes no force
SINGULAR_GRAM = 1e-14  # of its largest eigenvalue: below it is rounding
LEAST_NOISE = 1e-9  # of the forces: less, of exact simulated data, is rounding
LEAST_INFORMATION = 1e-13  # of the largest variance, scaled: less is rounding of zero


def column_sizes(design: Array) -> Array:
    """Length (n,) of each column (m, n), which it can be divided by."""
    return np.maximum(np.linalg.norm(design, axis=0), 1e-300)


def scaled_least_squares(design: Array, target: Array, rcond: float) -> Array:
    """Least squares (n,) with columns (m, n) of unit length, so that units do not matter.

    Singular values below `rcond`, relative to the largest, count as zero.
    """
    scale = column_sizes(design)
    return np.asarray(np.linalg.lstsq(design / scale, target, rcond=rcond)[0] / scale)


def inverse_square(square: Array, rcond: float = SINGULAR_GRAM, is_symmetric: bool = True) -> Array:
    """Inverse (..., f, f) of Gram matrices, by columns of unit length; zero in the null space."""
    diagonal = np.diagonal(square, axis1=-2, axis2=-1)
    scale = np.sqrt(np.maximum(np.abs(diagonal), 1e-300))
    outer = scale[..., :, None] * scale[..., None, :]
    return np.linalg.pinv(square / outer, rcond=rcond, hermitian=is_symmetric) / outer


def whitening_rows(covariance: Array, least: float) -> Array:
    """Rows R (n, n) with R^T R the inverse of a covariance.

    Eigenvalues of the correlation below `least`, relative to the largest, count as this.
    """
    deviation = np.sqrt(np.diag(covariance))
    spread, axes = np.linalg.eigh(covariance / np.outer(deviation, deviation))
    floor = least * spread.max(initial=0.0)
    return np.asarray((axes / np.sqrt(np.maximum(spread, floor))).T / deviation)


def determined_directions(bread: Array) -> Array:
    """Directions (f, f') T that the data determine, with T T^T the bread of an estimate."""
    scale = np.sqrt(np.diag(bread))
    inverse = np.where(scale > 0, 1 / np.where(scale > 0, scale, 1.0), 0.0)
    sizes, vectors = np.linalg.eigh(bread * np.outer(inverse, inverse))
    kept = sizes > LEAST_INFORMATION * max(float(sizes[-1]), 1e-300)
    return np.asarray((vectors[:, kept] * np.sqrt(sizes[kept])) * scale[:, None])


def parameter_size(nominal: Array, regressor: Array, measured: Array) -> Array:
    """Size (f,) of each parameter: its nominal one (f,), or what alone makes all measurements.

    From some of the data, (N, m, f) and (N, m).
    """
    column = np.sqrt(np.mean(regressor**2, axis=(0, 1)))
    shown = column > UNSEEN_COLUMN * max(float(column.max(initial=0.0)), 1e-300)
    alone = np.sqrt(np.mean(measured**2)) / np.where(shown, column, np.inf)
    size = np.maximum(np.abs(nominal), alone)
    return np.where(size > 0, size, 1.0)


def typical_sizes(nominal: Array) -> Array:
    """Size of each parameter, for what its column amounts to in forces."""
    size = np.abs(nominal)
    typical = float(np.median(size[size > 0])) if (size > 0).any() else 1.0
    return np.where(size > 0, size, typical)


def hardly_determined(covariance: Array, start: Array) -> Indices:
    """Indices of the parameters that hardly got more certain than their start (f,) was."""
    return np.flatnonzero(np.sqrt(np.diag(covariance)) > FORGOTTEN * start)


def with_variance(covariance: Array, indices: Indices, variance: float = np.inf) -> Array:
    """Return the covariance with this variance of some parameters, correlated with nothing."""
    found = np.array(covariance)
    found[indices], found[:, indices] = 0.0, 0.0
    found[indices, indices] = variance
    return found


def rounding_variance(size: Array) -> Array:
    """Variance (n_a,) that signals of this size have at least, exact simulated ones too."""
    return np.asarray((LEAST_NOISE * np.maximum(size, 1e-12)) ** 2)
