"""`pkm excite design`: search for a feasible trajectory that identifies well."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pkm_bringup.arguments import PICTURES, PLOT, PORT, add_json, add_robot
from pkm_bringup.outputs import check_output
from pkm_bringup.views.console import print_json, print_note
from pkm_bringup.views.design_view import design_view, stop_on_interrupt
from pkm_identification.excitation_options import CRITERIA, LIMITS, NOISE, SEARCH, UNKNOWN
from pkm_identification.option import POSITIVE, Option


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
    output = 'design to write (.yaml), SI units; must not exist'
    parser.add_argument('--output', required=True, metavar='FILE', help=output)
    parser.add_argument(
        '--criterion',
        type=_criterion,
        default='d_optimal',
        metavar='NAME[=WEIGHT,...]',
        help=f'what is minimised, in SI units: {", ".join(CRITERIA)}, or a mix such as '
        'd_optimal=1,condition_number=0.5 of their logarithms [1]; default: d_optimal',
    )
    for option in (NOISE, *SEARCH, *LIMITS):
        option.add_argument(parser)
    described = ', '.join(f'{name.replace("_", "-")} {value:g}' for name, value in UNKNOWN.items())
    text = (
        'a first motion, small and slow, for a robot whose masses may be half or twice those '
        f'described: the limits are {described} where nothing else is given'
    )
    parser.add_argument('--first', action='store_true', help=text)
    text = 'design (.yaml) or identified model of earlier runs, to whose information this one adds'
    parser.add_argument('--prior', metavar='FILE', help=text)
    text = 'Fourier trajectory or design (.yaml) that is a further start, or shipped'
    parser.add_argument('--initial', metavar='FILE', help=text)
    PLOT.add_argument(parser)
    text = 'show the search in a browser: the best motion so far, and the paths of the others'
    parser.add_argument('--view', action='store_true', help=f'{text}; Ctrl-C at its end ends it')
    PORT.add_argument(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Design, save, print the figures."""
    from pkm_bringup.views.excitation_view import print_design

    output = check_output(arguments.output, ('.yaml', '.yml'))
    plot = arguments.plot and check_output(Path(arguments.plot), PICTURES)
    with ExitStack() as stack:
        design, view = _searched(arguments, output, plot, stack)
        cancelled = bool(design.origin.get('cancelled'))
        if arguments.json:
            names = ('period', 'ramp_time', 'figures', 'margins')
            content = {name: getattr(design, name) for name in names}
            print_json(content | {'cancelled': cancelled, 'output': str(output)})
        else:
            print_design(design)
            print_note(f"wrote '{output}'")
        if plot:
            print_note(f"wrote '{plot}'")
        if cancelled:
            print_note('interrupted: this is the best that was found until then')
        elif view is not None:
            print_note(f'{view.server.address} shows it; Ctrl-C ends that')
            view.wait()
    return 130 if cancelled else 0


def _searched(arguments: Any, output: Path, plot: Path | None, stack: ExitStack) -> tuple[Any, Any]:
    """Return the design, saved and drawn, and its view, which the stack closes."""
    from pkm_bringup.inputs import load_mechanism
    from pkm_bringup.trajectory_inputs import load_fourier, run_of
    from pkm_identification.requests.check_request import check_motion
    from pkm_identification.requests.design_request import DesignRequest, design_motion

    view = None
    with (
        stop_on_interrupt('the best design so far is kept') as interrupted,
        design_view('designing') as tell,
    ):
        tell('reading the robot; the first run compiles', None, float('nan'))
        model = load_mechanism(arguments.robot)
        criterion, noise, prior = arguments.criterion, arguments.noise, arguments.prior
        search, limits = _given(SEARCH, arguments), _given(LIMITS, arguments)
        if arguments.first:
            usual = {option.name: option.default for option in LIMITS}
            chosen = (name for name in UNKNOWN if limits[name] == usual[name])
            limits |= {name: UNKNOWN[name] for name in chosen}
        initial = load_fourier(arguments.initial, model)
        request = DesignRequest(criterion, search, limits, noise, prior, initial)
        if arguments.view:
            from pkm_bringup.scene.search_view import SearchView

            view = stack.enter_context(SearchView(model, arguments.port))
            print_note(f'{view.server.address} shows the search')
        tell('base parameters', None, float('nan'))
        found = None if view is None else view.found
        design = design_motion(request, model, tell, interrupted, found)
        design.save(output)
        if plot:
            tell('drawing', None, float('nan'))
            from pkm_bringup.views.excitation_picture import plot_excitation  # loads matplotlib

            report = check_motion(run_of(design.trajectory, design.ramp_time), model)
            deviations, trajectory = design.figures['standard_deviation'], design.trajectory
            plot_excitation(model, trajectory, plot, report, deviations, 'one period')
    return design, view


def _given(options: tuple[Option, ...], arguments: Any) -> dict[str, Any]:
    return {option.name: getattr(arguments, option.name) for option in options}


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
    weights = {name: POSITIVE.read(weight or '1') for name, _, weight in parts}
    if len(weights) < len(parts):
        raise argparse.ArgumentTypeError(f"'{text}' names a criterion twice")
    return weights
