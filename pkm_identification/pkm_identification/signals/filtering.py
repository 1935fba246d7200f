"""Derivatives of a motion without a period: zero-phase Butterworth and central differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array, ComplexArray, Indices
from pkm_identification.datasets.effort_filter import EffortFilter
from pkm_identification.quality.report import stretches
from pkm_identification.signals.bands import FilterBand

ORDER = 4
HOLE = 0.25  # of 1 / cutoff: neighbours on both sides tell what lies in shorter gaps
OVERSAMPLING = 32  # samples a cutoff period for the regressor of filtered motions
FEWER = 16  # of recordings with many samples, in which what a coarse grid adds averages out
MANY = 200_000
WIDER = 2.0  # times the cutoff of the rows is that of the motion, see `Grid`
FASTEST = 0.45  # of the sampling rate
FIRST = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
SECOND = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])
TRIM = 2.0  # of 1 / cutoff, off either end
CUTOFF_OVER_SIGNAL = 4.0  # cutoff over the highest frequency with signal
ESSENTIAL = 0.999  # share of the acceleration's power that must pass unchanged
NOISE_MARGIN = 0.5  # of the frequency at which both noises are equal
PERIODS = 12.0  # of the lowest cutoff in a recording: the filter leaves out two at either end
MAX_RELATIVE_FREQUENCY = 0.2  # of the sampling rate
FALSE_ALARM = 1e-3
SETTLED = 1.0  # of 1 / crossover: a first order has forgotten all but 0.2 %
STANDS_OUT = 3.0  # times the noise floor: what is below may be noise
MOST = 0.9  # of the power of the velocities: the fast rest is mixed with noise
NEARLY_ALL = 0.999  # of the power of the positions: a thousandth is 3 % of a path
FREQUENCIES = 4096  # at which the gain of a filter is summed up
WIDEST, POINTS = 2.0, 400  # frequencies over the cutoff: beyond twice it nothing is passed


def holes(missing: Sequence[Indices], cutoff: float, interval: float) -> Indices | None:
    """First and last sample (h, 2) of gaps that are long against the cutoff [Hz]; None without any.

    `missing` are the numbers of the samples of each column that were not measured.
    """
    found = [np.zeros((0, 2), dtype=np.int64)]
    for rows in missing:
        gaps = stretches(rows)
        found.append(gaps[(gaps[:, 1] - gaps[:, 0] + 1) * interval > HOLE / cutoff])
    together = np.concatenate(found)
    if not len(together):
        return None
    together = together[np.argsort(together[:, 0])]
    ends = np.maximum.accumulate(together[:, 1])  # gaps of several columns may overlap
    first = np.flatnonzero(np.append(True, together[1:, 0] > ends[:-1]))
    return np.column_stack([together[first, 0], ends[np.append(first[1:], len(ends)) - 1]])


def choose_cutoff(positions: Array, forces: Array, interval: float) -> float:
    """Choose a cutoff [Hz] from what stands out of the noise of positions and forces (n, n_a).

    Well above everything that stands out of the position noise, so that the motion passes
    unchanged, but only as far up as position noise, through the inertia, stays below the force
    noise; what carries nearly all of the acceleration passes in any case.
    """
    count = len(positions)
    power, floor = _power(positions)
    _, force_floor = _power(forces)
    limit = np.log(power.size / FALSE_ALARM) * np.maximum(floor, 1e-26 * positions.var(axis=0))
    stands_out = power > limit
    found = np.flatnonzero(stands_out.any(axis=1))
    highest = (found[-1] if found.size else 1) / (count * interval)
    frequency = 2 * np.pi * np.arange(len(power)) / (count * interval)
    signal = np.where(stands_out, power, 0.0) * (frequency**4)[:, None]
    acceleration = np.sqrt(2 * signal.sum(axis=0) / count)
    inertia = forces.std(axis=0) / np.maximum(acceleration, 1e-12)
    resolution = np.maximum(np.sqrt(force_floor), 1e-6 * forces.std(axis=0))
    blur = np.maximum(inertia * np.sqrt(floor), 1e-15)
    noisy = NOISE_MARGIN * float(np.median(np.sqrt(resolution / blur))) / (2 * np.pi)
    share = np.cumsum(signal.sum(axis=1)) / max(float(signal.sum()), 1e-300)
    essential = float(np.argmax(share >= ESSENTIAL)) / (count * interval)
    cutoff = min(CUTOFF_OVER_SIGNAL * highest, max(noisy, 2 * essential))
    return float(np.clip(cutoff, *cutoff_limits(count * interval, interval)))


def cutoff_limits(duration: float, interval: float) -> tuple[float, float]:
    """Least and largest cutoff [Hz] of samples every `interval` over a `duration` [s]."""
    return PERIODS / duration, MAX_RELATIVE_FREQUENCY / interval


def motion_frequency(positions: Array, interval: float) -> float:
    """Frequency [Hz] below which lies most of the power of the velocities of positions (n, n_a).

    And no higher than that of nearly all power of the positions: a sample that is read twice, or
    lost, makes noise that is not white, and in velocities more of it than there is slow motion.
    """
    power, floor = _power(positions)
    frequency = np.arange(len(power)) / (len(positions) * interval)
    shown = np.maximum(power - STANDS_OUT * floor, 0.0) * (frequency**2)[:, None]
    limits = [
        frequency[np.argmax(share >= least * share[-1])]
        for share, least in (
            (np.cumsum(shown.sum(axis=1)), MOST),
            (np.cumsum(power.sum(axis=1)), NEARLY_ALL),
        )
    ]
    return float(min(limits))


def from_half(positions: Array, first: int) -> Array:
    """Twice the positions (n, n_a) of every second sample, from the `first` on, zero between.

    About the straight line through the ends. Filtered it is the motion as these samples show it.
    """
    line = np.linspace(0, 1, len(positions))[:, None] * (positions[-1] - positions[0])
    line = line + positions[0]
    found = np.zeros_like(positions)
    found[first::2] = 2.0 * (positions - line)[first::2]
    return found + line


def _power(values: Array) -> tuple[Array, Array]:
    """Power (n_f, n_a) of a signal without its trend, and its noise floor (n_a,)."""
    power = np.abs(_spectrum(values, np.hanning(len(values)) ** 2)) ** 2
    return power, np.median(power[len(power) // 2 :], axis=0) / np.log(2)


def _spectrum(values: Array, window: Array) -> ComplexArray:
    """Orthonormal spectrum (n_f, n_a) of a signal (n, n_a) without its trend, in a window (n,)."""
    trend = np.linspace(0, 1, len(values))[:, None] * (values[-1] - values[0]) + values[0]
    scale = window / np.sqrt((window**2).mean() * len(values))
    return np.fft.rfft((values - trend) * scale[:, None], axis=0)


def low_pass(
    cutoff: float, interval: float, count: int, gaps: Indices | None = None, delay: float = 0.0
) -> FilterBand:
    """Build the filter; rows leave `gaps` (h, 2) out, and `delay` [s] at either end."""
    from scipy.signal import butter

    if not 0 < cutoff < 0.5 / interval:
        raise EstimationError(
            f'cutoff {cutoff:g} Hz must lie between 0 and half the sampling rate '
            f'({0.5 / interval:g} Hz)'
        )
    trim = int(np.ceil((TRIM / cutoff + abs(delay)) / interval)) + len(FIRST) // 2
    if count <= 4 * trim:
        more = f' and a delay of {delay:g} s' if delay else ''
        raise EstimationError(
            f'{count} samples are too few for a cutoff of {cutoff:g} Hz{more}: at least '
            f'{4 * trim + 1}'
        )
    sections = butter(ORDER, cutoff, fs=1 / interval, output='sos')
    step = max(1, int(0.5 / (cutoff * interval)))
    return FilterBand(sections, cutoff, 1 / interval, step, trim, gaps)


def behind(band: FilterBand, drive: EffortFilter, count: int) -> FilterBand:
    """Return a band for forces that a drive has filtered; its rows begin when it has settled."""
    trim = band.trim + int(np.ceil(drive.memory * band.rate))
    if count <= 4 * trim:
        raise EstimationError(
            f'{count / band.rate:.3g} s are too few for a filter of the drives that takes '
            f'{drive.memory:.3g} s to settle'
        )
    return replace(band, drive=drive, trim=trim)


@dataclass(frozen=True)
class Grid:
    """Samples at `interval`, filtered, and every `coarse`-th of them kept.

    Measured forces and the regressor go through the filter once each, the forces on the
    samples as they are. The regressor is made of a motion with twice that band, which the
    filter of the rows then cuts: so what the model makes of the motion and what is faster than
    it, as the step of friction where a velocity changes its sign, has the band of the forces.
    Hardly anything of the motion is left above twice the cutoff: a coarser grid saves the
    regressor, and moves steps of friction by a fraction of its interval.
    """

    raw: FilterBand  # the filter on the samples as they are
    band: FilterBand  # on the coarse ones
    motion: FilterBand  # that of the measured positions
    cutoff: float  # of the rows [Hz]
    interval: float  # of the samples as they are [s]
    coarse: int  # samples from one to the next coarse one

    def signals(
        self,
        positions: Array,
        efforts: Array,
        delay: float,
        measured: tuple[Array, Array] | None = None,
    ) -> tuple[Array, Array, Array, Array]:
        """Positions, velocities, accelerations, and the filtered forces, on the coarse grid.

        `measured` are velocities (N, n) and the frequencies (n,) [Hz] above which they count,
        infinite where they do not.
        """
        motion = derivatives(positions, self.interval, self.motion, delay)
        if measured is not None:
            velocities, crossover = measured
            direct = derivatives(velocities, self.interval, self.motion, delay)[:2]
            blended = (
                blend(of_positions, own, crossover, self.interval)
                for of_positions, own in zip(motion[1:], direct, strict=True)
            )
            motion = (motion[0], *blended)  # type: ignore[assignment]
        signals = (*motion, self.raw.smooth(efforts))
        q, qd, qdd, forces = (values[:: self.coarse] for values in signals)
        return q, qd, qdd, forces


def grid(
    cutoff: float,
    interval: float,
    count: int,
    gaps: Indices | None = None,
    delay: float = 0.0,
    oversampling: int | None = None,
) -> Grid:
    """Choose the grid for so many samples with `gaps` (h, 2); raises as `low_pass`.

    No rows are made of samples at the ends whose motion, `delay` [s] later, was not recorded.
    """
    oversampling = oversampling or (OVERSAMPLING if count <= MANY else FEWER)
    coarse = max(1, int(1 / (oversampling * cutoff * interval)))
    coarse_gaps = None
    if gaps is not None:
        coarse_gaps = np.column_stack([gaps[:, 0] // coarse, -(-gaps[:, 1] // coarse)])
    raw = low_pass(cutoff, interval, count)
    wide = max(cutoff, min(WIDER * cutoff, FASTEST / interval))
    return Grid(
        raw,
        low_pass(cutoff, interval * coarse, -(-count // coarse), coarse_gaps, delay),
        low_pass(wide, interval, count),
        cutoff,
        interval,
        coarse,
    )


def derivatives(
    positions: Array, interval: float, band: FilterBand, delay: float = 0.0
) -> tuple[Array, Array, Array]:
    """Return filtered positions, velocities and accelerations (n, n_a), `delay` [s] later.

    Central differences of eighth order; the four samples at either end repeat their
    neighbours and are trimmed by the band.
    """
    from scipy.interpolate import make_interp_spline

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


def blend(slow: Array, fast: Array, crossover: Array, interval: float) -> Array:
    """Take signals (n, c) from one source below, from another above the crossover (c,) [Hz].

    Their weights 1 / (1 + (f / crossover)^2) and one minus that, without a phase, are those of
    least variance for a differentiated signal with white noise and one with white noise itself.
    """
    from scipy.signal import butter, sosfiltfilt

    found = np.array(slow)
    for column in np.flatnonzero(np.isfinite(crossover)):
        sections = butter(1, crossover[column], fs=1 / interval, output='sos')
        padding = min(len(slow) - 1, int(SETTLED / (crossover[column] * interval)))
        difference = slow[:, column] - fast[:, column]
        found[:, column] = fast[:, column] + sosfiltfilt(sections, difference, padlen=padding)
    return found


def white_covariance(samples: Array) -> Array:
    """Covariance (c, c) of white noise on slow signals (n, c), from their fastest half."""
    whole = _spectrum(samples, np.hanning(len(samples)))
    upper = whole[len(whole) // 2 : -1]
    return np.asarray((upper.conj().T @ upper).real / len(upper))


def filter_gains(band: FilterBand) -> Array:
    """Covariance (3, 3) of value, slope and curvature that white unit noise leaves behind."""
    from scipy.signal import sosfreqz

    frequency, response = sosfreqz(band.sections, FREQUENCIES, fs=band.rate)
    power = np.abs(response) ** 4  # forwards and backwards
    speed = 2 * np.pi * frequency
    value, slope, curvature = (np.mean(power * speed**k) for k in (0, 2, 4))
    return np.array([[value, 0.0, -slope], [0.0, slope, 0.0], [-slope, 0.0, curvature]])


def neighbour_correlation(band: FilterBand) -> float:
    """Correlation of neighbouring rows, step samples apart, that white noise leaves behind.

    Forwards and backwards the filter passes (1 + x^(2 order))^-2 of the power, x = frequency over
    cutoff.
    """
    x = np.linspace(0.0, min(0.5 * band.rate / band.cutoff, WIDEST), POINTS)
    passed = (1 + x ** (2 * ORDER)) ** -2.0
    turns = x * band.cutoff * band.step / band.rate
    return float(np.sum(passed * np.cos(2 * np.pi * turns)) / np.sum(passed))
