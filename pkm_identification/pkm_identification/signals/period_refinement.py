"""The period of a motion from the drift of its phase over all recorded periods."""

from __future__ import annotations

import numpy as np
from scipy.stats import t as student

from pkm_identification.arrays import Array, Mask
from pkm_identification.quality.stamps import nominal_interval
from pkm_identification.signals.folding import GRID_TOLERANCE, fold, low_harmonics

ROUNDS = 5
CONVERGED = 1e-5  # of an interval, over the whole record
ENOUGH = 4  # periods whose scatter tells how certain the drift is
MOST = 500  # periods that are compared with each other
CHANCE = 1e-4  # that a period of whole samples is taken for another
ROUNDING = 1e-7  # of an interval a period
MAD_TO_SIGMA = 1.4826
FAR = 4.0  # times the scatter: the motion has not settled there


def refined_period(
    time: Array, positions: Array, period: float, valid: Mask | None = None
) -> float:
    """Return the period [s] that keeps all recorded periods in phase.

    A period that is off by d shifts the k-th recorded one by k d against the first. The
    shifts are taken from the motion and its slope, their drift from the median of the slopes
    between all pairs, less what a settling beginning puts beside that line. A period that
    chance could make of a whole number of samples is that number: the clocks of sampling and
    reference are then one.

    Parameters
    ----------
    time, positions
        (N,) [s], (N, n_a).
    period
        Good enough that the periods of the record overlap [s].
    valid
        Which positions (N, n_a) may be used; None: all.
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
    step = max(1, len(shifts) // MOST)
    few, numbers = shifts[::step], number[::step]
    first, second = np.triu_indices(len(few), 1)
    drift = float(np.median((few[second] - few[first]) / (numbers[second] - numbers[first])))
    rest = shifts - drift * number
    off = np.abs(rest - np.median(rest))
    settled = off <= FAR * MAD_TO_SIGMA * float(np.median(off))
    if np.count_nonzero(settled) < ENOUGH:
        return drift, float('inf')
    centred = number[settled] - number[settled].mean()
    drift = float(centred @ shifts[settled] / (centred @ centred))
    rest = shifts[settled] - drift * number[settled]
    deviation = float(np.std(rest, ddof=2) / np.sqrt(centred @ centred))
    return drift, deviation * float(student.isf(CHANCE / 2, len(rest) - 2))
