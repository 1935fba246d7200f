"""What `pkm excite show`, `pkm excite design` and `pkm excite check` print."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from pkm_bringup.views.console import Column, print_columns, print_table
from pkm_dynamics.limits.margins import FeasibilityReport, Margin
from pkm_identification.excitation import ExcitationDesign

NOISE_TEXTS = {
    'unit': 'variance 1 [N^2, N^2 m^2] in every sample',
    'simulated': 'covariance of the simulated robot',
    'as designed': 'that which the design was made for',
}
COMPONENTS = 3  # of a combination of parameters: more do not fit into a line
ENDS = 'least visible', 'most visible'
CRITERIA = {
    'd_optimal': '-ln det F',
    'a_optimal': 'trace F^-1',
    'e_optimal': 'smallest eigenvalue of F',
    'condition_number': 'condition number',
    'condition_number_scaled': 'condition number, columns of unit length',
}


def runs_text(content: dict[str, Any]) -> str:
    """Return what the figures are for."""
    what = 'period' if content['periodic'] else 'run'
    return f'one {what}' if content['periods'] == 1 else f'{content["periods"]} {what}s'


def print_excitation(content: dict[str, Any]) -> None:
    """Print figures and margins of a motion."""
    out, figures = sys.stdout.write, content['figures']
    harmonics = '' if content['harmonics'] is None else f', {content["harmonics"]} harmonics'
    out(
        f'{content["type"]} trajectory of {content["robot"]} in {content["coordinates"]} '
        f'coordinates, {content["duration"]:.5g} s{harmonics}\n\n'
    )
    if figures is None:
        out(f'no figures: {content["reason"]}\n\n')
    else:
        if figures['rank'] < figures['parameters']:
            out(
                f'the motion excites only {figures["rank"]:.0f} of {figures["parameters"]} '
                'parameter directions\n\n'
            )
        rows: list[tuple[Any, ...]] = [(CRITERIA[key], figures[key]) for key in CRITERIA]
        known = ' and what was known before' if content['prior'] else ''
        header = f'{runs_text(content)}{known}, {figures["samples"]} samples'
        print_table((f'{figures["parameters"]} parameters, SI units', header), rows)
        out('\n')
        rows = [
            (name, value, figures['nominal'][name], figures['units'][name])
            for name, value in figures['standard_deviation'].items()
        ]
        print_table(('parameter', 'standard deviation', 'nominal', 'unit'), rows)
        out('\n')
        rows = [
            (label, direction['standard_deviation'], _main(direction['components']))
            for label, direction in zip(ENDS, figures['directions'], strict=True)
        ]
        columns = ('combination of parameters, SI units', 'standard deviation', 'main components')
        print_table(columns, rows)
        out(f'\nnoise of the forces: {NOISE_TEXTS[content["noise"]]}\n\n')
    print_margins(content['margins'])


def _main(components: dict[str, float]) -> str:
    largest = list(components.items())[:COMPONENTS]
    return ', '.join(f'{value:+.2f} {name}' for name, value in largest)


def print_design(design: ExcitationDesign) -> None:
    """Print the figures of a design."""
    figures = design.figures
    rows = [
        ('period [s]', design.period),
        ('ramp time [s]', design.ramp_time),
        ('parameters', figures['parameters']),
        (f'samples at {figures["sampling_rate"]:g} Hz', figures['samples']),
        *((label, figures[name]) for name, label in CRITERIA.items()),
        ('-ln det F of one second', figures['d_optimal_per_second']),
    ]
    print_table(('one period, SI units', 'value'), rows)
    sys.stdout.flush()


def margin_rows(report: FeasibilityReport) -> list[dict[str, Any]]:
    """Return the worst case of every constraint, the tightest first."""
    return _rows(sorted(report.margins.values(), key=lambda margin: margin.relative))


def broken_rows(report: FeasibilityReport) -> list[dict[str, Any]]:
    """Return every limit that is exceeded, joint by joint, the worst first."""
    return _rows(report.broken)


def _rows(margins: Sequence[Margin]) -> list[dict[str, Any]]:
    names = ('time', 'value', 'limit', 'margin', 'unit')
    return [
        {'constraint': margin.constraint, 'where': margin.name}
        | {name: getattr(margin, name) for name in names}
        for margin in margins
    ]


def print_margins(rows: list[dict[str, Any]]) -> None:
    """Print the worst case of each constraint."""
    keys = ('value', 'limit', 'margin', 'unit')
    columns: dict[str, Column] = {'constraint': 'constraint', 'where': 'where', 'at [s]': 'time'}
    print_columns(rows, columns | {key: key for key in keys})


def print_broken(rows: list[dict[str, Any]]) -> None:
    """Print every limit that is exceeded."""
    columns: dict[str, Column] = {'broken limit': 'constraint', 'where': 'where'}
    columns |= {'worst at [s]': 'time', 'value': 'value', 'limit': 'limit'}
    columns |= {'exceeded by': lambda row: -row['margin'], 'unit': 'unit'}
    print_columns(rows, columns)
