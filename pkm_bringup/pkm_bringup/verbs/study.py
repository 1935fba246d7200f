"""`pkm study`: comparisons of the papers, repeated on simulated robots."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pkm_bringup.arguments import ROBOT, add_json, count, load_model, positive, whole
from pkm_bringup.console import print_json, print_note, print_table, progress
from pkm_bringup.verbs.study_conditioning import add_study as add_conditioning
from pkm_bringup.verbs.study_dirty import add_study as add_dirty
from pkm_bringup.verbs.study_ellipsoid import add_study as add_ellipsoid
from pkm_bringup.verbs.study_estimators import add_study as add_estimators
from pkm_bringup.verbs.study_feasible import add_study as add_feasible
from pkm_bringup.verbs.study_filters import add_studies
from pkm_bringup.verbs.study_payload import add_study as add_payload

PLANTS = ('robot', 'noise')
CONDITIONS = ('condition_number', 'condition_number_scaled')


def add_parser(subparsers: Any) -> None:
    """Add the verb and its studies."""
    text = 'repeat a comparison of the papers on a simulated robot'
    parser = subparsers.add_parser('study', help=text, description=text)
    studies = parser.add_subparsers(title='studies', metavar='STUDY', required=True, dest='study')
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
    study.add_argument(
        '--robot', default='palida', metavar='ROBOT', help=f'{ROBOT}; default: palida'
    )
    study.add_argument(
        '--runs', type=_several, default=100, help='of each, at least 3 [1]; default: 100'
    )
    study.add_argument(
        '--harmonics', type=count, default=5, help='of each coordinate [1]; default: 5'
    )
    study.add_argument(
        '--period', type=positive,
        help='of both [s], rounded to milliseconds; default: what the limits suggest',
    )  # fmt: skip
    study.add_argument(
        '--iterations', type=count, default=400,
        help='steps of each design [1], fewer where it converges; default: 400',
    )  # fmt: skip
    study.add_argument(
        '--deterministic', choices=CONDITIONS, default=CONDITIONS[0],
        help='criterion of T_d, in SI units or with columns of unit length [1]; default: '
        f'{CONDITIONS[0]}',
    )  # fmt: skip
    study.add_argument(
        '--plant', choices=PLANTS, default='robot',
        help='robot: simulated under control with all its effects; noise: the exact motion and '
        'nominal forces with the same noise, sooner done; default: robot',
    )  # fmt: skip
    study.add_argument(
        '--seed', type=whole, default=0, help='of start and noise, at least 0 [1]; default: 0'
    )
    study.add_argument(
        '--workers', type=count, help='processes [1]; default: one a core; no effect on the result'
    )
    study.add_argument(
        '--output', metavar='FOLDER',
        help='new folder for designs (.yaml), study.json and study.png, SI units',
    )  # fmt: skip
    add_json(study)
    study.set_defaults(run=run)
    add_conditioning(studies)
    add_estimators(studies)
    add_feasible(studies)
    add_ellipsoid(studies)
    add_dirty(studies)
    add_studies(studies)
    add_payload(studies)


def run(arguments: Any) -> int:
    """Design, run, compare, print the table."""
    from pkm_bringup.outputs import check_output
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
            model, designs, arguments.runs, arguments.seed, arguments.plant, arguments.workers,
            update,
        )  # fmt: skip
        content = report(*runs) | {'plant': arguments.plant, 'seed': arguments.seed}
        if folder is not None:
            update('writing')
            _write(folder, designs, content)
    if arguments.json:
        print_json(content)
    else:
        _print(content)
    if folder is not None:
        print_note(f"wrote '{folder}'")
    return 0


def _print(content: dict[str, Any]) -> None:
    from pkm_bringup.studies.excitation_report import summary, table

    header = ('parameter', 'T_d predicted', 'T_d observed (95 %)', 'T_s predicted',
              'T_s observed (95 %)', 'T_s / T_d (95 %)')  # fmt: skip
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
    import json

    from pkm_bringup.outputs import write_output
    from pkm_bringup.studies.excitation_figure import plot

    folder.mkdir(parents=True)
    for name, design in designs.items():
        design.save(folder / f'{name}.yaml')
    text = json.dumps(content, indent=2, allow_nan=False) + '\n'
    write_output(folder / 'study.json', lambda path: path.write_text(text))
    write_output(folder / 'study.png', lambda path: plot(content, path))


def _several(text: str) -> int:
    value = int(text)
    if value < 3:
        raise argparse.ArgumentTypeError(f'{text} runs have no spread to compare: at least 3')
    return value
