"""Tables of a dataset: what was made, what differs, who scores how."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

from pkm_bringup.public_data.dataset_manifest import Manifest
from pkm_bringup.views.console import Column, print_columns, print_note, print_table

CONDITIONS = {'plain': 'without effects', 'effects': 'with Stribeck friction and cogging'}


def print_dataset(manifest: Manifest) -> None:
    """Print how many cases each robot has, and how long they are."""
    recordings = {path: each for path, each in manifest.contents.items() if 'period' in each}
    rows = []
    for robot in manifest.options.robots:
        names = [case.name for case in manifest.cases if case.robot == robot]
        own = [each for path, each in recordings.items() if path.split('/')[1] in names]
        rows.append((robot, len(names), len(own), sum(each['samples'] for each in own)))
    print_table(('robot', 'cases', 'recordings', 'samples'), rows)


def print_check(found: Mapping[str, Any]) -> None:
    """Print damaged files and numbers that come out otherwise; what all is where nothing is."""
    damaged = [(f, why) for each in found['damaged'] for f, why in each['damage'].items()]
    if damaged:
        print_table(('file', 'what is wrong'), damaged)
    if found['differing']:
        rows = [_differing(each) for each in found['differing']]
        header = ('made otherwise here', 'numbers', 'equal digits', 'largest / spread', 'columns')
        print_table(header, rows)
    bad, other = len(found['damaged']), len(found['differing'])
    if not bad and not other:
        sys.stdout.write(f'all {found["contents"]} contents are bit-equal to those made here\n')
    for each in found['versions']:
        print_note(f'{each["name"]} was {each["there"]}, is {each["here"]} here')


def _differing(found: Mapping[str, Any]) -> tuple[Any, ...]:
    off = found['difference']
    if off is None:  # a text, or a file that is damaged itself
        return (found['path'], None, None, None, None)
    if 'reason' in off:
        return (found['path'], None, None, None, off['reason'])
    columns = ', '.join(off['columns'])
    return (found['path'], off['numbers'], int(off['digits']), f'{off["largest"]:.1e}', columns)


def print_scores(found: Mapping[str, Any]) -> None:
    """Print a table without effects and one with them, the best first, and what was refused."""
    for condition, told in CONDITIONS.items():
        rows = [row for row in found['summary'] if row['condition'] == condition]
        if not rows:
            continue
        noise: dict[str, Column] = {
            f'error, noise {level} [%]': partial(_percent, level)
            for level in rows[0]['force_errors']
        }
        columns: dict[str, Column] = {
            'estimator': 'estimator',
            **noise,
            'parameter error [sd]': ('deviations', '.3g'),
            'parameters in 95 % [%]': ('parameters_within', '.0f%'),
            'forces in 95 % [%]': ('forces_within', '.0f%'),
            'CPU time [s]': ('seconds', '.2g'),
            'cases': lambda row: f'{row["scored"]} of {row["cases"]}',
        }
        print_columns(rows, columns, f'{told}: force errors, medians over the robots')
        sys.stdout.write('\n')
    refused = {(row['estimator'], text) for row in found['summary'] for text in row['errors']}
    for name, text in sorted(refused):
        print_note(f'{name}: {text}')


def _percent(level: str, row: Mapping[str, Any]) -> str | None:
    error = row['force_errors'].get(level)
    return None if error is None else f'{100 * error:.3g}'
