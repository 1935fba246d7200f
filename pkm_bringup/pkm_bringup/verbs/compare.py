"""`pkm compare`: all estimators, or models of different size, on one dataset."""

from __future__ import annotations

import sys
from typing import Any

from pkm_bringup.argument_types import positive
from pkm_bringup.arguments import DATA, add_json, add_robot, add_signals
from pkm_bringup.inputs import data_options, load_data, load_model, parse_options
from pkm_bringup.views.console import print_json, print_note, print_table, progress

DEFAULT = 'wls'
PLOT_SUFFIXES = ('.png', '.svg', '.pdf')


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'identify by all estimators from one dataset and compare'
    parser = subparsers.add_parser(
        'compare',
        help=text,
        description=f'{text}: error on the data and on others, certainty, physical or not, time. '
        'With --models, reduced models of the robot by one estimator. What fails is a row.',
    )
    parser.add_argument(
        'data', nargs='+', metavar='DATA', help=f'{DATA}; several are used together'
    )
    add_robot(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        '--estimators', metavar='NAME,NAME', help='estimators, with commas; default: all'
    )
    what.add_argument(
        '--models',
        nargs='?',
        const='',
        metavar='NAME,NAME',
        help='compare reduced models of the description instead; without names: all that it '
        'declares, else full, geometry and geometry+shared (parameters of one design shared)',
    )
    parser.add_argument(
        '--estimator', metavar='NAME', help=f'the estimator that --models uses; default: {DEFAULT}'
    )
    parser.add_argument(
        '--validate',
        action='append',
        default=[],
        metavar='DATA',
        help='repeatable; recording that is only predicted, of the same units',
    )
    add_signals(parser, ', shared=true|false, reduced=...; each estimator takes those it has')
    parser.add_argument(
        '--threshold',
        type=positive,
        default=15.0,
        help='relative standard deviation up to which a parameter is properly identified '
        '[percent]; default: 15',
    )
    parser.add_argument(
        '--plot', metavar='PNG', help='picture to write (.png, .svg, .pdf); must not exist'
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Identify, validate, print the table, draw the picture."""
    from pkm_bringup.outputs import check_output, write_output

    names = _chosen(arguments)
    plot = check_output(arguments.plot, PLOT_SUFFIXES) if arguments.plot else None
    options = parse_options(arguments.option)
    from pkm_identification.estimators.registry import check_option_names, estimators
    from pkm_identification.model_selection.model_comparison import (
        check_compared_options,
        compare_estimators,
        compare_models,
    )
    from pkm_identification.written_options import written_options

    if arguments.models is None:
        check_compared_options(names or estimators(), options)
    else:
        check_option_names(arguments.estimator or DEFAULT, options)

    with progress('comparing') as update:
        update('reading the robot; the first run compiles')
        model = load_model(arguments.robot)
        options = written_options(options, model)
        update('reading the data')
        chosen = data_options(arguments)
        data = [load_data(path, arguments.allow_incomplete, chosen) for path in arguments.data]
        held_out = [
            load_data(path, arguments.allow_incomplete, chosen) for path in arguments.validate
        ]
        common = {'validation': held_out, 'threshold': arguments.threshold, 'progress': update}
        one = data[0] if len(data) == 1 else data
        if arguments.models is None:
            found = compare_estimators(one, model, names, **common, **options)
        else:
            found = compare_models(
                one, model, arguments.estimator or DEFAULT, levels=names, **common, **options
            )
        rows = [candidate.row() for candidate in found]
        if plot is not None:
            update('drawing')
            from pkm_bringup.views.comparison_figure import plot_comparison

            write_output(plot, lambda path: plot_comparison(found, model, path))
    if arguments.json:
        print_json(
            {
                'robot': model.description.name,
                'data': arguments.data,
                'validated_on': arguments.validate,
                'rows': rows,
            }
        )
    else:
        print_rows(rows)
    if plot is not None:
        print_note(f"wrote '{plot}'")
    return 0 if any(candidate.result is not None for candidate in found) else 1


def _chosen(arguments: Any) -> list[str] | None:
    """Names of estimators or of models; None for all."""
    from pkm_description.errors import EstimationError

    if arguments.estimator and arguments.models is None:
        raise EstimationError('--estimator is the one that --models uses; see --estimators')
    text = arguments.estimators if arguments.models is None else arguments.models
    names = [name.strip() for name in (text or '').split(',') if name.strip()]
    if text and not names:
        raise EstimationError(f"'{text}' holds no name")
    return names or None


def print_rows(rows: list[dict[str, Any]]) -> None:
    """Print the table, and below it why something failed."""
    columns = [
        ('parameters', 'parameters', 1),
        ('rigid_body', 'rigid', 1),
        ('proper', 'proper', 1),
        ('error', 'eps_RA [%]', 100),
        ('held_out', 'held out [%]', 100),
        ('held_out_truth', 'to truth [%]', 100),
        ('coverage', 'covered [%]', 100),
        ('median_parameter_error', 'median error [%]', 100),
        ('largest_relative_standard_deviation', 'largest sd [%]', 1),
        ('is_physical', 'physical', None),
        ('condition_number', 'condition', 1),
        ('seconds', 'time [s]', 1),
    ]
    shown = [column for column in columns if any(row.get(column[0]) is not None for row in rows)]
    table = []
    for row in rows:
        values = [row.get(key) for key, _, _ in shown]
        factors = [factor for _, _, factor in shown]
        if row.get('parameters') is None:
            table.append([row['name'], *['failed'] * bool(shown), *[None] * (len(shown) - 1)])
            continue
        table.append(
            [row['name']]
            + [
                float(f'{(factor or 1) * value:.3g}') if isinstance(value, float) else value
                for value, factor in zip(values, factors, strict=True)
            ]
        )
    if shown:
        print_table(['', *[title for _, title, _ in shown]], table)
    for row in rows:
        if row['failure']:
            sys.stdout.write(f'\n{row["name"]}: {row["failure"]}\n')
