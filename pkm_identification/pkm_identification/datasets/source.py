"""Samples of a recording, read by rows: all at once where they are few, else in blocks."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pkm_identification.arrays import Array, Indices, Mask
from pkm_identification.datasets.stored_array import StoredArray, in_parts
from pkm_identification.quality.stamps import nominal_interval

LONG = 4_000_000  # stamps, positions and efforts: 32 MB; more are read in blocks
BLOCK = 2**15  # samples: 3 MB of six joints, far more than the margins around a block
HEAD = 2**17  # first samples, which show whether and how the motion repeats: minutes
PROBES = 8  # stretches that stand for the whole recording
PROBE = 2**14  # samples of each: 16 s at 1 kHz, many periods of any cutoff
EVEN = 0.02  # of an interval: stamps this close to even are taken as even


class Block(NamedTuple):
    """Consecutive samples: time (k,), the others (k, n) or None.

    `position_valid` and `effort_valid` say which samples may be used, None: all; `velocities` are
    measured ones.
    """

    time: Array
    positions: Array
    efforts: Array | None = None
    currents: Array | None = None
    position_valid: Mask | None = None
    effort_valid: Mask | None = None
    velocities: Array | None = None

    @property
    def measured(self) -> list[Array]:
        """What was measured (k, n): positions first, then efforts, currents, velocities."""
        parts = (self.positions, self.efforts, self.currents, self.velocities)
        return [part for part in parts if part is not None]

    @property
    def flags(self) -> tuple[Mask | None, Mask | None]:
        """Which positions and which efforts may be used."""
        return self.position_valid, self.effort_valid

    def rows(self, chosen: slice | Indices) -> Block:
        """Return some of the samples."""
        return Block(*(None if part is None else part[chosen] for part in self))  # type: ignore[arg-type]

    def columns(self, chosen: Sequence[int] | Indices) -> Block:
        """Return the samples of some joints."""
        _, *parts = self
        picked = (None if part is None else part[:, list(chosen)] for part in parts)
        return Block(self.time, *picked)  # type: ignore[arg-type]

    def together(self) -> tuple[Array, Mask | None]:
        """Positions and efforts side by side (k, 2 n), and which may be used (None: all)."""
        assert self.efforts is not None
        values = np.hstack([self.positions, self.efforts])
        flags = self.flags
        if all(each is None for each in flags):
            return values, None
        good = np.ones(self.positions.shape, dtype=bool)
        return values, np.hstack([good if each is None else each for each in flags])


Change = Callable[[Block, slice], Block]
Reader = Callable[[slice], Block]


def joined(blocks: Sequence[Block]) -> Block:
    """Return the samples of several blocks as one."""
    if len(blocks) == 1:
        return blocks[0]
    parts: dict[str, Any] = {}
    for name in Block._fields:
        found = [getattr(block, name) for block in blocks]
        if name.endswith('_valid') and any(each is not None for each in found):
            found = [
                np.ones(block.positions.shape, dtype=bool) if each is None else each
                for block, each in zip(blocks, found, strict=True)
            ]
        parts[name] = None if found[0] is None else np.concatenate(found)
    return Block(**parts)


@dataclass(frozen=True)
class Scan:
    """What one pass over all samples shows."""

    first: float  # stamp [s]
    last: float
    interval: float  # sampling interval of the clock behind the first stamps [s]
    is_even: bool  # whether all intervals are that within 2 %
    is_tidy: bool  # whether the stamps increase and all numbers are finite
    all_valid: bool  # whether every sample may be used
    extremes: Block  # smallest and largest values: a block of two rows, whose time means nothing

    @property
    def duration(self) -> float:
        """Time from the first to the last stamp [s]."""
        return self.last - self.first

    @property
    def effort_range(self) -> Array:
        """Smallest and largest efforts (2, n) [N, N m]."""
        assert self.extremes.efforts is not None
        return np.sort(self.extremes.efforts, axis=0)  # a negative force constant swaps them


class Source:
    """Samples that can be read again and again, any rows of them.

    `read` gives the samples of a slice of rows without a step, of `count` samples N of `width`
    joints n. Where `is_long` they are too many to be in memory at once; None: by their number.
    """

    def __init__(
        self, read: Reader, count: int, width: int, *, is_long: bool | None = None
    ) -> None:
        self._read, self.count, self.width = read, count, width
        self.is_long = (1 + 2 * width) * count > LONG if is_long is None else is_long
        self._scan: Scan | None = None

    @classmethod
    def of(cls, block: Block, *, is_long: bool | None = None) -> Source:
        """Return samples that are in arrays, or in maps of files, as a source."""
        return cls(block.rows, len(block.time), block.positions.shape[1], is_long=is_long)

    @classmethod
    def opened(cls, read: Reader, count: int, width: int) -> Source:
        """Return a source of a reader; where the samples are few they are read now."""
        source = cls(read, count, width)
        return source if source.is_long else cls.of(source.whole, is_long=False)

    def read(self, rows: slice) -> Block:
        """Return the samples of a slice of rows."""
        begin, stop, step = rows.indices(self.count)
        block = self._read(slice(begin, max(begin, stop)))
        return block if step == 1 else block.rows(slice(None, None, step))

    def windows(self, margin: int) -> Iterator[tuple[Block, slice, slice]]:
        """Yield blocks with a margin of samples on either side.

        With each, which of its samples are the block's own, and the rows that these are.
        """
        step = BLOCK if self.is_long else max(self.count, 1)
        for begin in range(0, self.count, step):
            end = min(begin + step, self.count)
            low = max(0, begin - margin)
            block = self._read(slice(low, min(self.count, end + margin)))
            yield block, slice(begin - low, end - low), slice(begin, end)

    def blocks(self) -> Iterator[Block]:
        """Yield the samples in their order; of a short recording all at once."""
        for block, _, _ in self.windows(0):
            yield block

    @cached_property
    def whole(self) -> Block:
        """All samples in memory."""
        return joined(list(self.blocks()))

    @cached_property
    def head(self) -> Block:
        """The first samples; all of a short recording."""
        return self.read(slice(0, HEAD)) if self.is_long else self.whole

    def probes(self) -> list[Block]:
        """Return stretches spread over the recording; one of all samples of a short one."""
        if not self.is_long:
            return [self.whole]
        starts = np.linspace(0, max(self.count - 1, 0), PROBES + 1)[:-1].astype(int)
        begins = sorted({int(start) - int(start) % BLOCK for start in starts})
        return [self.read(slice(begin, begin + min(PROBE, BLOCK))) for begin in begins]

    def changed(self, change: Change, width: int | None = None) -> Source:
        """Return the samples as `change` makes them of any rows; of short recordings at once."""
        width = self.width if width is None else width
        if not self.is_long:
            return Source.of(change(self.whole, slice(0, self.count)), is_long=False)
        other = Source(lambda rows: change(self.read(rows), rows), self.count, width, is_long=True)
        if self._scan is not None:
            extremes = change(self._scan.extremes, slice(0, 2))
            other._scan = replace(self._scan, extremes=extremes)
        return other

    def remade(self, change: Callable[[Block], Block], width: int) -> Source:
        """Return other samples that `change` makes of these; what a scan showed does not count."""
        if not self.is_long:
            return Source.of(change(self.whole), is_long=False)
        return Source(lambda rows: change(self.read(rows)), self.count, width, is_long=True)

    def marked(self, position_valid: Mask, effort_valid: Mask) -> Source:
        """Return the samples with other flags (N, n), which may lie in a file."""

        def flagged(block: Block, rows: slice) -> Block:
            flags = (np.asarray(each[rows]) for each in (position_valid, effort_valid))
            first, second = (None if each.all() else each for each in flags)
            return block._replace(position_valid=first, effort_valid=second)

        other = self.changed(flagged)
        if self._scan is not None:
            parts = (*in_parts(position_valid), *in_parts(effort_valid))
            other._scan = replace(self._scan, all_valid=all(bool(part.all()) for part in parts))
        return other

    def row_at(self, time: float) -> int:
        """Return the number of samples before a time [s]."""
        rows = range(self.count)
        return bisect.bisect_left(
            rows, time, key=lambda row: float(self._read(slice(row, row + 1)).time[0])
        )

    def portion(self, start: float, stop: float) -> Source:
        """Return the samples from `start` to before `stop` [s from the first sample]."""
        if not self.count:
            return self
        origin = float(self.read(slice(0, 1)).time[0])
        first, last = (self.row_at(origin + end) for end in (start, stop))
        if not self.is_long:
            return Source.of(self.whole.rows(slice(first, last)), is_long=False)
        count = max(last - first, 0)
        return Source.opened(
            lambda rows: self._read(slice(first + rows.start, first + rows.stop)), count, self.width
        )

    def between(self, first: float, last: float, margin: int) -> Block:
        """Return at least the samples between two times [s] and a margin; all of a short one."""
        if not self.is_long:
            return self.whole
        low = max(0, self.row_at(first) - margin)
        return self._read(slice(low, min(self.count, self.row_at(last) + 1 + margin)))

    @property
    def scan(self) -> Scan:
        """What one pass over all samples shows; made once."""
        if self._scan is None:
            self._scan = scanned(self)
        return self._scan


def scanned(source: Source) -> Scan:
    """Look at every sample once."""
    shortest, longest, last = np.inf, 0.0, np.nan
    finite, all_valid = True, True
    extremes: Block | None = None
    for block in source.blocks():
        steps = np.diff(block.time if np.isnan(last) else np.append(last, block.time))
        shortest = min(shortest, float(steps.min(initial=np.inf)))
        longest = max(longest, float(steps.max(initial=0.0)))
        finite &= all(bool(np.isfinite(part).all()) for part in (block.time, *block.measured))
        all_valid &= all(part is None or bool(part.all()) for part in block.flags)
        own = _extremes(block)
        extremes = own if extremes is None else _extremes(joined([extremes, own]))
        last = float(block.time[-1])
    assert extremes is not None
    is_tidy = bool(finite and shortest > 0)
    interval = float('nan')
    if is_tidy and source.count > 1:
        interval = nominal_interval(source.head.time)
    return Scan(
        first=float(source.head.time[0]),
        last=last,
        interval=interval,
        is_even=max(longest - interval, interval - shortest) <= EVEN * interval,
        is_tidy=is_tidy,
        all_valid=bool(all_valid),
        extremes=extremes,
    )


def _extremes(block: Block) -> Block:
    """Smallest and largest values: a block of two rows."""
    parts = block[:4]
    return Block(*(None if p is None else np.stack([p.min(axis=0), p.max(axis=0)]) for p in parts))  # type: ignore[arg-type]


def collected(blocks: Iterator[Block]) -> Source:
    """Return samples that come block by block, at least one, as a source."""
    columns: dict[str, StoredArray] = {}
    marked: set[str] = set()
    for block in blocks:
        for name, part in block._asdict().items():
            if part is None and name.endswith('_valid'):
                part = np.ones(block.positions.shape, dtype=bool)
            elif name.endswith('_valid'):
                marked.add(name)
            if part is not None:
                columns.setdefault(name, StoredArray()).append(part)
    arrays = {
        name: column.array()
        for name, column in columns.items()
        if not name.endswith('_valid') or name in marked
    }
    return Source.of(Block(**arrays))
