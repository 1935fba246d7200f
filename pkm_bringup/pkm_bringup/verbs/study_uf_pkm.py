"""`pkm study uf_pkm`: masses by the unscented filter from forces [O chapter 4]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pkm_bringup.argument_types import positive
from pkm_bringup.inputs import load_model
from pkm_bringup.verbs.study_options import add_result, add_runs, deliver, result_file
from pkm_bringup.views.console import print_table, progress


def add_study(studies: Any) -> None:
    """Add the study."""
    text = 'masses of the UF-PKM by the UKF from forces, without and with noise'
    study = studies.add_parser('uf_pkm', help=text, description=f'{text} [O chapter 4].')
    study.add_argument(
        '--noise',
        type=positive,
        default=0.01,
        help='largest error of forces and motion over their value [1]; default: 0.01',
    )
    add_runs(study, 10, 'of the noise')
    add_result(study)
    study.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Estimate, print the table."""
    from pkm_bringup.studies.hexapod_masses import study_masses

    path = result_file(arguments)
    with progress('study') as update:
        update('reading the robot; the first run compiles')
        model = load_model('uf_pkm')
        found = []
        for noise in (0.0, arguments.noise):
            found.append(
                study_masses(
                    model,
                    noise,
                    arguments.seed,
                    arguments.runs,
                    workers=arguments.workers,
                    update=update,
                )
            )
    content = {'robot': 'uf_pkm', 'seed': arguments.seed, 'cases': found}
    return deliver(content, arguments, path, _print)


def _print(content: Mapping[str, Any]) -> None:
    rows = [
        (
            f'{100 * case["noise"]:g} %',
            case['runs'],
            name,
            case['true'][name],
            case['values'][name],
            case['standard_deviation'][name],
            100 * case['errors'][name],
            100 * case['worst'][name],
            case['time'],
        )
        for case in content['cases']
        for name in case['true']
    ]
    header = (
        'noise',
        'runs',
        'mass',
        'true [kg]',
        'mean found [kg]',
        'reported deviation [kg]',
        'error, rms [%]',
        'worst [%]',
        'CPU time [s]',
    )
    print_table(header, rows)
