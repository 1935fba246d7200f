"""Weighted least squares by QR, with a covariance that follows the noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_identification.estimators.problem import Problem

Array = NDArray[np.float64]

RANK_TOLERANCE = 1e-9
NEGLIGIBLE = 1e-9  # a parameter that makes a smaller share of the forces is not shown by them


@dataclass(frozen=True)
class Estimate:
    """What an estimator hands back.

    Attributes
    ----------
    values
        Parameters (r,).
    covariance
        (r, r); infinite on the diagonal for what the data do not determine.
    row_covariance
        Noise (m, n_a, n_a) of the rows that the covariance rests on.
    undetermined
        Indices of the parameters that stay at their nominal value.
    condition_number
        Of the weighted, column-scaled regressor.
    weights, bread
        Weights L (m, n_a, n_a) of the rows and (Psi^T L^T L Psi)^-1, where the estimate is
        weighted least squares: `sandwich` then gives its covariance for any noise.
    diagnostics
        Of the estimator itself.
    """

    values: Array
    covariance: Array
    row_covariance: Array
    undetermined: NDArray[np.int64]
    condition_number: float
    weights: Array | None = None
    bread: Array | None = None
    diagnostics: Mapping[str, Any] = field(default_factory=dict)


def inverse_root(covariance: Array) -> Array:
    """Return L (..., n, n) with L^T L = covariance^-1: whitens noise by multiplication."""
    return np.linalg.inv(np.linalg.cholesky(covariance))


def weighted_least_squares(problem: Problem, weights: Array, noise: Array) -> Estimate:
    """Minimise sum |L_k (Gamma_k - Psi_k p)|^2.

    Parameters
    ----------
    problem
        Psi (m, n_a, r), Gamma (m, n_a).
    weights
        L (m, n_a, n_a) or one for all rows (n_a, n_a).
    noise
        Covariance (m, n_a, n_a) of the rows. The covariance of the estimate is
        H (sum Psi^T L^T L noise L^T L Psi) H with H = (Psi^T L^T L Psi)^-1: right also
        where the weights are not the inverse of the noise.

    Returns
    -------
    Estimate
        Directions that the data do not determine keep their nominal value.
    """
    root = np.broadcast_to(weights, noise.shape)
    design = (root @ problem.regressor).reshape(-1, problem.size)
    target = np.einsum('kab,kb->ka', root, problem.residuals(problem.nominal)).ravel()
    norm = np.linalg.norm(design, axis=0)
    forces = np.linalg.norm(root @ problem.forces[..., None])
    shown = norm * _sizes(problem.nominal) > NEGLIGIBLE * forces
    scale = np.where(shown, norm, 1.0)
    stacked = np.column_stack([design * (shown / scale), target])
    triangle = np.asarray(np.linalg.qr(stacked, mode='r'))
    left, singular, right = np.linalg.svd(triangle[: problem.size, : problem.size])
    known = singular > RANK_TOLERANCE * max(float(singular[0]), 1e-300)
    inverse = np.where(known, 1 / np.where(known, singular, 1.0), 0.0)
    step = right.T @ (inverse * (left.T @ triangle[: problem.size, -1]))
    bread = (right.T * inverse**2) @ right / np.outer(scale, scale)
    hidden = np.abs(right[~known]).max(axis=0, initial=0.0) if (~known).any() else np.zeros(0)
    undetermined = np.flatnonzero(hidden > 1e-6)
    return Estimate(
        values=problem.nominal + step / scale,
        covariance=sandwich(problem, root, bread, noise, undetermined),
        row_covariance=noise,
        undetermined=undetermined,
        condition_number=float(singular[0] / max(singular[-1], 1e-300)),
        weights=root,
        bread=bread,
    )


def sandwich(
    problem: Problem, weights: Array, bread: Array, noise: Array, undetermined: NDArray[np.int64]
) -> Array:
    """Covariance (r, r) of weighted least squares for rows with this noise (m, n_a, n_a)."""
    rows = weights @ problem.regressor
    weighted_noise = weights @ noise @ np.swapaxes(weights, -1, -2)
    meat = np.einsum('kar,kas->rs', rows, weighted_noise @ rows, optimize=True)
    covariance = bread @ meat @ bread
    covariance = (covariance + covariance.T) / 2
    covariance[undetermined] = 0.0
    covariance[:, undetermined] = 0.0
    covariance[undetermined, undetermined] = np.inf
    return covariance


def _sizes(nominal: Array) -> Array:
    """Size of each parameter, for what its column amounts to in forces."""
    size = np.abs(nominal)
    typical = float(np.median(size[size > 0])) if (size > 0).any() else 1.0
    return np.where(size > 0, size, typical)


def residual_covariance(problem: Problem, values: Array) -> Array:
    """Covariance (m, n_a, n_a), the same for all rows, from the residuals of a solution."""
    residuals = problem.residuals(values)
    share = max(len(residuals) - problem.size / residuals.shape[1], 1.0)
    covariance = residuals.T @ residuals / share
    floor = (1e-9 * np.maximum(problem.forces.std(axis=0), 1e-12)) ** 2
    covariance = covariance + np.diag(np.maximum(floor, 1e-300))
    return np.broadcast_to(covariance, (len(residuals), *covariance.shape))
