"""`pkm export`: a description in the format of another tool."""

from __future__ import annotations

from typing import Any

from pkm_bringup.arguments import ROBOT
from pkm_bringup.console import print_note

FORMATS = {
    'mjcf': 'MuJoCo, loops as equality constraints',
    'urdf': 'the plain tree, loops left open',
}


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'write a robot in the format of another tool'
    parser = subparsers.add_parser('export', help=text, description=text)
    parser.add_argument('robot', metavar='ROBOT', help=ROBOT)
    formats = '; '.join(f'{name}: {meaning}' for name, meaning in FORMATS.items())
    parser.add_argument('--to', required=True, choices=sorted(FORMATS), help=formats)
    parser.add_argument(
        '--output', required=True, metavar='FILE', help='file to write; must not exist'
    )
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Write one file."""
    import pkm_description
    from pkm_bringup.outputs import check_output, write_output

    output = check_output(arguments.output)
    text = pkm_description.export(pkm_description.load(arguments.robot), arguments.to)
    write_output(output, lambda path: path.write_text(text, encoding='utf-8'))
    print_note(f"wrote '{output}'")
    return 0
