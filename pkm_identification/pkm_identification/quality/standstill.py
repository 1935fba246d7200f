"""Stretches in which a robot stands still: friction there is whatever holds it, not what slides.

Below break-away, friction takes any value up to the Coulomb force (presliding), while a model of
sliding friction says that it is zero, or jumps with the noise of the velocity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from pkm_identification.arrays import Array, Indices, Mask
from pkm_identification.quality.report import STRETCHES, Defect, stretches

WINDOW = 0.25  # [s] that a mean position is taken over: shorter pauses are turning points
SHORTEST = 1.0  # [s] without motion that are left out
FEWEST = 8  # samples of a window
SPREADS = 5.0  # standard deviations of a window's mean
STEPS = 1.5  # of the smallest change: a sensor that stands may count up and down by one
NEGLIGIBLE = 5e-4  # of the range of a joint: what a servo at rest may creep meanwhile
MOST_STANDING = 0.8  # share of the samples: with more, poses at rest are what the data are
SECOND_DIFFERENCE = 0.6745 * np.sqrt(6)  # median over standard deviation, of white noise


def standing(blocks: Iterable[Array], interval: float) -> Indices:
    """First and last sample (s, 2) of stretches without motion.

    `blocks` are consecutive positions (k, c) [m, rad], `interval` [s] apart. A stretch is one of at
    least `SHORTEST` in which no joint's mean over a window leaves that of the first window by more
    than the noise, or than `NEGLIGIBLE`.
    """
    size = window_size(interval)
    means, low, high, noise, step = _windows(blocks, size)
    if not len(means):
        return np.zeros((0, 2), dtype=np.int64)
    tolerance = np.maximum(SPREADS * np.sqrt(2.0 / size) * noise, STEPS * step)
    tolerance = np.maximum(tolerance, NEGLIGIBLE * (high - low))
    windows = max(1, int(np.ceil(SHORTEST / (size * interval))))
    held = stretches(np.flatnonzero(_held(means, tolerance, windows)))
    return np.asarray(held * size + np.array([0, size - 1]))


def window_size(interval: float) -> int:
    """Samples of a window, of which stretches have a whole number; `interval` [s] apart."""
    return max(FEWEST, round(WINDOW / interval))


def outside(found: Indices, gaps: Indices) -> Indices:
    """Return what of stretches (s, 2) lies in no gap (h, 2), first and last sample of each."""
    kept: list[tuple[int, int]] = []
    for first, last in found:
        begin = int(first)
        for low, high in gaps[(gaps[:, 1] >= first) & (gaps[:, 0] <= last)]:
            kept.append((begin, int(low) - 1))
            begin = int(high) + 1
        kept.append((begin, int(last)))
    own = [(low, high) for low, high in kept if high >= low]
    return np.array(own, dtype=np.int64).reshape(-1, 2)


def standstill_defect(found: Indices, count: int, stamp: Callable[[int], float]) -> Defect | None:
    """Report stretches (s, 2) of so many samples, with their stamps [s].

    None where there are none, or so many that they are what the data are.
    """
    standing = int((found[:, 1] - found[:, 0] + 1).sum())
    if not standing or standing > MOST_STANDING * count:
        return None
    where = tuple((stamp(int(first)), stamp(int(last))) for first, last in found[:STRETCHES])
    done = 'no rows: friction has no law there (standstill=keep takes them)'
    share = standing / count
    return Defect('standstill', standing, share, done, where=where, stretches=len(found))


def _windows(blocks: Iterable[Array], size: int) -> tuple[Array, Array, Array, Array, Array]:
    """Means (w, c) of windows; range, noise and smallest change of each signal (c,)."""
    rest: Array | None = None
    means, low, high, noises, steps = [], [], [], [], []
    for block in blocks:
        block = block if rest is None else np.concatenate([rest, block])
        whole = len(block) - len(block) % size
        rest = block[whole:]
        if not whole:
            continue
        part = block[:whole]
        means.append(part.reshape(-1, size, part.shape[1]).mean(axis=1))
        low.append(part.min(axis=0))
        high.append(part.max(axis=0))
        noises.append(np.median(np.abs(np.diff(part, 2, axis=0)), axis=0) / SECOND_DIFFERENCE)
        change = np.abs(np.diff(part, axis=0))
        steps.append(np.min(np.where(change > 0, change, np.inf), axis=0))
    if not means:
        empty = np.zeros(0)
        return np.zeros((0, 0)), empty, empty, empty, empty
    step = np.min(steps, axis=0)
    return (
        np.concatenate(means),
        np.min(low, axis=0),
        np.max(high, axis=0),
        np.median(noises, axis=0),
        np.where(np.isfinite(step), step, 0.0),
    )


def _held(means: Array, tolerance: Array, windows: int) -> Mask:
    """Which means (w,) belong to a row of at least so many that stay where its first one is."""
    held = np.zeros(len(means), dtype=bool)
    begin = 0
    while begin < len(means):
        away = (np.abs(means[begin:] - means[begin]) > tolerance).any(axis=1)
        end = begin + int(np.argmax(away)) if away.any() else len(means)
        if end - begin >= windows:
            held[begin:end] = True
            begin = end
        else:
            begin += 1
    return held
