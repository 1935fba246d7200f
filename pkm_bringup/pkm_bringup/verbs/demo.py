"""`pkm demo`: excite, identify and control a simulated robot, through ROS 2 or in one process."""

from __future__ import annotations

import argparse
import time
from dataclasses import fields
from pathlib import Path

from pkm_bringup.arguments import COUNT, NATURAL, add_arguments
from pkm_dynamics.worlds import MUJOCO, WORLDS
from pkm_identification.option import TEXT, Option, choice

PERIODS = ('periods', 'circle_periods', 'validation_periods')
QUICK = 3  # times fewer of them with --quick


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb and its options."""
    parser = subparsers.add_parser(
        'demo',
        help='excite, identify and control a simulated robot',
        description=(
            'Start the nodes, excite and record the simulated robot, identify it, and drive the '
            'inclined circle without a model, with the rigid-body model and with the whole model. '
            'With --quick the robot and its controller run in this process.'
        ),
    )
    add_arguments(
        parser,
        Option('output', TEXT, 'new or empty folder', None, '', 'demo_output/<date and time>'),
        Option('robot', TEXT, 'library robot with a shipped excitation', 'palida'),
        Option('excitation', TEXT, 'trajectory file', '', '', 'the one shipped for the robot'),
        Option('estimator', TEXT, 'estimator', 'gauss_markov'),
        Option('friction', choice('auto', 'described'), 'terms of the drives: by the data', 'auto'),
        Option('periods', COUNT, 'recorded periods of the excitation', 30, '1'),
        Option('circle_periods', COUNT, 'recorded rounds of each circle', 3, '1'),
        Option('validation_periods', COUNT, 'recorded rounds of the predicted circles', 15, '1'),
        Option('world', choice(*WORLDS), 'simulator that the robot moves in', MUJOCO),
        Option('seed', NATURAL, "of the robot's noise, at least 0", 0, '1'),
    )
    parser.add_argument(
        '--quick',
        action='store_true',
        help='in this process, without ROS 2, and with a third of all these periods',
    )
    parser.add_argument('--json', action='store_true', help='print the summary as JSON on stdout')
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the demo."""
    from pkm_bringup.demo.play import run_demo
    from pkm_bringup.demo.scenario import DemoOptions

    options = {each.name: getattr(arguments, each.name) for each in fields(DemoOptions)}
    if arguments.quick:
        options |= {name: max(options[name] // QUICK, 1) for name in PERIODS}
    if not options['output']:
        options['output'] = Path('demo_output') / time.strftime('%Y-%m-%d_%H-%M-%S')
    options['output'] = Path(options['output'])
    run_demo(DemoOptions(**options), as_json=arguments.json)
    return 0
