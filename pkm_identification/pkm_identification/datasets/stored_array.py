"""Arrays that are put together part by part, in a temporary file where they get too long."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pkm_identification.arrays import Indices

AnyArray = NDArray[Any]

IN_MEMORY = 4_000_000  # numbers of one array: 32 MB; longer ones go to a file
ROWS_AT_ONCE = 2**15


class StoredArray:
    """Appended arrays (k, ...) of one type and row shape, which `array` gives as one.

    More than `IN_MEMORY` numbers go to a temporary file that vanishes with the process;
    `array` is then a map of it, of which only what is used comes into memory.
    """

    def __init__(self) -> None:
        self._parts: list[AnyArray] = []
        self._file: IO[bytes] | None = None
        self._count = self._waiting = 0

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._count

    def append(self, rows: AnyArray) -> None:
        """Add rows (k, ...)."""
        self._parts.append(np.ascontiguousarray(rows))
        self._count += len(rows)
        self._waiting += rows.size
        if self._waiting > IN_MEMORY:
            self._store()

    def array(self) -> AnyArray:
        """Return all rows (N, ...)."""
        if self._file is None:
            return self._parts[0] if len(self._parts) == 1 else np.concatenate(self._parts)
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


def stored(parts: Iterable[AnyArray]) -> AnyArray:
    """Return the rows of several arrays, at least one, as one array."""
    whole = StoredArray()
    for part in parts:
        whole.append(part)
    return whole.array()


def in_parts(rows: AnyArray) -> Iterable[AnyArray]:
    """Yield an array, which may lie in a file, some rows at once."""
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        yield np.asarray(rows[begin : begin + ROWS_AT_ONCE])


def with_columns(rows: AnyArray, columns: Indices) -> AnyArray:
    """Return some of the columns of an array (N, c), which may lie in a file."""
    if np.array_equal(columns, np.arange(rows.shape[1])):
        return rows
    if not isinstance(rows, np.memmap):
        return rows[:, columns]
    return stored(part[:, columns] for part in in_parts(rows))
