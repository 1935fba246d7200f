"""Local weighted cubic regression [M 5.1.3]: motion at any time from samples at any times."""

from __future__ import annotations

import numpy as np

from pkm_identification.arrays import Array, Mask
from pkm_identification.datasets import Recording

DEGREE = 3
FEWEST_SAMPLES = 7  # samples in a window
AT_ONCE = 2**22  # numbers
WIDER = 8  # times that a window is doubled


def local_cubic(
    time: Array, values: Array, at: Array, half_width: float, valid: Mask | None = None
) -> tuple[Array, Array, Array]:
    """Fit a cubic around each instant (M,) [s]; samples (N, c) count by the tricube of distance.

    Samples at the ends of the window, `half_width` [s] away, count nothing; `valid` (N, c): which
    may be used, None: all. Returns value, first and second derivative (M, c) each, NaN where the
    window holds fewer than seven samples.
    """
    count, columns = len(at), values.shape[1]
    found = np.full((3, count, columns), np.nan)
    low = np.searchsorted(time, at - half_width, side='right')
    high = np.searchsorted(time, at + half_width, side='left')
    width = int((high - low).max(initial=0))
    if width < FEWEST_SAMPLES:
        return found[0], found[1], found[2]
    block = max(1, AT_ONCE // (width * (DEGREE + 1)))
    for begin in range(0, count, block):
        rows = slice(begin, begin + block)
        index = low[rows, None] + np.arange(width)
        inside = index < high[rows, None]
        index = np.minimum(index, len(time) - 1)
        offset = (time[index] - at[rows, None]) / half_width
        weight = np.where(inside, (1 - np.abs(np.clip(offset, -1, 1)) ** 3) ** 3, 0.0)
        powers = offset[..., None] ** np.arange(DEGREE + 1)
        groups = [np.arange(columns)] if valid is None else [np.array([k]) for k in range(columns)]
        for group in groups:
            counted = weight if valid is None else weight * valid[index, group[0]]
            found[:, rows, group] = _fits(powers, counted, values[index][..., group])
    scale = np.array([1.0, 1 / half_width, 2 / half_width**2])
    found *= scale[:, None, None]
    return found[0], found[1], found[2]


def _fits(powers: Array, weight: Array, samples: Array) -> Array:
    """Coefficients 0, 1, 2 (3, m, c) of weighted cubics; powers (m, k, 4), samples (m, k, c)."""
    weighted = powers * weight[..., None]
    gram = np.swapaxes(weighted, 1, 2) @ powers
    right = np.swapaxes(weighted, 1, 2) @ samples
    enough = np.count_nonzero(weight > 0, axis=1) >= FEWEST_SAMPLES
    gram[~enough] = np.eye(DEGREE + 1)
    solved = np.linalg.solve(gram, right)[:, :3]
    solved[~enough] = np.nan
    return np.asarray(np.moveaxis(np.asarray(solved, dtype=float), 1, 0))


def local_motion(recording: Recording, at: Array, half_width: float) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations (M, n_a) at instants `at` (M,) [s].

    Where bad samples or a gap leave too few, the window is widened (rows do not rest on long
    gaps, see `filtering.holes`).
    """
    first, last = float(recording.time[0]), float(recording.time[-1])
    at = np.clip(at, first, last)
    samples = recording.time, recording.positions
    valid = recording.position_valid
    found = local_cubic(*samples, at, half_width, valid)
    for _ in range(WIDER):
        lacking = np.flatnonzero(np.isnan(found[0]).any(axis=1))
        if not len(lacking):
            break
        half_width *= 2
        more = local_cubic(*samples, at[lacking], half_width, valid)
        for whole, part in zip(found, more, strict=True):
            whole[lacking] = np.where(np.isnan(whole[lacking]), part, whole[lacking])
    return found


def cubic_gains(half_width: float, interval: float) -> Array:
    """Covariance (3, 3) of value, slope and curvature that white unit noise leaves behind."""
    count = int(np.ceil(half_width / interval))
    time = interval * np.arange(-count, count + 1.0)
    weights = np.stack(
        [each[0] for each in local_cubic(time, np.eye(len(time)), np.zeros(1), half_width)]
    )
    return np.asarray(weights @ weights.T)
