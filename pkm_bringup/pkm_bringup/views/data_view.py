"""What `pkm data` prints."""

from __future__ import annotations

import sys
from typing import Any

from pkm_bringup.views.console import Table, print_table, show, table_of
from pkm_identification.datasets.tables.table_figures import ColumnFigures
from pkm_identification.requests.look_request import SIGNALS, Look

UNITS = {
    'positions': '[m, rad]',
    'velocities': '[m/s, rad/s]',
    'efforts': '[N, N m]',
    'currents': '[A]',
}


def print_look(look: Look) -> None:
    """Print columns, signals by joint, rate, defects and the names that are proposed."""
    if look.columns:
        print_table(
            ('column', 'samples', 'smallest', 'largest', 'step', 'not finite'),
            [_column_row(column) for column in look.columns],
        )
    recording = look.recording
    if recording is not None:
        if look.columns:
            sys.stdout.write('\n')
        show(range_table(look))
        sys.stdout.write('\n')
    for line in look_lines(look):
        sys.stdout.write(f'{line}\n')
    sys.stdout.flush()


def range_table(look: Look) -> Table:
    """Return the smallest and largest value of each signal, one row a joint."""
    rows = look.ranges()
    signals = [name for name in SIGNALS if any(name in row for row in rows)]
    columns = {'joint': 'joint'} | {f'{name} {UNITS[name]}': _range_of(name) for name in signals}
    return table_of(rows, columns)


def look_lines(look: Look) -> list[str]:
    """Return sentences: samples and rate, defects, warnings."""
    recording, lines = look.recording, []
    if recording is not None:
        period = '' if recording.period is None else f', period {recording.period:g} s'
        interval = recording.interval if look.quality is None else look.quality.interval
        lines.append(
            f'{len(recording)} samples in {recording.duration:.6g} s, one every '
            f'{1e3 * interval:.6g} ms ({1 / interval:.5g} Hz){period}'
        )
    defects = () if look.quality is None else look.quality.defects
    return [*lines, *(defect.line() for defect in defects), *look.warnings]


def _column_row(column: ColumnFigures) -> tuple[Any, ...]:
    name = column.name if column.index is None else f'[{column.name}, {column.index}]'
    if not column.count:
        return (name, 'no numbers', None, None, None, None)
    return (name, column.count, column.smallest, column.largest, column.step, column.not_finite)


def _range_of(signal: str) -> Any:
    def text(row: Any) -> str | None:
        pair = row.get(signal)
        return None if pair is None else f'{pair[0]:.5g} ... {pair[1]:.5g}'

    return text
