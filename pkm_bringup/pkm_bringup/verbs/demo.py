"""`pkm demo`: excite, identify and control a simulated robot through ROS 2."""

from __future__ import annotations

import argparse
import time
from dataclasses import fields
from pathlib import Path

from pkm_bringup.argument_types import count, whole


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb and its options."""
    parser = subparsers.add_parser(
        'demo',
        help='excite, identify and control a simulated robot through ROS 2',
        description=(
            'Start the nodes, excite and record the simulated robot, identify it, and drive the '
            'inclined circle without a model, with the rigid-body model and with the whole model.'
        ),
    )
    parser.add_argument(
        '--output',
        type=Path,
        default=None,
        help='folder for bags, model, plots and logs; must be empty or not exist '
        '(default: demo_output/<date and time>)',
    )
    parser.add_argument(
        '--robot', default='palida', help='library robot with a shipped excitation (default palida)'
    )
    parser.add_argument(
        '--excitation', default='', help='trajectory file (default: the one shipped for the robot)'
    )
    parser.add_argument(
        '--estimator', default='gauss_markov', help='estimator (default gauss_markov)'
    )
    parser.add_argument(
        '--periods',
        type=count,
        default=30,
        help='recorded periods of the excitation [1]; default: 30',
    )
    parser.add_argument(
        '--circle-periods',
        type=count,
        default=3,
        help='recorded rounds of each circle [1]; default: 3',
    )
    parser.add_argument(
        '--validation-periods',
        type=count,
        default=15,
        help='recorded rounds of the circles whose forces are predicted [1]; default: 15',
    )
    parser.add_argument(
        '--seed', type=whole, default=0, help="of the robot's noise, at least 0 [1]; default: 0"
    )
    parser.add_argument('--json', action='store_true', help='print the summary as JSON on stdout')
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the demo."""
    from pkm_bringup.demo.play import run_demo  # needs ROS 2
    from pkm_bringup.demo.scenario import DemoOptions

    options = {each.name: getattr(arguments, each.name) for each in fields(DemoOptions)}
    if not options['output']:
        options['output'] = Path('demo_output') / time.strftime('%Y-%m-%d_%H-%M-%S')
    run_demo(DemoOptions(**options), as_json=arguments.json)
    return 0
