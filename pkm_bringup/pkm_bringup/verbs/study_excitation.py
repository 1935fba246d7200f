"""`pkm study excitation`: deterministic against statistical design [A IV.C]."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pkm_bringup.argument_types import count, positive
from pkm_bringup.arguments import add_json, add_robot
from pkm_bringup.inputs import load_model
from pkm_bringup.verbs.study_options import add_runs, with_origin
from pkm_bringup.views.console import json_text, print_json, print_note, print_table, progress

PLANTS = ('robot', 'noise')
CONDITIONS = ('condition_number', 'condition_number_scaled')


def add_study(studies: Any) -> None:
    """Add the study."""
    text = 'deterministic against statistical design: spread of the estimates over many runs'
    study = studies.add_parser(
        'excitation',
        help=text,
        description=f'{text}. T_d minimises the condition number, T_s -ln det F, both from one '
        'start and with one period; every run is identified on its own. Predicted standard '
        'deviations are those of the motion as designed with force noise alone; those of the '
        'motion as run also know how it deviated and the noise of forces and positions, from '
        'the spread over all runs.',
    )
    add_robot(study, 'palida')
    add_runs(study, 100, 'of each', least=3)
    study.add_argument(
        '--harmonics', type=count, default=5, help='of each coordinate [1]; default: 5'
    )
    study.add_argument(
        '--period',
        type=positive,
        help='of both [s], rounded to milliseconds; default: what the limits suggest',
    )
    study.add_argument(
        '--iterations',
        type=count,
        default=400,
        help='steps of each design [1], fewer where it converges; default: 400',
    )
    study.add_argument(
        '--deterministic',
        choices=CONDITIONS,
        default=CONDITIONS[0],
        help='criterion of T_d, in SI units or with columns of unit length [1]; default: '
        f'{CONDITIONS[0]}',
    )
    study.add_argument(
        '--plant',
        choices=PLANTS,
        default='robot',
        help='robot: simulated under control with all its effects; noise: the exact motion and '
        'nominal forces with the same noise, sooner done; default: robot',
    )
    study.add_argument(
        '--output',
        metavar='FOLDER',
        help='new folder for designs (.yaml), study.json and study.png, SI units',
    )
    add_json(study)
    study.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Design, run, compare, print the table."""
    from pkm_bringup.outputs import check_output, write_output_folder
    from pkm_bringup.studies.excitation import design_pair, run_designs
    from pkm_bringup.studies.excitation_report import report

    folder = check_output(arguments.output) if arguments.output else None
    with progress('study') as update:
        update('reading the robot; the first run compiles')
        model = load_model(arguments.robot)
        designs = design_pair(
            model,
            arguments.harmonics,
            arguments.period,
            arguments.iterations,
            arguments.seed,
            arguments.deterministic,
            update,
        )
        runs = run_designs(
            model,
            designs,
            arguments.runs,
            arguments.seed,
            arguments.plant,
            arguments.workers,
            update,
        )
        content = with_origin(
            report(*runs) | {'plant': arguments.plant, 'seed': arguments.seed}, arguments
        )
        if folder is not None:
            update('writing')
            write_output_folder(folder, lambda at: _write(at, designs, content))
    if arguments.json:
        print_json(content)
    else:
        _print(content)
    if folder is not None:
        print_note(f"wrote '{folder}'")
    return 0


def _print(content: dict[str, Any]) -> None:
    from pkm_bringup.studies.excitation_report import summary, table

    header = (
        'parameter',
        'T_d predicted',
        'T_d observed (95 %)',
        'T_s predicted',
        'T_s observed (95 %)',
        'T_s / T_d (95 %)',
    )
    title = f'standard deviations of one run of {content["period"]:g} s, SI units, Gauss-Markov'
    print_table(header, table(content), title)
    lines = ['']
    for name, design in content['designs'].items():
        lines.append(
            f'{name} ({design["criterion"]}, {design["iterations"]} steps): condition number '
            f'{design["condition_number"]:.4g}, scaled {design["condition_number_scaled"]:.4g}, '
            f'-ln det F {design["d_optimal"]:.2f}'
        )
    for estimator in ('gauss_markov', 'ls'):
        lines.extend(summary(content, estimator))
    for name, design in content['designs'].items():
        left = design['limits_left']
        if left:
            parts = ', '.join(f'{limit} {100 * share:.1f} %' for limit, share in left.items())
            lines.append(f'{name} left of the limits of the plant: {parts}')
    sys.stdout.write('\n'.join(lines) + '\n')


def _write(folder: Path, designs: dict[str, Any], content: dict[str, Any]) -> None:
    from pkm_bringup.studies.excitation_figure import plot

    for name, design in designs.items():
        design.save(folder / f'{name}.yaml')
    (folder / 'study.json').write_text(json_text(content), encoding='utf-8')
    plot(content, folder / 'study.png')
