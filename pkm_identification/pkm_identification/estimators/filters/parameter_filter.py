"""Square-root Kalman filter of parameters that are constant or walk at random [O 2.66-2.75]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from pkm_identification.arrays import Array


@dataclass(frozen=True)
class Linearisation:
    """What a filter needs to know of a measurement y = h(p) + noise at its estimate."""

    prediction: Array  # expected measurement (m,)
    slope: Array  # H S (m, n): the derivative of h times the root of the covariance
    curvature: Array  # (m, c), widens the covariance of the prediction; c = 0 where h is linear


class ParameterFilter:
    """Estimate and covariance of n parameters, updated one measurement after the other.

    The covariance is kept as its root S (n, n) with P = S S^T and only ever rotated, so that it
    stays positive definite. `walk` is the diagonal (n,) of the process covariance, which each step
    adds; `gain` that of its Robbins-Monro estimate [O 2.75], 0 leaves it as it is.

    With a walk, P is that of walking parameters. `covariance` is the covariance of the error
    that the same gains leave where the parameters are constant: the one to report.

    `change` (n, g) of the values with what is held fixed follows the updates that are given the
    columns of the fixed parameters.
    """

    def __init__(
        self, values: Array, root: Array, walk: Array, gain: float = 0, change: Array | None = None
    ) -> None:
        self.values = np.array(values, dtype=float)
        self.root = np.array(root, dtype=float)
        self.walk = np.array(walk, dtype=float)
        self.gain = gain
        self.change = np.zeros((len(self.values), 0)) if change is None else np.array(change)
        self._error: Array | None = None  # root of the error's covariance, once there is a walk

    @property
    def covariance(self) -> Array:
        """Covariance (n, n) of the error for constant parameters."""
        root = self.root if self._error is None else self._error
        return root @ root.T

    def predict(self) -> None:
        """Let the parameters walk one step."""
        if not self.walk.any():
            return
        if self._error is None:
            self._error = self.root.copy()
        self.root = lower_root(np.hstack([self.root, np.diag(np.sqrt(self.walk))]))

    def update(
        self, measured: Array, at: Linearisation, noise_root: Array, fixed: Array | None = None
    ) -> float:
        """Take in a measurement (m,) whose noise has the covariance R = `noise_root` squared.

        `fixed` (m, g) is what one more of each fixed parameter takes off the measurement. Returns
        the normalised innovation squared: m on average where all is as assumed.
        """
        size = len(measured)
        before = np.zeros((size + len(self.values), size + at.curvature.shape[1] + len(self.root)))
        before[:size, :size] = noise_root
        before[:size, size : -len(self.root)] = at.curvature
        before[:size, -len(self.root) :] = at.slope
        before[size:, -len(self.root) :] = self.root
        after = lower_root(before)
        spread, cross = after[:size, :size], after[size:, :size]
        surprise = solve_triangular(spread, measured - at.prediction, lower=True)
        step = cross @ surprise
        if self._error is not None or fixed is not None:
            gain = solve_triangular(spread, cross.T, lower=True, trans='T').T
            slope = solve_triangular(self.root, at.slope.T, lower=True, trans='T').T
            if self._error is not None:
                left = self._error - gain @ (slope @ self._error)
                self._error = lower_root(np.hstack([left, gain @ noise_root]))
            if fixed is not None:
                self.change = self.change - gain @ (fixed + slope @ self.change)
        self.values = self.values + step
        self.root = after[size:, size:]
        if self.gain:
            self.walk = (1 - self.gain) * self.walk + self.gain * step**2
        return float(surprise @ surprise)


def lower_root(wide: Array) -> Array:
    """Return lower triangular L (n, n) with L L^T = A A^T for A (n, k), k >= n."""
    return np.asarray(np.linalg.qr(wide.T, mode='r')).T


def data_order(count: int, order: str, seed: int) -> Iterator[int]:
    """Yield the indices of the data: as they are, at random, or spread [O 4.7].

    `spread` goes through the data in strides of about the square root of their number:
    every pass sees the whole motion early.
    """
    if order == 'random':
        yield from np.random.default_rng(seed).permutation(count)
        return
    stride = max(int(np.sqrt(count)), 1) if order == 'spread' else 1
    for first in range(stride):
        yield from range(first, count, stride)
