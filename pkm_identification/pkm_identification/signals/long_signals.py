"""Signals of a long recording without a period: filtered in overlapping blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import EstimationError
from pkm_identification.datasets import LongDataset
from pkm_identification.quality.stamps import nominal_interval
from pkm_identification.signals import filtering
from pkm_identification.signals.bands import FilterBand
from pkm_identification.signals.gridding import evened
from pkm_identification.signals.long_gridding import even_blocks
from pkm_identification.signals.resampling import resampled
from pkm_identification.signals.signals import Signals

Array = NDArray[np.float64]

DELAY_REACH = 64  # samples that the interpolation of a delay depends on
IN_MEMORY = ('time', 'positions', 'velocities', 'accelerations', 'forces')


@dataclass(frozen=True)
class LongSignals:
    """As `Signals`, in stretches that are made when they are asked for.

    Attributes
    ----------
    dataset
        With efforts.
    grid
        Filter and coarse grid.
    is_even
        Whether the stamps are even and all samples are good; else gaps are bridged.
    count
        Number of samples at the interval of the recording.
    diagnostics
        What was chosen and why.
    """

    dataset: LongDataset
    grid: filtering.Grid
    is_even: bool
    count: int
    diagnostics: Mapping[str, Any] = field(default_factory=dict)

    averaged = 1
    force_noise = None
    position_noise = None
    measured_harmonics = None
    folded_positions = None
    folded_forces = None
    is_long = True

    def __getattr__(self, name: str) -> Any:
        """Refuse what would need all samples."""
        if name in IN_MEMORY:
            raise EstimationError(
                f'the {name} of {self.count} samples are too many to be in memory at once; '
                'ls, wls and gauss_markov take them block by block, give others a part of the '
                'recording'
            )
        raise AttributeError(name)

    @property
    def band(self) -> FilterBand:
        """Turns coarse samples into rows."""
        return self.grid.band

    @property
    def delay(self) -> float:
        """Time from a position to the force of the same sample [s]."""
        return self.dataset.effort_delay

    def __len__(self) -> int:
        """Return the number of coarse samples."""
        return -(-self.count // self.grid.coarse)

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return self.band.row_count(len(self))

    def stretches(self) -> Iterator[tuple[Signals, slice]]:
        """Yield signals with a margin, and which of their samples are rows after the filter."""
        for signals, _, inside in self._stretches():
            yield signals, inside

    def _stretches(self) -> Iterator[tuple[Signals, slice, slice]]:
        coarse = self.grid.coarse
        margin = self.grid.raw.margin + DELAY_REACH
        window = _Window(self._samples())
        for samples, inside in self.band.stretches(len(self)):
            low = max(0, samples.start - -(-margin // coarse))
            begin, end = low * coarse, min(self.count, samples.stop * coarse + margin)
            values = window.part(begin, end)
            axes = values.shape[1] // 2
            signals = self.grid.signals(values[:, :axes], values[:, axes:], self.delay)
            cut = slice(samples.start - low, samples.stop - low)
            q, qd, qdd, forces = (each[cut] for each in signals)
            time = (
                self.dataset.scan.first
                + self.delay
                + self.grid.interval * coarse * np.arange(samples.start, samples.stop)
            )
            yield Signals(time, q, qd, qdd, forces, self.band), samples, inside

    def row_blocks(
        self, function: Callable[[Signals, slice], Array]
    ) -> Iterator[tuple[Array, Array]]:
        """Yield rows of a function of the motion, and of the forces; see `Signals`."""
        for signals, samples, inside in self._stretches():
            picked = self.band.picked(samples, inside)
            rows = self.band.smooth(function(signals, slice(None)))[picked]
            # copies: a view would keep all of the filtered samples
            yield rows.copy(), np.asarray(signals.forces)[picked].copy()

    def _samples(self) -> Iterator[Array]:
        scan = self.dataset.scan
        if self.is_even:
            yield from resampled(self.dataset, scan.first, self.grid.interval, self.count, None)
            return
        for values, _ in even_blocks(self.dataset, scan.first, self.grid.interval, self.count):
            yield values


class _Window:
    """The part of a stream of rows that is needed just now."""

    def __init__(self, blocks: Iterator[Array]) -> None:
        self._blocks = blocks
        self._begin = 0
        self._values: Array | None = None

    def part(self, begin: int, end: int) -> Array:
        """Return rows begin ... end; what lies before `begin` is forgotten."""
        parts = [] if self._values is None else [self._values[begin - self._begin :]]
        ready = begin + sum(len(part) for part in parts)
        while ready < end:
            block = next(self._blocks)
            parts.append(block)
            ready += len(block)
        self._values, self._begin = np.concatenate(parts), begin
        return self._values[: end - begin]


def filtered_long(
    dataset: LongDataset, cutoff: float | None, warnings: Sequence[str] = ()
) -> LongSignals:
    """Choose the filter from the probes; nothing else is computed yet.

    Raises
    ------
    EstimationError
        The cutoff does not fit the recording.
    """
    scan = dataset.scan
    is_even = dataset.is_complete
    interval = scan.interval if is_even else nominal_interval(scan.head.time)
    last = scan.last if not is_even else scan.first + interval * (scan.count - 1)
    count = scan.count if is_even else int(np.floor((last - scan.first) / interval + 0.5)) + 1
    if cutoff is None:
        cutoff = max(_cutoff_of(probe) for probe in scan.probes)
    gaps, bridged = None, 0.0
    if not is_even:
        gaps, bridged = _gaps(dataset, interval, count, cutoff)
    grid = filtering.grid(cutoff, interval, count, gaps, dataset.effort_delay)
    quality = {} if dataset.quality is None else {'quality': dataset.quality.to_dict()}
    return LongSignals(
        dataset,
        grid,
        is_even,
        count,
        {
            **grid.diagnostics(interpolated=not is_even),
            'bridged_share': bridged,
            'gaps_without_rows': 0 if gaps is None else len(gaps),
            'warnings': list(warnings),
            **quality,
        },
    )


def _gaps(
    dataset: LongDataset, interval: float, count: int, cutoff: float
) -> tuple[NDArray[np.int64] | None, float]:
    """First and last sample (h, 2) of long gaps, and the share of all samples in gaps."""
    found, missing, first = [], 0, 0
    for _, there in even_blocks(dataset, dataset.scan.first, interval, count):
        gaps = filtering.holes(there, cutoff, interval)
        if gaps is not None:
            found.append(gaps + first)
        missing += int(np.count_nonzero(~there))
        first += len(there)
    together = np.concatenate(found) if found else None
    return together, missing / max(count * 2 * len(dataset.joint_names), 1)


def _cutoff_of(probe: Any) -> float:
    together = np.hstack([probe.positions, probe.efforts])
    time, samples, _ = evened(probe.time, together, None)
    axes = probe.positions.shape[1]
    interval = nominal_interval(time)
    return filtering.choose_cutoff(samples[:, :axes], samples[:, axes:], interval)
