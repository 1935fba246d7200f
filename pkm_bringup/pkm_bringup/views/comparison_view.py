"""What `pkm compare` prints."""

from __future__ import annotations

import sys
from typing import Any

from pkm_bringup.views.console import print_table

COLUMNS = {
    'parameters': 'parameters',
    'rigid': 'rigid_body',
    'proper': 'proper',
    'eps_RA [%]': 'error',
    'held out [%]': 'held_out',
    'to truth [%]': 'held_out_truth',
    'covered [%]': 'coverage',
    'median error [%]': 'median_parameter_error',
    'largest sd [%]': 'largest_relative_standard_deviation',
    'physical': 'is_physical',
    'condition': 'condition_number',
    'time [s]': 'seconds',
}
SHARES = ('error', 'held_out', 'held_out_truth', 'coverage', 'median_parameter_error')


def print_rows(rows: list[dict[str, Any]]) -> None:
    """Print the table, and below it why something failed."""
    shown = {
        title: key
        for title, key in COLUMNS.items()
        if any(row.get(key) is not None for row in rows)
    }
    table = []
    for row in rows:
        if row.get('parameters') is None:
            table.append([row['name'], *['failed'] * bool(shown), *[None] * (len(shown) - 1)])
            continue
        values = ((row.get(key), 100 if key in SHARES else 1) for key in shown.values())
        table.append(
            [row['name']]
            + [float(f'{by * x:.3g}') if isinstance(x, float) else x for x, by in values]
        )
    if shown:
        print_table(['', *shown], table)
    for row in rows:
        if row['failure']:
            sys.stdout.write(f'\n{row["name"]}: {row["failure"]}\n')
