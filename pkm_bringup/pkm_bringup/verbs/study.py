"""`pkm study`: comparisons of the papers, repeated on simulated robots."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pkm_bringup.arguments import ROBOT, add_json, count, load_model, positive
from pkm_bringup.console import print_json, print_note, print_table, progress

PLANTS = ('robot', 'noise')


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
        'start and with one period; every run is identified on its own.',
    )
    study.add_argument(
        '--robot', default='palida', metavar='ROBOT', help=f'{ROBOT}; default: palida'
    )
    study.add_argument('--runs', type=count, default=100, help='of each [1]; default: 100')
    study.add_argument(
        '--harmonics', type=count, default=5, help='of each coordinate [1]; default: 5'
    )
    study.add_argument(
        '--period', type=positive, help='of both [s]; default: what the limits suggest'
    )
    study.add_argument(
        '--iterations', type=count, default=150, help='steps of each design [1]; default: 150'
    )
    study.add_argument(
        '--plant', choices=PLANTS, default='robot',
        help='robot: simulated under control with all its effects; noise: the exact motion and '
        'nominal forces with the same noise, in seconds; default: robot',
    )  # fmt: skip
    study.add_argument('--seed', type=int, default=0, help='of start and noise [1]; default: 0')
    study.add_argument(
        '--output', metavar='FOLDER',
        help='new folder for designs (.yaml), study.json and study.png, SI units',
    )  # fmt: skip
    add_json(study)
    study.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Design, run, compare, print the table."""
    from pkm_bringup.outputs import OutputError
    from pkm_bringup.studies.excitation import design_pair, run_designs
    from pkm_bringup.studies.excitation_report import report, summary, table

    folder = Path(arguments.output) if arguments.output else None
    if folder is not None and folder.exists():
        raise OutputError(f"'{folder}' exists already and is not overwritten")
    with progress('study') as update:
        update('reading the robot; the first run compiles')
        model = load_model(arguments.robot)
        designs = design_pair(
            model,
            arguments.harmonics,
            arguments.period,
            arguments.iterations,
            arguments.seed,
            update,
        )
        update(f'{arguments.runs} runs of both')
        runs = run_designs(
            model.description, designs, arguments.runs, arguments.seed, arguments.plant
        )
        content = report(*runs) | {'plant': arguments.plant, 'seed': arguments.seed}
        if folder is not None:
            update('writing')
            _write(folder, designs, content)
    if arguments.json:
        print_json(content)
    else:
        header = ('parameter', 'T_d predicted', 'T_d observed (95 %)', 'T_s predicted',
                  'T_s observed (95 %)', 'T_s / T_d (95 %)')  # fmt: skip
        title = f'standard deviations of one run of {content["period"]:g} s, SI units, Gauss-Markov'
        print_table(header, table(content), title)
        sys.stdout.write('\n')
        for estimator in ('gauss_markov', 'ls'):
            sys.stdout.write('\n'.join(summary(content, estimator)) + '\n')
        for name, left in content['limits_left'].items():
            parts = ', '.join(f'{limit} {100 * share:.1f} %' for limit, share in left.items())
            if parts:
                sys.stdout.write(f'{name} left of the limits of the plant: {parts}\n')
    if folder is not None:
        print_note(f"wrote '{folder}'")
    return 0


def _write(folder: Path, designs: dict[str, Any], content: dict[str, Any]) -> None:
    import json

    from pkm_bringup.outputs import write_output
    from pkm_bringup.studies.excitation_report import plot

    folder.mkdir(parents=True)
    for name, design in designs.items():
        design.save(folder / f'{name}.yaml')
    write_output(
        folder / 'study.json', lambda path: path.write_text(json.dumps(content, indent=2) + '\n')
    )
    write_output(folder / 'study.png', lambda path: plot(content, path))
