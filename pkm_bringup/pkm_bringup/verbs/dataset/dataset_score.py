"""`pkm dataset score`: errors, coverage and time of estimators, or of the forces of others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pkm_bringup.arguments import WORKERS, add_arguments, add_json
from pkm_bringup.views.console import json_text, print_json, print_note
from pkm_identification.estimators.estimator_options import estimators
from pkm_identification.option import TEXT, Option
from pkm_identification.options import FRICTION

TEXT_OF = 'errors, coverage and time of estimators, or of forces that others predict'
ALL, NONE = 'all', 'none'
NEEDS_SERVO = 'output_error'  # the recorded robots follow their motions exactly


def add_parser(actions: Any) -> None:
    """Add the subverb."""
    parser = actions.add_parser(
        'score',
        help=TEXT_OF,
        description=f'{TEXT_OF}: estimates from the recordings `train`, predicts the other motion, '
        'compares with the noise-free forces and the true parameters.',
    )
    parser.add_argument('folder', metavar='FOLDER', help='dataset of `pkm dataset make`, SI units')
    add_arguments(
        parser,
        Option(
            'estimators',
            TEXT,
            f'{ALL} but {NEEDS_SERVO}, {NONE}, nominal (the numbers of the description) or names: '
            f'{", ".join(estimators())}',
            [ALL],
            nargs='+',
            metavar='NAME',
        ),
        Option(
            'estimates',
            TEXT,
            'of others: folder NAME with CASE.csv of predicted forces, `time` [s] and '
            '<joint>.effort [N, N m]',
            [],
            nargs='+',
            metavar='NAME',
        ),
        FRICTION,
        WORKERS,
    )
    parser.add_argument(
        '--output',
        metavar='FILE',
        help='scores to write (.json), SI units; must not exist; with it, an interrupted call goes '
        'on where it was',
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Score, print the tables."""
    from pkm_bringup.outputs import OutputError, check_output
    from pkm_bringup.public_data.dataset_contents import text_digest
    from pkm_bringup.public_data.dataset_manifest import read_manifest
    from pkm_bringup.public_data.dataset_scores import NOMINAL, score_dataset
    from pkm_bringup.runner import KeptRuns, Runner, origin_of
    from pkm_bringup.views.dataset_view import print_scores
    from pkm_bringup.views.design_view import design_view
    from pkm_dynamics.atomic_write import write_text_atomically

    output = check_output(arguments.output, ('.json',)) if arguments.output else None
    manifest = read_manifest(Path(arguments.folder))
    every = [name for name in estimators() if name != NEEDS_SERVO]
    names = {ALL: [NOMINAL, *every], NONE: []}
    chosen = [each for name in arguments.estimators for each in names.get(name, [name])]
    options = {'estimators': chosen, 'friction': arguments.friction}
    options |= {'dataset': text_digest(manifest.text()), 'estimates': arguments.estimates}
    origin = origin_of('dataset score', options)
    kept = None if output is None else KeptRuns(output, origin)
    with design_view('dataset score') as tell:
        tell('reading the robots; the first run compiles', None, float('nan'))
        runner = Runner(arguments.workers, tell, kept)
        folders = [Path(folder) for folder in arguments.estimates]
        found = score_dataset(manifest, chosen, arguments.friction, folders, runner)
    found['origin'] = origin
    try:
        if output is not None:
            write_text_atomically(output, json_text(found), OutputError)
            print_note(f"wrote '{output}'")
    finally:  # what took minutes is shown also where it cannot be written
        if arguments.json:
            print_json(found)
        else:
            print_scores(found)
    if kept is not None:
        kept.remove()
    return 0
