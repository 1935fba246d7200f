"""Derivatives of a motion without a period: zero-phase Butterworth and central differences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline
from scipy.signal import butter

from pkm_description.errors import EstimationError
from pkm_identification.signals.bands import FilterBand

Array = NDArray[np.float64]

ORDER = 4
FIRST = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
SECOND = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])
TRIM = 2.0  # of 1 / cutoff, off either end
MARGIN = 2.0  # cutoff over the highest frequency with signal
MAX_RELATIVE_FREQUENCY = 0.2
FALSE_ALARM = 1e-3


def uniform(time: Array, values: Array) -> tuple[Array, Array]:
    """Return the signal on an even grid of the same mean interval; even ones as they are."""
    steps = np.diff(time)
    interval = float(np.median(steps))
    if np.abs(steps - interval).max() <= 0.02 * interval:
        return time, values
    grid = np.arange(time[0], time[-1] + 0.5 * interval, interval)
    spline = make_interp_spline(time, values, k=3)
    return grid, spline(np.minimum(grid, time[-1]))


def choose_cutoff(positions: Array, interval: float) -> float:
    """Choose a cutoff [Hz] above everything that stands out of the position noise."""
    count = len(positions)
    trend = np.linspace(0, 1, count)[:, None] * (positions[-1] - positions[0]) + positions[0]
    window = np.hanning(count) ** 2
    window /= np.sqrt((window**2).mean())
    spectrum = np.fft.rfft((positions - trend) * window[:, None], axis=0)
    power = np.abs(spectrum) ** 2 / count
    floor = np.median(power[len(power) // 2 :], axis=0) / np.log(2)
    limit = np.log(power.size / FALSE_ALARM) * np.maximum(floor, 1e-26 * positions.var(axis=0))
    found = np.flatnonzero((power > limit).any(axis=1))
    highest = (found[-1] if found.size else 1) / (count * interval)
    cap = MAX_RELATIVE_FREQUENCY / interval
    return float(np.clip(MARGIN * highest, 8 / (count * interval), cap))


def low_pass(cutoff: float, interval: float, count: int) -> FilterBand:
    """Build the filter that both sides go through.

    Raises
    ------
    EstimationError
        The cutoff is outside (0, half the sampling rate), or the record too short for it.
    """
    if not 0 < cutoff < 0.5 / interval:
        raise EstimationError(
            f'cutoff {cutoff:g} Hz must lie between 0 and half the sampling rate '
            f'({0.5 / interval:g} Hz)'
        )
    trim = int(np.ceil(TRIM / (cutoff * interval))) + len(FIRST) // 2
    if count <= 4 * trim:
        raise EstimationError(
            f'{count} samples are too few for a cutoff of {cutoff:g} Hz: at least {4 * trim + 1}'
        )
    sections = butter(ORDER, cutoff, fs=1 / interval, output='sos')
    step = max(1, int(0.5 / (cutoff * interval)))
    return FilterBand(sections, cutoff, 1 / interval, step, trim)


def derivatives(
    positions: Array, interval: float, band: FilterBand, delay: float = 0.0
) -> tuple[Array, Array, Array]:
    """Return filtered positions, velocities and accelerations (n, n_a), `delay` [s] later.

    Central differences of eighth order; the four samples at either end repeat their
    neighbours and are trimmed by the band.
    """
    smooth = band.smooth(positions)
    signals = [smooth]
    for stencil, power in ((FIRST, 1), (SECOND, 2)):
        inside = sum(
            weight * smooth[i : len(smooth) - len(stencil) + 1 + i]
            for i, weight in enumerate(stencil)
        )
        edge = len(stencil) // 2
        signals.append(np.pad(inside / interval**power, ((edge, edge), (0, 0)), mode='edge'))
    if delay:
        grid = np.arange(len(positions)) * interval
        later = np.clip(grid + delay, 0, grid[-1])
        signals = [make_interp_spline(grid, values, k=5)(later) for values in signals]
    return signals[0], signals[1], signals[2]
