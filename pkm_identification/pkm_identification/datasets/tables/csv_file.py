"""Recordings from CSV files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import DatasetError
from pkm_identification.datasets.recorded_data import Recording
from pkm_identification.datasets.source import Block, Source
from pkm_identification.datasets.tables.column_mapping import Column, ForeignFormError, TextForm
from pkm_identification.datasets.tables.text_table import TextTable

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
    text = TextTable(path, TextForm())
    header = text.names
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
        return text.numbers([Column(index) for index in range(len(header))], str(path))

    return partial(_recording, text, header.index('time'), columns, table)


def _recording(
    text: TextTable,
    time: int,
    columns: Columns,
    read_once: Callable[[], NDArray[Any]],
    commanded: bool,
) -> Recording:
    path = text.path
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
    defects = text.defects(len(table))
    recording = Recording(source, tuple(driven), provenance=provenance, defects=defects)
    return recording.as_commanded() if commanded else recording
