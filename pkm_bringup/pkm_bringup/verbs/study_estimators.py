"""`pkm study estimators`: least squares to maximum likelihood on noisy positions [A Table III]."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from pkm_bringup.argument_types import count, positive
from pkm_bringup.arguments import add_robot
from pkm_bringup.inputs import load_model
from pkm_bringup.verbs.study_options import add_result, add_runs, deliver, result_file
from pkm_bringup.views.console import print_table, progress

PLANTS = ('robot', 'servo', 'noise')
ESTIMATORS = ('ls', 'gauss_markov', 'tls', 'maximum_likelihood')


def add_study(studies: Any) -> None:
    """Add the study."""
    text = 'least squares, Gauss-Markov, total least squares, maximum likelihood on noisy positions'
    study = studies.add_parser(
        'estimators',
        help=text,
        description=f'{text}: error, bias and uncertainty over many runs of one excitation.',
    )
    add_robot(study, 'palida')
    add_runs(study, 30, least=2)
    study.add_argument(
        '--periods', type=count, default=10, help='averaged in each run [1]; default: 10'
    )
    study.add_argument(
        '--scale',
        type=positive,
        nargs='+',
        default=[1.0, 200.0],
        metavar='FACTOR',
        help='position noise in units of that of the description [1]; default: 1 and 200, from '
        'where it does not matter to where it biases least squares',
    )
    study.add_argument(
        '--plant',
        choices=PLANTS,
        default='noise',
        help='noise: the exact motion and its forces with noise on both; servo: the same of the '
        'motion that the robot settles to under its servo; robot: simulated under '
        'control, where the servo feeds noise back; default: noise',
    )
    study.add_argument(
        '--estimators',
        nargs='+',
        default=list(ESTIMATORS),
        metavar='NAME',
        help='with the one that the errors are counted in last, or maximum_likelihood; '
        f'output_error needs a servo or robot; default: {" ".join(ESTIMATORS)}',
    )
    add_result(study)
    study.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Run all seeds at each level of noise, print the tables."""
    from pkm_bringup.studies.estimators import report, run_study

    path = result_file(arguments)
    levels = []
    with progress('study') as update:
        update('reading the robot; the first run compiles')
        model = load_model(arguments.robot)
        for scale in arguments.scale:
            study = run_study(
                model.description,
                arguments.plant,
                arguments.runs,
                arguments.periods,
                scale,
                arguments.seed,
                arguments.estimators,
                workers=arguments.workers,
                update=update,
            )
            levels.append(report(study) | {'plant': arguments.plant, 'scale': scale})
    return deliver({'robot': arguments.robot, 'levels': levels}, arguments, path, _print)


def _print(content: Mapping[str, Any]) -> None:
    from pkm_bringup.studies.estimators_report import HEADER, paired_lines, rows, title

    for level in content['levels']:
        print_table(HEADER, rows(level), title(level))
        sys.stdout.write('\n' + '\n'.join(paired_lines(level)) + '\n')
