"""`pkm identify`: from data to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pkm_bringup.arguments import PICTURES, add_json, add_robot
from pkm_bringup.data_arguments import (
    DATA,
    add_force_constants,
    add_options,
    given_force_constants,
    given_loading,
    given_options,
)
from pkm_bringup.outputs import check_output, write_output
from pkm_bringup.views.console import print_json, print_note, progress
from pkm_description.errors import EstimationError
from pkm_identification.options import (
    COMMON,
    DRIVE_TERMS,
    FRICTION,
    LEVEL,
    LOAD_FRICTION,
    REDUCTION,
    THRESHOLD,
)

VALIDATION, *BY_OPTION, SIGNIFICANCE = REDUCTION
ALSO = '; and those of the estimator (doc/estimators.md of pkm_identification); with --reduce also '


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'identify the dynamic model of a robot from data'
    parser = subparsers.add_parser('identify', help=text, description=text)
    several = f'{DATA}; several of one robot are used together'
    parser.add_argument('data', metavar='DATA', nargs='+', help=several)
    add_robot(parser)
    text = 'ls, wls, gauss_markov, ... (a wrong name lists all); default: wls'
    parser.add_argument('--estimator', default='wls', help=text)
    also = ', '.join(option.name for option in BY_OPTION)
    add_options(parser, ALSO + also, COMMON)
    text = 'model file to write (.yaml), SI units; must not exist'
    parser.add_argument('--output', required=True, metavar='MODEL', help=text)
    text = (
        'design (.yaml) to write of the next excitation, of the identified robot, for what is '
        'still unsure; must not exist'
    )
    parser.add_argument('--next', metavar='DESIGN', help=text)
    text = 'picture to write of the bands that were tried (.png, .svg, .pdf); must not exist'
    parser.add_argument('--plot', metavar='PNG', help=text)
    text = (
        'drop parameters step by step until all that are left are properly identified; the model '
    )
    parser.add_argument('--reduce', action='store_true', help=f'{text}file holds these')
    terms = (DRIVE_TERMS, LOAD_FRICTION, FRICTION)
    for option in (LEVEL, THRESHOLD, SIGNIFICANCE, VALIDATION, *terms):
        option.add_argument(parser)
    add_force_constants(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Identify, write the model, print the parameters."""
    from pkm_bringup.inputs import load_mechanism
    from pkm_bringup.views.band_picture import plot_bands
    from pkm_bringup.views.identification_view import print_coordinates, print_identified, summary
    from pkm_identification.requests.identify_request import (
        IdentifyRequest,
        ReduceRequest,
        identify_recordings,
    )

    output = check_output(arguments.output, ('.yaml', '.yml'))
    plot = check_output(arguments.plot, PICTURES) if arguments.plot else None
    following = check_output(arguments.next, ('.yaml', '.yml')) if arguments.next else None
    kind = ReduceRequest if arguments.reduce else IdentifyRequest
    given = (_options(arguments), given_loading(arguments), arguments.threshold)
    request = kind(arguments.data, arguments.estimator, *given, str(output))
    with progress('identifying') as update:
        model = load_mechanism(arguments.robot, update)
        found = identify_recordings(request, model, update)
    if arguments.json:
        print_json(summary(found, str(output), arguments.level))
    else:
        print_identified(found, arguments.level)
        print_coordinates(model.description)
        print_note(f"wrote '{output}'")
    if plot is not None:
        write_output(plot, lambda path: plot_bands(found.result, path))
        print_note(f"wrote '{plot}'")
    if following is not None:
        _design_next(found.result, following)
    return 0


def _design_next(result: Any, output: Path) -> None:
    """Design the next excitation and say what it is expected to add."""
    import numpy as np

    from pkm_bringup.views.design_view import design_view, stop_on_interrupt
    from pkm_identification.requests.next_excitation import next_excitation

    with (
        stop_on_interrupt('the best design so far is kept') as interrupted,
        design_view('the next excitation') as tell,
    ):
        design = next_excitation(result, tell, interrupted)
        design.save(output)
    before, after = result.standard_deviation, design.figures['standard_deviation'].values()
    better = float(np.median(before / np.array(list(after))))
    print_note(
        f"wrote '{output}', the next excitation; a period of {design.period:.4g} s is expected to "
        f'make standard deviations {better:.3g} times smaller (median)'
    )


def _options(arguments: Any) -> dict[str, Any]:
    options = given_options(arguments) | given_force_constants(arguments)
    of_reduction = {'significance': arguments.significance, 'validation': arguments.validate}
    given = {name: value for name, value in of_reduction.items() if value}
    unused = [f'--{name}' for name in ('significance', 'validate') if getattr(arguments, name)]
    if unused and not arguments.reduce:
        need = 'needs' if len(unused) == 1 else 'need'
        raise EstimationError(f'{" and ".join(unused)} {need} --reduce')
    flags = {'terms': DRIVE_TERMS, 'load_friction': LOAD_FRICTION, 'friction': FRICTION}
    for flag, option in flags.items():
        value = getattr(arguments, flag)
        if not value or value == option.default:
            continue
        if option.name in options:
            shown = flag.replace('_', '-')
            raise EstimationError(f'--{shown} and --option {option.name}= say the same: give one')
        given[option.name] = value
    return options | given
