"""Streams of a bag as a source of samples: positions, and the efforts that belong to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_identification.datasets.bags.pairing import Pairing
from pkm_identification.datasets.sources import BLOCK, Block

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]
Columns = NDArray[np.int64]

NANOSECONDS = 1e-9


def seconds(stamps: Stamps, origin: int) -> Array:
    """Return stamps [ns] in s after `origin`."""
    return (stamps - origin).astype(np.float64) * NANOSECONDS


@dataclass(frozen=True)
class PairedSource:
    """Samples of positions with the efforts or currents of the same time.

    Attributes
    ----------
    pairs
        Rows of both streams.
    stamps
        Of the positions (N,) [ns].
    positions
        (N, n), and which of its columns.
    others
        `efforts` or `currents`: (M, n), which of its columns, and whether its rows are those
        of the positions.
    """

    pairs: Pairing
    stamps: Stamps
    positions: tuple[Array, Columns]
    others: Mapping[str, tuple[Array, Columns, bool]]

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.pairs.first)

    def blocks(self) -> Iterator[Block]:
        """Yield the samples in their order; each call begins anew."""
        origin = int(self.stamps[self.pairs.first[0]])
        values, columns = self.positions
        for begin in range(0, len(self), BLOCK):
            first = np.asarray(self.pairs.first[begin : begin + BLOCK])
            second = np.asarray(self.pairs.second[begin : begin + BLOCK])
            others = {
                name: array[first if same else second][:, chosen]
                for name, (array, chosen, same) in self.others.items()
            }
            yield Block(
                seconds(self.stamps[first], origin),
                values[first][:, columns],
                others.get('efforts'),
                others.get('currents'),
            )


@dataclass(frozen=True)
class StreamTruth:
    """Noise-free signals of a stream.

    Attributes
    ----------
    stamps, origin
        (M,) [ns], and the stamp that is zero seconds.
    signals
        (M, n), by their names in `LongTruth`.
    """

    stamps: Stamps
    origin: int
    signals: Mapping[str, Array]

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.stamps)

    def blocks(self, *names: str) -> Iterator[tuple[Array, ...]]:
        """Yield the time (k,) and the named signals (k, n) in their order; begins anew."""
        for begin in range(0, len(self), BLOCK):
            rows = slice(begin, begin + BLOCK)
            time = seconds(np.asarray(self.stamps[rows]), self.origin)
            yield time, *(np.asarray(self.signals[name][rows]) for name in names)
