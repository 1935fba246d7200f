"""What the columns of a table hold, before anybody says what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pkm_description.errors import DatasetError
from pkm_identification.arrays import Array
from pkm_identification.datasets.stored_array import in_parts
from pkm_identification.datasets.tables.column_mapping import (
    Column,
    TextForm,
    find_mapping,
    read_column_mapping,
)
from pkm_identification.datasets.tables.foreign_table import Table, open_table
from pkm_identification.datasets.tables.text_table import sniffed


@dataclass(frozen=True)
class ColumnFigures:
    """Name, shape and range of a column or of one in an array; nan where it holds no numbers."""

    name: str
    index: int | None  # within an array
    count: int
    smallest: float
    largest: float
    not_finite: int
    step: float  # median of the differences from sample to sample that are not zero


def table_figures(path: Path, names: Path | str | None = None) -> list[ColumnFigures]:
    """Return figures of all columns of a table, read as its file of names says or as it looks."""
    names = find_mapping(path) if names is None else names
    form = sniffed(path) if names is None else read_column_mapping(names).text
    table = open_table(path, form)
    columns = [
        Column(name, index, what='a column')
        for name, shape in table.shapes.items()
        for index in (range(min(shape)) if len(shape) == 2 and min(shape) > 1 else [None])
    ]
    return [_figures(column, values) for column, values in _read(table, columns, form)]


def _read(
    table: Table, columns: Sequence[Column], form: TextForm
) -> list[tuple[Column, Array | None]]:
    """Numbers of each column; None where it holds other things."""
    try:
        whole = table.numbers(columns, 'the table')
        return [(column, whole[:, k]) for k, column in enumerate(columns)]
    except DatasetError:
        pass  # arrays of several lengths, or texts: one by one
    found: list[tuple[Column, Array | None]] = []
    for column in columns:
        try:
            found.append((column, table.numbers([column], 'the table')[:, 0]))
        except DatasetError:
            found.append((column, None))
    return found


def _figures(column: Column, values: Array | None) -> ColumnFigures:
    if values is None:
        return ColumnFigures(str(column.name), column.index, 0, np.nan, np.nan, 0, np.nan)
    low, high, bad, steps = np.inf, -np.inf, 0, []
    for part in in_parts(values):
        finite = part[np.isfinite(part)]
        bad += len(part) - len(finite)
        low, high = min(low, finite.min(initial=np.inf)), max(high, finite.max(initial=-np.inf))
        apart = np.abs(np.diff(finite))
        steps.append(float(np.median(apart[apart > 0])) if (apart > 0).any() else np.nan)
    step = float(np.nanmedian(steps)) if np.isfinite(steps).any() else 0.0
    return ColumnFigures(
        str(column.name), column.index, len(values), float(low), float(high), bad, step
    )
