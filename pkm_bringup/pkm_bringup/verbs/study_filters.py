"""`pkm study pendulum` and `pkm study uf_pkm`: the Kalman filters of [O]."""

from __future__ import annotations

import sys
from typing import Any

from pkm_bringup.arguments import add_json, count, load_model, positive
from pkm_bringup.console import print_json, print_table, progress


def add_studies(studies: Any) -> None:
    """Add both studies."""
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
        '--noise', type=positive, default=0.01,
        help='largest error of each state and force over its value [1]; default: 0.01',
    )  # fmt: skip
    study.add_argument(
        '--duration', type=positive, default=20.0, help='of each motion [s]; default: 20'
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
    study.add_argument(
        '--runs', type=count, default=10, help='seeds of the noise [1]; default: 10'
    )
    study.add_argument('--seed', type=int, default=0, help='the first one [1]; default: 0')
    add_json(study)


def run_pendulum(arguments: Any) -> int:
    """Estimate, print the table."""
    from pkm_bringup.studies.pendulum import compare

    with progress('study') as update:
        update('reading the robot; the first run compiles')
        model = load_model('cart_pendulum')
        update('motions and filters')
        content = compare(
            model, arguments.noise, arguments.duration, seed=arguments.seed, runs=arguments.runs
        )
    content['seed'] = arguments.seed
    if arguments.json:
        print_json(content)
        return 0
    header = (
        'noise', 'scale of the masses', 'estimator',
        *(f'{name} [%]' for name in content['parameters']),
        'm1/M [%]', 'm2/M [%]', 'CPU time [s]',
    )  # fmt: skip
    rows = [
        (
            f'{100 * case["noise"]:g} %', case['scale'], case['estimator'],
            *(100 * error for error in case['errors']),
            *(100 * error for error in case['ratio_errors']), case['time'],
        )
        for case in content['cases']
    ]  # fmt: skip
    print_table(
        header, rows,
        f'errors (root mean square of {content["runs"]} runs where there is noise) after one pass '
        f'through {content["samples"]} samples',
    )  # fmt: skip
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
    return 0


def run_masses(arguments: Any) -> int:
    """Estimate, print the table."""
    from pkm_bringup.studies.hexapod_masses import study_masses

    with progress('study') as update:
        update('reading the robot; the first run compiles')
        model = load_model('uf_pkm')
        found = []
        for noise in (0.0, arguments.noise):
            update(f'noise {noise:g}')
            found.append(study_masses(model, noise, arguments.seed, arguments.runs))
    content = {'robot': 'uf_pkm', 'seed': arguments.seed, 'cases': found}
    if arguments.json:
        print_json(content)
        return 0
    rows = [
        (
            f'{100 * case["noise"]:g} %', case['runs'], name, case['true'][name],
            case['values'][name], case['standard_deviation'][name], 100 * case['errors'][name],
            100 * case['worst'][name], case['time'],
        )
        for case in found
        for name in case['true']
    ]  # fmt: skip
    header = (
        'noise', 'runs', 'mass', 'true [kg]', 'mean found [kg]', 'reported deviation [kg]',
        'error, rms [%]', 'worst [%]', 'CPU time [s]',
    )  # fmt: skip
    print_table(header, rows)
    return 0
