"""`pkm data`: what a recording holds, and which names its columns may need."""

from __future__ import annotations

from typing import Any

from pkm_bringup.arguments import ROBOT, add_json
from pkm_bringup.data_arguments import DATA, add_loading, given_loading
from pkm_bringup.views.console import print_json, progress


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'columns, joints, rate, ranges and defects of a recording'
    parser = subparsers.add_parser(
        'data',
        help=text,
        description=f'{text}. Where its columns are not understood, a file of names is proposed. '
        'Exit status 1 where the recording cannot be used as it is.',
    )
    parser.add_argument('data', metavar='DATA', help=DATA)
    parser.add_argument(
        'robot', metavar='ROBOT', nargs='?', help=f'{ROBOT}; its joints are looked for'
    )
    add_loading(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Print what is there; raise what keeps the recording from being used."""
    from pkm_bringup.inputs import load_mechanism
    from pkm_bringup.views.data_view import print_look
    from pkm_identification.requests.look_request import look_at

    with progress(f"reading '{arguments.data}'") as update:
        model = load_mechanism(arguments.robot, update) if arguments.robot else None
        update('the recording')
        look = look_at(arguments.data, given_loading(arguments), model)
    if arguments.json:
        print_json(look.to_dict())
    else:
        print_look(look)
    if look.refusal is not None:
        raise look.refusal
    return 0
