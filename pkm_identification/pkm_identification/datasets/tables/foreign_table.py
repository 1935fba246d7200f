"""Tables of other programs: names and numbers of text, MAT, Parquet and NPZ files."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import DatasetError
from pkm_description.untrusted.named_files import MAX_WHOLE, foreign_errors, regular_file
from pkm_identification.arrays import Array
from pkm_identification.datasets.tables.column_mapping import (
    Column,
    TextForm,
    same_column,
    unknown_column,
)
from pkm_identification.datasets.tables.mat_elements import check_elements
from pkm_identification.datasets.tables.npz_file import check_declared, require_memory
from pkm_identification.datasets.tables.text_table import TextTable
from pkm_identification.quality.report import Defect

TEXT = ('.csv', '.txt', '.tsv', '.dat', '.log')
ARRAYS = ('.npz', '.mat', '.parquet')
FOREIGN = (*TEXT, *ARRAYS)


class Table(Protocol):
    """Named columns or arrays of numbers."""

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Shape of each column or array by name; of a text file only how many values a sample."""
        ...

    def numbers(self, columns: Sequence[Column], source: str) -> Array:
        """Return samples (N, k) of some columns; `source` names the mapping in messages."""
        ...

    def defects(self, samples: int) -> tuple[Defect, ...]:
        """What is wrong with the file as a whole, though it can be read."""
        ...


def open_table(path: Path, form: TextForm) -> Table:
    """Open a file by its suffix; `DatasetError` where it is none of `FOREIGN`, or unreadable."""
    suffix = path.suffix.lower()
    if suffix in TEXT:
        return TextTable(path, form)
    readers: dict[str, Callable[[Path], dict[str, NDArray[Any]]]] = {
        '.npz': _npz_arrays,
        '.mat': _matlab_arrays,
        '.parquet': _parquet_arrays,
    }
    if suffix not in readers:
        raise DatasetError(f"'{path}' is no table; those are {', '.join(FOREIGN)}")
    return ArrayTable(path, readers[suffix](path))


@dataclass(frozen=True)
class ArrayTable:
    """Arrays by name, one or two dimensions each; samples may run along either."""

    path: Path
    arrays: Mapping[str, NDArray[Any]]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each array."""
        return {name: values.shape for name, values in self.arrays.items()}

    def defects(self, samples: int) -> tuple[Defect, ...]:
        """Nothing: arrays are whole, or they cannot be read."""
        return ()

    def numbers(self, columns: Sequence[Column], source: str) -> Array:
        """Return samples (N, k) of some columns."""
        found = [self._array(column, source) for column in columns]
        # The time has one dimension; without one, there are more samples than joints.
        count = max(found[0].shape, default=0)
        users: dict[Any, str] = {}
        parts = []
        for column, values in zip(columns, found, strict=True):
            part, which = self._of(column, values, count)
            if which in users:
                raise same_column(self.path, column, users[which], source)
            users[which] = column.what
            parts.append(part)
        return np.column_stack(parts)

    def _array(self, column: Column, source: str) -> NDArray[Any]:
        values = self.arrays.get(str(column.name))
        if values is None:
            raise unknown_column(self.path, column, source, self.arrays)
        if values.dtype.kind not in 'fiub' or values.ndim not in (1, 2):
            raise DatasetError(
                f"'{self.path}': '{column.name}' ({column.what} in '{source}') holds no columns of "
                f'numbers: its shape is {values.shape}, its type {values.dtype}'
            )
        return values

    def _of(
        self, column: Column, values: NDArray[Any], count: int
    ) -> tuple[Array, tuple[Any, int | None]]:
        """Numbers of a column, and which it is."""
        if count not in values.shape:
            raise DatasetError(
                f"'{self.path}': '{column.name}' ({column.what}) has the shape {values.shape}, but "
                f'there are {count} samples'
            )
        if values.ndim == 1:
            if column.index not in (None, 0):
                raise DatasetError(
                    f"'{self.path}': '{column.name}' ({column.what}) has one column, none of the "
                    f'index {column.index}'
                )
            return values.astype(float), (column.name, None)
        rows = values if values.shape[0] == count else values.T
        index = column.place if column.index is None else column.index
        if rows.shape[1] == 1 and column.index is None:
            return rows[:, 0].astype(float), (column.name, None)
        if index >= rows.shape[1]:
            raise DatasetError(
                f"'{self.path}': '{column.name}' ({column.what}) has {rows.shape[1]} columns, none "
                f'of the index {index}'
            )
        return rows[:, index].astype(float), (column.name, index)


def _npz_arrays(path: Path) -> dict[str, NDArray[Any]]:
    with foreign_errors(DatasetError, f"'{path}' cannot be read as an NPZ file"):
        with np.load(path, allow_pickle=False) as archive, zipfile.ZipFile(path) as file:
            require_memory(sum(check_declared(file, path).values()), path)
            return {name: archive[name] for name in archive.files}


def _matlab_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Numbers of a MAT file; fields of structures are called `structure.field`."""
    from scipy.io import loadmat

    regular_file(path, DatasetError, MAX_WHOLE)
    with foreign_errors(DatasetError, f"'{path}' cannot be read as a MAT file"):
        check_elements(path)
        try:
            content = loadmat(path, simplify_cells=True)
        except NotImplementedError:
            raise DatasetError(
                f"'{path}' is a MAT file of version 7.3 (HDF5), which is not read: save it with "
                "save('...', '-v7')"
            ) from None
    return dict(_flat({name: each for name, each in content.items() if name[:2] != '__'}))


def _flat(content: Mapping[str, Any], before: str = '') -> Iterator[tuple[str, NDArray[Any]]]:
    for name, value in content.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f'{before}{name}.')
        elif isinstance(value, np.ndarray):
            yield f'{before}{name}', value


def _parquet_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Columns of a Parquet file; lists of one length become arrays of two dimensions."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise DatasetError(
            f"'{path}' needs pyarrow, which is not installed: pip install pyarrow, or write the "
            'table as CSV'
        ) from None
    regular_file(path, DatasetError, MAX_WHOLE)
    with foreign_errors(DatasetError, f"'{path}' cannot be read as a Parquet file"):
        declared = parquet.ParquetFile(path).metadata
        groups = (declared.row_group(k) for k in range(declared.num_row_groups))
        require_memory(sum(group.total_byte_size for group in groups), path)
        require_memory(declared.num_rows * declared.num_columns * 8, path)
        table = parquet.read_table(path)
    found = {}
    for name in table.column_names:
        values = table[name].to_numpy()
        if values.dtype == object and len(values) and isinstance(values[0], np.ndarray):
            if len({len(each) for each in values}) == 1:
                values = np.stack(list(values))
        found[str(name)] = values
    return found
