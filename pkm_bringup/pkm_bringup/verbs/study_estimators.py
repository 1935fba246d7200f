"""`pkm study estimators`: least squares to maximum likelihood on noisy positions [A Table III]."""

from __future__ import annotations

import sys
from typing import Any

from pkm_bringup.arguments import ROBOT, add_json, count, load_model, positive
from pkm_bringup.console import print_json, print_note, print_table, progress

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
    study.add_argument(
        '--robot', default='palida', metavar='ROBOT', help=f'{ROBOT}; default: palida'
    )
    study.add_argument('--runs', type=count, default=30, help='seeds [1]; default: 30')
    study.add_argument(
        '--periods', type=count, default=10, help='averaged in each run [1]; default: 10'
    )
    study.add_argument(
        '--scale', type=positive, nargs='+', default=[1.0, 300.0], metavar='FACTOR',
        help='position noise in units of that of the description [1]; default: 1 and 300, from '
        'where it does not matter to where it biases least squares',
    )  # fmt: skip
    study.add_argument(
        '--plant', choices=PLANTS, default='noise',
        help='noise: the exact motion and its forces with noise on both; servo: the same of the '
        'motion that the robot settles to under its servo; robot: simulated under '
        'control, where the servo feeds noise back; default: noise',
    )  # fmt: skip
    study.add_argument(
        '--estimators', nargs='+', default=list(ESTIMATORS), metavar='NAME',
        help='with the one that the errors are counted in last, or maximum_likelihood; '
        f'output_error needs a servo or robot; default: {" ".join(ESTIMATORS)}',
    )  # fmt: skip
    study.add_argument('--seed', type=int, default=0, help='of the first run [1]; default: 0')
    study.add_argument('--workers', type=count, default=1, help='processes [1]; default: 1')
    study.add_argument('--output', metavar='FILE', help='new JSON file, SI units')
    add_json(study)
    study.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Run all seeds at each level of noise, print the tables."""
    import json

    from pkm_bringup.outputs import check_output, write_output
    from pkm_bringup.studies.estimators import report, run_study
    from pkm_bringup.studies.estimators_report import HEADER, paired_lines, rows, title

    path = check_output(arguments.output) if arguments.output else None
    contents = []
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
            contents.append(report(study) | {'plant': arguments.plant, 'scale': scale})
    if path is not None:
        write_output(path, lambda at: at.write_text(json.dumps(contents, indent=2) + '\n'))
    if arguments.json:
        print_json(contents)
    else:
        for content in contents:
            print_table(HEADER, rows(content), title(content))
            sys.stdout.write('\n' + '\n'.join(paired_lines(content)) + '\n')
    if path is not None:
        print_note(f"wrote '{path}'")
    return 0
