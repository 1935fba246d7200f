"""Irregular and incomplete samples on an even grid, without interpolation of noise.

Every sample goes to the nearest point of the grid. What the motion changes over that
fraction of an interval, at most half of one, is taken from the smooth part of the signal;
the noise of the sample stays its own. Points without a sample are marked.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from pkm_identification.arrays import Array, Indices, Mask
from pkm_identification.datasets import Recording
from pkm_identification.datasets.source import BLOCK, EVEN
from pkm_identification.quality.report import stretches
from pkm_identification.signals.local_regression import local_cubic

ROUNDS = 3  # of a periodic signal and its own slope
REACHES = (10, 40)  # intervals to either side that show how a motion without a period goes on
BRIDGED = 0.8  # of that reach: longest gap that a local cubic goes over
NEIGHBOURHOOD = 64  # samples around a block: more than the farthest that a bridge reaches


def is_even(time: Array, tolerance: float = EVEN) -> bool:
    """Whether all intervals (N - 1) of the stamps are equal within a tolerance."""
    steps = np.diff(time)
    interval = float(np.median(steps))
    return bool(np.abs(steps - interval).max() <= tolerance * interval)


def nearest(time: Array, start: float, step: float, count: int) -> tuple[Indices, Array]:
    """Return grid point (N,) of each sample, -1 outside the grid, and how much later it is [s]."""
    number = np.round((time - start) / step).astype(np.int64)
    late = time - (start + step * number)
    return np.where((number >= 0) & (number < count), number, -1), late


def collected(
    number: Indices, values: Array, valid: Mask | None, count: int
) -> tuple[Array, Indices]:
    """Sum of the valid samples (count, c) at each point of a grid, and how many there are."""
    columns = values.shape[1]
    total = np.zeros((count, columns))
    hits = np.zeros((count, columns), dtype=np.int64)
    for k in range(columns):
        chosen = number >= 0
        if valid is not None:
            chosen = chosen & valid[:, k]
        total[:, k] = np.bincount(number[chosen], values[chosen, k], count)
        hits[:, k] = np.bincount(number[chosen], minlength=count)
    return total, hits


def along(slopes: Array, late: Array, phase: Indices) -> Array:
    """What samples (N, c) changed since their grid points, `late` (N,) [s] after them.

    By the derivatives (orders, n, c), from the first on, at the points of one period, of which
    `phase` (N,) are the samples' own.
    """
    change = np.zeros((len(late), slopes.shape[2]))
    factor = np.ones(len(late))
    for order, slope in enumerate(slopes, start=1):
        factor = factor * late / order
        change += factor[:, None] * slope[phase]
    return change


class EvenSamples:
    """Positions and efforts of a recording on an even grid, any rows of it.

    Stamps that are even already are taken as they are (`is_given`). Of others, every sample goes to
    the nearest of the `count` points of the grid, `interval` [s] apart, and points without one hold
    a local cubic through their neighbours, in long gaps a straight line: what filters need to go
    on. Rows must not rest on long gaps (`filtering.holes`).
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        scan = recording.source.scan
        self.is_given = recording.is_complete
        self.interval, self._first = scan.interval, scan.first
        intervals = round(scan.duration / self.interval)
        self.count = len(recording) if self.is_given else int(intervals) + 1

    def read(self, rows: slice) -> tuple[Array, Array, Mask | None]:
        """Return time (k,) [s], and positions and efforts (k, 2 n), of a slice of the grid.

        Then where (k, 2 n) a sample was measured; None: everywhere.
        """
        if self.recording.is_long:
            return self._made(rows)
        return tuple(None if part is None else part[rows] for part in self._whole)  # type: ignore[return-value]

    @cached_property
    def _whole(self) -> tuple[Array, Array, Mask | None]:
        return self._made(slice(0, self.count))

    def _made(self, rows: slice) -> tuple[Array, Array, Mask | None]:
        source = self.recording.source
        if self.is_given:
            block = source.read(rows)
            return block.time, block.together()[0], None
        grid = self._first + self.interval * np.arange(rows.start, rows.stop)
        reach = 0.5 * self.interval
        block = source.between(grid[0] - reach, grid[-1] + reach, NEIGHBOURHOOD)
        samples, there = evened_on(grid, self.interval, block.time, *block.together())
        return grid, samples, None if there.all() else there

    def velocities(self) -> Array | None:
        """Measured velocities (count, n) of a recording in memory, bridged like the others."""
        if self.recording.is_long:
            return None
        block = self.recording.source.whole
        if self.is_given or block.velocities is None:
            return block.velocities
        grid: Array = self._first + self.interval * np.arange(self.count, dtype=float)
        flags = block.position_valid
        return evened_on(grid, self.interval, block.time, block.velocities, flags)[0]

    def blocks(self) -> Iterator[tuple[Array, Array, Mask | None]]:
        """Yield all samples in their order; of a short recording all at once."""
        step = BLOCK if self.recording.is_long else self.count
        for begin in range(0, self.count, step):
            yield self.read(slice(begin, min(begin + step, self.count)))


def evened_on(
    grid: Array, interval: float, time: Array, values: Array, valid: Mask | None
) -> tuple[Array, Mask]:
    """Samples (N, c) on an even grid (M,) [s] within their stamps, one point each `interval` [s].

    Returns them (M, c), bridged where nothing was measured, and where (M, c) it was. `valid` (N,
    c): which may be used; None: all.
    """
    count = len(grid)
    number, late = nearest(time, float(grid[0]), interval, count)
    moved = values
    total, hits = collected(number, moved, valid, count)
    for _ in range(ROUNDS - 1 if np.abs(late).max() > EVEN * interval else 0):
        slopes = _smooth_slopes(bridged(total, hits), interval)
        moved = values - along(slopes, late, np.clip(number, 0, None))
        total, hits = collected(number, moved, valid, count)
    there = hits > 0
    samples = np.where(there, total / np.maximum(hits, 1), np.nan)
    for column in np.flatnonzero(~there.all(axis=0)):
        own = slice(None) if valid is None else valid[:, column]
        stamps, measured = time[own], values[own, column : column + 1]
        if not len(stamps):  # a gap over the whole block: no rows rest on it
            samples[:, column] = 0.0
            continue
        missing = np.flatnonzero(~there[:, column])
        gaps = stretches(missing)
        lengths = np.repeat(gaps[:, 1] - gaps[:, 0] + 1, gaps[:, 1] - gaps[:, 0] + 1)
        samples[missing, column] = np.interp(grid[missing], stamps, measured[:, 0])
        shortest = 0.0
        for reach in REACHES:
            short = missing[(lengths > shortest) & (lengths <= BRIDGED * reach)]
            bridge = local_cubic(stamps, measured, grid[short], reach * interval)[0][:, 0]
            samples[short, column] = np.where(np.isnan(bridge), samples[short, column], bridge)
            shortest = BRIDGED * reach
    return samples, there


def _smooth_slopes(samples: Array, interval: float) -> Array:
    """First and second derivatives (2, M, c) of local cubics through even samples (M, c)."""
    from scipy.signal import savgol_filter

    window = min(2 * REACHES[0] + 1, len(samples) - (len(samples) + 1) % 2)
    if window <= 3:
        return np.zeros((1, *samples.shape))
    return np.stack(
        [savgol_filter(samples, window, 3, deriv=k, delta=interval, axis=0) for k in (1, 2)]
    )


def bridged(total: Array, hits: Indices, *, is_period: bool = False) -> Array:
    """Return total / hits (n, c), a straight line (of a period, over its end) without hits."""
    mean = np.asarray(total / np.maximum(hits, 1))
    points = np.arange(len(mean))
    period = len(mean) if is_period else None
    for column in np.flatnonzero((hits == 0).any(axis=0)):
        good = hits[:, column] > 0
        if good.any():
            mean[~good, column] = np.interp(
                points[~good], points[good], mean[good, column], period=period
            )
    return mean
