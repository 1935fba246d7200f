"""`pkm identify-all`: a model of each recording of a folder, in several processes or machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pkm_bringup.arguments import SCHEDULER, WORKERS, add_arguments, add_json, add_robot
from pkm_bringup.data_arguments import add_options, given_loading, given_options
from pkm_bringup.exit_status import ExitStatus
from pkm_bringup.views.console import print_json, print_note, print_table
from pkm_identification.options import COMMON

TEXT = (
    'identify each recording of a folder alone; started again it goes on where it was ended; '
    'exit status 0: all are identified, 1: one is not, or an error'
)


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    parser = subparsers.add_parser('identify-all', help=TEXT.partition(';')[0], description=TEXT)
    text = 'folder of recordings of one robot (bags, .mcap, .db3, .csv and .npz files)'
    parser.add_argument('folder', metavar='FOLDER', help=text)
    add_robot(parser)
    text = 'ls, wls, gauss_markov, ... (a wrong name lists all); default: wls'
    parser.add_argument('--estimator', default='wls', help=text)
    add_options(parser, '; and those of the estimator', COMMON)
    text = (
        'folder of the model files, SI units, each named by the digest of what it depends on; one '
        'that is there is not computed again'
    )
    parser.add_argument('--output', required=True, metavar='MODELS', help=text)
    add_arguments(parser, WORKERS, SCHEDULER)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Identify all, and print which model each recording has or what is wrong with it."""
    from pkm_bringup.identified_folder import identify_folder
    from pkm_bringup.runner import Runner
    from pkm_bringup.views.design_view import design_view

    options, loading = given_options(arguments), given_loading(arguments)
    models = Path(arguments.output).absolute()
    with design_view('identify-all') as tell:
        tell('reading the robot; the first run compiles', None, float('nan'))
        runner = Runner(arguments.workers, tell, scheduler=arguments.scheduler)
        found = identify_folder(
            *(arguments.folder, arguments.robot, arguments.estimator, options, loading),
            *(models, runner),
        )
    broken = [each for each in found if 'error' in each]
    if arguments.json:
        print_json({'models': str(models), 'recordings': found})
    else:
        rows = [(each['recording'], each.get('error') or each['model']) for each in found]
        print_table(('recording', 'model or error'), rows)
        print_note(f"{len(found) - len(broken)} of {len(found)} identified, in '{models}'")
    return int(ExitStatus.ERROR) if broken else 0
