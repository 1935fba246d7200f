"""Tables of the study of set membership."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from pkm_bringup.views.console import Column, print_columns

Content = Mapping[str, Any]
Columns = dict[str, Column]

BOUNDED: Columns = {
    'bounds of': 'told',
    'truth inside': lambda row: f'{row["inside"]} of {row["runs"]}',
    'farthest truth': ('largest_distance', '.2f'),
    'forces inside [%]': ('forces_inside', '.4g%'),
    'half-width [%]': ('relative_half_width', '.3g%'),
    'half range of forces / bound': ('force_half_range', '.2g'),
    'outliers': 'outliers',
    'passes': ('passes', '.0f'),
}
CONTROLLED: Columns = {
    'bound [%]': ('bound', 'g'),
    'strips': 'strips',
    'outliers': 'outliers',
    '[%]': ('outlier_share', '.3g%'),
    'det M^-1': ('determinant', '.3g'),
    'distance of truth': ('distance_of_truth', '.2f'),
    'noise-free inside [%]': ('noise_free_inside', '.4g%'),
    'measured inside, by axis [%]': lambda row: ', '.join(
        f'{100 * share:.4g}' for share in row['measured_in_set']
    ),
    'with the error bound [%]': ('measured_inside', '.4g%'),
}
FORMS: Columns = {
    'bound [%]': ('bound', 'g'),
    'form': 'form',
    'numbers kept': 'kept',
    'strips': 'strips',
    'outliers': 'outliers',
    'indefinite at strip': lambda row: 'never' if row['lost_at'] is None else row['lost_at'],
    'centre off [half-widths]': ('centre_off', '.1e'),
    'ln det M^-1 off': ('log_volume_off', '.1e'),
}


def print_ellipsoid(content: Content) -> None:
    """Print both parts, and the intervals of the parameters."""
    bounded, controlled = content['bounded_errors'], content['controlled_robot']
    told = {'mean': 'mean period', 'each': 'each sample'}
    rows = [{'told': told[use], 'runs': bounded['runs'], **bounded[use]} for use in told]
    title = f'errors within {bounded["bound"]:g} % of the largest forces, '
    print_columns(rows, BOUNDED, f'{title}{bounded["periods"]} periods a run')
    cases = controlled['cases']
    title = f'\n{controlled["robot"]} under control, {controlled["periods"]} periods'
    print_columns(cases, CONTROLLED, title)
    sys.stdout.write('\n')
    columns: Columns = {'parameter': 'parameter', 'true': ('true', '.4g'), 'design': 'design'}
    columns |= {f'bound {case["bound"]:g} %': f'{case["bound"]:g}' for case in cases}
    kinds = ('parameters', 'truth', 'nominal', 'units')
    parts = zip(*(controlled[kind] for kind in kinds), strict=True)
    table = [
        {
            'parameter': name,
            'true': truth,
            'design': '' if design is None else f'{design:g}',
            'unit': unit,
        }
        | {
            f'{case["bound"]:g}': f'{case["centre"][i]:.4g} +- {case["half_widths"][i]:.2g}'
            for case in cases
        }
        for i, (name, truth, design, unit) in enumerate(parts)
    ]
    print_columns(table, columns | {'unit': 'unit'})
    known = sum(design is not None for design in controlled['nominal'])
    for case in cases:
        sys.stdout.write(
            f'bound {case["bound"]:g} %: {case["truth_in_intervals"]} of {len(table)} true values '
            f'and {case["nominal_in_intervals"]} of {known} of the design in their intervals\n'
        )
    rows = [{'bound': case['bound'], **form} for case in cases for form in case['forms']]
    title = '\nforms of the update, one pass from the same start, against the square root in double'
    print_columns(rows, FORMS, title)
