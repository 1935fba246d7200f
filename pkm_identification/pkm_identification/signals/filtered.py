"""Signals of a motion without a period: filtered, all at once or in overlapping stretches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array, Indices
from pkm_identification.datasets import Recording
from pkm_identification.datasets.source import Source
from pkm_identification.quality.report import Defect
from pkm_identification.quality.standstill import outside, standing, standstill_defect
from pkm_identification.signals import filtering
from pkm_identification.signals.even_grid import EvenSamples
from pkm_identification.signals.local_regression import cubic_gains, local_motion
from pkm_identification.signals.measured_velocity import MeasuredVelocities, usable_velocities
from pkm_identification.signals.signal_options import OF_PERIODS, SignalOptions
from pkm_identification.signals.signals import FilterDiagnostics, Samples, Signals

DELAY_REACH = 64  # samples that the interpolation of a delay depends on
HALF_WIDTH = 0.2  # of 1 / cutoff: the second derivative of a cubic bends down early
LEAST_INTERVALS = 5  # in half a window of a cubic, which has four coefficients
FLATTENED = 0.003  # share of the accelerations
FILTER = 'Butterworth, order 4, zero phase; central differences of order 8'
CUBIC = 'local weighted cubic regression; rows through a Butterworth filter of order 4, zero phase'


@dataclass(frozen=True)
class FilteredSamples:
    """Motion and forces of a recording, filtered when they are asked for."""

    even: EvenSamples  # positions and efforts on an even grid
    grid: filtering.Grid  # filter and coarse grid
    delay: float  # from a position to the force of the same sample [s]
    half: int | None = None  # 0, 1: the motion is that of the even or the odd samples alone
    measured: MeasuredVelocities | None = None  # where they are better

    def __len__(self) -> int:
        """Return the number of coarse samples."""
        return -(-self.even.count // self.grid.coarse)

    def rows(self, chosen: slice) -> Samples:
        """Return some of the samples, made of what lies around them."""
        coarse = self.grid.coarse
        margin = self.grid.raw.margin + DELAY_REACH
        low = max(0, chosen.start - -(-margin // coarse))
        around = slice(low * coarse, min(self.even.count, chosen.stop * coarse + margin))
        time, values, _ = self.even.read(around)
        positions, efforts = np.split(values, 2, axis=1)
        if self.half is not None:
            positions = filtering.from_half(positions, (self.half + around.start) % 2)
        measured = None if self.measured is None else self.measured.rows(around)
        signals = self.grid.signals(positions, efforts, self.delay, measured)
        cut = slice(chosen.start - low, chosen.stop - low)
        return Samples(time[::coarse][cut] + self.delay, *(each[cut] for each in signals))


def filtered_signals(
    recording: Recording,
    options: SignalOptions,
    half: int | None = None,
    oversampling: int | None = None,
) -> Signals:
    """Filter what fits into memory; without a cutoff choose it from probes of the recording.

    `half` 0 or 1 takes the motion from the even or the odd samples alone, `oversampling` is the
    number of samples a cutoff period.
    """
    if recording.is_long and options.method == 'local_cubic':
        raise EstimationError(
            f"{len(recording)} samples are too many for method 'local_cubic': use 'filter', "
            'or a part of the recording'
        )
    even, delay = EvenSamples(recording), recording.effort_delay
    probes = _probes(recording, even)
    axes = len(recording.joint_names)
    cutoff = options.cutoff or max(
        filtering.choose_cutoff(values[:, :axes], values[:, axes:], interval)
        for interval, values in probes
    )
    gaps, bridged = _gaps(even, cutoff)
    still, report = _standstill(even, options, gaps)
    grid = filtering.grid(
        cutoff, even.interval, even.count, united(gaps, still), delay, oversampling
    )
    if recording.effort_filter is not None:
        grid = replace(grid, band=filtering.behind(grid.band, recording.effort_filter, even.count))
    # halves of the positions are there to differ in their noise
    measured, said = (None, []) if half is not None else usable_velocities(even, options, grid)
    source = FilteredSamples(even, grid, delay, half, measured)
    samples = source if recording.is_long else source.rows(slice(0, len(source)))
    found = Signals(
        samples=samples,
        band=grid.band,
        diagnostics=FilterDiagnostics(
            method='filter',
            cutoff=cutoff,
            filter=FILTER,
            interval=even.interval * grid.coarse,
            interpolated=not even.is_given,
            bridged_share=bridged,
            gaps_without_rows=0 if gaps is None else len(gaps),
            velocity_crossover=None if measured is None else measured.by_joint(recording),
            standstill_share=0.0 if report is None else report.share,
        ),
        position_covariance=_position_noise(recording, [values[:, :axes] for _, values in probes]),
        noise_gains=filtering.filter_gains(grid.motion),
        delay=delay,
        quality=recording.quality and recording.quality.with_defect(report),
        warnings=(*options.unused(*OF_PERIODS), *said),
    )
    if options.method == 'local_cubic':
        return _by_local_cubics(found, recording, cutoff, even.interval)
    return found


def _position_noise(recording: Recording, probes: Sequence[Array]) -> Array:
    """Covariance (n, n) of the positions' noise, at least that of their rounding.

    Of slow positions in coarse steps the fastest half of the frequencies shows less.
    """
    covariance = np.mean([filtering.white_covariance(values) for values in probes], axis=0)
    if recording.quality is None:
        return np.asarray(covariance)
    rounding = recording.quality.rounding_variance('position', recording.joint_names)
    missing = np.maximum(rounding - np.diag(covariance), 0.0)
    return np.asarray(covariance + np.diag(missing))


def _probes(recording: Recording, even: EvenSamples) -> list[tuple[float, Array]]:
    """Interval [s] and even samples (k, 2 n_a) of stretches that stand for the recording."""
    if not recording.is_long:
        return [(even.interval, even.read(slice(0, even.count))[1])]
    found = []
    for block in recording.source.probes():
        part = EvenSamples(replace(recording, source=Source.of(block, is_long=False)))
        found.append((part.interval, part.read(slice(0, part.count))[1]))
    return found


def _gaps(even: EvenSamples, cutoff: float) -> tuple[Indices | None, float]:
    """First and last sample (h, 2) of gaps without rows, and the share of all samples in gaps."""
    if even.is_given:
        return None, 0.0
    missing: list[list[Indices]] = []
    first = 0
    for _, values, there in even.blocks():
        missing = missing or [[] for _ in range(values.shape[1])]
        for rows, column in zip(missing, [] if there is None else there.T, strict=False):
            rows.append(first + np.flatnonzero(~column))
        first += len(values)
    lost = [np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64) for rows in missing]
    share = sum(len(rows) for rows in lost) / max(first * len(lost), 1)
    return filtering.holes(lost, cutoff, even.interval), share


def _standstill(
    even: EvenSamples, options: SignalOptions, gaps: Indices | None
) -> tuple[Indices | None, Defect | None]:
    """First and last sample (s, 2) of stretches without motion, and the report of them.

    Samples in gaps (h, 2), through which a straight line goes, neither move nor stand.
    """
    if options.standstill == 'keep':
        return None, None
    axes = len(even.recording.joint_names)
    found = standing((values[:, :axes] for _, values, _ in even.blocks()), even.interval)
    count = even.count
    if gaps is not None:
        found, count = outside(found, gaps), count - int((gaps[:, 1] - gaps[:, 0] + 1).sum())
    report = standstill_defect(
        found, count, lambda row: float(even.read(slice(row, row + 1))[0][0])
    )
    return (None if report is None else found), report


def united(one: Indices | None, other: Indices | None) -> Indices | None:
    """Return stretches of both, by their beginnings."""
    if one is None or other is None:
        return other if one is None else one
    both = np.concatenate([one, other])
    return np.asarray(both[np.argsort(both[:, 0], kind='stable')])


def _by_local_cubics(
    signals: Signals, recording: Recording, cutoff: float, interval: float
) -> Signals:
    """Take the motion from local cubics at the stamps as they are."""
    half_width = max(HALF_WIDTH / cutoff, LEAST_INTERVALS * interval)
    q, qd, qdd = local_motion(recording, signals.time, half_width)
    assert isinstance(signals.diagnostics, FilterDiagnostics)
    return replace(
        signals.with_samples(positions=q, velocities=qd, accelerations=qdd),
        diagnostics=replace(
            signals.diagnostics, method='local_cubic', filter=CUBIC, half_width=half_width
        ),
        noise_gains=cubic_gains(half_width, interval),
        warnings=(*_flattening_warnings(qdd, signals.accelerations, interval), *signals.warnings),
    )


def _flattening_warnings(cubic: Array, filtered: Array, interval: float) -> list[str]:
    """Say by how much local cubics flatten the accelerations (N, n_a) behind the filter."""
    there = np.isfinite(cubic) & np.isfinite(filtered)
    size = np.sum(np.where(there, filtered, 0.0) ** 2)
    share = 1 - np.sum(np.where(there, cubic * filtered, 0.0)) / size if size > 0 else 0.0
    if share < FLATTENED:
        return []
    return [
        f'local cubics make the accelerations {100 * share:.2g} % too small, and inertias too '
        f'large: the motion is fast for samples every {1e3 * interval:.3g} ms; take method=filter'
    ]
