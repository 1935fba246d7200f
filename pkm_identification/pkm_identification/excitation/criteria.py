"""Optimality criteria of a stacked regressor, with their gradients.

Every criterion is to be minimised. W (m, n) is the whitened stacked regressor and
F = W^T W the information matrix, which is never formed or inverted: QR and singular
values of W give all that is needed [A eq. 11, M eq. 24, 26].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from pkm_description.errors import EstimationError, TrajectoryError

Array = NDArray[np.float64]
Criterion = Callable[[Array], tuple[float, Array]]

SMOOTHING_POWER = 12.0


def d_optimal(W: Array) -> tuple[float, Array]:
    """Return -ln det F and its gradient (m, n): the volume of the confidence ellipsoid."""
    Q, R = qr(W, mode='economic')
    diagonal = np.abs(np.diag(R))
    if diagonal.min() <= 1e-12 * diagonal.max():
        return np.inf, np.zeros_like(W)
    value = -2.0 * float(np.sum(np.log(diagonal)))
    return value, -2.0 * solve_triangular(R, Q.T).T


def a_optimal(W: Array) -> tuple[float, Array]:
    """Return ln trace F^-1 and its gradient: the mean variance of the parameters."""
    Q, R = qr(W, mode='economic')
    diagonal = np.abs(np.diag(R))
    if diagonal.min() <= 1e-12 * diagonal.max():
        return np.inf, np.zeros_like(W)
    inverse = solve_triangular(R, np.eye(len(R)))
    trace = float(np.sum(inverse**2))
    gradient = -2.0 * Q @ (inverse.T @ (inverse @ inverse.T))
    return float(np.log(trace)), gradient / trace


def e_optimal(W: Array) -> tuple[float, Array]:
    """Return -ln of the smallest eigenvalue of F, smoothed, and its gradient."""
    U, s, Vt = np.linalg.svd(W, full_matrices=False)
    if s[-1] <= 1e-12 * s[0]:
        return np.inf, np.zeros_like(W)
    value, slope = _smooth_largest(-np.log(s))
    return 2.0 * value, (U * (-2.0 * slope / s)) @ Vt


def condition_number(W: Array) -> tuple[float, Array]:
    """Return the logarithm of the condition number of W, smoothed, and its gradient."""
    U, s, Vt = np.linalg.svd(W, full_matrices=False)
    if s[-1] <= 1e-12 * s[0]:
        return np.inf, np.zeros_like(W)
    top, top_slope = _smooth_largest(np.log(s))
    bottom, bottom_slope = _smooth_largest(-np.log(s))
    return top + bottom, (U * ((top_slope - bottom_slope) / s)) @ Vt


def condition_number_scaled(W: Array) -> tuple[float, Array]:
    """Return the same for columns of unit length, and the gradient."""
    lengths = np.linalg.norm(W, axis=0)
    if lengths.min() <= 0.0:
        return np.inf, np.zeros_like(W)
    unit = W / lengths
    value, slope = condition_number(unit)
    return value, (slope - unit * np.sum(slope * unit, axis=0)) / lengths


def _smooth_largest(values: Array) -> tuple[float, Array]:
    """Smooth upper bound of the largest entry, and its gradient."""
    top = values.max()
    weights = np.exp(SMOOTHING_POWER * (values - top))
    return float(top + np.log(weights.sum()) / SMOOTHING_POWER), weights / weights.sum()


CRITERIA: Mapping[str, Criterion] = {
    'd_optimal': d_optimal,
    'a_optimal': a_optimal,
    'e_optimal': e_optimal,
    'condition_number': condition_number,
    'condition_number_scaled': condition_number_scaled,
}


def normalised_weights(criterion: str | Mapping[str, float]) -> dict[str, float]:
    """Return {criterion: weight} of a name or a mix; refuses what is unknown or not positive."""
    mix = {criterion: 1.0} if isinstance(criterion, str) else dict(criterion)
    if not mix:
        raise TrajectoryError('an empty mix of criteria optimises nothing')
    for name, weight in mix.items():
        if name not in CRITERIA:
            raise TrajectoryError(
                f"criterion '{name}' is unknown; valid are {', '.join(sorted(CRITERIA))}"
            )
        if not (np.isfinite(weight) and weight > 0.0):
            raise TrajectoryError(f"the weight of criterion '{name}' must be positive")
    return {name: float(weight) for name, weight in mix.items()}


def mixed(weights: Mapping[str, float], W: Array) -> tuple[float, Array]:
    """Return the weighted sum of criteria, each a logarithm, and its gradient."""
    value, gradient = 0.0, np.zeros_like(W)
    for name, weight in weights.items():
        part, slope = CRITERIA[name](W)
        value, gradient = value + weight * part, gradient + weight * slope
    return value, gradient


def figures(W: Array) -> dict[str, float]:
    """Return the exact value of every criterion.

    Returns
    -------
    dict
        `d_optimal` -ln det F; `a_optimal` trace F^-1; `e_optimal` the smallest
        eigenvalue of F (the larger the better); `condition_number` of W, and
        `condition_number_scaled` with columns of unit length.
    """
    R = qr(W, mode='r')[0][: W.shape[1]]
    diagonal = np.abs(np.diag(R))
    s = np.linalg.svd(R, compute_uv=False)
    if W.shape[0] < W.shape[1] or s[-1] <= 1e-12 * s[0]:
        raise EstimationError(
            f'the motion excites only {int(np.sum(s > 1e-12 * s[0]))} of {W.shape[1]} '
            'parameter directions: use more harmonics or a freer motion'
        )
    scaled = np.linalg.svd(R / np.linalg.norm(R, axis=0), compute_uv=False)
    return {
        'd_optimal': -2.0 * float(np.sum(np.log(diagonal))),
        'a_optimal': float(np.sum(s**-2.0)),
        'e_optimal': float(s[-1] ** 2),
        'condition_number': float(s[0] / s[-1]),
        'condition_number_scaled': float(scaled[0] / scaled[-1]),
    }


def standard_deviations(W: Array) -> Array:
    """Return the square roots of the diagonal of F^-1 (n,), by triangular inversion."""
    R = qr(W, mode='r')[0][: W.shape[1]]
    inverse = solve_triangular(R, np.eye(len(R)))
    return np.asarray(np.sqrt(np.sum(inverse**2, axis=1)))
