"""`pkm demo`: excite, identify and control a simulated robot through ROS 2."""

from __future__ import annotations

import argparse
import time
from dataclasses import fields
from pathlib import Path

from pkm_bringup.arguments import Option, add_arguments, count, whole


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
    add_arguments(
        parser,
        Option(
            'output',
            'folder for bags, model, plots and logs; must be empty or not exist',
            type=Path,
            default_text='demo_output/<date and time>',
        ),
        Option('robot', 'library robot with a shipped excitation', 'palida'),
        Option('excitation', 'trajectory file', '', default_text='the one shipped for the robot'),
        Option('estimator', 'estimator', 'gauss_markov'),
        Option('periods', 'recorded periods of the excitation [1]', 30, count),
        Option('circle_periods', 'recorded rounds of each circle [1]', 3, count),
        Option(
            'validation_periods',
            'recorded rounds of the circles whose forces are predicted [1]',
            15,
            count,
        ),
        Option('seed', "of the robot's noise, at least 0 [1]", 0, whole),
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
