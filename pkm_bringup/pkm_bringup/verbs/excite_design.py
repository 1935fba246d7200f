"""`pkm excite design`: search for a feasible trajectory that identifies well."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import Any

from pkm_bringup.argument_types import count, fraction, not_negative, positive, whole
from pkm_bringup.arguments import add_json, add_robot
from pkm_bringup.inputs import is_design, load_model, load_trajectory
from pkm_bringup.verbs.excite_show import CRITERIA, NOISES, PICTURES
from pkm_bringup.views.console import print_json, print_note, print_table


def add_parser(subparsers: Any) -> None:
    """Add the subverb."""
    text = 'design a Fourier trajectory that identifies a robot well within its limits'
    parser = subparsers.add_parser(
        'design',
        help=text,
        description=f'{text}. A terminal shows the best criterion while it falls. The first Ctrl-C '
        'ends the search and keeps the best that was found (exit status 130).',
    )
    add_robot(parser)
    parser.add_argument(
        '--output',
        required=True,
        metavar='FILE',
        help='design to write (.yaml), SI units; must not exist',
    )
    parser.add_argument(
        '--criterion',
        type=_criterion,
        default='d_optimal',
        metavar='NAME[=WEIGHT,...]',
        help=f'what is minimised, in SI units: {", ".join(CRITERIA)}, or a mix such as '
        'd_optimal=1,condition_number=0.5 of their logarithms [1]; default: d_optimal',
    )
    parser.add_argument(
        '--harmonics', type=count, default=5, help='of each coordinate [1]; default: 5'
    )
    parser.add_argument('--period', type=positive, help='[s]; default: free, found by the search')
    parser.add_argument(
        '--noise',
        choices=NOISES,
        default='unit',
        help='of the forces: unit variance, or the covariance of the simulated robot [N^2]; '
        'default: unit',
    )
    parser.add_argument(
        '--prior',
        metavar='FILE',
        help='design (.yaml) or identified model of earlier runs, to whose information this one '
        'adds',
    )
    parser.add_argument(
        '--initial',
        metavar='FILE',
        help='Fourier trajectory or design (.yaml) that is a further start, or shipped',
    )
    _add_limits(parser)
    parser.add_argument('--starts', type=whole, default=8, help='optimised starts [1]; default: 8')
    parser.add_argument(
        '--iterations', type=count, default=60, help='steps of each start [1]; default: 60'
    )
    parser.add_argument(
        '--candidates',
        type=count,
        default=2,
        help='random trajectories that a random start is the best of [1]; default: 2',
    )
    parser.add_argument('--seed', type=whole, default=0, help='of the search [1]; default: 0')
    parser.add_argument(
        '--workers', type=count, help='processes [1]; default: one a core; no effect on the result'
    )
    parser.add_argument(
        '--plot',
        metavar='PICTURE',
        help='picture to write (.png, .svg, .pdf): motion, margins, expected standard deviations; '
        'must not exist',
    )
    add_json(parser)
    parser.set_defaults(run=run)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    free = 'left free [1]; default'
    for name, kind, text in (
        ('force-margin', fraction, f'fraction of the force limits {free}: 0.25'),
        ('velocity-margin', fraction, f'fraction of the velocity limits {free}: 0.05'),
        ('stroke-margin', fraction, f'fraction of each range, at either end, {free}: 0.04'),
        ('force-uncertainty', not_negative, 'relative error of the nominal forces [1]; default: 0'),
        ('acceleration', positive, 'largest of any actuator [m/s^2, rad/s^2]; default: no limit'),
        ('aperture', positive, "largest of spherical joints [rad]; default: the description's"),
        ('clearance', not_negative, 'least distance of struts and platform [m]; default: 0.005'),
        ('frequency', positive, 'highest of the motion [Hz]; default: no limit'),
    ):
        parser.add_argument(f'--{name}', type=kind, help=text)


def run(arguments: Any) -> int:
    """Design, save, print the figures."""
    from pkm_bringup.outputs import check_output, write_output
    from pkm_bringup.views.design_view import design_view, stop_on_interrupt
    from pkm_bringup.views.excitation_figures import check_run, noise_covariance, plot_excitation
    from pkm_identification.excitation import DesignLimits, design_excitation

    output = check_output(arguments.output, ('.yaml', '.yml'))
    plot = arguments.plot and check_output(Path(arguments.plot), PICTURES)
    given = {
        item.name: getattr(arguments, item.name)
        for item in dataclasses.fields(DesignLimits)
        if getattr(arguments, item.name, None) is not None
    }
    with (
        stop_on_interrupt('the best design so far is kept') as interrupted,
        design_view('designing') as tell,
    ):
        tell('reading the robot; the first run compiles', None, float('nan'))
        model = load_model(arguments.robot)
        prior, initial = _prior(arguments.prior, model), _initial(arguments.initial, model)
        tell('base parameters', None, float('nan'))
        design = design_excitation(
            model,
            arguments.criterion,
            arguments.harmonics,
            arguments.period,
            noise_covariance=noise_covariance(model, arguments.noise),
            limits=DesignLimits(**given),
            prior=prior,
            initial=initial,
            starts=arguments.starts,
            iterations=arguments.iterations,
            candidates=arguments.candidates,
            seed=arguments.seed,
            workers=arguments.workers,
            progress=tell,
            cancel=interrupted,
        )
        design = dataclasses.replace(design, origin={**design.origin, 'noise': arguments.noise})
        design.save(output)
        if plot:
            tell('drawing', None, float('nan'))
            report = check_run(model, design.trajectory, design.ramp_time, start=False)
            deviations = design.figures['standard_deviation']
            write_output(
                plot,
                lambda path: plot_excitation(
                    model, design.trajectory, path, report, deviations, 'one period'
                ),
            )
    _print(arguments, design, output)
    if plot:
        print_note(f"wrote '{plot}'")
    cancelled = bool(design.origin.get('cancelled'))
    if cancelled:
        print_note('interrupted: this is the best that was found until then')
    return 130 if cancelled else 0


def _print(arguments: Any, design: Any, output: Path) -> None:
    if arguments.json:
        print_json(
            {
                'period': design.period,
                'ramp_time': design.ramp_time,
                'figures': design.figures,
                'margins': design.margins,
                'cancelled': bool(design.origin.get('cancelled')),
                'output': str(output),
            }
        )
        return
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
    print_note(f"wrote '{output}'")


def _prior(path: str | None, model: Any) -> Any:
    """Return the design or the identified model of a file."""
    from pkm_identification import load_result
    from pkm_identification.excitation import ExcitationDesign

    if path is None:
        return None
    if Path(path).is_file() and is_design(Path(path)):
        return ExcitationDesign.load(path, model)
    return load_result(path, model)


def _initial(text: str | None, model: Any) -> Any:
    """Return the Fourier trajectory of a file, or the shipped one."""
    from pkm_description.errors import TrajectoryError
    from pkm_dynamics.trajectories import FourierTrajectory

    if text is None:
        return None
    trajectory = load_trajectory(text, model)
    if not isinstance(trajectory, FourierTrajectory):
        raise TrajectoryError(
            f"'{text}' is a {trajectory.kind} trajectory; a search starts from a Fourier one"
        )
    return trajectory


def _criterion(text: str) -> str | dict[str, float]:
    """Return a name, or a mix NAME=WEIGHT,NAME=WEIGHT; as argparse's `type`."""
    parts = [part.partition('=') for part in text.split(',')]
    for name, _, _ in parts:
        if name not in CRITERIA:
            raise argparse.ArgumentTypeError(
                f"criterion '{name}' is unknown; valid are {', '.join(CRITERIA)}"
            )
    if len(parts) == 1 and not parts[0][1]:
        return text
    weights = {name: positive(weight or '1') for name, _, weight in parts}
    if len(weights) < len(parts):
        raise argparse.ArgumentTypeError(f"'{text}' names a criterion twice")
    return weights
