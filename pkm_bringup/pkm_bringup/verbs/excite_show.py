"""`pkm excite show`: what an excitation is worth."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pkm_bringup.arguments import (
    TRAJECTORY,
    add_json,
    add_robot,
    count,
    load_model,
    load_trajectory,
)
from pkm_bringup.console import print_json, print_note, print_table, progress

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
        '--plot', metavar='PICTURE',
        help='picture to write (.png, .svg, .pdf): motion, margins, expected standard deviations; '
        'must not exist',
    )  # fmt: skip
    parser.add_argument(
        '--periods', type=count, default=1, help='that are recorded [1]; default: 1'
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Print figures and margins; write the picture."""
    from pkm_bringup.excitation_figures import (
        check_run,
        excitation_figures,
        margin_rows,
        plot_excitation,
    )
    from pkm_bringup.outputs import check_output, write_output
    from pkm_description.errors import EstimationError

    plot = arguments.plot and check_output(Path(arguments.plot), ('.png', '.svg', '.pdf'))
    with progress('evaluating') as update:
        update('reading the robot; the first run compiles')
        model = load_model(arguments.robot)
        trajectory = load_trajectory(arguments.file, model)
        update('figures')
        content = {
            'robot': model.description.name,
            'type': trajectory.kind,
            'coordinates': trajectory.coordinates,
            'duration': trajectory.duration,
            'harmonics': getattr(trajectory, 'harmonics', None),
            'periods': arguments.periods,
            'figures': None,
            'reason': '',
        }
        try:
            content['figures'] = excitation_figures(model, trajectory, arguments.periods)
        except EstimationError as error:
            content['reason'] = str(error)
        update('margins')
        report = check_run(model, trajectory, 1.0, start=False)
        content |= {'feasible': report.feasible, 'margins': margin_rows(report)}
        if plot:
            update('drawing')
            deviations = (content['figures'] or {}).get('standard_deviation')
            write_output(plot, lambda path: plot_excitation(model, trajectory, path, deviations))
    if arguments.json:
        print_json(content)
    else:
        _print(content)
    if plot:
        print_note(f"wrote '{plot}'")
    return 0


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
        rows = [(label, figures[key]) for key, label in CRITERIA.items()]
        runs = 'one run' if content['periods'] == 1 else f'{content["periods"]} runs'
        print_table((f'{figures["parameters"]} parameters, SI units', f'{runs} at 1 kHz'), rows)
        out('\n')
        deviations = figures['standard_deviation'].items()
        print_table(
            ('parameter', 'standard deviation for 1 N of noise', 'nominal', 'unit'),
            [
                (name, value, figures['nominal'][name], figures['units'][name])
                for name, value in deviations
            ],
        )
        out('\n')
    print_margins(content['margins'])


def print_margins(rows: list[dict[str, Any]]) -> None:
    """Print the worst case of each constraint."""
    keys = ('constraint', 'where', 'time', 'value', 'limit', 'margin', 'unit')
    header = ('constraint', 'where', 'at [s]', 'value', 'limit', 'margin', 'unit')
    print_table(header, [[row[key] for key in keys] for row in rows])
