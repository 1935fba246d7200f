"""The smallest ellipsoid around what an ellipsoid and a strip share, in square-root form [P III].

The set is {p: |R (p - c)| <= 1} with the upper triangular R (n, n); a strip is
{p: |y - d^T p| <= 1}. With e = y - d^T c, g = d^T (R^T R)^-1 d and the weight w >= 0,

    {p: |R (p - c)|^2 + w (y - d^T p)^2 <= 1 + w}

holds what both share [P eq. 28, w = (1 - alpha) / alpha]. It is the ellipsoid around
c + w e / (1 + w g) (R^T R)^-1 d with the shape matrix (R^T R + w d d^T) / k(w) and
k(w) = 1 + w - w e^2 / (1 + w g); its squared volume is that of the old one times
k(w)^n / (1 + w g).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pkm_dynamics.kernels.decorator import compiled
from pkm_identification.arrays import Array

FLAT = 1e-9  # half a strip's width: what is left of one that only touches the ellipsoid
LARGEST_WEIGHT = 1e12  # of a strip that replaces an interval (n = 1)


@compiled
def optimal_weight(size: int, miss: float, spread: float) -> float:
    """Return the weight w >= 0 of a strip that makes the volume smallest.

    The derivative of n ln k(w) - ln(1 + w g) vanishes where

        (n - 1) g^2 w^2 + g (2 n - 1 - g + e^2) w + n (1 - e^2) - g = 0,

    whose one positive root exists where n (1 - e^2) < g; else no weight makes it smaller. `size` is
    n, `miss` e, the distance of the strip's middle from the centre in half widths of the strip,
    `spread` g, the square of half the extent of the ellipsoid across the strip in the same unit.
    """
    constant = size * (1.0 - miss * miss) - spread
    if constant >= 0.0:
        return 0.0
    square = (size - 1) * spread * spread
    linear = spread * (2 * size - 1 - spread + miss * miss)
    root = math.sqrt(linear * linear - 4.0 * square * constant)
    if linear > 0.0:
        return -2.0 * constant / (linear + root)
    if square == 0.0:
        return LARGEST_WEIGHT
    return (root - linear) / (2.0 * square)


@compiled
def bound(
    root: Array, centre: Array, rows: Array, middles: Array, widths: Array, cut: bool, missed: Any
) -> int:
    """Take strips |middle - row p| <= width into an ellipsoid, one after the other, in place.

    The root R (n, n) is upper triangular, its diagonal may have any sign. A width that is not
    positive is a miss; `missed` (N,) is set where a strip and the ellipsoid share nothing: such
    strips are skipped. `cut` first narrows a strip to what the ellipsoid leaves of it (parallel
    cuts): the result is then the smallest of all ellipsoids around the common set. Returns the
    number of strips that made the ellipsoid smaller.
    """
    size, used = len(centre), 0
    across, row, move = np.empty(size), np.empty(size), np.empty(size)
    for number in range(len(rows)):
        width = widths[number]
        if width <= 0.0:
            missed[number] = True
            continue
        # across = R^-T d, so that g = |across|^2
        spread, error = 0.0, middles[number]
        for i in range(size):
            error -= rows[number, i] * centre[i]
            across[i] = rows[number, i] / width
        for i in range(size):
            across[i] /= root[i, i]
            spread += across[i] * across[i]
            for j in range(i + 1, size):
                across[j] -= root[i, j] * across[i]
        miss, reach = error / width, math.sqrt(spread)
        if abs(miss) > 1.0 + reach:
            missed[number] = True
            continue
        if cut:
            low, high = max(miss - 1.0, -reach), min(miss + 1.0, reach)
            half = 0.5 * (high - low)
            if half < FLAT * (1.0 + reach):
                continue
            miss = 0.5 * (low + high) / half
            spread /= half * half
            width *= half
        weight = optimal_weight(size, miss, spread)
        if weight == 0.0:
            continue
        left = 1.0 + weight - weight * miss * miss / (1.0 + weight * spread)
        if left < FLAT:
            continue
        # rotate [R 0; sqrt(w) d^T sqrt(w) e] to [U u; 0 tau]
        scale = math.sqrt(weight)
        tau = scale * miss
        for i in range(size):
            row[i] = scale * rows[number, i] / width
        for i in range(size):
            length = math.hypot(root[i, i], row[i])
            cosine, sine = root[i, i] / length, row[i] / length
            for j in range(i, size):
                old = root[i, j]
                root[i, j] = cosine * old + sine * row[j]
                row[j] = cosine * row[j] - sine * old
            move[i] = sine * tau
            tau = cosine * tau
        # the centre moves by U^-1 u
        for i in range(size - 1, -1, -1):
            value = move[i]
            for j in range(i + 1, size):
                value -= root[i, j] * move[j]
            move[i] = value / root[i, i]
        shrink = 1.0 / math.sqrt(max(1.0 + weight - tau * tau, FLAT))
        for i in range(size):
            centre[i] += move[i]
            for j in range(i, size):
                root[i, j] *= shrink
        used += 1
    return used
