"""`pkm compare`: all estimators, or models of different size, on one dataset."""

from __future__ import annotations

from typing import Any

from pkm_bringup.arguments import PICTURES, add_json, add_robot
from pkm_bringup.data_arguments import DATA, add_options, given_loading, given_options
from pkm_bringup.outputs import check_output, write_output
from pkm_bringup.views.console import print_json, print_note, progress
from pkm_description.errors import EstimationError
from pkm_identification.options import COMMON, THRESHOLD

DEFAULT = 'wls'


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'identify by all estimators from one dataset and compare'
    parser = subparsers.add_parser(
        'compare',
        help=text,
        description=f'{text}: error on the data and on others, certainty, physical or not, time. '
        'With --models, reduced models of the robot by one estimator. What fails is a row.',
    )
    several = f'{DATA}; several are used together'
    parser.add_argument('data', nargs='+', metavar='DATA', help=several)
    add_robot(parser)
    what = parser.add_mutually_exclusive_group()
    text = 'estimators, with commas; default: all'
    what.add_argument('--estimators', metavar='NAME,NAME', help=text)
    what.add_argument(
        '--models',
        nargs='?',
        const='',
        metavar='NAME,NAME',
        help='compare reduced models of the description instead; without names: all that it '
        'declares, else full, geometry and geometry+shared (parameters of one design shared)',
    )
    text = f'the estimator that --models uses; default: {DEFAULT}'
    parser.add_argument('--estimator', metavar='NAME', help=text)
    text = 'repeatable; recording that is only predicted, of the same units; default: the '
    text += 'last fifth, or period, of each recording'
    parser.add_argument('--validate', action='append', default=[], metavar='DATA', help=text)
    add_options(parser, '; each estimator takes those it has', COMMON)
    THRESHOLD.add_argument(parser)
    text = 'picture to write (.png, .svg, .pdf); must not exist'
    parser.add_argument('--plot', metavar='PNG', help=text)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Identify, validate, print the table, draw the picture."""
    from pkm_bringup.inputs import load_mechanism
    from pkm_bringup.views.comparison_view import plot_comparison, print_best, print_rows
    from pkm_identification.requests.compare_request import CompareRequest, compare_on_recordings

    names = _chosen(arguments)
    plot = check_output(arguments.plot, PICTURES) if arguments.plot else None
    by = '' if arguments.models is None else arguments.estimator or DEFAULT
    given = (given_options(arguments), given_loading(arguments), arguments.threshold)
    request = CompareRequest(arguments.data, names, by, arguments.validate, *given)
    with progress('comparing') as update:
        model = load_mechanism(arguments.robot, update)
        found = compare_on_recordings(request, model, update)
        rows = [candidate.row() for candidate in found]
        if plot is not None:
            update('drawing')
            write_output(plot, lambda path: plot_comparison(found, model, path))
    if arguments.json:
        content = {'robot': model.description.name, 'data': arguments.data}
        print_json({**content, 'validated_on': arguments.validate, 'rows': rows})
    else:
        print_rows(rows)
        print_best(found)
    if plot is not None:
        print_note(f"wrote '{plot}'")
    return 0 if any(candidate.result is not None for candidate in found) else 1


def _chosen(arguments: Any) -> list[str]:
    """Names of estimators or of models; empty for all."""
    if arguments.estimator and arguments.models is None:
        raise EstimationError('--estimator is the one that --models uses; see --estimators')
    text = arguments.estimators if arguments.models is None else arguments.models
    names = [name.strip() for name in (text or '').split(',') if name.strip()]
    if text and not names:
        raise EstimationError(f"'{text}' holds no name")
    return names
