"""Recursive least squares with forgetting, in square-root form."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dgeqrf, dtrtri

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array


class RecursiveLeastSquares:
    """Parameters from one group of rows after the other.

    After the rows Psi_k p = y_k + noise the estimate minimises

        sum_k lambda^(n - k) |L (y_k - Psi_k p)|^2 + |R_0 (p - p_0)|^2

    with L whitening the noise (n_a, n_a) and lambda the forgetting factor, above 0 and at most 1:
    the memory is 1 / (1 - lambda) updates long. The start R_0^T R_0 is the inverse of its
    `covariance` (f, f); it is not forgotten (one of its rows comes back at each update), so that
    what no motion shows stays where it was, with the uncertainty that it had. Only the triangular
    root of the information is kept, and updated by orthogonal rotations.

    Residuals beyond `huber` standard deviations count less; None: all count alike. `change` (f, g)
    of the estimate with what is held fixed follows the updates that are given the columns of the
    fixed parameters. EstimationError where an option is out of range, or a covariance is not
    positive definite.
    """

    def __init__(
        self,
        values: ArrayLike,
        covariance: ArrayLike,
        noise: ArrayLike,
        forgetting: float = 1.0,
        huber: float | None = None,
        change: ArrayLike | None = None,
    ) -> None:
        if not 0 < forgetting <= 1:
            raise EstimationError(f'forgetting must be in (0, 1], got {forgetting:g}')
        if huber is not None and not huber > 0:
            raise EstimationError(f'huber must be positive, got {huber:g}')
        self.forgetting, self.huber = forgetting, huber
        self.values = np.array(values, dtype=float)
        self.start = self.values.copy()
        self.change = np.zeros((len(self.values), 0)) if change is None else np.array(change)
        self._start_change = self.change.copy()
        spread = np.array(covariance, dtype=float)
        size = len(self.values)
        if spread.shape != (size, size):
            raise EstimationError(f'the covariance of the start must be ({size}, {size})')
        try:
            self._prior = np.linalg.inv(np.linalg.cholesky(spread))
        except np.linalg.LinAlgError as error:
            raise EstimationError('the covariance of the start is not positive definite') from error
        self._upper = np.triu(np.ones((size + 1, size + 1)))
        self._root = np.triu(np.linalg.qr(self._prior, mode='r'))
        self._inverse = _inverse(self._root)
        self._shown = np.zeros((size, size))  # information of the noise, forgotten twice as fast
        self.updates = 0
        self.noise = noise

    @property
    def noise(self) -> Array:
        """Covariance (n_a, n_a) of the rows of one sample."""
        return self._noise

    @noise.setter
    def noise(self, covariance: ArrayLike) -> None:
        self._noise = np.array(covariance, dtype=float)
        variance = np.diag(self._noise)
        if np.all(variance > 0) and np.count_nonzero(self._noise) == len(variance):
            self._whitening = np.diag(1 / np.sqrt(variance))
            return
        try:
            self._whitening = np.linalg.inv(np.linalg.cholesky(self._noise))
        except np.linalg.LinAlgError as error:
            raise EstimationError('the noise covariance is not positive definite') from error

    @property
    def inverse_root(self) -> Array:
        """Upper triangular U (f, f) with U U^T the inverse of the information."""
        return self._inverse

    def covariance(self) -> Array:
        """Covariance (f, f) of the error of the estimate, for constant parameters.

        With P = (R^T R)^-1 it is P where nothing is forgotten, else P (sum of lambda^(2 (n - k))
        Psi_k^T L^T L Psi_k + R_0^T R_0) P: forgetting makes estimates less certain.
        """
        bread = self._inverse @ self._inverse.T
        if self.forgetting == 1:
            return bread
        prior = self._prior @ bread
        return bread @ self._shown @ bread + prior.T @ prior

    def update(self, regressor: Array, forces: Array, fixed: Array | None = None) -> Array:
        """Take in one sample, regressor (n_a, f) and forces (n_a,); return the innovation (n_a,).

        That is the forces less what was expected of them. `fixed` (n_a, g) is what one more of each
        fixed parameter takes off the forces.
        """
        innovation = forces - regressor @ self.values
        rows = self._whitening @ regressor
        right = self._whitening @ innovation
        held = None if fixed is None else self._whitening @ fixed
        if self.huber is not None:
            weight = self._weights(rows, right)
            rows, right = rows * weight[:, None], right * weight
            held = None if held is None else held * weight[:, None]
        moved = None if held is None else -rows.T @ (held + rows @ self.change)
        size, forget = len(self.values), self.forgetting
        back = 0 if forget == 1 else 1
        stack = np.zeros((size + len(rows) + back, size + 1), order='F')
        stack[:size, :size] = self._root if forget == 1 else np.sqrt(forget) * self._root
        stack[size : size + len(rows), :size] = rows
        stack[size : size + len(rows), size] = right
        if back:
            row = np.sqrt((1 - forget) * size) * self._prior[self.updates % size]
            stack[-1, :size] = row
            stack[-1, size] = row @ (self.start - self.values)
            if moved is not None:
                moved += np.outer(row, row @ (self._start_change - self.change))
            self._shown = forget**2 * self._shown + rows.T @ rows
        factor = dgeqrf(stack, overwrite_a=1)[0]
        triangle = factor[: size + 1] * self._upper
        self._root = triangle[:size, :size]
        self._inverse = _inverse(self._root)
        self.values = self.values + self._inverse @ triangle[:size, size]
        if moved is not None:
            self.change = self.change + self._inverse @ (self._inverse.T @ moved)
        self.updates += 1
        return np.asarray(innovation)

    def _weights(self, rows: Array, right: Array) -> Array:
        """Huber's weights (square roots) for whitened innovations."""
        assert self.huber is not None
        spread = np.sqrt(1 + np.sum((rows @ self._inverse) ** 2, axis=1))
        return np.sqrt(np.minimum(1.0, self.huber * spread / np.maximum(np.abs(right), 1e-300)))


def _inverse(upper: Array) -> Array:
    inverse, singular = dtrtri(upper)
    if singular:
        raise EstimationError('the information matrix is singular')
    return inverse
