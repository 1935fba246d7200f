"""`pkm study pendulum`: least squares and Kalman filters on a free fall [O chapter 3]."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from pkm_bringup.argument_types import positive
from pkm_bringup.inputs import load_model
from pkm_bringup.verbs.study_options import add_result, add_runs, deliver, result_file
from pkm_bringup.views.console import print_table, progress


def add_study(studies: Any) -> None:
    """Add the study."""
    text = 'lengths and masses of an inverted double pendulum: least squares, EKF and UKF'
    study = studies.add_parser(
        'pendulum',
        help=text,
        description=f'{text}, from free fall [O chapter 3]. Forces are zero there: free fall shows '
        'lengths and ratios of masses, but no scale of the masses. Every case is run with the '
        'total mass kept as it starts (three times 1 kg, as in [O]), with the true one weighed, '
        'and with a known force that pushes the cart, which shows the scale.',
    )
    study.add_argument(
        '--noise',
        type=positive,
        default=0.01,
        help='largest error of each state and force over its value [1]; default: 0.01',
    )
    study.add_argument(
        '--duration', type=positive, default=20.0, help='of each motion [s]; default: 20'
    )
    add_runs(study, 10, 'of the noise')
    add_result(study)
    study.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Estimate, print the table."""
    from pkm_bringup.studies.pendulum import compare

    path = result_file(arguments)
    with progress('study') as update:
        update('reading the robot; the first run compiles')
        model = load_model('cart_pendulum')
        update('motions and filters')
        content = compare(
            model,
            arguments.noise,
            arguments.duration,
            seed=arguments.seed,
            runs=arguments.runs,
            workers=arguments.workers,
            update=update,
        )
    return deliver(content | {'seed': arguments.seed}, arguments, path, _print)


def _print(content: Mapping[str, Any]) -> None:
    header = (
        'noise',
        'scale of the masses',
        'estimator',
        *(f'{name} [%]' for name in content['parameters']),
        'm1/M [%]',
        'm2/M [%]',
        'CPU time [s]',
    )
    rows = [
        (
            f'{100 * case["noise"]:g} %',
            case['scale'],
            case['estimator'],
            *(100 * error for error in case['errors']),
            *(100 * error for error in case['ratio_errors']),
            case['time'],
        )
        for case in content['cases']
    ]
    print_table(
        header,
        rows,
        f'errors (root mean square of {content["runs"]} runs where there is noise) after one pass '
        f'through {content["samples"]} samples',
    )
    noisy = {(c['scale'], c['estimator']): c['largest'] for c in content['cases'] if c['noise']}
    sys.stdout.write('\n')
    sources = {
        'start': 'total mass of the start',
        'weighed': 'total mass weighed',
        'pushed': 'pushed by a known force',
    }
    for scale, source in sources.items():
        pairs = zip(noisy[scale, 'ukf'], noisy[scale, 'ls'], strict=True)
        better = sum(ukf < ls for ukf, ls in pairs)
        sys.stdout.write(
            f'largest error of a parameter, {source}: smaller by the UKF than by least '
            f'squares in {better} of {content["runs"]} runs with noise\n'
        )
