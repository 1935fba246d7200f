"""The period of a recorded motion, where it has one."""

from __future__ import annotations

import numpy as np

from pkm_identification.arrays import Array, Mask
from pkm_identification.quality.stamps import nominal_interval
from pkm_identification.signals.even_grid import is_even
from pkm_identification.signals.folding import GRID_TOLERANCE

TO_FIND = 0.5  # of an interval: stamps this close to even are taken as they are
LONGEST_GAP = 0.1  # of a record that is searched for a period
DETECTION_LIMIT = 0.01  # mean square difference of two periods against twice the variance
SEAM_FACTOR = 5.0  # times the largest third difference inside: a seam that is a jerk


def _evened(time: Array, values: Array, valid: Mask | None, interval: float) -> Array:
    """Straight lines between the samples (N, n_a), good enough to look for a period."""
    grid = np.arange(time[0], time[-1] + 0.5 * interval, interval)
    columns = []
    for k, column in enumerate(values.T):
        good = slice(None) if valid is None else valid[:, k]
        columns.append(np.interp(grid, time[good], column[good]))
    return np.column_stack(columns)


def find_period(time: Array, positions: Array, valid: Mask | None = None) -> float | None:
    """Find the period of a measured motion [s], or None where it has none.

    At least two periods show as a minimum of the mean square difference between the
    signal and itself shifted; a record that is one closed period, as a seam without a
    step in value, slope and curvature.

    Parameters
    ----------
    time, positions
        (N,) [s], (N, n_a).
    valid
        Which positions (N, n_a) may be used; None: all.
    """
    interval = nominal_interval(time)
    if valid is not None or not is_even(time, TO_FIND):
        if np.diff(time).max() > LONGEST_GAP * (time[-1] - time[0]):
            return None
        positions = _evened(time, positions, valid, interval)
    moving = positions[:, positions.std(axis=0) > 0]
    if not moving.size or len(moving) < 16:
        return None
    scaled = (moving - moving.mean(axis=0)) / moving.std(axis=0)
    lag = _repetition(scaled)
    if lag is not None:
        return lag * interval
    for closed in (scaled, scaled[:-1]):
        if _is_closed(closed):
            return len(closed) * interval
    return None


def _repetition(scaled: Array) -> float | None:
    """Shortest lag [samples] after which the signal repeats, at most half the record."""
    size, axes = scaled.shape
    spectrum = np.fft.rfft(scaled, 2 * size, axis=0)
    product = np.fft.irfft(np.abs(spectrum) ** 2, axis=0)[:size].sum(axis=1)
    power = np.concatenate([[0.0], np.cumsum((scaled**2).sum(axis=1))])
    lags = np.arange(size // 2 + 1)
    energy = power[size - lags] + power[-1] - power[lags]
    difference = (energy - 2 * product[lags]) / (2 * axes * (size - lags))
    apart = np.flatnonzero(difference > 0.2)
    if not apart.size:
        return None
    begin = int(apart[0])
    lowest = float(difference[begin:].min())
    if lowest > DETECTION_LIMIT:
        return None
    half_a_sample = 0.25 * float(np.mean(np.diff(scaled, axis=0) ** 2))
    limit = 3 * lowest + half_a_sample + 1e-9
    first = begin + int(np.argmax(difference[begin:] <= limit))
    while first + 1 < len(difference) and difference[first + 1] < difference[first]:
        first += 1
    multiple = max(1, (len(difference) - 2) // first)
    guess = first * multiple
    window = np.arange(max(1, guess - multiple), min(len(difference) - 1, guess + multiple + 1))
    lag = int(window[np.argmin(difference[window])])
    left, centre, right = difference[lag - 1 : lag + 2]
    curvature = left - 2 * centre + right
    shift = 0.5 * (left - right) / curvature if curvature > 0 else 0.0
    found = (lag + float(np.clip(shift, -0.5, 0.5))) / multiple
    return float(round(found)) if abs(found - round(found)) < GRID_TOLERANCE else found


def _is_closed(scaled: Array) -> bool:
    """Whether a record continues smoothly from its last sample to its first."""
    ring = np.concatenate([scaled[-3:], scaled[:3]])
    for order in (1, 2, 3):
        inside = np.abs(np.diff(scaled, order, axis=0)).max(axis=0)
        seam = np.abs(np.diff(ring, order, axis=0)).max(axis=0)
        if (seam > SEAM_FACTOR * inside if order == 3 else seam > 1.5 * inside).any():
            return False
    return True
