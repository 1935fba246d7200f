"""Tables of the study of noise."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from pkm_bringup.views.console import print_columns, print_table

UNITS = {'forces': (1.0, 'N'), 'positions': (1e6, 'um')}  # of linear drives
EFFECTS = {
    'all': 'all effects',
    'no_cogging': 'without cogging',
    'modelled': 'with what the model has',
}


def print_noise(content: Mapping[str, Any]) -> None:
    """Print deviations, tests and correlations by axis, then the variances of the errors."""
    joints = content['joints']
    for kind, noise in content['noise'].items():
        _print_axes(content, kind, noise)
        lines = [
            [joint, *(f'{value:.2f}' for value in row)]
            for joint, row in zip(joints, noise['correlation'], strict=True)
        ]
        print_table(['correlation', *joints], lines)
        width = max((high - low) / 2 for row in noise['correlation_interval'] for low, high in row)
        sys.stdout.write(f'95 % intervals of the correlations: at most +-{width:.3f}\n\n')
    for case in content['cases']:
        rows = [_errors(joints, row) for row in case['errors']]
        columns = {name: name for name in rows[0]}
        title = (
            f'{EFFECTS[case["effects"]]}, {content["runs"]} runs: variance of the model error / '
            'of the measurement error, N^2; *: surely larger (5 %)'
        )
        print_columns(rows, columns, title)
        for name, small in case['small_p_values'].items():
            low, high = (100 * limit for limit in small['interval'])
            sys.stdout.write(
                f'{name}: {100 * small["share"]:.0f} % of {small["of"]} p-values below 5 % '
                f'({low:.0f}..{high:.0f})\n'
            )
        sys.stdout.write('\n')


def _print_axes(content: Mapping[str, Any], kind: str, noise: Mapping[str, Any]) -> None:
    scale, unit = UNITS[kind]
    rows = []
    for i, joint in enumerate(content['joints']):
        low, high = (scale * limit for limit in noise['deviation_interval'][i])
        rows.append(
            {
                'axis': joint,
                f'deviation [{unit}]': f'{scale * noise["deviation"][i]:.2f}',
                '95 %': f'{low:.2f}..{high:.2f}',
                'sensor alone': f'{scale * content["described"][kind][i]:.2f}',
                'skewness': f'{noise["skewness"][i]:+.3f}',
                'excess kurtosis': f'{noise["excess_kurtosis"][i]:+.3f}',
                'p of normality': f'{noise["normality_p_by_axis"][i]:.2g}',
                'lag 1': f'{noise["lag_1"][i]:+.3f}',
                'p of whiteness': f'{noise["whiteness_p_by_axis"][i]:.2g}',
            }
        )
    title = f'{kind}: deviations from the mean period, {noise["periods"]} periods'
    print_columns(rows, {name: name for name in rows[0]}, title)
    sys.stdout.write(
        f'normal on all axes in all runs: p {noise["normality_p"]:.2g}; '
        f'{noise["rejected"]} of {content["runs"]} runs with an axis that is not (5 %)\n'
    )


def _errors(joints: list[str], row: Mapping[str, Any]) -> dict[str, Any]:
    cells = {
        joint: f'{model:.0f} / {noise:.0f}' + ('*' if joint in row['above'] else '')
        for joint, model, noise in zip(
            joints, row['model_error'], row['measurement_error'], strict=True
        )
    }
    return {'motion': row['motion'], 'estimator': row['estimator'], **cells}
