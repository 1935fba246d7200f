"""Noise of positions that a filter leaves in the motion."""

from __future__ import annotations

import numpy as np
from scipy.signal import sosfreqz

from pkm_identification.arrays import Array
from pkm_identification.signals.bands import FilterBand

FREQUENCIES = 4096  # at which the gain of a filter is summed up


def white_covariance(samples: Array) -> Array:
    """Covariance (c, c) of white noise on slow signals (n, c), from their fastest half."""
    count = len(samples)
    window = np.hanning(count)
    window /= np.sqrt(np.mean(window**2))
    trend = np.linspace(0, 1, count)[:, None] * (samples[-1] - samples[0]) + samples[0]
    spectrum = np.fft.rfft((samples - trend) * window[:, None], axis=0) / np.sqrt(count)
    upper = spectrum[len(spectrum) // 2 : -1]
    return np.asarray((upper.conj().T @ upper).real / len(upper))


def filter_gains(band: FilterBand) -> Array:
    """Covariance (3, 3) of value, slope and curvature that white unit noise leaves behind."""
    frequency, response = sosfreqz(band.sections, FREQUENCIES, fs=band.rate)
    power = np.abs(response) ** 4  # forwards and backwards
    speed = 2 * np.pi * frequency
    value, slope, curvature = (np.mean(power * speed**k) for k in (0, 2, 4))
    return np.array([[value, 0.0, -slope], [0.0, slope, 0.0], [-slope, 0.0, curvature]])
