"""Periods in recorded signals: found, folded onto one grid, averaged, and their spread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

from pkm_description.errors import EstimationError
from pkm_identification.quality.stamps import nominal_interval
from pkm_identification.signals.gridding import bridged_period, fold_samples, is_even

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

TO_FIND = 0.5  # of an interval: stamps this close to even are taken as they are
LONGEST_GAP = 0.1  # of a record that is searched for a period
STRAY = 8.0  # standard deviations of the spread over periods
MOST_STRAYS = 0.01  # share; more of them are how the periods differ
MAD_TO_SIGMA = 1.4826
LOST = 1  # sample at the end of a period that may be lost, the period still being whole
GRID_TOLERANCE = 0.02  # of a sampling interval: stamps this close to the grid are on it
DETECTION_LIMIT = 0.01  # mean square difference of two periods against twice the variance
SEAM_FACTOR = 5.0
SETTLING_HARMONICS = 20
SETTLING_RATIO = 2.5  # of the energies; periods that differ by noise alone stay below
NEGLIGIBLE_SETTLING = 1e-6  # of the motion


@dataclass(frozen=True)
class Folded:
    """A signal of P whole periods on one grid of n samples a period.

    Attributes
    ----------
    samples
        (P, n, n_a); each period begins at the first stamp.
    period
        [s].
    interpolated
        Whether even stamps off the grid were interpolated.
    valid
        Which samples (P, n, n_a) were measured; the others hold the mean of the same phase
        in other periods. None: all.
    """

    samples: Array
    period: float
    interpolated: bool
    valid: Flags | None = None

    @property
    def some(self) -> Array:
        """Some of the periods (p, n, n_a) as measured; all where they are in memory."""
        return self.samples

    @property
    def mean(self) -> Array:
        """Mean over the periods (n, n_a)."""
        return self.samples.mean(axis=0)

    def blocks(self) -> Iterator[Array]:
        """Yield some of the periods (k, n, n_a) at once."""
        yield self.samples

    @property
    def deviations(self) -> Array:
        """Deviations (P, n, n_a) from the mean, scaled to an unbiased variance."""
        count = len(self.samples)
        if count < 2:
            raise EstimationError('one period has no spread: at least two are needed')
        if self.valid is None:
            return (self.samples - self.mean) * np.sqrt(count / (count - 1))
        hits = self.valid.sum(axis=0)
        freedom = np.maximum(hits - 1, 0).sum(axis=0)
        scale = np.sqrt(count * len(hits) / np.maximum(freedom, 1))
        return np.where(self.valid, self.samples - self.mean, 0.0) * scale

    @property
    def seen(self) -> Flags | None:
        """Which phases (n, n_a) were measured in any period; None: all."""
        if self.valid is None:
            return None
        seen = np.asarray(self.valid.any(axis=0))
        return None if seen.all() else seen


def fold(
    time: Array, values: Array, period: float, skip: int = 0, valid: Flags | None = None
) -> Folded:
    """Fold a signal onto one period; whole periods only, the rest is left out.

    Samples at uneven stamps, and those beside lost or bad ones, are not interpolated.

    Parameters
    ----------
    time, values
        Stamps (N,) [s] and samples (N, n_a).
    period
        [s].
    skip
        Number of periods to leave out at the beginning (transients).
    valid
        Which samples (N, n_a) may be used; None: all.

    Raises
    ------
    EstimationError
        The record holds no whole period (after `skip`).
    """
    interval = nominal_interval(time)
    start = time[0] + skip * period
    if valid is not None or not is_even(time):
        size = whole_periods(time[0], time[-1] + LOST * interval, interval, period, skip)
        folded, there = fold_samples(time, values, valid, float(start), period, size)
        return Folded(folded, period, False, None if there.all() else there)
    count, periods = whole_periods(time[0], time[-1], interval, period, skip)
    grid = start + period / count * np.arange(periods * count)
    first = int(round((start - time[0]) / interval))
    direct = time[first : first + len(grid)]
    if len(direct) == len(grid) and np.abs(direct - grid).max() <= GRID_TOLERANCE * interval:
        samples, interpolated = values[first : first + len(grid)], False
    else:
        spline = make_interp_spline(time, values, k=min(5, len(time) - 1))
        samples, interpolated = spline(np.clip(grid, time[0], time[-1])), True
    return Folded(samples.reshape(periods, count, -1), period, interpolated)


def without_strays(folded: Folded) -> tuple[Folded, int]:
    """Leave samples out that are far from those of the same phase in other periods.

    Outliers so close to each other that their neighbours do not show them, in recordings
    from which samples were left out already. Returns how many these are, too.
    """
    valid = folded.valid
    if valid is None or len(folded.samples) < 3:
        return folded, 0
    off = np.abs(folded.samples - np.median(folded.samples, axis=0))
    # from the mean: of few periods, one is always its own median
    spread = np.where(valid, np.abs(folded.samples - folded.mean), np.nan)
    unbiased = np.sqrt(len(valid) / (len(valid) - 1))
    scale = MAD_TO_SIGMA * unbiased * np.nanmedian(spread, axis=(0, 1))
    stray = valid & (off > STRAY * scale)
    if not stray.any() or stray.mean() > MOST_STRAYS:
        return folded, 0
    kept = valid & ~stray
    total = np.where(kept, folded.samples, 0.0).sum(axis=0)
    mean = bridged_period(total, kept.sum(axis=0))
    samples = np.where(kept, folded.samples, mean)
    return Folded(samples, folded.period, folded.interpolated, kept), int(stray.sum())


def whole_periods(
    first: float, last: float, interval: float, period: float, skip: int = 0
) -> tuple[int, int]:
    """Return samples a period and number of whole periods between two stamps [s].

    Raises
    ------
    EstimationError
        There is no whole period after `skip`.
    """
    count = round(period / interval)
    if count < 4:
        raise EstimationError(f'period {period:g} s holds {count} samples; at least 4 are needed')
    periods = int(np.floor((last + 1.01 * interval - first - skip * period) / period))
    if periods < 1:
        raise EstimationError(
            f'the record of {last - first + interval:.3f} s holds no whole period of '
            f'{period:g} s after leaving out {skip}'
        )
    return count, periods


def settling_periods(folded: Folded) -> int:
    """Count the first periods in which the motion has not settled to its periodic form.

    A servo needs time to reach the periodic motion after the ramp. A period counts as
    settling when it differs from the mean of the later ones, in the low harmonics where
    such transients lie, by more than the later ones' spread explains. At least two
    periods are left.
    """
    return settling_spectra(low_harmonics(folded.samples))


def low_harmonics(samples: Array) -> NDArray[np.complex128]:
    """Return the harmonics (P, h, n_a) of periods (P, n, n_a) in which transients lie."""
    count = samples.shape[1]
    spectra = np.fft.rfft(samples, axis=1)[:, : min(SETTLING_HARMONICS + 1, count // 2)]
    return np.asarray(spectra / count)


def settling_spectra(spectra: NDArray[np.complex128]) -> int:
    """Count the settling periods from their `low_harmonics`."""
    size = float(np.mean(np.abs(spectra[:, 1:]) ** 2))
    skipped = 0
    while len(spectra) - skipped > 2:
        later = spectra[skipped + 1 :]
        mean = later.mean(axis=0)
        spread = np.sum(np.abs(later - mean) ** 2) / (len(later) - 1)
        difference = np.sum(np.abs(spectra[skipped] - mean) ** 2) / (1 + 1 / len(later))
        negligible = NEGLIGIBLE_SETTLING**2 * size * mean.size
        if difference <= max(SETTLING_RATIO * spread, negligible):
            break
        skipped += 1
    return skipped


def _evened(time: Array, values: Array, valid: Flags | None, interval: float) -> Array:
    """Straight lines between the samples (N, n_a), good enough to look for a period."""
    grid = np.arange(time[0], time[-1] + 0.5 * interval, interval)
    columns = []
    for k, column in enumerate(values.T):
        good = slice(None) if valid is None else valid[:, k]
        columns.append(np.interp(grid, time[good], column[good]))
    return np.column_stack(columns)


def find_period(time: Array, positions: Array, valid: Flags | None = None) -> float | None:
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
