"""Tables of the contributions study."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from pkm_bringup.studies.contributions_study import GROUPS
from pkm_bringup.views.console import Column, print_columns

MOTION: dict[str, Column] = {
    'motion': 'direction',
    'offset [mm]': lambda row: f'{1000 * row["offset"]:.3g}',
    'speed': 'speed',
    'force [N]': ('force', '.4g'),
}


def print_contributions(content: Mapping[str, Any]) -> None:
    """Print shares of the mean force a machine, the claims, and the centre of mass."""
    rows = [
        {**row, **{name: row['groups'][name]['mean'] for name in GROUPS}}
        | {'swing': row['groups']['forces']['swing']}
        for row in content['motions']
    ]
    columns: dict[str, Column] = {**MOTION}
    columns |= {f'{name.replace("_", " ")} [%]': (name, '.1f%') for name in GROUPS}
    columns['forces vary by [%]'] = ('swing', '.1f%')
    for robot, size in dict.fromkeys((row['robot'], row['size']) for row in rows):
        mine = [row for row in rows if (row['robot'], row['size']) == (robot, size)]
        ratio = content['mass_ratios'][robot]
        title = f'{robot}, motions of the {size}, mp/(6 me) {ratio:.3g}: mean norms, of that of the'
        print_columns(mine, columns, f'{title} forces without friction')
        sys.stdout.write('\n')
    for claim in content['claims']:
        told = ', '.join(f'{name} {value:.3g}' for name, value in claim['figures'].items())
        sys.stdout.write(f'{"holds" if claim["holds"] else "fails"}: {claim["claim"]} ({told})\n')
    moved = [
        {
            'robot': case['robot'],
            'motion': case['direction'],
            'changed': name,
            'rms': ' '.join(f'{100 * value:.4f}' for value in each['rms']),
            'largest': 100 * np.max(each['largest']),
        }
        for case in content['centre_of_mass']
        for name, each in case['changed'].items()
    ]
    title = '\nchange of forces by a centre of mass that is 1 % of the way off'
    names: dict[str, Column] = {'robot': 'robot', 'motion': 'motion', 'changed': 'changed'}
    names |= {'rms by drive [%]': 'rms', 'largest at an instant [%]': ('largest', '.3g')}
    print_columns(moved, names, title)
