"""What `pkm excite show`, `pkm excite design` and `pkm excite check` print."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from pkm_bringup.trajectory_inputs import facts_of
from pkm_bringup.views.console import Column, Table, print_columns, print_table, show, table_of
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.limits.margins import FeasibilityReport, Margin
from pkm_dynamics.trajectories import Trajectory
from pkm_identification.excitation import ExcitationDesign
from pkm_identification.excitation.motion_figures import (
    design_figures,
    excitation_figures,
    noise_covariance,
)
from pkm_identification.excitation_options import NOISE

NOISE_TEXTS = {
    'unit': 'variance 1 [N^2, N^2 m^2] in every sample',
    'simulated': 'covariance of the simulated robot',
    'as designed': 'that which the design was made for',
}
COMPONENTS = 3  # of a combination of parameters: more do not fit into a line
LOGARITHMS = {
    'd_optimal': '-ln det F',
    'a_optimal': 'ln trace F^-1',
    'e_optimal': '-ln smallest eigenvalue of F',
    'condition_number': 'ln condition number',
    'condition_number_scaled': 'ln condition number with columns of unit length',
}  # of the criteria, as a search minimises them
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


def excitation_content(
    model: ClosedChainModel,
    trajectory: Trajectory,
    design: ExcitationDesign | None,
    report: FeasibilityReport,
    *,
    ramp_time: float,
    periods: int = 1,
    noise: str | None = None,
) -> dict[str, Any]:
    """Return what a motion is worth and what it leaves of the limits, as plain values.

    `design` is the design that it is of, if any, `report` what `check_motion` says of it. The
    figures are None where there are none, with the reason.
    """
    return {
        **facts_of(trajectory, model),
        'harmonics': getattr(trajectory, 'harmonics', None),
        'periods': periods,
        'ramp_time': ramp_time if trajectory.period is not None else None,
        **_figures(model, trajectory, design, periods, noise),
        'criterion': None if design is None else searched_criterion(design),
        'feasible': report.feasible,
        'margins': margin_rows(report),
    }


def _figures(
    model: ClosedChainModel,
    trajectory: Trajectory,
    design: ExcitationDesign | None,
    periods: int,
    noise: str | None,
) -> dict[str, Any]:
    """Return the figures, of which noise they are, and the reason where there are none."""
    try:
        if design is not None:
            figures, noise = design_figures(model, design, periods, noise)
        else:
            noise = noise or NOISE.default
            covariance = noise_covariance(model, noise)
            figures = excitation_figures(model, trajectory, periods, covariance=covariance)
    except EstimationError as error:
        return {'noise': noise, 'figures': None, 'reason': str(error)}
    prior = design is not None and design.prior is not None
    return {'noise': noise, 'prior': prior, 'figures': figures, 'reason': ''}


def print_excitation(content: dict[str, Any]) -> None:
    """Print figures and margins of a motion."""
    for line in excitation_lines(content):
        sys.stdout.write(f'{line}\n\n')
    for table in figure_tables(content):
        show(table)
        sys.stdout.write('\n')
    show(margin_table(content['margins']))


def excitation_lines(content: dict[str, Any]) -> list[str]:
    """Return sentences on a motion: its kind, what it does not excite, the noise assumed."""
    figures = content['figures']
    harmonics = '' if content['harmonics'] is None else f', {content["harmonics"]} harmonics'
    lines = [
        f'{content["type"]} trajectory of {content["robot"]} in {content["coordinates"]} '
        f'coordinates, {content["duration"]:.5g} s{harmonics}'
    ]
    if figures is None:
        return [*lines, f'no figures: {content["reason"]}']
    if figures['rank'] < figures['parameters']:
        lines.append(
            f'the motion excites only {figures["rank"]:.0f} of {figures["parameters"]} '
            'parameter directions'
        )
    return [*lines, f'noise of the forces: {NOISE_TEXTS[content["noise"]]}']


def figure_tables(content: dict[str, Any]) -> list[Table]:
    """Return criteria, expected deviations of parameters, and best and worst directions."""
    figures = content['figures']
    if figures is None:
        return []
    known = ' and what was known before' if content['prior'] else ''
    header = f'{runs_text(content)}{known}, {figures["samples"]} samples'
    criteria = [[CRITERIA[key], figures[key]] for key in CRITERIA]
    if content['criterion'] is not None:
        criteria.append(list(content['criterion'].values()))
    parameters = [
        [name, value, figures['nominal'][name], figures['units'][name]]
        + [expression if (expression := figures['expressions'][name]) != name else '']
        for name, value in figures['standard_deviation'].items()
    ]
    directions = [
        [label, direction['standard_deviation'], _main(direction['components'])]
        for label, direction in zip(ENDS, figures['directions'], strict=True)
    ]
    deviation = 'standard deviation'
    ends = ('combination of parameters, SI units', deviation, 'main components')
    return [
        Table((f'{figures["parameters"]} parameters, SI units', header), criteria),
        Table(('parameter', deviation, 'nominal', 'unit', 'stands for'), parameters),
        Table(ends, directions),
    ]


def _main(components: dict[str, float]) -> str:
    largest = list(components.items())[:COMPONENTS]
    return ', '.join(f'{value:+.2f} {name}' for name, value in largest)


def print_design(design: ExcitationDesign) -> None:
    """Print the figures of a design."""
    figures, searched = design.figures, searched_criterion(design)
    rows = [
        ('period [s]', design.period),
        ('ramp time [s]', design.ramp_time),
        ('parameters', figures['parameters']),
        *([tuple(searched.values())] if searched else []),
        (f'samples at {figures["sampling_rate"]:g} Hz', figures['samples']),
        *((label, figures[name]) for name, label in CRITERIA.items()),
        ('-ln det F of one second', figures['d_optimal_per_second']),
    ]
    print_table(('one period, SI units', 'value'), rows)
    sys.stdout.flush()


def searched_criterion(design: ExcitationDesign) -> dict[str, Any] | None:
    """Return what the search minimised in words and its value; None of files that have none."""
    if 'criterion' not in design.figures:
        return None
    names = design.criterion if isinstance(design.criterion, Mapping) else {design.criterion: 1.0}
    what = ' + '.join(
        LOGARITHMS[name] if weight == 1.0 else f'{weight:g} {LOGARITHMS[name]}'
        for name, weight in names.items()
    )
    text = f'criterion: {what}, of {design.figures["measuring_time"]:.3g} s'
    return {'what': text, 'value': design.figures['criterion']}


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


def margin_table(rows: list[dict[str, Any]]) -> Table:
    """Return the worst case of each constraint."""
    keys = ('value', 'limit', 'margin', 'unit')
    columns: dict[str, Column] = {'constraint': 'constraint', 'where': 'where', 'at [s]': 'time'}
    return table_of(rows, columns | {key: key for key in keys})


def print_broken(rows: list[dict[str, Any]]) -> None:
    """Print every limit that is exceeded."""
    columns: dict[str, Column] = {'broken limit': 'constraint', 'where': 'where'}
    columns |= {'worst at [s]': 'time', 'value': 'value', 'limit': 'limit'}
    columns |= {'exceeded by': lambda row: -row['margin'], 'unit': 'unit'}
    print_columns(rows, columns)
