"""Tables of the stages study."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from pkm_bringup.views.console import Column, print_columns
from pkm_identification.estimators.staged import STAGES

CASE: dict[str, Column] = {'rubbing': 'plant', 'motion': 'motion', 'start': 'start'}
ESTIMATES: dict[str, Column] = CASE | {
    'method': 'method',
    'friction off, rms [%]': ('friction_error', '.2f%'),
    'largest [%]': ('friction_largest', '.1f%'),
    'from least squares [sd]': ('of_least_squares', '.2g'),
    'residuals [N]': ('residual_rms', '.2f'),
}
DIRECTIONS: dict[str, Column] = {
    'rubbing': 'plant',
    'motions': lambda row: f'{row["first"]}, {row["second"]}',
    'friction differs by, rms [%]': ('rms', '.2f%'),
    'largest [%]': ('largest', '.1f%'),
    'in standard deviations': ('in_deviations', '.2f'),
}


def print_stages(content: Mapping[str, Any]) -> None:
    """Print errors by method, by pair of motions, and stage by stage."""
    print_columns(content['estimates'], ESTIMATES, f'{content["runs"]} runs each')
    print_columns(content['directions'], DIRECTIONS, '\nfriction from two motions')
    stages: dict[str, Column] = CASE | {f'{stage} [%]': (stage, '.2f%') for stage in STAGES}
    print_columns(content['stages'], stages, '\nerror of friction after each stage, rms')
    shares = ', '.join(f'{k} {100 * v:.0f} %' for k, v in content['friction_share'].items())
    sys.stdout.write(f'\nfriction of the drives, of their forces (rms): {shares}\n')
