"""The period of a recorded motion: found, and refined by the drift of its phase."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from pkm_identification.arrays import Array, Mask
from pkm_identification.quality.prediction import MAD_TO_SIGMA
from pkm_identification.quality.stamps import nominal_interval
from pkm_identification.signals.even_grid import is_even
from pkm_identification.signals.folding import GRID_TOLERANCE, fold, low_harmonics

TO_FIND = 0.5  # of an interval: stamps this close to even are taken as they are
LONGEST_GAP = 0.1  # of a record that is searched for a period
DETECTION_LIMIT = 0.01  # mean square difference of two periods against twice the variance
SEAM_FACTOR = 5.0  # times the largest third difference inside: a seam that is a jerk
ROUNDS = 5
CONVERGED = 1e-5  # of an interval, over the whole record
ENOUGH = 4  # periods whose scatter tells how certain the drift is
MOST_PERIODS = 500  # periods that are compared with each other
CHANCE = 1e-4  # that a period of whole samples is taken for another
ROUNDING = 1e-7  # of an interval a period
REST = 1e-9  # of a position: what interpolation makes of an axis at rest is no motion
UNSETTLED = 4.0  # times the scatter: the motion has not settled there


def _evened(time: Array, values: Array, valid: Mask | None, interval: float) -> Array:
    """Straight lines between the samples (N, n_a), good enough to look for a period."""
    grid = np.arange(time[0], time[-1] + 0.5 * interval, interval)
    columns = []
    for k, column in enumerate(values.T):
        good = slice(None) if valid is None else valid[:, k]
        columns.append(np.interp(grid, time[good], column[good]))
    return np.column_stack(columns)


def find_period(time: Array, positions: Array, valid: Mask | None = None) -> float | None:
    """Find the period [s] of measured positions (N, n_a), or None where they have none.

    At least two periods show as a minimum of the mean square difference between the signal and
    itself shifted; a record that is one closed period, as a seam without a step in value, slope and
    curvature. `valid` (N, n_a): which may be used; None: all.
    """
    interval = nominal_interval(time)
    if valid is not None or not is_even(time, TO_FIND):
        if np.diff(time).max() > LONGEST_GAP * (time[-1] - time[0]):
            return None
        positions = _evened(time, positions, valid, interval)
    spread = positions.std(axis=0)
    turns = spread > REST * np.abs(positions).max(axis=0, initial=0.0)
    moving = positions[:, turns]
    if not moving.size or len(moving) < 16:
        return None
    scaled = (moving - moving.mean(axis=0)) / spread[turns]
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


def refined_period(
    time: Array, positions: Array, period: float, valid: Mask | None = None
) -> float:
    """Return the period [s] that keeps all recorded periods of positions (N, n_a) in phase.

    `period` must be good enough that the periods of the record overlap. One that is off by d shifts
    the k-th recorded one by k d against the first. The shifts are taken from the motion and its
    slope, their drift from the median of the slopes between all pairs, less what a settling
    beginning puts beside that line. A period that chance could make of a whole number of samples is
    that number: the clocks of sampling and reference are then one.
    """
    interval = nominal_interval(time)
    tolerance = GRID_TOLERANCE
    periods = (time[-1] - time[0]) / period
    for _ in range(ROUNDS):
        whole = round(period / interval) * interval
        if periods * abs(period - whole) <= GRID_TOLERANCE * interval:
            period = whole  # `fold` takes the samples as they are
        shifts = _shifts(fold(time, positions, period, valid), period)
        if len(shifts) < 2:
            break
        drift, uncertainty = _drift(shifts)
        period -= drift
        tolerance = min(GRID_TOLERANCE, uncertainty / interval + ROUNDING)
        if abs(drift) * len(shifts) < CONVERGED * interval:
            break
    count = period / interval
    return round(count) * interval if abs(count - round(count)) < tolerance else period


def _shifts(samples: Array, period: float) -> Array:
    """Return how far (P,) [s] each of the periods (P, n, n_a) is ahead of their mean."""
    spectra = low_harmonics(samples)
    scale = samples.std(axis=(0, 1))
    moving = scale > 0
    spectra = spectra[..., moving] / scale[moving]
    mean = np.median(spectra.real, axis=0) + 1j * np.median(spectra.imag, axis=0)
    slope = 2j * np.pi / period * np.arange(len(mean))[:, None] * mean
    off = np.sum((slope.conj() * (spectra - mean)).real, axis=(1, 2))
    return np.asarray(off / np.sum(np.abs(slope) ** 2))


def _drift(shifts: Array) -> tuple[float, float]:
    """Return the drift a period [s] of shifts (P,) and how far it is off by chance."""
    number = np.arange(len(shifts), dtype=float)
    step = max(1, len(shifts) // MOST_PERIODS)
    few, numbers = shifts[::step], number[::step]
    first, second = np.triu_indices(len(few), 1)
    drift = float(np.median((few[second] - few[first]) / (numbers[second] - numbers[first])))
    rest = shifts - drift * number
    off = np.abs(rest - np.median(rest))
    settled = off <= UNSETTLED * MAD_TO_SIGMA * float(np.median(off))
    if np.count_nonzero(settled) < ENOUGH:
        return drift, float('inf')
    centred = number[settled] - number[settled].mean()
    drift = float(centred @ shifts[settled] / (centred @ centred))
    rest = shifts[settled] - drift * number[settled]
    deviation = float(np.std(rest, ddof=2) / np.sqrt(centred @ centred))
    return drift, deviation * -float(stdtrit(len(rest) - 2, CHANCE / 2))
