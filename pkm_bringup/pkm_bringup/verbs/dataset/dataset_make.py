"""`pkm dataset make`: recordings of robots with known parameters, which are kept apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pkm_bringup.arguments import NOT_NEGATIVE, add_arguments, add_json
from pkm_bringup.public_data.dataset_cases import FORMATS, NOISE, PERIODS, ROBOTS, DatasetOptions
from pkm_bringup.studies.declaration import seed
from pkm_bringup.views.console import print_json, print_note
from pkm_identification.option import TEXT, Option, choice, whole

TEXT_OF = 'recordings of robots with known parameters, which are kept apart'
OPTIONS = (
    Option('robots', TEXT, 'of the library', list(ROBOTS), nargs='+', metavar='ROBOT'),
    Option(
        'noise',
        NOT_NEGATIVE,
        "times that of each robot's description, of positions and forces",
        list(NOISE),
        '1',
        nargs='+',
    ),
    Option('periods', whole(2), 'of the excitation, to estimate from', PERIODS, '1'),
    Option('formats', choice(*FORMATS), 'of the recordings', list(FORMATS), nargs='+'),
    *seed('of what is drawn: parameters, effects, noise'),
)


def add_parser(actions: Any) -> None:
    """Add the subverb."""
    parser = actions.add_parser(
        'make',
        help=TEXT_OF,
        description=f'{TEXT_OF}: each robot without and with Stribeck friction and cogging, at '
        'each level of noise, an excitation to estimate from and another motion to predict. '
        'Interrupted, the same call goes on where it was.',
    )
    parser.add_argument('folder', metavar='FOLDER', help='to write, SI units; must not exist')
    add_arguments(parser, *OPTIONS)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Make the dataset, print what it holds."""
    from pkm_bringup.public_data.dataset_making import make_dataset
    from pkm_bringup.runner import Runner
    from pkm_bringup.views.dataset_view import print_dataset
    from pkm_bringup.views.design_view import design_view

    options = DatasetOptions(
        tuple(arguments.robots),
        tuple(arguments.noise),
        arguments.seed,
        arguments.periods,
        tuple(arguments.formats),
    )
    folder = Path(arguments.folder)
    with design_view('dataset make') as tell:
        tell('reading the robots; the first run compiles', None, float('nan'))
        manifest = make_dataset(folder, options, lambda kept: Runner(arguments.workers, tell, kept))
    if arguments.json:
        print_json({'folder': str(folder), 'options': options.to_dict()})
    else:
        print_dataset(manifest)
    print_note(f"wrote '{folder}'")
    return 0
