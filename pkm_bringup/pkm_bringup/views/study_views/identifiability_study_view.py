"""Tables of the study of identifiability, in the order of those of [M]."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from pkm_bringup.views.console import Column, print_columns
from pkm_bringup.views.validation_view import EPS_RA, TO_TRUTH, explained

Content = Mapping[str, Any]

MOTIONS: dict[str, Column] = {
    'motion': 'name',
    'period [s]': ('period', '.3f'),
    'largest speed [m/s]': ('largest_velocity', '.3f'),
    'condition number': ('condition_number', '.0f'),
    'scaled': ('condition_number_scaled', '.0f'),
}
LEVELS: dict[str, Column] = {
    'model': 'name',
    'parameters': lambda row: f'{row["parameters"]["mean"]:.3g}',
    'identified': lambda row: f'{row["proper"]["mean"]:.3g}',
    'eps_AV': lambda row: _spread(row['parameter_error'], '.3g'),
    EPS_RA: lambda row: _spread(row['error_measured'], '.2f', 100),
    '/ model 1': lambda row: _interval(row['error_measured_ratio'], '.3f'),
    TO_TRUTH: lambda row: _spread(row['error_truth'], '.2f', 100),
    '/ model 1 ': lambda row: _interval(row['error_truth_ratio'], '.2f'),
}
FULL: dict[str, Column] = {
    'parameter of model 1': 'name',
    'exact': ('exact', '.4g'),
    'first run': ('first', '.4g'),
    'mean': lambda row: f'{row["identified"]["mean"]:.4g}',
    'spread': lambda row: f'{row["identified"]["deviation"]:.2g}',
    'sigma_p [%]': ('relative_deviation', '.3g%'),
    'impossible [%]': ('impossible', '.0f%'),
    'proper [%]': ('proper', '.0f%'),
}
TABLE_8: dict[str, Column] = {
    'number': 'number',
    'combination of [M]': 'name',
    'exact': ('exact', '.4g'),
    'model': 'model',
    'first run': ('first', '.4g'),
    'mean': lambda row: f'{row["identified"]["mean"]:.4g}',
    'spread': lambda row: f'{row["identified"]["deviation"]:.2g}',
    'reported sd': ('standard_deviation', '.2g'),
}


def print_identifiability(content: Content) -> None:
    """Print base parameters, motions, errors by motion, models and their parameters."""
    base = content['base_parameters']
    sys.stdout.write(
        f'{content["robot"]}: {base["count"]} rigid-body base parameters, {base["papers_count"]} '
        f'in [M] Table 1, {base["inside"]} of those in the row space of ours (largest part '
        f'outside {base["residual"]:.1g}), rank of both {base["rank"]}\n\n'
    )
    print_columns(content['motions'], MOTIONS, 'motions, all base parameters [M 4]')
    for friction in ('linear', 'stribeck'):
        part = content[friction]
        sys.stdout.write(f'\nplant with {friction} friction, {content["runs"]} runs\n\n')
        _print_trajectories(part['trajectories'])
        print_columns(part['levels'], LEVELS, 'models, on the other motions [M Tables 6, 7]')
        for level, kept in part['kept'].items():
            names = ', '.join(f'{name} {100 * share:.0f} %' for name, share in kept.items())
            sys.stdout.write(f'kept of {level} by the 15 % rule: {names}\n')
        sys.stdout.write('\n')
        print_columns(part['full'], FULL, 'parameters of model 1 [M Table 5]')
        sys.stdout.write('\n')
        rows = [{'model': name, **row} for name, each in part['mata'].items() for row in each]
        print_columns(rows, TABLE_8, 'combinations of [M Tables 5, 8]')
    sys.stdout.write(''.join(f'{line}\n' for line in explained(EPS_RA, TO_TRUTH)))


def _print_trajectories(part: Content) -> None:
    for against, told in (('measured', 'to measured forces'), ('truth', 'to the truth')):
        rows = [
            {'name': name, **{key: 100 * value['mean'] for key, value in errors[against].items()}}
            for name, errors in part['errors'].items()
        ]
        columns: dict[str, Column] = {'estimate': 'name'}
        columns |= {name: (name, '.2f') for name in part['motions']}
        title = f'eps_RA [%] {told}, identified from {part["identified_from"]} [M Table 4]'
        print_columns(rows, columns, title)
        growth = ', '.join(
            f'{name} {_interval(value[against], ".2f")}' for name, value in part['growth'].items()
        )
        sys.stdout.write(f'other motions over the one identified from: {growth}\n')
        for key, names in (
            ('nonlinear_ratio', 'nonlinear over linear friction, both feasible'),
            ('least_squares_ratio', 'least squares over feasible, linear friction'),
        ):
            sys.stdout.write(f'{names}: {_interval(part[key][against], ".3f")}\n')
        sys.stdout.write('\n')


def _spread(figure: Content, form: str, factor: float = 1.0) -> str:
    return f'{factor * figure["mean"]:{form}} +- {factor * figure["deviation"]:{form}}'


def _interval(figure: Content, form: str) -> str:
    low, high = figure['interval']
    return f'{figure["mean"]:{form}} ({low:{form}}..{high:{form}})'
