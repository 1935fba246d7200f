"""`pkm bench`: measure control loop, compute times and lockstep speed on this machine."""

from __future__ import annotations

import os
from argparse import Namespace, _SubParsersAction
from importlib import import_module
from typing import Any

from pkm_bringup.arguments import COUNT, PICTURES, add_arguments, add_json, add_robot
from pkm_bringup.outputs import OutputError, check_output
from pkm_bringup.views.console import print_json, progress
from pkm_identification.option import POSITIVE, Option

# Module and function of each part: loaded when it is measured.
PARTS = {
    'step': ('bench.control_step', 'measure'),
    'model': ('bench.model_cost', 'measure'),
    'library': ('bench.model_cost', 'measure_library'),
    'loop': ('nodes.bench_client', 'measure_free_running'),
    'lockstep': ('nodes.bench_client', 'measure_lockstep'),
    'identify': ('bench.identify_cost', 'measure'),
    'filters': ('bench.filter_cost', 'measure'),
    'design': ('bench.design_search', 'measure'),
    'growth': ('bench.growth', 'measure'),
}
LONGER = 'a longer search from other starts that the first is compared with'
OPTIONS = (
    Option('duration', POSITIVE, 'of the 1 kHz loop, half of it for lockstep', 10.0, 's'),
    Option('steps', COUNT, 'offline controller steps', 5000, '1'),
    Option('search_time', POSITIVE, 'search of the excitation', 60.0, 's'),
    Option('reference_time', POSITIVE, LONGER, unit='s'),
    Option('recording', POSITIVE, 'length of recordings; others are ten times as long', 600.0, 's'),
)
ON_REQUEST = ('design', 'growth')  # take minutes


def add_parser(subparsers: _SubParsersAction[Any]) -> None:
    """Add the verb."""
    text = 'measure control loop, compute times and lockstep speed on this machine'
    parser = subparsers.add_parser('bench', help=text, description=text)
    add_robot(parser, 'palida')
    parser.add_argument(
        '--only',
        action='append',
        choices=tuple(PARTS),
        metavar='PART',
        help='repeatable; step: one feedforward + PD step offline; model: inverse dynamics and '
        'regressor beside other engines; library: the same for every library robot; loop: the '
        '1 kHz loop on ROS 2; lockstep: lockstep steps through ROS 2; identify: time and memory of '
        'weighted least squares from recordings of two lengths and of maximum likelihood; '
        'filters: updates of the Kalman filters and of the recursive estimator; design: search of '
        'an excitation beside SLSQP (minutes); growth: how costs grow with bodies, loops, samples, '
        'parameters and harmonics (a minute); default: all but design and growth',
    )
    add_arguments(parser, *OPTIONS)
    text = 'picture of the part growth to write (.png, .svg, .pdf); must not exist'
    parser.add_argument('--picture', metavar='FILE', help=text)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Measure and print."""
    from pkm_bringup.bench.frame import Bench, machine_facts, slow_motion
    from pkm_bringup.inputs import load_model
    from pkm_bringup.views.bench_view import print_benchmark
    from pkm_bringup.views.growth_picture import plot_growth

    picture = check_output(arguments.picture, PICTURES) if arguments.picture else None
    if picture is not None and 'growth' not in (arguments.only or ()):
        raise OutputError('--picture draws the part growth: give --only growth, too')
    parts = arguments.only or [part for part in PARTS if part not in ON_REQUEST]
    result: dict[str, Any] = {'robot': arguments.robot, 'machine': machine_facts()}
    with progress('benchmark') as update:
        model = load_model(arguments.robot, update)
        for part in (part for part in PARTS if part in parts):

            def report(phase: str, fraction: float | None, part: str = part) -> None:
                update(f'{part}: {phase}', fraction)

            given = {option.name: getattr(arguments, option.name) for option in OPTIONS}
            bench = Bench(arguments.robot, model, slow_motion(model), update=report, **given)
            module, function = PARTS[part]
            result[part] = getattr(import_module(f'pkm_bringup.{module}'), function)(bench)
    if picture is not None:
        plot_growth(result['growth']['series'], picture)
    result['machine']['load_after'] = os.getloadavg()[0]
    if arguments.json:
        print_json(result)
    else:
        print_benchmark(result)
    return 0
