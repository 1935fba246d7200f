"""Information that a design adds to, and what its own is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkm_description.errors import TrajectoryError
from pkm_dynamics.trajectories.base import finite_array
from pkm_identification.excitation.design_options import require_robot
from pkm_identification.excitation.excitation_design import ExcitationDesign
from pkm_identification.result.result import IdentificationResult

Array = NDArray[np.float64]
SYMMETRIC = 1e-8


def prior_information(
    prior: ArrayLike | ExcitationDesign | IdentificationResult | None, model: Any, base: Any
) -> Array | None:
    """Return the information (n, n) about the base parameters that is there already.

    An earlier design counts with one period of its own, an identification with the inverse
    of its covariance: nothing where a variance is infinite, so that what it tells of such
    a parameter together with others does not count.

    Raises
    ------
    TrajectoryError
        For another shape, robot or other parameters, or no information matrix at all.
    """
    names = base.names
    if prior is None:
        return None
    if isinstance(prior, ExcitationDesign):
        require_robot(prior.trajectory.robot, model, 'prior: the earlier design')
        _require_names(prior.names, names, 'the earlier design')
        return prior.information(1)
    if isinstance(prior, IdentificationResult):
        require_robot(prior.robot, model, 'prior: the identification')
        _require_names(prior.names, names, 'the identification')
        return _inverse_covariance(prior.covariance, names)
    matrix = _symmetric('prior', prior, len(names))
    scale = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    unit = matrix / np.outer(*[np.where(scale > 0.0, scale, 1.0)] * 2)
    if np.linalg.eigvalsh(unit)[0] < -SYMMETRIC or np.any(np.diag(matrix) < 0.0):
        raise TrajectoryError('prior has negative eigenvalues: no information matrix')
    return matrix


def whitening_of(noise_covariance: ArrayLike | None, n_a: int) -> Array:
    """Return W (n_a, n_a) with W^T W the inverse of the covariance (by triangular solve)."""
    if noise_covariance is None:
        return np.eye(n_a)
    covariance = _symmetric('noise_covariance', noise_covariance, n_a)
    try:
        factor = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        raise TrajectoryError('noise_covariance is not positive definite') from None
    return np.asarray(np.linalg.solve(factor, np.eye(n_a)))


def _require_names(found: Sequence[str], names: Sequence[str], what: str) -> None:
    if list(found) != list(names):
        other = next((n for n in (*found, *names) if n not in found or n not in names), 'order')
        raise TrajectoryError(
            f'prior: {what} is about other parameters ({len(found)} against {len(names)}; '
            f"'{other}' is not in both): take the same options `shared` and `reduced`"
        )


def _symmetric(what: str, values: Any, size: int) -> Array:
    """Return a copy of a finite symmetric matrix (size, size), or say what is wrong."""
    matrix = finite_array(what, values, (size, size))
    if np.abs(matrix - matrix.T).max() > SYMMETRIC * max(float(np.abs(matrix).max()), 1e-300):
        raise TrajectoryError(f'{what} must be symmetric')
    return 0.5 * (matrix + matrix.T)


def _inverse_covariance(covariance: Any, names: Sequence[str]) -> Array:
    matrix = np.asarray(covariance, dtype=float)
    known = np.flatnonzero(np.isfinite(np.diag(matrix)))
    exact = [names[int(i)] for i in known if not matrix[i, i] > 0.0]
    if exact:
        raise TrajectoryError(
            f"prior: the identification gives '{exact[0]}' no uncertainty: no information matrix"
        )
    out = np.zeros_like(matrix)
    scale = np.sqrt(np.diag(matrix)[known])
    inverse = np.linalg.inv(matrix[np.ix_(known, known)] / np.outer(scale, scale))
    out[np.ix_(known, known)] = inverse / np.outer(scale, scale)
    return 0.5 * (out + out.T)
