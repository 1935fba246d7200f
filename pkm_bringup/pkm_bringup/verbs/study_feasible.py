"""`pkm study feasible`: physical bodies and nonlinear friction [M 4, Table 3]."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from pkm_bringup.argument_types import count, positive
from pkm_bringup.arguments import ROBOT
from pkm_bringup.inputs import load_model
from pkm_bringup.verbs.study_options import add_result, add_runs, deliver, result_file
from pkm_bringup.views.console import print_table, progress

PLANTS = ('robot', 'noise')
LAWS = ('stribeck', 'atan', 'power')


def add_study(studies: Any) -> None:
    """Add the study."""
    text = 'estimates that real bodies and real friction can have'
    study = studies.add_parser(
        'feasible',
        help=text,
        description=f'{text}: how often an estimate without limits is physical and what the '
        'limits change on another motion, at multiples of the noise; then linear against '
        'nonlinear friction on a robot with Stribeck friction [M Table 3]. The other motion is '
        'the benchmark circle, else the excitation at 1 / 1.7 of its speed.',
    )
    study.add_argument(
        '--robot',
        default='palida',
        metavar='ROBOT',
        help=f'of the first part: {ROBOT}; default: palida',
    )
    study.add_argument(
        '--friction-robot',
        default='rps_upv',
        metavar='ROBOT',
        help='of the second part, with simulation.stribeck in its description; default: rps_upv',
    )
    study.add_argument(
        '--noise',
        type=positive,
        nargs='+',
        default=[1.0, 5.0],
        metavar='FACTOR',
        help='in units of that of the description [1]; default: 1 5',
    )
    study.add_argument(
        '--laws', choices=LAWS, nargs='+', default=list(LAWS), help='of friction; default: all'
    )
    add_runs(study, 10, 'seeds of each part')
    study.add_argument(
        '--periods', type=count, default=5, help='averaged in each run [1]; default: 5'
    )
    study.add_argument(
        '--plant',
        choices=PLANTS,
        default='robot',
        help='robot: simulated under control; noise: the exact motion and its forces with noise '
        'on both, sooner done; default: robot',
    )
    add_result(study)
    study.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Run both parts, print the tables."""
    from pkm_bringup.studies.feasible import friction_study, limits_study, stribeck_effects

    path = result_file(arguments)
    common = {
        'runs': arguments.runs,
        'periods': arguments.periods,
        'plant': arguments.plant,
        'seed': arguments.seed,
        'workers': arguments.workers,
    }
    with progress('study') as update:
        update('reading the robots; the first run compiles')
        robots = load_model(arguments.robot), load_model(arguments.friction_robot)
        stribeck_effects(robots[1])  # no minutes for the first part where the second cannot be
        limits = limits_study(robots[0], arguments.noise, **common, update=update)
        friction = friction_study(robots[1], arguments.laws, **common, update=update)
    content = {
        'plant': arguments.plant,
        'periods': arguments.periods,
        'seed': arguments.seed,
        'limits': {'robot': arguments.robot, 'levels': limits},
        'friction': {'robot': arguments.friction_robot, **friction},
    }
    return deliver(content, arguments, path, _print)


def _print(content: Mapping[str, Any]) -> None:
    rows = [
        (
            f'{level["noise"]:g}',
            name,
            f'{100 * level[name]["physical"]:.0f}',
            *_errors(level[name]),
            f'{level[name]["active"]:.1f}',
        )
        for level in content['limits']['levels']
        for name in ('gauss_markov', 'feasible')
    ]
    errors = ('error [%]', 'against measured [%]')
    print_table(
        ('noise', 'estimator', 'physical [%]', *errors, 'limits reached'),
        rows,
        f'{content["limits"]["robot"]}: relative absolute error on another motion: of the '
        'exact motion against noise-free forces, and against measured ones',
    )
    for level in content['limits']['levels']:
        ratio, measured, cost = (
            level[key] for key in ('error_ratio', 'error_measured_ratio', 'cpu_time')
        )
        sys.stdout.write(
            f'noise {level["noise"]:g}: error with limits over that without {ratio["median"]:.3f} '
            f'(median), {ratio["largest"]:.3f} (largest of {level["runs"]}); against measured '
            f'forces {measured["median"]:.3f}, {measured["largest"]:.3f}; CPU time '
            f'{cost["shared"]:.3f} s with shared designs, {cost["each"]:.3f} s without\n'
        )
    friction = content['friction']
    names = [name for name, value in friction.items() if isinstance(value, dict)]
    keys = ('error_lower', 'error_measured_lower')
    rows = [
        (
            name,
            f'{100 * friction[name]["physical"]:.0f}',
            *_errors(friction[name]),
            ', '.join(f'{100 * friction[name][key]:.1f}' for key in keys),
        )
        for name in names
    ]
    sys.stdout.write('\n')
    print_table(
        ('friction', 'physical [%]', *errors, 'lower than feasible [%]'),
        rows,
        f'{friction["robot"]} with Stribeck friction, {friction["runs"]} runs',
    )


def _errors(found: dict[str, float]) -> tuple[str, ...]:
    keys = ('error', 'error_measured')
    return tuple(f'{100 * found[key]:.2f}' for key in keys)
