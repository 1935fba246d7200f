"""Periods of a recording on one grid: folded, averaged, compared, some at once.

Samples at uneven stamps, and those beside lost or bad ones, are not interpolated: each goes to
the nearest point of the grid, moved by what the smooth part of the motion changes over that
fraction of an interval. Even stamps beside the grid are interpolated by a spline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array, ComplexArray, Indices, Mask
from pkm_identification.datasets import Recording
from pkm_identification.datasets.source import EVEN
from pkm_identification.quality.stamps import nominal_interval
from pkm_identification.signals.even_grid import ROUNDS, along, bridged, collected, is_even, nearest

AT_ONCE = 2**15  # samples of a long recording that are folded at once: some MB
LOST = 1  # sample at the end of a period that may be lost, the period still being whole
GRID_TOLERANCE = 0.02  # of a sampling interval: stamps this close to the grid are on it
SPLINE_ORDER = 5  # leaves noise nearly as it is
SPLINE_REACH = 64  # samples to either side that a spline of order 5 still depends on (1e-20)
BAND = 6  # samples of the fastest harmonic in the slope
ORDERS = 3  # of the Taylor series over the fraction of an interval
SETTLING_HARMONICS = 20  # transients of a servo lie below
SETTLING_RATIO = 2.5  # of the energies; periods that differ by noise alone stay below
NEGLIGIBLE_SETTLING = 1e-6  # of the motion


@dataclass(frozen=True)
class PeriodGrid:
    """Whole periods of a signal and how its samples come onto one grid."""

    period: float  # [s]
    count: int  # samples a period n
    periods: int  # number P
    start: float  # stamp of the first point [s]
    first_row: int  # number of the sample there, where the samples are on the grid
    interpolated: bool = False  # whether even stamps lie beside the grid: a spline is taken
    # derivatives (orders, n, c) of one period, where samples are uneven, missing or bad, else None
    slopes: Array | None = None

    @property
    def step(self) -> float:
        """From point to point [s]."""
        return self.period / self.count

    def folded(
        self, time: Array, values: Array, valid: Mask | None, chosen: range, row: int = 0
    ) -> Array:
        """Return the `chosen` periods (k, n, c), NaN where no sample is.

        They are made of samples (N, c) around them at stamps (N,) [s], of which `valid` (None: all)
        may be used; `row` is the number of the first in the recording.
        """
        size = len(chosen) * self.count
        shape = (len(chosen), self.count, values.shape[1])
        begin = chosen.start * self.count
        if self.slopes is not None:
            start = self.start + chosen.start * self.period
            number, late = nearest(time, start, self.step, size)
            moved = values - along(self.slopes, late, np.where(number >= 0, number, 0) % self.count)
            total, hits = collected(number, moved, valid, size)
            return np.where(hits > 0, total / np.maximum(hits, 1), np.nan).reshape(shape)
        if not self.interpolated:
            first = self.first_row + begin - row
            return values[first : first + size].reshape(shape)
        from scipy.interpolate import make_interp_spline  # 0.2 s to import, seldom needed

        grid = self.start + self.step * np.arange(begin, begin + size)
        spline = make_interp_spline(time, values, k=min(SPLINE_ORDER, len(time) - 1))
        return np.asarray(spline(np.clip(grid, time[0], time[-1]))).reshape(shape)


def period_grid(
    stamps: Iterable[Array],
    head: tuple[Array, Array, Mask | None],
    last: float,
    period: float,
    skip: int,
    *,
    is_complete: bool,
) -> PeriodGrid:
    """Choose the grid of a signal; whole periods [s] alone, after `skip` of them, are used.

    `stamps` are all, part by part, to the `last` one [s], and `head` the first of them (N,) with
    their samples (N, c) and which of these may be used. `is_complete`: the stamps are even and all
    samples may be used.
    """
    time, values, valid = head
    interval, first = nominal_interval(time), float(time[0])
    start = first + skip * period
    row = round((start - first) / interval)
    end = last if is_complete else last + LOST * interval
    count, periods = whole_periods(first, end, interval, period, skip)
    grid = PeriodGrid(period, count, periods, start, row)
    if not is_complete:
        there = max(int((float(time[-1]) - start) / period), 1)
        return replace(grid, slopes=_slopes(time, values, valid, grid, min(there, periods)))
    return replace(grid, interpolated=not _is_on(grid, stamps, interval))


def _is_on(grid: PeriodGrid, stamps: Iterable[Array], interval: float) -> bool:
    """Whether the stamps lie on the points of a grid, and are enough for it."""
    done, worst, size = 0, 0.0, grid.periods * grid.count
    for part in stamps:
        number = done + np.arange(len(part)) - grid.first_row
        own = (number >= 0) & (number < size)
        off = part[own] - (grid.start + grid.step * number[own])
        worst = max(worst, float(np.abs(off).max(initial=0.0)))
        done += len(part)
    return done >= grid.first_row + size and worst <= GRID_TOLERANCE * interval


def _slopes(
    time: Array, values: Array, valid: Mask | None, grid: PeriodGrid, periods: int
) -> Array:
    """Slopes (orders, n, c) of the mean of some periods, found together with it."""
    count = grid.count
    number, late = nearest(time, grid.start, grid.step, count * periods)
    phase = np.where(number >= 0, number % count, 0)
    slopes = np.zeros((ORDERS, count, values.shape[1]))
    rounds = ROUNDS if np.abs(late[number >= 0]).max(initial=0.0) > EVEN * grid.step else 1
    for _ in range(rounds - 1):
        moved = values - along(slopes, late, phase)
        total, hits = (
            each.reshape(periods, count, -1).sum(axis=0)
            for each in collected(number, moved, valid, count * periods)
        )
        slopes = periodic_slopes(bridged(total, hits, is_period=True), grid.period)
    return slopes


def periodic_slopes(mean: Array, period: float) -> Array:
    """Derivatives 1 ... (orders, n, c) of the smooth part of one period (n, c)."""
    count = len(mean)
    spectrum = np.fft.rfft(mean, axis=0)
    spectrum[max(2, count // BAND) + 1 :] = 0.0
    order = 1j * 2 * np.pi / period * np.arange(len(spectrum))[:, None]
    return np.stack(
        [np.fft.irfft(spectrum * order**k, count, axis=0) for k in range(1, ORDERS + 1)]
    )


def fold(time: Array, values: Array, period: float, valid: Mask | None = None) -> Array:
    """Fold samples (N, c) at stamps (N,) [s] onto one period: (P, n, c).

    Where there is no valid (N, c) sample, the mean of the same phase in the other periods
    stands in its place; raises as `period_grid`.
    """
    is_complete = valid is None and is_even(time)
    head = (time, values, valid)
    grid = period_grid([time], head, float(time[-1]), period, 0, is_complete=is_complete)
    return filled(grid.folded(time, values, valid, range(grid.periods)))


def filled(block: Array) -> Array:
    """Return periods (k, n, c) with their mean where they have no samples."""
    missing = np.isnan(block)
    if not missing.any():
        return block
    hits = np.count_nonzero(~missing, axis=0)
    return np.where(missing, bridged(np.nansum(block, axis=0), hits, is_period=True), block)


@dataclass(frozen=True)
class Periods:
    """Whole periods of positions and efforts of a recording, read again and again."""

    recording: Recording  # with efforts
    grid: PeriodGrid  # of the periods
    # median period (n, 2 n_a), and the distance (2 n_a,) from it of samples that are left out
    nearby: tuple[Array, Array] | None = None

    @classmethod
    def of(cls, recording: Recording, period: float, skip: int) -> Periods:
        """Return the periods [s] of a recording after some are left out; see `period_grid`."""
        source = recording.source
        head = (source.head.time, *source.head.together())
        stamps = (block.time for block in source.blocks())
        complete = recording.is_complete
        return cls(
            recording,
            period_grid(stamps, head, source.scan.last, period, skip, is_complete=complete),
        )

    def blocks(self) -> Iterator[Array]:
        """Yield some periods (k, n, 2 n_a) at once, positions then efforts; NaN: no sample."""
        for block in self._measured():
            if self.nearby is None:
                yield block
            else:
                middle, limit = self.nearby
                yield np.where(np.abs(block - middle) > limit, np.nan, block)

    def _measured(self) -> Iterator[Array]:
        if not self.recording.is_long:
            yield self._whole
            return
        grid, source = self.grid, self.recording.source
        some = max(1, AT_ONCE // grid.count)
        for begin in range(0, grid.periods, some):
            chosen = range(begin, min(begin + some, grid.periods))
            if grid.slopes is None and not grid.interpolated:
                row = grid.first_row + begin * grid.count
                block = source.read(slice(row, row + len(chosen) * grid.count))
                yield grid.folded(block.time, *block.together(), chosen, row)
                continue
            first = grid.start + begin * grid.period - grid.step
            last = first + len(chosen) * grid.period + 2 * grid.step
            block = source.between(first, last, SPLINE_REACH if grid.interpolated else 0)
            yield grid.folded(block.time, *block.together(), chosen)

    @cached_property
    def _whole(self) -> Array:
        block = self.recording.source.whole
        return self.grid.folded(block.time, *block.together(), range(self.grid.periods))


@dataclass(frozen=True)
class Folded:
    """A signal of P whole periods on one grid of n samples a period."""

    # yields some of the periods (k, n, n_a) at once, NaN where no sample is; begins anew
    measured: Callable[[], Iterator[Array]]
    mean: Array  # over the periods (n, n_a)
    period: float  # [s]
    interpolated: bool  # whether even stamps off the grid were interpolated
    # how many samples (n, n_a) the mean is of; None: one of each period
    hits: Indices | None = None

    def blocks(self) -> Iterator[Array]:
        """Yield some of the periods (k, n, n_a) at once, the mean where nothing was measured."""
        for block in self.measured():
            missing = np.isnan(block)
            yield np.where(missing, self.mean, block) if missing.any() else block

    @property
    def some(self) -> Array:
        """The first periods (p, n, n_a); all of a short recording."""
        return next(self.blocks())

    @cached_property
    def samples(self) -> Array:
        """All samples (P, n, n_a), in memory."""
        return np.concatenate(list(self.blocks()))

    @cached_property
    def valid(self) -> Mask | None:
        """Which samples (P, n, n_a) were measured; None: all."""
        if self.hits is None:
            return None
        return np.concatenate([~np.isnan(block) for block in self.measured()])

    @property
    def seen(self) -> Mask | None:
        """Which phases (n, n_a) were measured in any period; None: all."""
        return None if self.hits is None or self.hits.all() else self.hits > 0

    @property
    def deviations(self) -> Array:
        """Deviations (P, n, n_a) from the mean, scaled to an unbiased variance."""
        return np.concatenate(list(self.scaled_deviations(len(self.samples))))

    def scaled_deviations(self, periods: int) -> Iterator[Array]:
        """Yield the deviations of some of the periods, of which there are so many.

        A period has one degree of freedom less than samples at each phase, for the mean is made of
        them: their mean square is that of the noise.
        """
        if periods < 2:
            raise EstimationError('one period has no spread: at least two are needed')
        count = len(self.mean)
        freedom = np.full(self.mean.shape[1], (periods - 1) * count)
        if self.hits is not None:
            freedom = np.maximum(self.hits - 1, 0).sum(axis=0)
        scale = np.sqrt(count * periods / np.maximum(freedom, 1))
        for block in self.measured():
            yield np.nan_to_num(block - self.mean) * scale

    def changed(self, factors: Array, load: Array) -> Folded:
        """Return factors (n_a,) times the signal less a load (n, n_a)."""
        return replace(
            self,
            measured=lambda: (factors * block - load for block in self.measured()),
            mean=factors * self.mean - load,
        )


def whole_periods(
    first: float, last: float, interval: float, period: float, skip: int = 0
) -> tuple[int, int]:
    """Samples a period, and the whole periods [s] between two stamps [s] after `skip` of them."""
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


def low_harmonics(samples: Array) -> ComplexArray:
    """Return the harmonics (P, h, n_a) of periods (P, n, n_a) in which transients lie."""
    count = samples.shape[1]
    spectra = np.fft.rfft(samples, axis=1)[:, : min(SETTLING_HARMONICS + 1, count // 2)]
    return np.asarray(spectra / count)


def settling_spectra(spectra: ComplexArray) -> int:
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
