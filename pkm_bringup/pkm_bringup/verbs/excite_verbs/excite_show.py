"""`pkm excite show`: what an excitation is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pkm_bringup.arguments import (
    COUNT,
    FEEDFORWARD,
    PICTURES,
    PLOT,
    RAMP_TIME,
    TRAJECTORY,
    add_arguments,
    add_json,
    add_robot,
)
from pkm_bringup.outputs import check_output
from pkm_bringup.views.console import print_json, print_note, progress
from pkm_identification.excitation_options import NOISE, SERVO_OF_DESIGN
from pkm_identification.option import Option


def add_parser(subparsers: Any) -> None:
    """Add the subverb."""
    text = 'figures and margins of a trajectory or design'
    parser = subparsers.add_parser(
        'show',
        help=text,
        description=f'{text}. The errors (tracking) are those that the servo of the controller is '
        'expected to leave.',
    )
    parser.add_argument('file', metavar='FILE', help=TRAJECTORY)
    add_robot(parser)
    PLOT.add_argument(parser)
    Option('periods', COUNT, 'that are recorded', 1, '1').add_argument(parser)
    text = f'{NOISE.help}; default: that of the design, else unit'
    parser.add_argument('--noise', choices=NOISE.values.words, help=text)
    add_arguments(parser, RAMP_TIME, FEEDFORWARD, *SERVO_OF_DESIGN)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Print figures and margins; write the picture."""
    from pkm_bringup.inputs import load_mechanism
    from pkm_bringup.servo_arguments import check_followed, take_servo_of
    from pkm_bringup.trajectory_inputs import design_of, load_trajectory, ramp_time_of, run_of
    from pkm_bringup.views.excitation_view import excitation_content, print_excitation, runs_text

    plot = arguments.plot and check_output(Path(arguments.plot), PICTURES)
    with progress('evaluating') as update:
        model = load_mechanism(arguments.robot, update)
        trajectory = load_trajectory(arguments.file, model)
        ramp = ramp_time_of(arguments.ramp_time, arguments.file, model)
        design = design_of(arguments.file, model)
        take_servo_of(design, arguments)
        update('margins')
        report = check_followed(run_of(trajectory, ramp), model, arguments)
        update('figures')
        given = {'ramp_time': ramp, 'periods': arguments.periods, 'noise': arguments.noise}
        content = excitation_content(model, trajectory, design, report, **given)
        if plot:
            update('drawing')
            from pkm_bringup.views.excitation_picture import plot_excitation  # loads matplotlib

            deviations = (content['figures'] or {}).get('standard_deviation')
            plot_excitation(model, trajectory, plot, report, deviations, runs_text(content))
    if arguments.json:
        print_json(content)
    else:
        print_excitation(content)
    if plot:
        print_note(f"wrote '{plot}'")
    return 0
