"""`pkm dataset check`: whether files are as they were written, and come out the same here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pkm_bringup.arguments import WORKERS, add_arguments, add_json
from pkm_bringup.exit_status import ExitStatus
from pkm_bringup.views.console import print_json

TEXT_OF = 'whether files are as they were written, and whether all comes out bit-equal here'


def add_parser(actions: Any) -> None:
    """Add the subverb."""
    parser = actions.add_parser(
        'check',
        help=TEXT_OF,
        description=f'{TEXT_OF}: compares every file with the manifest, makes all numbers anew and '
        'says which differ, and by how many digits. Exit status 1 where anything does.',
    )
    parser.add_argument('folder', metavar='FOLDER', help='dataset of `pkm dataset make`, SI units')
    add_arguments(parser, WORKERS)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Check, print what differs."""
    from pkm_bringup.public_data.dataset_comparison import check_dataset
    from pkm_bringup.runner import Runner
    from pkm_bringup.views.dataset_view import print_check
    from pkm_bringup.views.design_view import design_view

    with design_view('dataset check') as tell:
        tell('reading the robots; the first run compiles', None, float('nan'))
        found = check_dataset(Path(arguments.folder), Runner(arguments.workers, tell))
    if arguments.json:
        print_json(found)
    else:
        print_check(found)
    return int(ExitStatus.ERROR) if found['damaged'] or found['differing'] else 0
