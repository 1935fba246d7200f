"""Mean over the periods and the noise that their spread shows, in memory or in two passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pkm_identification.datasets import Dataset, LongDataset
from pkm_identification.quality.stamps import nominal_interval
from pkm_identification.signals.gridding import bridged_period, fold_samples, periodic_slopes
from pkm_identification.signals.long_gridding import periodic_blocks
from pkm_identification.signals.noise import Noise, noise_from_moments, noise_from_spread
from pkm_identification.signals.periods import (
    GRID_TOLERANCE,
    LOST,
    Folded,
    fold,
    low_harmonics,
    settling_periods,
    settling_spectra,
    whole_periods,
    without_strays,
)
from pkm_identification.signals.resampling import resampled

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Numbers = NDArray[np.int64]

NEGLIGIBLE = 1e-9  # noise below this share of a signal is rounding
AT_ONCE = 2**15  # samples


class LongFolded(Folded):
    """As `Folded`, of a recording that is too long for memory; `samples` reads all of it."""

    def __init__(
        self, pass_: PeriodPass, columns: slice, mean: Array, hits: Numbers | None = None
    ) -> None:
        object.__setattr__(self, '_pass', pass_)
        object.__setattr__(self, '_columns', columns)
        object.__setattr__(self, '_mean', mean)
        object.__setattr__(self, 'period', pass_.period)
        object.__setattr__(self, 'interpolated', pass_.interpolated)
        object.__setattr__(self, '_hits', hits)

    @property
    def mean(self) -> Array:
        """Mean over the periods (n, n_a)."""
        mean: Array = self.__dict__['_mean']
        return mean

    @property
    def some(self) -> Array:
        """The first periods (p, n, n_a)."""
        return next(self.blocks())

    def blocks(self) -> Iterator[Array]:
        """Yield some of the periods (k, n, n_a) at once; each call reads anew."""
        for block in self._measured():
            yield np.where(np.isnan(block), self.mean, block)

    @cached_property
    def samples(self) -> Array:
        """All samples (P, n, n_a), in memory."""
        return np.concatenate(list(self.blocks()))

    @property
    def valid(self) -> Flags | None:
        """Which samples (P, n, n_a) were measured; None: all."""
        if self.__dict__['_hits'] is None:
            return None
        return np.concatenate([~np.isnan(block) for block in self._measured()])

    @property
    def seen(self) -> Flags | None:
        """Which phases (n, n_a) were measured in any period; None: all."""
        hits: Numbers | None = self.__dict__['_hits']
        return None if hits is None or hits.all() else hits > 0

    def _measured(self) -> Iterator[Array]:
        """Yield some of the periods (k, n, n_a), NaN where no sample is."""
        columns: slice = self.__dict__['_columns']
        for block in self.__dict__['_pass'].blocks():
            yield block[..., columns]


@dataclass(frozen=True)
class Averaged:
    """Positions and forces of P whole periods.

    Attributes
    ----------
    positions, forces
        Folded onto one grid.
    position_noise, force_noise
        From the spread; None for one period.
    periods, skipped
        Number of periods, and of those left out before them.
    start
        Stamp of the first sample [s].
    strays
        Samples that were left out for being far from the other periods'.
    """

    positions: Folded
    forces: Folded
    position_noise: Noise | None
    force_noise: Noise | None
    periods: int
    skipped: int
    start: float
    strays: int = 0


def average(dataset: Dataset, period: float, skip: int | None) -> Averaged:
    """Average a recording in memory; without `skip`, periods that still settle are left out."""
    assert dataset.efforts is not None
    measured = dataset.time, dataset.positions, period
    if skip is None:
        skip = settling_periods(fold(*measured, valid=dataset.position_valid))
    positions = fold(*measured, skip, dataset.position_valid)
    forces = fold(dataset.time, dataset.efforts, period, skip, dataset.effort_valid)
    first = second = 0
    if dataset.quality is not None:
        (positions, first), (forces, second) = without_strays(positions), without_strays(forces)
    periods = len(positions.samples)
    position_noise = force_noise = None
    if periods > 1:
        whole = not forces.interpolated  # interpolation takes noise at high frequencies away
        position_noise, force_noise = (
            noise_from_spread(
                folded.deviations,
                use_total=whole,
                negligible=(NEGLIGIBLE * folded.mean.std(axis=0)) ** 2,
            )
            for folded in (positions, forces)
        )
    start = float(dataset.time[0] + skip * period)
    return Averaged(
        positions, forces, position_noise, force_noise, periods, skip, start, first + second
    )


@dataclass(frozen=True)
class PeriodPass:
    """Whole periods of a long recording, read again and again.

    Attributes
    ----------
    dataset
        With efforts.
    period
        [s].
    skip
        Periods left out at the beginning.
    interpolated
        Whether even stamps lie off the grid.
    slopes
        Of one period (orders, n, 2 n_a), where stamps are uneven or samples are missing or
        bad: the blocks then hold NaN where there is no sample. None: all is there.
    """

    dataset: LongDataset
    period: float
    skip: int
    interpolated: bool
    slopes: Array | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Samples a period and number of periods."""
        scan = self.dataset.scan
        end, interval = scan.last, scan.interval
        if self.slopes is not None:
            interval = self.period / self.slopes.shape[1]
            end += LOST * interval
        return whole_periods(scan.first, end, interval, self.period, self.skip)

    @property
    def start(self) -> float:
        """Stamp of the first sample [s]."""
        return self.dataset.scan.first + self.skip * self.period

    def blocks(self) -> Iterator[Array]:
        """Yield some periods (k, n, 2 n_a) at once: positions, then efforts."""
        count, periods = self.size
        step = self.period / count
        pending: list[Array] = []
        ready, done = 0, 0
        if self.slopes is not None:
            source = periodic_blocks(self.dataset, self.start, step, periods * count, self.slopes)
        else:
            order = 5 if self.interpolated else None
            source = resampled(self.dataset, self.start, step, periods * count, order)
        for values in source:
            pending.append(values)
            ready += len(values)
            last = done + ready == periods * count
            if ready >= max(AT_ONCE, count) or last:
                together = np.concatenate(pending)
                whole = len(together) // count * count
                yield together[:whole].reshape(-1, count, together.shape[1])
                pending, ready, done = [together[whole:]], len(together) - whole, done + whole


def average_long(dataset: LongDataset, period: float, skip: int | None) -> Averaged:
    """Average a long recording in memory that does not grow with the number of periods."""
    axes = len(dataset.joint_names)
    if skip is None:
        every = _pass(dataset, period, 0)
        skip = settling_spectra(
            np.concatenate([low_harmonics(_filled(block[..., :axes])) for block in every.blocks()])
        )
    chosen = _pass(dataset, period, skip)
    if chosen.slopes is not None:
        return _average_incomplete(chosen)
    count, periods = chosen.size
    reference: Array | None = None  # one period: what is left has the size of the noise
    total = np.zeros((count, 2 * axes))
    square = np.zeros((2, axes, axes))
    outer = np.zeros((2, count // 2 + 1, axes, axes))
    parts = (slice(0, axes), slice(axes, 2 * axes))
    for block in chosen.blocks():
        reference = block[0].copy() if reference is None else reference
        difference = block - reference
        total += difference.sum(axis=0)
        for k, part in enumerate(parts):
            square[k] += _square(difference[..., part])
            outer[k] += _outer(difference[..., part])
    assert reference is not None
    mean = total / periods
    position_noise = force_noise = None
    folded = [LongFolded(chosen, part, (reference + mean)[:, part]) for part in parts]
    if periods > 1:
        freedom = (periods - 1) * count
        position_noise, force_noise = (
            noise_from_moments(
                (square[k] - periods * _square(mean[None, :, part])) / freedom,
                (outer[k] - periods * _outer(mean[None, :, part])) / freedom,
                periods,
                use_total=not chosen.interpolated,
                negligible=(NEGLIGIBLE * folded[k].mean.std(axis=0)) ** 2,
            )
            for k, part in enumerate(parts)
        )
    return Averaged(folded[0], folded[1], position_noise, force_noise, periods, skip, chosen.start)


def _average_incomplete(chosen: PeriodPass) -> Averaged:
    """Average periods with samples missing: the mean first, then the spread around it."""
    count, periods = chosen.size
    axes = len(chosen.dataset.joint_names)
    total, hits = np.zeros((count, 2 * axes)), np.zeros((count, 2 * axes), dtype=np.int64)
    for block in chosen.blocks():
        total += np.nansum(block, axis=0)
        hits += np.count_nonzero(~np.isnan(block), axis=0)
    mean = bridged_period(total, hits)
    parts = (slice(0, axes), slice(axes, 2 * axes))
    folded = [LongFolded(chosen, part, mean[:, part], hits[:, part]) for part in parts]
    noises: list[Noise | None] = [None, None]
    if periods > 1:
        scale = np.sqrt(count * periods / np.maximum(np.maximum(hits - 1, 0).sum(axis=0), 1))
        square = np.zeros((2, axes, axes))
        outer = np.zeros((2, count // 2 + 1, axes, axes))
        for block in chosen.blocks():
            difference = np.nan_to_num(block - mean) * scale
            for k, part in enumerate(parts):
                square[k] += _square(difference[..., part])
                outer[k] += _outer(difference[..., part])
        noises = [
            noise_from_moments(
                square[k] / (periods * count),
                outer[k] / (periods * count),
                periods,
                negligible=(NEGLIGIBLE * folded[k].mean.std(axis=0)) ** 2,
            )
            for k in range(2)
        ]
    return Averaged(folded[0], folded[1], noises[0], noises[1], periods, chosen.skip, chosen.start)


def _filled(block: Array) -> Array:
    """Return periods (k, n, c) with their mean where they have no samples, to compare them."""
    missing = np.isnan(block)
    if not missing.any():
        return block
    hits = np.count_nonzero(~missing, axis=0)
    return np.where(missing, bridged_period(np.nansum(block, axis=0), hits), block)


def _slopes(dataset: LongDataset, period: float) -> Array:
    """Slopes of one period from the first samples; none where they hold no whole period."""
    head = dataset.scan.head
    assert head.efforts is not None
    count = round(period / nominal_interval(head.time))
    values = np.hstack([head.positions, head.efforts])
    shape = head.positions.shape
    flags = [
        np.ones(shape, bool) if each is None else each
        for each in (head.position_valid, head.effort_valid)
    ]
    periods = int((head.time[-1] - head.time[0]) / period)
    if periods < 1:
        return np.zeros((1, count, values.shape[1]))
    start = float(head.time[0])
    samples, _ = fold_samples(head.time, values, np.hstack(flags), start, period, (count, periods))
    return periodic_slopes(np.median(samples, axis=0), period)


def _pass(dataset: LongDataset, period: float, skip: int) -> PeriodPass:
    """Decide whether the stamps lie on the grid of the period."""
    if not dataset.is_complete:
        return PeriodPass(dataset, period, skip, False, _slopes(dataset, period))
    direct = PeriodPass(dataset, period, skip, interpolated=False)
    count, periods = direct.size
    scan, step = dataset.scan, period / count
    first = round((direct.start - scan.first) / scan.interval)
    number = 0
    worst = 0.0
    for block in dataset.blocks():
        rows = slice(max(0, first - number), max(0, first + periods * count - number))
        stamps = block.time[rows]
        grid = direct.start + step * (number + np.arange(len(block.time))[rows] - first)
        worst = max(worst, float(np.abs(stamps - grid).max(initial=0.0)))
        number += len(block.time)
    enough = number >= first + periods * count
    on_grid = enough and worst <= GRID_TOLERANCE * scan.interval
    return direct if on_grid else PeriodPass(dataset, period, skip, interpolated=True)


def _square(values: Array) -> Array:
    flat = values.reshape(-1, values.shape[-1])
    return flat.T @ flat


def _outer(values: Array) -> Array:
    """Sum over the periods (P, n, n_a) of conj(X_k) X_k^T."""
    transform = np.fft.rfft(values, axis=1)
    return np.einsum('pka,pkb->kab', transform.conj(), transform).real
