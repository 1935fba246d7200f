"""`pkm excite show`: what an excitation is worth."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pkm_bringup.argument_types import count
from pkm_bringup.arguments import TRAJECTORY, add_json, add_ramp_time, add_robot
from pkm_bringup.inputs import design_of, load_model, load_trajectory, ramp_time_of
from pkm_bringup.views.console import print_json, print_note, print_table, progress

NOISES = ('unit', 'simulated')
NOISE_TEXTS = {
    'unit': 'variance 1 [N^2, N^2 m^2] in every sample',
    'simulated': 'covariance of the simulated robot',
    'as designed': 'that which the design was made for',
}
PICTURES = ('.png', '.svg', '.pdf')
COMPONENTS = 3  # of a combination of parameters
ENDS = 'least visible', 'most visible'
CRITERIA = {
    'd_optimal': '-ln det F',
    'a_optimal': 'trace F^-1',
    'e_optimal': 'smallest eigenvalue of F',
    'condition_number': 'condition number',
    'condition_number_scaled': 'condition number, columns of unit length',
}


def add_parser(subparsers: Any) -> None:
    """Add the subverb."""
    text = 'figures and margins of a trajectory or design'
    parser = subparsers.add_parser('show', help=text, description=text)
    parser.add_argument('file', metavar='FILE', help=TRAJECTORY)
    add_robot(parser)
    parser.add_argument(
        '--plot',
        metavar='PICTURE',
        help='picture to write (.png, .svg, .pdf): motion, margins, expected standard deviations; '
        'must not exist',
    )
    parser.add_argument(
        '--periods', type=count, default=1, help='that are recorded [1]; default: 1'
    )
    parser.add_argument(
        '--noise',
        choices=NOISES,
        help='of the forces: unit variance, or the covariance of the simulated robot [N^2]; '
        'default: that of the design, else unit',
    )
    add_ramp_time(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Print figures and margins; write the picture."""
    from pkm_bringup.outputs import check_output, write_output
    from pkm_bringup.views.excitation_figures import check_run, margin_rows, plot_excitation

    plot = arguments.plot and check_output(Path(arguments.plot), PICTURES)
    with progress('evaluating') as update:
        update('reading the robot; the first run compiles')
        model = load_model(arguments.robot)
        trajectory = load_trajectory(arguments.file, model)
        ramp = ramp_time_of(arguments.ramp_time, arguments.file, model)
        update('figures')
        content = {
            'robot': model.description.name,
            'type': trajectory.kind,
            'coordinates': trajectory.coordinates,
            'duration': trajectory.duration,
            'periodic': trajectory.period is not None,
            'harmonics': getattr(trajectory, 'harmonics', None),
            'periods': arguments.periods,
            'ramp_time': ramp if trajectory.period is not None else None,
            **_figures(arguments, model, trajectory),
        }
        update('margins')
        report = check_run(model, trajectory, ramp, start=False)
        content |= {'feasible': report.feasible, 'margins': margin_rows(report)}
        if plot:
            update('drawing')
            deviations = (content['figures'] or {}).get('standard_deviation')
            runs = _runs(content)
            write_output(
                plot,
                lambda path: plot_excitation(model, trajectory, path, report, deviations, runs),
            )
    if arguments.json:
        print_json(content)
    else:
        _print(content)
    if plot:
        print_note(f"wrote '{plot}'")
    return 0


def _figures(arguments: Any, model: Any, trajectory: Any) -> dict[str, Any]:
    """Return the figures, of which noise they are, and the reason where there are none."""
    from pkm_bringup.views.excitation_figures import (
        design_figures,
        excitation_figures,
        noise_covariance,
    )
    from pkm_description.errors import EstimationError

    noise = arguments.noise
    try:
        design = design_of(arguments.file, model)
        if design is not None:
            figures, noise = design_figures(model, design, arguments.periods, noise)
        else:
            noise = noise or 'unit'
            covariance = noise_covariance(model, noise)
            figures = excitation_figures(
                model, trajectory, arguments.periods, covariance=covariance
            )
    except EstimationError as error:
        return {'noise': noise, 'figures': None, 'reason': str(error)}
    prior = design is not None and design.prior is not None
    return {'noise': noise, 'prior': prior, 'figures': figures, 'reason': ''}


def _runs(content: dict[str, Any]) -> str:
    what = 'period' if content['periodic'] else 'run'
    return f'one {what}' if content['periods'] == 1 else f'{content["periods"]} {what}s'


def _print(content: dict[str, Any]) -> None:
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
        rows = [(label, figures[key]) for key, label in CRITERIA.items()]
        known = ' and what was known before' if content['prior'] else ''
        header = f'{_runs(content)}{known}, {figures["samples"]} samples'
        print_table((f'{figures["parameters"]} parameters, SI units', header), rows)
        out('\n')
        deviations = figures['standard_deviation'].items()
        print_table(
            ('parameter', 'standard deviation', 'nominal', 'unit'),
            [
                (name, value, figures['nominal'][name], figures['units'][name])
                for name, value in deviations
            ],
        )
        out('\n')
        print_table(
            ('combination of parameters, SI units', 'standard deviation', 'main components'),
            [
                (label, direction['standard_deviation'], _main(direction['components']))
                for label, direction in zip(ENDS, figures['directions'], strict=True)
            ],
        )
        out(f'\nnoise of the forces: {NOISE_TEXTS[content["noise"]]}\n\n')
    print_margins(content['margins'])


def _main(components: dict[str, float]) -> str:
    largest = list(components.items())[:COMPONENTS]
    return ', '.join(f'{value:+.2f} {name}' for name, value in largest)


def print_margins(rows: list[dict[str, Any]]) -> None:
    """Print the worst case of each constraint."""
    keys = ('constraint', 'where', 'time', 'value', 'limit', 'margin', 'unit')
    header = ('constraint', 'where', 'at [s]', 'value', 'limit', 'margin', 'unit')
    print_table(header, [[row[key] for key in keys] for row in rows])
