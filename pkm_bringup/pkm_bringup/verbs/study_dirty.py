"""`pkm study dirty`: estimates from recordings with lost, wrong and stuck samples."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from pkm_bringup.argument_types import count, fraction, not_negative, positive
from pkm_bringup.arguments import ROBOT
from pkm_bringup.inputs import load_model
from pkm_bringup.verbs.study_options import add_result, add_runs, deliver, result_file
from pkm_bringup.views.console import print_table, progress


def add_study(studies: Any) -> None:
    """Add the study."""
    text = 'recordings with jitter, lost samples, outliers and a stuck sensor'
    study = studies.add_parser(
        'dirty',
        help=text,
        description=f'{text}: which defects are found, and the error of the estimates against '
        'that from clean recordings of the same motion and noise.',
    )
    study.add_argument(
        '--robot',
        nargs='+',
        default=['palida', 'rps_upv'],
        metavar='ROBOT',
        help=f'{ROBOT}; default: palida rps_upv',
    )
    add_runs(study, 10)
    study.add_argument('--periods', type=count, default=6, help='in each run [1]; default: 6')
    study.add_argument(
        '--jitter',
        type=not_negative,
        default=0.1,
        help='standard deviation of the sampling instants, in intervals [1]; default: 0.1',
    )
    study.add_argument(
        '--lost', type=fraction, default=0.02, help='share of lost samples [1]; default: 0.02'
    )
    study.add_argument(
        '--outliers',
        type=fraction,
        default=0.005,
        help='share of wrong positions and of wrong efforts, of each joint [1]; default: 0.005',
    )
    study.add_argument(
        '--size',
        type=positive,
        nargs=2,
        default=[15.0, 100.0],
        metavar=('LEAST', 'MOST'),
        help='of the outliers, in standard deviations of the noise [1]; default: 15 100',
    )
    study.add_argument(
        '--stuck',
        type=not_negative,
        default=0.05,
        help='how long one position sensor stands still [s]; default: 0.05',
    )
    add_result(study)
    study.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Soil, examine, identify, compare; print the tables."""
    from pkm_bringup.studies.dirt import Dirt
    from pkm_bringup.studies.dirty import run_study

    path = result_file(arguments)
    dirt = Dirt(
        arguments.jitter, arguments.lost, arguments.outliers, tuple(arguments.size), arguments.stuck
    )
    robots = []
    with progress('study') as update:
        for robot in arguments.robot:
            update('reading the robot; the first run compiles')
            robots.append(
                run_study(
                    load_model(robot).description,
                    arguments.runs,
                    arguments.periods,
                    dirt,
                    arguments.seed,
                    workers=arguments.workers,
                    update=update,
                )
            )
    return deliver({'robots': robots}, arguments, path, _print)


def _print(content: Mapping[str, Any]) -> None:
    for robot in content['robots']:
        _print_robot(robot)


def _print_robot(content: Mapping[str, Any]) -> None:
    rows = [
        [name, each['clean'], each['dirty'], each['ratio'], each['worst_ratio']]
        for name, each in content['errors'].items()
    ]
    title = (
        f'{content["robot"]}, {content["runs"]} runs: error in standard deviations of '
        'Gauss-Markov from clean data, median'
    )
    print_table(('estimator', 'clean', 'dirty', 'dirty / clean', 'worst run'), rows, title)
    found = content['found']
    lines = [
        f'found: {100 * found["position_outliers_found"]:.1f} % of the outliers of positions, '
        f'{100 * found["effort_outliers_found"]:.1f} % of those of efforts, '
        f'{100 * found["stuck_found"]:.1f} % of the stuck samples, '
        f'{100 * found["lost_found"]:.1f} % of the lost ones; left out by mistake '
        f'{100 * found["false_alarms"]:.3f} %',
        'named in the report: '
        + ', '.join(f'{kind} {100 * share:.0f} %' for kind, share in content['named'].items()),
    ]
    sys.stdout.write('\n' + '\n'.join(lines) + '\n\n')
