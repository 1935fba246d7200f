"""Rows that are appended part by part, in a temporary file where they get too many."""

from __future__ import annotations

import tempfile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

LONG = 4_000_000  # numbers that are kept in memory


class GrowingArray:
    """Appended arrays (k, ...) of one type and row shape, which `array` gives as one.

    More than `LONG` numbers go to a temporary file that vanishes with the process; `array`
    is then a map of it, of which only what is used comes into memory.
    """

    def __init__(self) -> None:
        self._parts: list[NDArray[Any]] = []
        self._file: IO[bytes] | None = None
        self._count = self._waiting = 0

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._count

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows (k, ...)."""
        self._parts.append(np.ascontiguousarray(rows))
        self._count += len(rows)
        self._waiting += rows.size
        if self._waiting > LONG:
            self._store()

    def array(self) -> NDArray[Any]:
        """Return all rows (N, ...)."""
        if self._file is None:
            return np.concatenate(self._parts)
        self._store()
        like = self._parts[-1]
        return np.memmap(
            self._file, dtype=like.dtype, mode='r', shape=(self._count, *like.shape[1:])
        )

    def _store(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile()
        for part in self._parts:
            self._file.write(part.tobytes())
        self._file.flush()
        self._parts, self._waiting = [self._parts[-1][:0]], 0
