"""Blocks of a long recording with their stamps in order and what is no number marked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pkm_identification.datasets.sources import Array, Block, Flags, Source
from pkm_identification.quality.report import LEFT_OUT, Defect, located
from pkm_identification.quality.stamps import in_order, is_increasing

SAMPLES = ('positions', 'efforts', 'currents')


@dataclass
class TidySource:
    """A source whose samples are in the order of their stamps, each stamp once.

    A stamp may be late by up to one block.

    Attributes
    ----------
    source
        As recorded.
    where, names
        Name of the recording, for messages, and its joints.
    defects
        What was sorted, merged or marked in the first reading.
    """

    source: Source
    where: str
    names: tuple[str, ...]
    defects: list[Defect] = field(default_factory=list)
    _was_read: bool = False

    def __len__(self) -> int:
        """Return the number of samples as recorded."""
        return len(self.source)

    def blocks(self) -> Iterator[Block]:
        """Yield the samples; each call begins anew."""
        before: Block | None = None
        for block in self.source.blocks():
            block = self._ordered(block)
            if before is None:
                before = block
            elif len(block.time) and block.time[0] > before.time[-1]:
                yield self._marked(before)
                before = block
            else:
                both = self._ordered(_joined(before, block))
                half = len(both.time) // 2
                yield marked(_rows(both, slice(0, half)))
                before = _rows(both, slice(half, None))
        if before is not None:
            yield self._marked(before)
        self._was_read = True

    def _ordered(self, block: Block) -> Block:
        if not np.isfinite(block.time).all() or is_increasing(block.time):
            return block  # what is not finite is refused with the check of all samples
        values = [part for part in block[1:4] if part is not None]
        order = in_order(block.time, values, self.where)
        if not self._was_read:
            self.defects.extend(order.defects)
        return _rows(block, order.rows)

    def _marked(self, block: Block) -> Block:
        after = marked(block)
        if after is block or self._was_read:
            return after
        for signal, old, new in (
            ('position', block.position_valid, after.position_valid),
            ('effort', block.effort_valid, after.effort_valid),
        ):
            fresh = np.zeros(after.positions.shape, dtype=bool) if new is None else ~new
            if old is not None:
                fresh = fresh & old
            for column in np.flatnonzero(fresh.any(axis=0) & ~fresh.all(axis=0)):
                rows = np.flatnonzero(fresh[:, column])
                self.defects.append(
                    located('not_finite', rows, block.time, LEFT_OUT, signal, self.names[column])
                )
        return after


def marked(block: Block) -> Block:
    """Mark samples that are no number and put the one before in their place."""
    arrays: dict[str, Any] = {}
    flags: dict[str, Any] = {}
    for name in SAMPLES:
        values = getattr(block, name)
        if values is None or np.isfinite(values).all():
            continue
        bad = ~np.isfinite(values)
        arrays[name] = held(values, bad)
        which = 'position_valid' if name == 'positions' else 'effort_valid'
        known = flags.get(which, getattr(block, which))
        flags[which] = ~bad if known is None else known & ~bad
    return block._replace(**arrays, **flags) if arrays else block


def held(values: Array, bad: Flags) -> Array:
    """Return the values with the last good one in the place of bad ones (else the next).

    A column without any good one stays as it is.
    """
    rows = np.arange(len(values))[:, None]
    last = np.maximum.accumulate(np.where(bad, -1, rows), axis=0)
    first = np.argmin(bad, axis=0)
    return np.take_along_axis(values, np.where(last < 0, first, last), axis=0)


def _rows(block: Block, rows: slice | np.ndarray) -> Block:
    return Block(*(None if part is None else part[rows] for part in block))  # type: ignore[arg-type]


def _joined(first: Block, second: Block) -> Block:
    return Block(
        *(
            None if one is None or other is None else np.concatenate([one, other])
            for one, other in zip(first, second, strict=True)
        )  # type: ignore[arg-type]
    )
