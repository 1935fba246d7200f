"""`pkm learned`: what repetitions of a motion have taught: the forces that the model lacks."""

from __future__ import annotations

from typing import Any

from pkm_bringup.arguments import PICTURES, add_arguments, add_json
from pkm_bringup.views.console import print_json, print_note
from pkm_identification.option import TEXT, Option


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'what repetitions of a motion have taught: the forces that the model lacks'
    parser = subparsers.add_parser('learned', help=text, description=text)
    parser.add_argument(
        'file', metavar='FILE', help='of the learning_folder of trajectory_controller (.json)'
    )
    drawn = 'learned forces over time, position and velocity of each drive'
    told = f'picture ({", ".join(PICTURES)}): {drawn}; must not exist'
    add_arguments(parser, Option('plot', TEXT, told, metavar='PICTURE'))
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Read the file, print the repetitions, draw the picture."""
    from pkm_bringup.outputs import check_output, write_output
    from pkm_bringup.views.learning_view import as_dict, plot_learning, print_learned
    from pkm_control.learning.learning_file import load_learning

    plot = check_output(arguments.plot, PICTURES) if arguments.plot else None
    learning = load_learning(arguments.file)
    if plot is not None:
        write_output(plot, lambda path: plot_learning(learning, path))
    if arguments.json:
        print_json(as_dict(learning))
    else:
        print_learned(learning)
    if plot is not None:
        print_note(f"wrote '{plot}'")
    return 0
