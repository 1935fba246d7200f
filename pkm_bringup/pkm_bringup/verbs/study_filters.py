"""`pkm study pendulum` and `pkm study uf_pkm`: the Kalman filters of [O]."""

from __future__ import annotations

import sys
from typing import Any

from pkm_bringup.arguments import add_json, load_model, positive
from pkm_bringup.console import print_json, print_table, progress


def add_studies(studies: Any) -> None:
    """Add both studies."""
    text = 'lengths and masses of an inverted double pendulum: least squares, EKF and UKF'
    study = studies.add_parser(
        'pendulum',
        help=text,
        description=f'{text}, from free fall [O chapter 3]. Forces are zero there: free fall shows '
        'lengths and ratios of masses, but no scale of the masses; what an estimator says of the '
        'scale comes from its start. So every case is repeated with the weight of the apparatus.',
    )
    study.add_argument(
        '--noise', type=positive, default=0.01,
        help='largest error of each state over its value [1]; default: 0.01',
    )  # fmt: skip
    study.add_argument(
        '--duration', type=positive, default=20.0, help='of the free fall [s]; default: 20'
    )
    _common(study)
    study.set_defaults(run=run_pendulum)
    text = 'masses of the UF-PKM by the UKF from forces, without and with noise'
    study = studies.add_parser('uf_pkm', help=text, description=f'{text} [O chapter 4].')
    study.add_argument(
        '--noise', type=positive, default=0.01,
        help='largest error of forces and motion over their value [1]; default: 0.01',
    )  # fmt: skip
    _common(study)
    study.set_defaults(run=run_masses)


def _common(study: Any) -> None:
    study.add_argument('--seed', type=int, default=0, help='of the noise [1]; default: 0')
    add_json(study)


def run_pendulum(arguments: Any) -> int:
    """Estimate, print the table."""
    from pkm_bringup.studies.pendulum import compare

    with progress('study') as update:
        update('reading the robot; the first run compiles')
        model = load_model('cart_pendulum')
        update('free fall')
        content = compare(model, arguments.noise, arguments.duration, seed=arguments.seed)
    content['seed'] = arguments.seed
    if arguments.json:
        print_json(content)
        return 0
    header = (
        'noise', 'known besides', 'estimator', *(f'{name} [%]' for name in content['parameters']),
        'm1/M [%]', 'm2/M [%]', 'CPU time [s]',
    )  # fmt: skip
    rows = [
        (
            f'{100 * case["noise"]:g} %', 'weight' if case['weighed'] else '-', case['estimator'],
            *(100 * error for error in case['errors']),
            *(100 * error for error in case['ratio_errors']), case['time'],
        )
        for case in content['cases']
    ]  # fmt: skip
    print_table(header, rows, f'errors after one pass through {content["samples"]} samples')
    sys.stdout.write(
        '\nFree fall alone fits any multiple of the masses: read its ratios, not its masses.\n'
    )
    return 0


def run_masses(arguments: Any) -> int:
    """Estimate, print the table."""
    from pkm_bringup.studies.hexapod_masses import estimate_masses

    with progress('study') as update:
        update('reading the robot; the first run compiles')
        model = load_model('uf_pkm')
        found = []
        for noise in (0.0, arguments.noise):
            update(f'noise {noise:g}')
            found.append(estimate_masses(model, noise, arguments.seed))
    content = {'robot': 'uf_pkm', 'seed': arguments.seed, 'cases': found}
    if arguments.json:
        print_json(content)
        return 0
    rows = [
        (
            f'{100 * case["noise"]:g} %', name, case['true'][name], case['values'][name],
            case['standard_deviation'][name], 100 * case['errors'][name],
        )
        for case in found
        for name in case['true']
    ]  # fmt: skip
    print_table(
        ('noise', 'mass', 'true [kg]', 'found [kg]', 'standard deviation [kg]', 'error [%]'), rows
    )
    return 0
