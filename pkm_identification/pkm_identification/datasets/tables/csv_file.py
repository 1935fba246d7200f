"""Recordings from CSV files."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import DatasetError
from pkm_identification.arrays import Array
from pkm_identification.datasets.recorded_data import Recording
from pkm_identification.datasets.source import Block, Source
from pkm_identification.datasets.stored_array import stored
from pkm_identification.datasets.tables.column_mapping import ForeignFormError

ROWS = 2**14  # of text that are turned into numbers at once
CSV_FORM = (
    'time, <joint>.position, <joint>.effort and/or <joint>.current, <joint>.velocity, '
    '<joint>.command'
)
KINDS = ('position', 'effort', 'current', 'velocity', 'command')
COLUMN = re.compile(r'(?P<joint>.+)\.(?P<kind>position|effort|current|velocity|command)')


Columns = Mapping[str, Mapping[str, int]]  # by kind and joint


def open_csv(path: Path) -> Callable[[bool], Recording]:
    """Read `time, <joint>.position, .effort, .current, .velocity, .command` in any column order.

    SI units: [s], [m, rad], [N, N m], [A], [m/s, rad/s], [N, N m]. Joints with a position only are
    left out, velocities where not all others have one. What is returned makes a recording of that;
    given True, with the forces that the controller commanded in place of efforts and currents.
    """
    header = [name.strip().strip('"') for name in _first_line(path).rstrip('\r\n').split(',')]
    if header == ['']:
        raise DatasetError(f"'{path}' is empty; expected a header {CSV_FORM}")
    columns: dict[str, dict[str, int]] = {kind: {} for kind in KINDS}
    for index, name in enumerate(header):
        if name == 'time':
            continue
        match = COLUMN.fullmatch(name)
        if match is None:
            raise ForeignFormError(f"'{path}': unknown column '{name}'; expected {CSV_FORM}")
        if match['joint'] in columns[match['kind']]:
            raise DatasetError(f"'{path}': column '{name}' appears twice")
        columns[match['kind']][match['joint']] = index
    if header.count('time') != 1:
        raise ForeignFormError(
            f"'{path}': needs exactly one column 'time', separated by commas; expected "
            f'{CSV_FORM}, the header is {",".join(header)[:80]}'
        )
    for kind in KINDS[1:]:
        for joint in columns[kind]:
            if joint not in columns['position']:
                raise DatasetError(f"'{path}': '{joint}.{kind}' has no column '{joint}.position'")

    @cache
    def table() -> NDArray[Any]:
        return stored(_table_blocks(path, len(header)))

    return partial(_recording, path, header.index('time'), columns, table)


def _recording(
    path: Path, time: int, columns: Columns, read_once: Callable[[], NDArray[Any]], commanded: bool
) -> Recording:
    forces = ('command',) if commanded else ('effort', 'current')
    wanted = 'a command' if commanded else 'an effort or current'
    driven = [j for j in columns['position'] if any(j in columns[kind] for kind in forces)]
    if not driven:
        raise ForeignFormError(f"'{path}' has no joint with a position and {wanted} column")
    places = {'positions': [columns['position'][joint] for joint in driven]}
    for kind in forces:
        lacking = [joint for joint in driven if joint not in columns[kind]]
        if not lacking:
            places['efforts' if commanded else f'{kind}s'] = [
                columns[kind][joint] for joint in driven
            ]
        elif len(lacking) < len(driven):
            raise DatasetError(
                f"'{path}': column '{lacking[0]}.{kind}' is missing, other joints have one"
            )
    if all(joint in columns['velocity'] for joint in driven):
        places['velocities'] = [columns['velocity'][joint] for joint in driven]
    left_out = [joint for joint in columns['position'] if joint not in driven]
    provenance = {'source': str(path), 'format': 'csv', 'left_out': left_out}
    table = read_once()

    def read(rows: slice) -> Block:
        part = np.asarray(table[rows])
        return Block(part[:, time], **{name: part[:, columns] for name, columns in places.items()})

    source = Source.opened(read, len(table), len(driven))
    recording = Recording(source, tuple(driven), provenance=provenance)
    return recording.as_commanded() if commanded else recording


def _first_line(path: Path) -> str:
    try:
        with path.open(encoding='utf-8-sig') as file:
            return file.readline()
    except UnicodeDecodeError as error:
        raise DatasetError(
            f"'{path}': the header is not text in UTF-8 ({error}); expected {CSV_FORM}"
        ) from error
    except OSError as error:
        raise DatasetError(f"'{path}' cannot be read: {error.strerror}") from error


def _table_blocks(path: Path, width: int) -> Iterator[Array]:
    """Yield the rows of a table, some thousand at once."""
    line, found = 2, False
    with path.open(encoding='utf-8-sig') as file:
        file.readline()
        while lines := list(islice(file, ROWS)):
            table = _numbers_of(path, lines, width, line)
            line += len(lines)
            if table.size:
                found = True
                yield table
    if not found:
        raise DatasetError(f"'{path}' has a header but no samples")


def _numbers_of(path: Path, lines: list[str], width: int, first: int) -> Array:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', UserWarning)  # of lines that are all empty
            table = np.loadtxt(lines, delimiter=',', ndmin=2, comments=None)
    except ValueError as error:
        raise DatasetError(
            f"'{path}' cannot be read as numbers (rows counted from line {first}): {error}"
        ) from error
    if table.size and table.shape[1] != width:
        raise DatasetError(f"'{path}' has {width} column names but rows of {table.shape[1]} values")
    return np.asarray(table)
