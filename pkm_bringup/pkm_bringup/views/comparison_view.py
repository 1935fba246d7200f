"""What `pkm compare` prints."""

from __future__ import annotations

import sys
from typing import Any

from pkm_bringup.views.console import print_table


def print_rows(rows: list[dict[str, Any]]) -> None:
    """Print the table, and below it why something failed."""
    columns = [
        ('parameters', 'parameters', 1),
        ('rigid_body', 'rigid', 1),
        ('proper', 'proper', 1),
        ('error', 'eps_RA [%]', 100),
        ('held_out', 'held out [%]', 100),
        ('held_out_truth', 'to truth [%]', 100),
        ('coverage', 'covered [%]', 100),
        ('median_parameter_error', 'median error [%]', 100),
        ('largest_relative_standard_deviation', 'largest sd [%]', 1),
        ('is_physical', 'physical', None),
        ('condition_number', 'condition', 1),
        ('seconds', 'time [s]', 1),
    ]
    shown = [column for column in columns if any(row.get(column[0]) is not None for row in rows)]
    table = []
    for row in rows:
        values = [row.get(key) for key, _, _ in shown]
        factors = [factor for _, _, factor in shown]
        if row.get('parameters') is None:
            table.append([row['name'], *['failed'] * bool(shown), *[None] * (len(shown) - 1)])
            continue
        table.append(
            [row['name']]
            + [
                float(f'{(factor or 1) * value:.3g}') if isinstance(value, float) else value
                for value, factor in zip(values, factors, strict=True)
            ]
        )
    if shown:
        print_table(['', *[title for _, title, _ in shown]], table)
    for row in rows:
        if row['failure']:
            sys.stdout.write(f'\n{row["name"]}: {row["failure"]}\n')
