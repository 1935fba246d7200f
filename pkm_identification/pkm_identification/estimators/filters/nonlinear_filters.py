"""Kalman filters of the parameters of any function: extended and unscented.

The measurements are y_k = h(p, k) + noise, with p constant or walking at random.
`extended_filter` takes the derivative of h at the estimate, `unscented_filter` its values
at points around it, as far apart as p is uncertain [O 2.69-2.75].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array, Indices
from pkm_identification.estimators.filters.parameter_filter import (
    Linearisation,
    ParameterFilter,
    data_order,
)

Function = Callable[[Array, int], Array]
# How a filter sees the function: linear about values, whose covariance is root root^T, of a sample
Measurement = Callable[[Array, Array, int], Linearisation]

BEND_ROUNDING = 64 * np.finfo(float).eps  # of h: a smaller second difference is none
DIFFERENCE = 1e-5  # standard deviations between the points of a difference quotient


class Unscented:
    """Mean and covariance of h(points (s, n), k) -> (s, m) from 2 n + 1 sigma points.

    The points lie at +- gamma times the columns S_i of the root, gamma^2 = alpha^2
    (n + kappa). With the differences D_i = (h+ - h-) / (2 gamma) and C_i = (h+ + h- - 2 h0)
    / (2 gamma^2), c = sum C_i, the unscented transformation is, term by term,

        mean = h0 + c,  covariance = sum D_i D_i^T + gamma^2 sum C_i C_i^T + (beta - alpha^2) c c^T

    a sum of squares for beta >= alpha^2: no weight is negative, however small alpha is,
    and nothing has to be taken off the root. Differences below rounding count as zero, so
    that a linear h gives the Kalman filter. `alpha` is the spread of the points, `beta` the
    weight of the curvature (2 for normal errors), `kappa` a second spread; None is 3 - n.
    """

    def __init__(
        self, function: Function, alpha: float = 1e-3, beta: float = 2.0, kappa: float | None = None
    ) -> None:
        if not 0 < alpha <= 1:
            raise EstimationError(f'alpha must be in (0, 1], got {alpha:g}')
        if beta < alpha**2:
            raise EstimationError(f'beta must be at least alpha^2, got {beta:g}')
        self.function, self.alpha, self.beta, self.kappa = function, alpha, beta, kappa

    def __call__(self, values: Array, root: Array, sample: int) -> Linearisation:
        """Evaluate the sigma points of this sample."""
        size = len(values)
        spread = 3.0 if self.kappa is None else size + self.kappa
        if spread <= 0:
            raise EstimationError(f'kappa must be above -{size}, got {self.kappa:g}')
        gamma = self.alpha * np.sqrt(spread)
        offsets = gamma * root.T
        points = np.concatenate([values[None], values + offsets, values - offsets])
        predictions = self.function(points, sample)
        centre, up, down = predictions[0], predictions[1 : size + 1], predictions[size + 1 :]
        slope = (up - down).T / (2 * gamma)
        bend = (up - centre) + (down - centre)
        floor = BEND_ROUNDING * np.abs(predictions).max(initial=0.0)
        if np.abs(bend).max(initial=0.0) <= floor:
            return Linearisation(centre, slope, slope[:, :0])
        bend = bend.T / (2 * gamma**2)
        shift = bend.sum(axis=1)
        weight = np.sqrt(self.beta - self.alpha**2)
        curvature = np.column_stack([gamma * bend, weight * shift])
        return Linearisation(centre + shift, slope, curvature)


class Extended:
    """First derivative of h(points (s, n), k) -> (s, m) at the estimate.

    `jacobian` is its derivative (m, n) at values (n,) for sample k; None: central differences.
    """

    def __init__(
        self, function: Function, jacobian: Callable[[Array, int], Array] | None = None
    ) -> None:
        self.function, self.jacobian = function, jacobian

    def __call__(self, values: Array, root: Array, sample: int) -> Linearisation:
        """Evaluate function and derivative of this sample."""
        if self.jacobian is not None:
            slope = self.jacobian(values, sample) @ root
            return Linearisation(self.function(values[None], sample)[0], slope, slope[:, :0])
        size, offsets = len(values), DIFFERENCE * root.T
        points = np.concatenate([values[None], values + offsets, values - offsets])
        found = self.function(points, sample)
        slope = (found[1 : size + 1] - found[size + 1 :]).T / (2 * DIFFERENCE)
        return Linearisation(found[0], slope, slope[:, :0])


@dataclass(frozen=True)
class FilterOptions:
    """How a filter runs.

    `walk` is the standard deviation (n,), or one for all, of the random walk a step: 0 for
    constant parameters; None estimates it by Robbins and Monro's method [O 2.75]. Each pass
    starts at the last estimate with the covariance of the start, so that no pass counts the
    data twice.
    """

    walk: ArrayLike | None = 0.0
    walk_gain: float = 1e-3  # share of the last step in the estimate of the walk, below 1
    order: str = 'original'  # or 'random', 'spread', see `data_order`
    seed: int = 0  # of the random order
    passes: int = 1  # through the data at most
    tolerance: float = 1e-3  # passes end when no parameter changes by more standard deviations
    history: int = 200  # estimates that are kept on the way


@dataclass(frozen=True)
class FilterResult:
    """What a filter found."""

    values: Array  # last estimate (n,)
    covariance: Array  # (n, n) of its error, for constant parameters
    history: Array  # estimates (h, n) on the way through the last pass
    steps: Indices  # (h,) updates after which they were kept
    innovation: float  # mean normalised square a measured number: 1 where all is as assumed
    passes: int
    changes: Array  # largest change (passes,) of a parameter in each [its standard deviation]
    walk: Array  # variance (n,) at the end
    change: Array  # of the values (n, g) with what is held fixed; g = 0 where nothing is said


def unscented_filter(
    function: Function,
    measured: ArrayLike,
    start: ArrayLike,
    root: ArrayLike,
    noise: ArrayLike,
    *,
    alpha: float = 1e-3,
    beta: float = 2.0,
    kappa: float | None = None,
    options: FilterOptions | None = None,
) -> FilterResult:
    """Estimate the parameters of a function by an unscented Kalman filter.

    h(points (s, n), k) -> (s, m) is the expected measurement k at s parameter sets, `measured` are
    y (N, m). `start` are parameters (n,), `root` their standard deviations (n,) or a root (n, n) of
    their covariance, `noise` is the covariance (m, m) of the measurements, or (N, m, m). `alpha`,
    `beta`, `kappa`: see `Unscented`. EstimationError where a shape or an option does not fit, or
    the estimate is not finite.
    """
    return run_filter(
        Unscented(function, alpha, beta, kappa), measured, start, root, noise, options
    )


def extended_filter(
    function: Function,
    measured: ArrayLike,
    start: ArrayLike,
    root: ArrayLike,
    noise: ArrayLike,
    *,
    jacobian: Callable[[Array, int], Array] | None = None,
    options: FilterOptions | None = None,
) -> FilterResult:
    """Estimate the parameters of a function by an extended Kalman filter.

    As `unscented_filter`; `jacobian(values, k)` is the derivative (m, n) of h.
    """
    return run_filter(Extended(function, jacobian), measured, start, root, noise, options)


def run_filter(
    measurement: Measurement,
    measured: ArrayLike,
    start: ArrayLike,
    root: ArrayLike,
    noise: ArrayLike,
    options: FilterOptions | None = None,
    before: Callable[[ParameterFilter], None] | None = None,
    fixed: Array | None = None,
) -> FilterResult:
    """Run a filter through the data, as often as the options say; see `unscented_filter`.

    `before` is called with the filter at the start of each pass, for what is known besides.
    `fixed` is what one more of each fixed parameter takes off the measurements (N, m, g), for the
    `change` of the result.
    """
    chosen = options or FilterOptions()
    data = np.asarray(measured, dtype=float)
    values = np.array(start, dtype=float)
    given = np.asarray(root, dtype=float)
    first = np.diag(given) if given.ndim == 1 else given
    if data.ndim != 2 or values.ndim != 1 or first.shape != (len(values),) * 2:
        raise EstimationError('measurements must be (N, m), start (n,), root (n,) or (n, n)')
    roots = np.broadcast_to(_noise_roots(noise, data.shape), (*data.shape, data.shape[1]))
    walk = np.broadcast_to(
        0.0 if chosen.walk is None else np.asarray(chosen.walk, dtype=float), values.shape
    )
    every = max(len(data) // chosen.history, 1)
    changes: list[float] = []
    walk_gain = chosen.walk_gain if chosen.walk is None else 0.0
    change = None if fixed is None else np.zeros((len(values), fixed.shape[2]))
    for number in range(chosen.passes):
        state = ParameterFilter(values, first, walk**2, walk_gain, change)
        if before is not None:
            before(state)
        surprise, history, steps = 0.0, [], []
        order = data_order(len(data), chosen.order, chosen.seed + number)
        for done, k in enumerate(order, start=1):
            state.predict()
            at = measurement(state.values, state.root, k)
            held = None if fixed is None else fixed[k]
            surprise += state.update(data[k], at, roots[k], held)
            if done % every == 0 or done == len(data):
                history.append(state.values)
                steps.append(done)
        covariance = state.covariance
        if not (np.isfinite(state.values).all() and np.isfinite(covariance).all()):
            raise EstimationError('the filter diverged; start closer or with less uncertainty')
        deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        changes.append(float(np.abs((state.values - values) / deviation).max()))
        values, change = state.values, state.change
        if changes[-1] <= chosen.tolerance:
            break
    return FilterResult(
        values=values,
        covariance=covariance,
        history=np.array(history),
        steps=np.array(steps),
        innovation=surprise / data.size,
        passes=len(changes),
        changes=np.array(changes),
        walk=state.walk,
        change=state.change,
    )


def _noise_roots(noise: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Lower roots of the noise, (m, m) or (N, m, m)."""
    covariance = np.asarray(noise, dtype=float)
    count, size = shape
    if covariance.shape not in ((size, size), (count, size, size)):
        raise EstimationError(
            f'noise must be ({size}, {size}) or ({count}, {size}, {size}), got {covariance.shape}'
        )
    try:
        return np.asarray(np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError as error:
        raise EstimationError('the noise covariance is not positive definite') from error
