"""Optimality criteria of a stacked regressor, with their gradients.

Every criterion is to be minimised. W (m, n) is the whitened stacked regressor and
F = W^T W the information matrix, which is never formed or inverted: QR and singular
values of W give all that is needed [A eq. 11, M eq. 24, 26].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.linalg import qr, solve_triangular

from pkm_description.errors import TrajectoryError
from pkm_dynamics.trajectories.base import finite_number
from pkm_identification.arrays import Array

Criterion = Callable[..., tuple[float, Array]]

CONDITIONS = 'condition_number', 'condition_number_scaled'
SMOOTHED = 'e_optimal', *CONDITIONS  # extreme singular values have corners where two are equal

POWERS = 12.0, 60.0  # of the smoothing: far from the optimum, and at its end
SHORTEST_PIVOT = 1e-12  # of the length of a column: what rounding leaves of a dependent one
SHOWN_DIRECTION = 1e-10  # least singular value of columns of unit length, to the largest


def d_optimal(W: Array) -> tuple[float, Array]:
    """Return -ln det F and its gradient (m, n): the volume of the confidence ellipsoid."""
    Q, R, is_singular = _orthogonalised(W)
    if is_singular:
        return np.inf, np.zeros_like(W)
    value = -2.0 * float(np.sum(np.log(np.abs(np.diag(R)))))
    return value, -2.0 * solve_triangular(R, Q.T).T


def a_optimal(W: Array) -> tuple[float, Array]:
    """Return ln trace F^-1 and its gradient: the mean variance of the parameters."""
    Q, R, is_singular = _orthogonalised(W)
    if is_singular:
        return np.inf, np.zeros_like(W)
    inverse = solve_triangular(R, np.eye(len(R)))
    trace = float(np.sum(inverse**2))
    gradient = -2.0 * Q @ (inverse.T @ (inverse @ inverse.T))
    return float(np.log(trace)), gradient / trace


def e_optimal(W: Array, power: float = POWERS[0]) -> tuple[float, Array]:
    """Return -ln of the smallest eigenvalue of F, smoothed, and its gradient."""
    U, s, Vt = np.linalg.svd(W, full_matrices=False)
    if W.shape[0] < W.shape[1] or s[-1] <= SHORTEST_PIVOT * s[0]:
        return np.inf, np.zeros_like(W)
    value, slope = _smooth_largest(-np.log(s), power)
    return 2.0 * value, (U * (-2.0 * slope / s)) @ Vt


def condition_number(W: Array, power: float = POWERS[0]) -> tuple[float, Array]:
    """Return the logarithm of the condition number of W, smoothed, and its gradient."""
    U, s, Vt = np.linalg.svd(W, full_matrices=False)
    if W.shape[0] < W.shape[1] or s[-1] <= SHORTEST_PIVOT * s[0]:
        return np.inf, np.zeros_like(W)
    top, top_slope = _smooth_largest(np.log(s), power)
    bottom, bottom_slope = _smooth_largest(-np.log(s), power)
    return top + bottom, (U * ((top_slope - bottom_slope) / s)) @ Vt


def condition_number_scaled(W: Array, power: float = POWERS[0]) -> tuple[float, Array]:
    """Return the same for columns of unit length, and the gradient."""
    lengths = np.linalg.norm(W, axis=0)
    if lengths.min() <= 0.0:
        return np.inf, np.zeros_like(W)
    unit = W / lengths
    value, slope = condition_number(unit, power)
    return value, (slope - unit * np.sum(slope * unit, axis=0)) / lengths


def _orthogonalised(W: Array) -> tuple[Array, Array, bool]:
    """Return Q and R with Q R = W, and whether W is singular."""
    Q, R = qr(W, mode='economic')
    if W.shape[0] < W.shape[1]:
        return Q, R, True
    return Q, R, bool(np.any(np.abs(np.diag(R)) <= SHORTEST_PIVOT * np.linalg.norm(R, axis=0)))


def _smooth_largest(values: Array, power: float) -> tuple[float, Array]:
    """Smooth upper bound of the largest entry, at most ln(n) / power above it; its gradient."""
    top = values.max()
    weights = np.exp(power * (values - top))
    return float(top + np.log(weights.sum()) / power), weights / weights.sum()


CRITERIA: Mapping[str, Criterion] = {
    criterion.__name__: criterion
    for criterion in (d_optimal, a_optimal, e_optimal, condition_number, condition_number_scaled)
}


def normalised_weights(criterion: str | Mapping[str, float]) -> dict[str, float]:
    """Return {criterion: weight} of a name or a mix; refuses what is unknown or not positive."""
    if not isinstance(criterion, str | Mapping):
        raise TrajectoryError(
            f'criterion must be a name or {{name: weight}}, not {type(criterion).__name__}'
        )
    mix = {criterion: 1.0} if isinstance(criterion, str) else dict(criterion)
    if not mix:
        raise TrajectoryError('an empty mix of criteria optimises nothing')
    for name, weight in mix.items():
        if name not in CRITERIA:
            raise TrajectoryError(
                f"criterion '{name}' is unknown; valid are {', '.join(sorted(CRITERIA))}"
            )
        finite_number(f"the weight of criterion '{name}'", weight, positive=True)
    return {name: float(weight) for name, weight in mix.items()}


def mixed(weights: Mapping[str, float], W: Array, power: float = POWERS[0]) -> tuple[float, Array]:
    """Return the weighted sum of criteria, each a logarithm, and its gradient.

    `power` is that of the smoothing of extreme singular values.
    """
    value, gradient = 0.0, np.zeros_like(W)
    for name, weight in weights.items():
        options = {'power': power} if name in SMOOTHED else {}
        part, slope = CRITERIA[name](W, **options)
        value, gradient = value + weight * part, gradient + weight * slope
    return value, gradient


def exact_mix(weights: Mapping[str, float], found: Mapping[str, float]) -> float:
    """Return the weighted sum of criteria, each a logarithm, of exact `figures`; nothing smoothed.

    Infinite where they are of singular information.
    """
    if not np.isfinite(found['d_optimal']):
        return float('inf')
    logarithms = {name: float(np.log(found[name])) for name in ('a_optimal', *CONDITIONS)}
    logarithms |= {'d_optimal': found['d_optimal'], 'e_optimal': -float(np.log(found['e_optimal']))}
    return sum(weight * logarithms[name] for name, weight in weights.items())


def figures(W: Array) -> dict[str, float]:
    """Return the exact value of every criterion.

    All follow from the columns made one unit long, so that the units of the parameters do not
    decide what is singular. `d_optimal` -ln det F; `a_optimal` trace F^-1, variances of all
    parameters in SI units; `e_optimal` the smallest eigenvalue of F in SI units (the larger the
    better); `condition_number` of W in SI units, and `condition_number_scaled` with columns of unit
    length. Where W is singular, they are infinite and `e_optimal` is 0. `rank`: directions of the
    parameters that W shows.
    """
    R, lengths, rank = _factored(W)
    if rank < W.shape[1]:
        singular = dict.fromkeys(('d_optimal', 'a_optimal', *CONDITIONS), float('inf'))
        return {**singular, 'e_optimal': 0.0, 'rank': float(rank)}
    unit_inverse = solve_triangular(R, np.eye(len(R)))
    inverse = unit_inverse / lengths[:, None]
    largest, largest_inverse = (np.linalg.norm(A, 2) for A in (R * lengths, inverse))
    return {
        'd_optimal': -2.0 * float(np.sum(np.log(np.abs(np.diag(R)) * lengths))),
        'a_optimal': float(np.sum(inverse**2)),
        'e_optimal': float(largest_inverse**-2.0),
        'condition_number': float(largest * largest_inverse),
        'condition_number_scaled': float(np.linalg.norm(R, 2) * np.linalg.norm(unit_inverse, 2)),
        'rank': float(rank),
    }


def standard_deviations(W: Array) -> Array:
    """Return the square roots of the diagonal of F^-1 (n,).

    Infinite for every parameter with a part in what W does not show.
    """
    R, lengths, rank = _factored(W)
    if rank == W.shape[1]:
        inverse = solve_triangular(R, np.eye(len(R)))
        return np.asarray(np.sqrt(np.sum(inverse**2, axis=1)) / lengths)
    _, s, Vt = np.linalg.svd(R)
    hidden = np.linalg.norm(Vt[rank:], axis=0) > np.sqrt(SHOWN_DIRECTION)
    deviations = np.linalg.norm(Vt[:rank].T / s[:rank], axis=1)
    return np.where(hidden, np.inf, deviations / np.where(lengths > 0.0, lengths, 1.0))


def _factored(W: Array) -> tuple[Array, Array, int]:
    """Return R (n, n) of W with columns of unit length, their lengths, and the rank."""
    rows = np.zeros((max(W.shape[1] - W.shape[0], 0), W.shape[1]))
    R = np.asarray(qr(np.concatenate([W, rows]), mode='r')[0][: W.shape[1]])
    lengths = np.linalg.norm(R, axis=0)
    R = R / np.where(lengths > 0.0, lengths, 1.0)
    s = np.linalg.svd(R, compute_uv=False)
    return R, lengths, int(np.sum(s > SHOWN_DIRECTION * s[0]))
