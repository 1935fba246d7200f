"""A recording from a table whose columns a file of names maps to joints."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pkm_description.errors import DatasetError
from pkm_identification.arrays import Array
from pkm_identification.datasets.recorded_data import Recording
from pkm_identification.datasets.source import Block, Source
from pkm_identification.datasets.tables.column_mapping import (
    Column,
    ColumnMapping,
    named_columns,
    read_column_mapping,
)
from pkm_identification.datasets.tables.foreign_table import open_table

PARTS = {
    'position': 'positions',
    'velocity': 'velocities',
    'effort': 'efforts',
    'current': 'currents',
}


def load_mapped(path: Path, names: Path | str | Mapping[str, Any]) -> Recording:
    """Read a table with a file of names, or with what one would hold, in SI units.

    Time counts from the first sample where it has another unit than seconds. A `DatasetError`
    names file, key and the nearest name.
    """
    mapping = read_column_mapping(names)
    columns = named_columns(mapping)
    opened = open_table(path, mapping.text)
    table = opened.numbers(columns, mapping.source)
    widths = [len(mapping.time)] + [len(mapping.joints)] * len(mapping.signals)
    ends = np.cumsum(widths)
    places = {
        PARTS[signal]: slice(ends[k], ends[k + 1]) for k, signal in enumerate(mapping.signals)
    }
    factors, offsets = _conversions(columns)
    origin = _origin(mapping, table)

    def read(rows: slice) -> Block:
        raw = np.asarray(table[rows])
        values = raw * factors + offsets
        if mapping.time:
            count = len(mapping.time)
            time = ((raw[:, :count] - origin) * factors[:count]).sum(axis=1)
        else:
            time = np.arange(rows.start, rows.start + len(raw)) / mapping.rate
        parts: dict[str, Any] = {name: values[:, chosen] for name, chosen in places.items()}
        return Block(time, **parts)

    return Recording(
        Source.opened(read, len(table), len(mapping.joints)),
        mapping.joints,
        side=mapping.side,
        defects=opened.defects(len(table)),
        provenance={
            'source': str(path),
            'format': path.suffix.lower().removeprefix('.'),
            'columns': mapping.source,
            **_digest(names),
        },
    )


def _conversions(columns: Sequence[Column]) -> tuple[Array, Array]:
    """Factors and offsets (k,) of columns."""
    return (
        np.array([each.factor for each in columns]),
        np.array([each.offset for each in columns]),
    )


def _origin(mapping: ColumnMapping, table: Array) -> Array:
    """What is taken off the columns of the time before their unit: large numbers lose digits."""
    first = np.array(table[0, : len(mapping.time)])
    whole = all(column.factor == 1.0 for column in mapping.time)
    if not np.isfinite(first).all():
        raise DatasetError(f"'{mapping.source}': the time of the first sample is no number")
    return np.zeros_like(first) if whole else first


def _digest(names: Path | str | Mapping[str, Any]) -> dict[str, str]:
    """Hash of a file of names, which belongs to the data as much as their own."""
    if isinstance(names, Mapping):
        return {}
    return {'columns_sha256': hashlib.sha256(Path(names).read_bytes()).hexdigest()}
