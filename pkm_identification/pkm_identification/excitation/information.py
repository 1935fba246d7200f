"""Information matrices: whitening, square roots, and the directions that a motion shows least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.errors import EstimationError, TrajectoryError
from pkm_dynamics.trajectories import Trajectory
from pkm_dynamics.trajectories.base import finite_array
from pkm_identification.arrays import Array

SYMMETRIC = 1e-8  # largest asymmetry, relative: what a matrix read from a file may have
LEAST_EIGENVALUE = 1e-14  # of the largest one: below it, an eigenvalue is rounding


@dataclass(frozen=True)
class ParameterDirection:
    """A unit vector in the space of the parameters, and how well it is seen."""

    information: float  # eigenvalue of the information matrix
    components: dict[str, float]  # {parameter: component}, the largest first

    @property
    def standard_deviation(self) -> float:
        """Of the parameters along this direction; infinite where nothing is seen."""
        return float(self.information**-0.5) if self.information > 0.0 else float('inf')


def parameter_directions(
    information: ArrayLike, names: Sequence[str], scaled: bool = False
) -> list[ParameterDirection]:
    """Return the eigenvectors of an information matrix (n, n), the least visible first.

    The first and the last bound the condition number, whose square is the ratio of their
    eigenvalues: the first tells what the motion shows too little of, the last what it shows more of
    than it needs. `scaled` counts every parameter in units in which it alone would have unit
    information, as `condition_number_scaled` does, rather than in SI units.
    """
    matrix = np.array(information, dtype=float)
    if matrix.shape != (len(names), len(names)) or not np.all(np.isfinite(matrix)):
        raise EstimationError(
            f'information of {len(names)} parameters must be a finite matrix '
            f'({len(names)}, {len(names)}), got {matrix.shape}'
        )
    if scaled:
        matrix = matrix / _outer_sizes(matrix)
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    directions = []
    for value, vector in zip(values, vectors.T, strict=True):
        order = np.argsort(-np.abs(vector), kind='stable')
        sign = 1.0 if vector[order[0]] >= 0.0 else -1.0
        components = {names[i]: float(sign * vector[i]) for i in order}
        directions.append(ParameterDirection(max(float(value), 0.0), components))
    return directions


def information_factor(information: Array) -> Array:
    """Return R (n, n) with R^T R the information matrix, which may be singular."""
    unit = _outer_sizes(information)  # units of the parameters decide no rounding
    values, vectors = np.linalg.eigh(information / unit)
    values = np.where(values > LEAST_EIGENVALUE * values[-1], values, 0.0)
    size = np.sqrt(np.maximum(np.diag(information), 0.0))
    return np.asarray(np.sqrt(values)[:, None] * vectors.T * size)


def checked_information(information: ArrayLike, size: int) -> Array:
    """Return a copy of an information matrix (n, n); `TrajectoryError` where it is none."""
    matrix = symmetric_matrix('prior', information, size)
    diagonal = np.diag(matrix)
    least = np.linalg.eigvalsh(matrix / _outer_sizes(matrix))[0]
    if least < -SYMMETRIC or np.any(diagonal < 0.0):
        raise TrajectoryError('prior has negative eigenvalues: no information matrix')
    return matrix


def whitening_of(noise_covariance: ArrayLike | None, n_a: int) -> Array:
    """Return W (n_a, n_a) with W^T W the inverse of the covariance (by triangular solve)."""
    if noise_covariance is None:
        return np.eye(n_a)
    covariance = symmetric_matrix('noise_covariance', noise_covariance, n_a)
    try:
        factor = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        raise TrajectoryError('noise_covariance is not positive definite') from None
    return np.asarray(np.linalg.solve(factor, np.eye(n_a)))


def symmetric_matrix(what: str, values: Any, size: int) -> Array:
    """Return a copy of a finite symmetric matrix (size, size), or say what is wrong."""
    matrix = finite_array(what, values, (size, size))
    if np.abs(matrix - matrix.T).max() > SYMMETRIC * max(float(np.abs(matrix).max()), 1e-300):
        raise TrajectoryError(f'{what} must be symmetric')
    return 0.5 * (matrix + matrix.T)


def _outer_sizes(information: Array) -> Array:
    """Products (n, n) of the roots of the diagonal, 1 where there is no information."""
    size = np.sqrt(np.maximum(np.diag(information), 0.0))
    unit = np.where(size > 0.0, size, 1.0)
    return np.outer(unit, unit)


def sample_count(trajectory: Trajectory, rate: float) -> int:
    """Return the number of samples at `rate` [Hz] of one period or the whole motion."""
    return max(int(round(trajectory.duration * rate)), 1)
