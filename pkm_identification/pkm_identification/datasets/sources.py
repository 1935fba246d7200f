"""Samples that are read block by block, again and again, in memory that does not grow."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import DatasetError

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

BLOCK = 2**15  # samples


class Block(NamedTuple):
    """Consecutive samples: time (k,), the others (k, n) or None.

    `position_valid` and `effort_valid` say which samples may be used; None: all.
    """

    time: Array
    positions: Array
    efforts: Array | None
    currents: Array | None
    position_valid: Flags | None = None
    effort_valid: Flags | None = None


class Source(Protocol):
    """Samples of one recording."""

    def __len__(self) -> int:
        """Return the number of samples."""
        ...

    def blocks(self) -> Iterator[Block]:
        """Yield the samples in their order; each call begins anew."""
        ...


class ArraySource:
    """Samples that are in memory."""

    def __init__(self, block: Block) -> None:
        self._block = block

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self._block.time)

    def blocks(self) -> Iterator[Block]:
        """Yield the samples in their order."""
        for begin in range(0, len(self), BLOCK):
            rows = slice(begin, begin + BLOCK)
            yield Block(*(None if part is None else part[rows] for part in self._block))  # type: ignore[arg-type]


class SpooledSource:
    """Rows of numbers that were written to a temporary file, for formats that are slow to read.

    Parameters
    ----------
    rows
        Blocks (k, c), read once.
    columns
        Which columns are `time`, `positions`, `efforts`, `currents`; lists of indices.
    """

    def __init__(self, rows: Iterable[Array], columns: Mapping[str, Sequence[int]]) -> None:
        self._columns = dict(columns)
        self._file = tempfile.TemporaryFile()
        self._count, self._width = 0, 0
        for block in rows:
            np.ascontiguousarray(block, dtype=float).tofile(self._file)
            self._count += len(block)
            self._width = block.shape[1]

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._count

    def blocks(self) -> Iterator[Block]:
        """Yield the samples in their order."""
        for begin in range(0, self._count, BLOCK):
            self._file.seek(begin * self._width * 8)
            size = min(BLOCK, self._count - begin)
            rows = np.fromfile(self._file, count=size * self._width).reshape(size, self._width)
            parts = {name: rows[:, index] for name, index in self._columns.items()}
            yield Block(
                parts['time'][:, 0], parts['positions'], parts.get('efforts'), parts.get('currents')
            )


class NpzSource:
    """Members of an NPZ file, compressed or not, read from begin to end side by side."""

    MEMBERS = ('time', 'positions', 'efforts', 'currents')

    def __init__(self, path: Path) -> None:
        self.path = path
        shapes = npz_shapes(path)
        self._names = [name for name in self.MEMBERS if name in shapes]
        self._count = shapes['time'][0]
        for name in self._names:
            if shapes[name][0] != self._count:
                raise DatasetError(
                    f"'{path}': {name} have {shapes[name][0]} samples, time has {self._count}"
                )

    def __len__(self) -> int:
        """Return the number of samples."""
        return self._count

    def blocks(self) -> Iterator[Block]:
        """Yield the samples in their order."""
        with ExitStack() as stack:
            archive = stack.enter_context(zipfile.ZipFile(self.path))
            members = {
                name: stack.enter_context(Member(archive, f'{name}.npy')) for name in self._names
            }
            for begin in range(0, self._count, BLOCK):
                size = min(BLOCK, self._count - begin)
                parts = {name: member.read(size) for name, member in members.items()}
                yield Block(
                    parts['time'], parts['positions'], parts.get('efforts'), parts.get('currents')
                )


def npz_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays in an NPZ file, from their headers alone."""
    shapes = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            with archive.open(name) as stream:
                shapes[name.removesuffix('.npy')] = _header(stream)[0]
    return shapes


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, Fortran order and type of a NPY stream, which then stands at the numbers."""
    version = np.lib.format.read_magic(stream)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ValueError(f'NPY version {version} is not known')
    return read(stream)


class Member:
    """One array of an NPZ file, read by rows; columns of a Fortran array each for itself."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._name = name
        self._streams = [archive.open(name)]
        self._shape, fortran, self._dtype = _header(self._streams[0])
        if self._dtype.kind not in 'fiu':
            raise DatasetError(f"'{archive.filename}': {name} does not hold numbers")
        self._by_column = fortran and len(self._shape) > 1
        if self._by_column:
            for column in range(1, self._shape[1]):
                stream = archive.open(name)
                _header(stream)
                stream.seek(column * self._shape[0] * self._dtype.itemsize, 1)
                self._streams.append(stream)

    def __enter__(self) -> Member:
        return self

    def __exit__(self, *error: object) -> None:
        for stream in self._streams:
            stream.close()

    def read(self, count: int) -> Array:
        """Return the next rows."""
        width = 1 if self._by_column else int(np.prod(self._shape[1:], dtype=int))
        size = count * width * self._dtype.itemsize
        parts = []
        for stream in self._streams:
            data = stream.read(size)
            if len(data) != size:
                raise DatasetError(f'{self._name} ends before its last sample')
            parts.append(np.frombuffer(data, dtype=self._dtype))
        if self._by_column:
            return np.stack(parts, axis=1).astype(float)
        return parts[0].reshape(count, *self._shape[1:]).astype(float)
