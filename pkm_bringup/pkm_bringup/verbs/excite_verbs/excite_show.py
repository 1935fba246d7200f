"""`pkm excite show`: what an excitation is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pkm_dynamics
from pkm_bringup.arguments import COUNT, PICTURES, PLOT, RAMP_TIME, TRAJECTORY, add_json, add_robot
from pkm_bringup.outputs import check_output
from pkm_bringup.views.console import print_json, print_note, progress
from pkm_description.errors import EstimationError
from pkm_identification.excitation_options import NOISE
from pkm_identification.option import Option


def add_parser(subparsers: Any) -> None:
    """Add the subverb."""
    text = 'figures and margins of a trajectory or design'
    parser = subparsers.add_parser('show', help=text, description=text)
    parser.add_argument('file', metavar='FILE', help=TRAJECTORY)
    add_robot(parser)
    PLOT.add_argument(parser)
    Option('periods', COUNT, 'that are recorded', 1, '1').add_argument(parser)
    text = f'{NOISE.help}; default: that of the design, else unit'
    parser.add_argument('--noise', choices=NOISE.values.words, help=text)
    RAMP_TIME.add_argument(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Print figures and margins; write the picture."""
    from pkm_bringup.inputs import load_model
    from pkm_bringup.trajectory_inputs import facts_of, load_trajectory, ramp_time_of, run_of
    from pkm_bringup.views.excitation_view import margin_rows, print_excitation, runs_text
    from pkm_identification.requests.check_request import check_motion

    plot = arguments.plot and check_output(Path(arguments.plot), PICTURES)
    with progress('evaluating') as update:
        model = load_model(arguments.robot, update)
        trajectory = load_trajectory(arguments.file, model)
        ramp = ramp_time_of(arguments.ramp_time, arguments.file, model)
        update('figures')
        content = {
            **facts_of(trajectory, model),
            'harmonics': getattr(trajectory, 'harmonics', None),
            'periods': arguments.periods,
            'ramp_time': ramp if trajectory.period is not None else None,
            **_figures(arguments, model, trajectory),
        }
        update('margins')
        report = check_motion(run_of(trajectory, ramp), model)
        content |= {'feasible': report.feasible, 'margins': margin_rows(report)}
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


def _figures(
    arguments: Any, model: pkm_dynamics.ClosedChainModel, trajectory: pkm_dynamics.Trajectory
) -> dict[str, Any]:
    """Return the figures, of which noise they are, and the reason where there are none."""
    from pkm_bringup.trajectory_inputs import design_of
    from pkm_identification.excitation.motion_figures import (
        design_figures,
        excitation_figures,
        noise_covariance,
    )

    noise = arguments.noise
    try:
        design = design_of(arguments.file, model)
        if design is not None:
            figures, noise = design_figures(model, design, arguments.periods, noise)
        else:
            noise = noise or NOISE.default
            covariance, periods = noise_covariance(model, noise), arguments.periods
            figures = excitation_figures(model, trajectory, periods, covariance=covariance)
    except EstimationError as error:
        return {'noise': noise, 'figures': None, 'reason': str(error)}
    prior = design is not None and design.prior is not None
    return {'noise': noise, 'prior': prior, 'figures': figures, 'reason': ''}
