"""Least squares in cones by Newton steps in a logarithmic barrier.

|A y - b|^2 + sum_b w_b D(S_b) + barrier / t is minimised for growing t [Boyd and Vandenberghe,
Convex Optimization, 11.3]. D(S) = trace(S) - ln det S - k is the log-determinant divergence of a
matrix from one [Lee, Wensing, Park 2020], which is a barrier itself. Each Newton step is a linear
least-squares problem: with S = L L^T and dS = sum_i F_i dy_i, the Hessian of -ln det S is the
square of the rows L^-1 F_i L^-T and its gradient their product with -1. Nothing is squared, and
the steps do not depend on the scales of y, so that grams and tons, rows of weight 1e9 and columns
of 1e-12 are alike. The step leaves the multipliers too: (1 - dS) / t between L^-T and L^-1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import lstsq

from pkm_identification.arrays import Array
from pkm_identification.physical.cone_program import Cone, ConeRows, matrix_of, triangle_of
from pkm_identification.regression.numerics import column_sizes

GROWTH = 20.0  # of t from one centre to the next
NEAR_CENTRE = 0.1  # squared Newton decrement at which t may grow
NEWTON_STEPS = 60  # to one centre
CENTRES = 40
LINE_STEPS = 30  # of the search along a step, which is convex in one unknown
LEAST_COST = 1e-6  # of the start, which a first weight is taken from
ROUNDING = 1e-15  # of a step's equations, below which directions count as not seen


class Centre(NamedTuple):
    """Where the path has come to."""

    y: Array  # (n,), strictly inside
    duals: list[Array]  # as of Clarabel
    gap: float  # what is minimised is at most that much above its minimum, but for rounding


class Block(NamedTuple):
    """Matrix S = constant + forms @ y that has to be positive definite, or positive slacks."""

    forms: Array  # (k, k, n), or (k, n) of slacks
    constant: Array  # (k, k), or (k,)
    weight: float = 0.0  # of the divergence D(S)

    def at(self, y: Array) -> Array:
        """Return S, or the slacks."""
        return np.asarray(self.constant + self.forms @ y)

    def in_terms(self, base: Array, axes: Array) -> Block:
        """Return the same of u with y = base + axes @ u."""
        return self._replace(forms=self.forms @ axes, constant=self.at(base))

    def divergence(self, y: Array) -> float:
        """Weighted divergence of S; inf where S is not positive definite, by rounding or more."""
        value = self.at(y)
        try:
            diagonal = np.diag(np.linalg.cholesky(value))
        except np.linalg.LinAlgError:
            return np.inf
        logarithm = 2.0 * float(np.sum(np.log(diagonal)))
        return self.weight * (float(np.trace(value)) - logarithm - len(value))

    def rates(self, y: Array, step: Array) -> Array:
        """Relative changes (k,) of slacks or eigenvalues with a step."""
        value = self.at(y)
        if value.ndim == 1:
            return np.asarray((self.forms @ step) / value)
        inverse = np.linalg.inv(np.linalg.cholesky(value))
        return np.linalg.eigvalsh(inverse @ (self.forms @ step) @ inverse.T)

    def relative(self, value: Array) -> tuple[Array, Array]:
        """Rows (k (k + 1) / 2, n) or (k, n) of dS over S, and L^-1 or the slacks' inverse."""
        if value.ndim == 1:
            if not (value > 0).all():
                raise np.linalg.LinAlgError('a slack is not positive')
            return self.forms / value[:, None], 1 / value
        inverse = np.linalg.inv(np.linalg.cholesky(value))
        forms = inverse @ np.moveaxis(self.forms, 2, 0) @ inverse.T
        return triangle_of(np.moveaxis(forms, 0, 2)), inverse


def block_of(rows: ConeRows) -> Block:
    """Matrix or slacks of some rows."""
    if rows.cone is Cone.DEFINITE:
        return Block(-matrix_of(rows.matrix), matrix_of(rows.offset))
    return Block(-rows.matrix, rows.offset)


def _one(value: Array) -> Array:
    """Triangle of the unit matrix, or ones."""
    return np.ones(len(value)) if value.ndim == 1 else triangle_of(np.eye(len(value)))


def centres(
    design: Array,
    aim: Array,
    rows: Sequence[ConeRows],
    prior: Sequence[Block],
    start: Array,
    first: float = 1.0,
    stop: Callable[[Array], bool] | None = None,
) -> Iterator[Centre]:
    """Yield one centre after the other, from a point strictly inside of all rows.

    `prior` are matrices with a divergence. Rows of `Cone.ZERO` are not taken. `first` is t over
    that at which the barrier weighs as much as the squares at the start. `stop` ends the path
    between two centres, with no gap known. The path ends where rounding does not let it go on.
    """
    blocks = [block_of(each) for each in rows]
    size = float(sum(len(each.constant) for each in blocks))
    y = np.array(start, dtype=float)
    cost = float(np.sum((aim - design @ y) ** 2)) + sum(each.divergence(y) for each in prior)
    weight = first * size / max(cost, LEAST_COST)
    for _ in range(CENTRES):
        try:
            y, decrement, duals, is_stopped = _centre(design, aim, blocks, prior, y, weight, stop)
        except np.linalg.LinAlgError:  # rounding has taken a slack: no nearer to the limits
            return
        if is_stopped:
            yield Centre(y, duals, np.inf)
            return
        if not decrement < 1.0:
            return
        yield Centre(y, duals, size / weight * (1 + decrement))
        weight *= GROWTH


def _centre(
    design: Array,
    aim: Array,
    blocks: list[Block],
    prior: Sequence[Block],
    y: Array,
    weight: float,
    stop: Callable[[Array], bool] | None,
) -> tuple[Array, float, list[Array], bool]:
    """Newton steps to a centre: where, squared decrement, multipliers, whether stopped."""
    for _ in range(NEWTON_STEPS):
        step, decrement, duals = _newton(design, aim, blocks, prior, y, weight)
        length = _along(design, aim, blocks, prior, y, step, weight)
        y = y + length * step
        if stop is not None and stop(y):
            return y, decrement, duals, True
        if decrement < NEAR_CENTRE or length * decrement < ROUNDING:
            break
    return y, decrement, duals, False


def _newton(
    design: Array, aim: Array, blocks: list[Block], prior: Sequence[Block], y: Array, weight: float
) -> tuple[Array, float, list[Array]]:
    """Newton step (n,), its squared decrement, and multipliers that make it stationary."""
    root = np.sqrt(2.0 * weight)
    stacked, target = [root * design], [root * (aim - design @ y)]
    parts = []
    for block in blocks:
        value = block.at(y)
        relative, inverse = block.relative(value)
        parts.append((relative, inverse))
        stacked.append(relative)
        target.append(_one(value))
    for block in prior:
        value = block.at(y)
        relative, inverse = block.relative(value)
        factor = np.linalg.inv(inverse)
        stacked.append(np.sqrt(weight * block.weight) * relative)
        pull = triangle_of(np.eye(len(value)) - factor.T @ factor)
        target.append(np.sqrt(weight * block.weight) * pull)
    whole, right = np.concatenate(stacked), np.concatenate(target)
    order = np.argsort(-np.abs(whole).max(axis=1))  # heavy rows first: accurate row by row
    scale = column_sizes(whole)
    scaled = (whole / scale)[order]
    step = lstsq(scaled, right[order], cond=ROUNDING, lapack_driver='gelsy', check_finite=False)[0]
    step = np.asarray(step / scale)
    decrement = float(np.sum((whole @ step) ** 2))
    duals = []
    for relative, inverse in parts:
        if inverse.ndim == 1:
            duals.append((1.0 - relative @ step) * inverse / weight)
        else:
            inner = np.eye(len(inverse)) - matrix_of(relative @ step)
            duals.append(triangle_of(inverse.T @ inner @ inverse / weight))
    return step, decrement, duals


def _along(
    design: Array,
    aim: Array,
    blocks: list[Block],
    prior: Sequence[Block],
    y: Array,
    step: Array,
    weight: float,
) -> float:
    """Length along a step at which squares, divergences and barrier are smallest together."""
    rates, counts = [], []
    change, left = design @ step, aim - design @ y
    square, slope = weight * float(change @ change), -2.0 * weight * float(change @ left)
    for block in blocks:
        rates.append(block.rates(y, step))
        counts.append(np.ones(len(rates[-1])))
    for block in prior:
        rates.append(block.rates(y, step))
        counts.append(np.full(len(rates[-1]), weight * block.weight))
        slope += weight * block.weight * float(np.trace(block.forms @ step))
    rate, count = np.concatenate(rates), np.concatenate(counts)
    least = float(rate.min(initial=0.0))
    low, high = 0.0, 1.0 if least > -0.99 else 0.99 / -least
    length = high
    for _ in range(LINE_STEPS):
        inside = 1.0 + length * rate
        first = 2.0 * square * length + slope - float(np.sum(count * rate / inside))
        second = 2.0 * square + float(np.sum(count * (rate / inside) ** 2))
        if first > 0:
            high = length
        elif length == high:
            return length
        else:
            low = length
        new = length - first / second if second > 0 else low
        new = new if low < new < high else 0.5 * (low + high)
        if abs(new - length) <= 1e-3 * new:
            return new
        length = new
    return length
