"""Irregular and incomplete samples on an even grid, without interpolation of noise.

Every sample goes to the nearest point of the grid. What the motion changes over that
fraction of an interval, at most half of one, is taken from the smooth part of the signal;
the noise of the sample stays its own. Points without a sample are marked.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.signal import savgol_filter

from pkm_identification.quality.report import stretches
from pkm_identification.quality.stamps import nominal_interval
from pkm_identification.signals.local_regression import local_cubic

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

EVEN = 0.02  # of an interval: stamps this close to even need no correction
ROUNDS = 3  # of a periodic signal and its own slope
REACHES = (10, 40)  # intervals to either side that show how a motion without a period goes on
BRIDGED = 0.8  # of that reach: longest gap that a local cubic goes over
BAND = 6  # samples of the fastest harmonic in the slope
ORDERS = 3  # of the Taylor series over the fraction of an interval


def is_even(time: Array, tolerance: float = EVEN) -> bool:
    """Whether all intervals (N - 1) of the stamps are equal within a tolerance."""
    steps = np.diff(time)
    interval = float(np.median(steps))
    return bool(np.abs(steps - interval).max() <= tolerance * interval)


def nearest(time: Array, start: float, step: float, count: int) -> tuple[NDArray[np.int64], Array]:
    """Return grid point (N,) of each sample, -1 outside the grid, and how much later it is [s]."""
    number = np.round((time - start) / step).astype(np.int64)
    late = time - (start + step * number)
    return np.where((number >= 0) & (number < count), number, -1), late


def collected(
    number: NDArray[np.int64], values: Array, valid: Flags | None, count: int
) -> tuple[Array, NDArray[np.int64]]:
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


def along(slopes: Array, late: Array, phase: NDArray[np.int64]) -> Array:
    """Return what samples (N, c) changed since their grid points.

    Parameters
    ----------
    slopes
        Derivatives (orders, n, c), from the first on, at the points of one period.
    late
        (N,) [s].
    phase
        Points of the period (N,).
    """
    change = np.zeros((len(late), slopes.shape[2]))
    factor = np.ones(len(late))
    for order, slope in enumerate(slopes, start=1):
        factor = factor * late / order
        change += factor[:, None] * slope[phase]
    return change


def periodic_slopes(mean: Array, period: float) -> Array:
    """Derivatives 1 ... (orders, n, c) of the smooth part of one period (n, c)."""
    count = len(mean)
    spectrum = np.fft.rfft(mean, axis=0)
    spectrum[max(2, count // BAND) + 1 :] = 0.0
    order = 1j * 2 * np.pi / period * np.arange(len(spectrum))[:, None]
    return np.stack(
        [np.fft.irfft(spectrum * order**k, count, axis=0) for k in range(1, ORDERS + 1)]
    )


def fold_samples(
    time: Array,
    values: Array,
    valid: Flags | None,
    start: float,
    period: float,
    size: tuple[int, int],
) -> tuple[Array, Flags]:
    """Fold irregular samples of a periodic signal.

    Parameters
    ----------
    time, values, valid
        Stamps (N,) [s], samples (N, c), and which of them may be used; None: all.
    start, period
        First point of the grid, and period [s].
    size
        Samples a period n, and number of periods P.

    Returns
    -------
    samples, valid
        (P, n, c) each. Where there is no valid sample, the mean of the same phase in other
        periods stands in its place, which leaves the mean as it is; where no period has
        one, a straight line over the gap.
    """
    count, periods = size
    number, late = nearest(time, start, period / count, count * periods)
    phase = np.where(number >= 0, number % count, 0)
    slopes = np.zeros((ORDERS, count, values.shape[1]))
    rounds = ROUNDS if np.abs(late[number >= 0]).max(initial=0.0) > EVEN * period / count else 1
    for _ in range(rounds):
        moved = values - along(slopes, late, phase)
        total, hits = collected(number, moved, valid, count * periods)
        folded = total.reshape(periods, count, -1)
        known = hits.reshape(periods, count, -1)
        mean = bridged_period(folded.sum(axis=0), known.sum(axis=0))
        slopes = periodic_slopes(mean, period)
    there = known > 0
    samples = np.where(there, folded / np.maximum(known, 1), 0.0)
    phase_mean = bridged_period(samples.sum(axis=0), there.sum(axis=0))
    return np.where(there, samples, phase_mean), there


def bridged_period(total: Array, hits: NDArray[np.int64]) -> Array:
    """Return total / hits (n, c) of a period, a straight line across where there are no hits."""
    mean = np.asarray(total / np.maximum(hits, 1))
    count = len(mean)
    points = np.arange(count)
    for column in np.flatnonzero((hits == 0).any(axis=0)):
        good = hits[:, column] > 0
        if good.any():
            mean[~good, column] = np.interp(
                points[~good], points[good], mean[good, column], period=count
            )
    return mean


def evened(time: Array, values: Array, valid: Flags | None) -> tuple[Array, Array, Flags | None]:
    """Put the samples of a motion without a period on an even grid.

    Parameters
    ----------
    time, values, valid
        Stamps (N,) [s], samples (N, c), and which of them may be used; None: all.

    Returns
    -------
    grid, samples, there
        (M,) [s], (M, c), and where (M, c) a sample was measured (None: everywhere). The
        others hold a local cubic through their neighbours, in long gaps a straight line:
        what filters need to go on. Rows must not rest on long ones (`holes`).
    """
    if valid is None and is_even(time):
        return time, values, None
    interval = nominal_interval(time)
    count = int(round(float(time[-1] - time[0]) / interval)) + 1
    grid = time[0] + interval * np.arange(count)
    samples, there = evened_on(grid, interval, time, values, valid)
    return grid, samples, None if there.all() else there


def evened_on(
    grid: Array, interval: float, time: Array, values: Array, valid: Flags | None
) -> tuple[Array, Flags]:
    """As `evened`, on a given even grid (M,) [s] within the samples; returns samples and there."""
    count = len(grid)
    number, late = nearest(time, float(grid[0]), interval, count)
    moved = values
    total, hits = collected(number, moved, valid, count)
    for _ in range(ROUNDS - 1 if np.abs(late).max() > EVEN * interval else 0):
        slopes = _smooth_slopes(_bridged(total, hits), interval)
        moved = values - along(slopes, late, np.clip(number, 0, None))
        total, hits = collected(number, moved, valid, count)
    there = hits > 0
    samples = np.where(there, total / np.maximum(hits, 1), np.nan)
    for column in np.flatnonzero(~there.all(axis=0)):
        own = slice(None) if valid is None else valid[:, column]
        stamps, measured = time[own], values[own, column : column + 1]
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
    window = min(2 * REACHES[0] + 1, len(samples) - (len(samples) + 1) % 2)
    if window <= 3:
        return np.zeros((1, *samples.shape))
    return np.stack(
        [savgol_filter(samples, window, 3, deriv=k, delta=interval, axis=0) for k in (1, 2)]
    )


def _bridged(total: Array, hits: NDArray[np.int64]) -> Array:
    """Means (M, c), straight lines where there are none."""
    mean = np.asarray(total / np.maximum(hits, 1))
    points = np.arange(len(mean))
    for column in np.flatnonzero((hits == 0).any(axis=0)):
        good = hits[:, column] > 0
        if good.any():
            mean[~good, column] = np.interp(points[~good], points[good], mean[good, column])
    return mean
