"""Information that a design adds to, and what its own is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkm_description.errors import TrajectoryError
from pkm_identification.excitation.excitation_design import ExcitationDesign
from pkm_identification.result import IdentificationResult

Array = NDArray[np.float64]
SYMMETRIC = 1e-8


def prior_information(
    prior: ArrayLike | ExcitationDesign | IdentificationResult | None, names: Sequence[str]
) -> Array | None:
    """Return the information (n, n) that is there already, for the base parameters `names`.

    An earlier design counts with one period of its own, an identification with the inverse
    of its covariance (nothing where its variance is infinite).

    Raises
    ------
    TrajectoryError
        For another shape, other parameters, or no information matrix at all.
    """
    if prior is None:
        return None
    if isinstance(prior, ExcitationDesign):
        _require_names(list(prior.figures['standard_deviation']), names, 'the earlier design')
        return prior.information(1)
    if isinstance(prior, IdentificationResult):
        _require_names(prior.names, names, 'the identification')
        return _inverse_covariance(prior.covariance)
    matrix = np.array(prior, dtype=float)
    if matrix.shape != (len(names), len(names)) or not np.all(np.isfinite(matrix)):
        raise TrajectoryError(
            f'prior must be a finite information matrix ({len(names)}, {len(names)}), got '
            f'{matrix.shape}'
        )
    size = max(float(np.abs(matrix).max()), 1e-300)
    if np.abs(matrix - matrix.T).max() > SYMMETRIC * size:
        raise TrajectoryError('prior must be symmetric')
    if np.linalg.eigvalsh(matrix)[0] < -SYMMETRIC * size:
        raise TrajectoryError('prior has negative eigenvalues: no information matrix')
    return 0.5 * (matrix + matrix.T)


def whitening_of(noise_covariance: ArrayLike | None, n_a: int) -> Array:
    """Return W (n_a, n_a) with W^T W the inverse of the covariance (by triangular solve)."""
    if noise_covariance is None:
        return np.eye(n_a)
    covariance = np.asarray(noise_covariance, dtype=float)
    if covariance.shape != (n_a, n_a) or not np.all(np.isfinite(covariance)):
        raise TrajectoryError(f'noise_covariance must be ({n_a}, {n_a}) and finite')
    try:
        factor = np.linalg.cholesky(0.5 * (covariance + covariance.T))
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


def _inverse_covariance(covariance: Any) -> Array:
    matrix = np.asarray(covariance, dtype=float)
    known = np.flatnonzero(np.isfinite(np.diag(matrix)))
    out = np.zeros_like(matrix)
    scale = np.sqrt(np.diag(matrix)[known])
    inverse = np.linalg.inv(matrix[np.ix_(known, known)] / np.outer(scale, scale))
    out[np.ix_(known, known)] = inverse / np.outer(scale, scale)
    return 0.5 * (out + out.T)
