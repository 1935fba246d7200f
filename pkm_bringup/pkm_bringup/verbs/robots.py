"""`pkm robots`: what the library holds."""

from __future__ import annotations

from typing import Any

from pkm_bringup.arguments import add_json
from pkm_bringup.robot_list import robot_list
from pkm_bringup.views.console import print_json, print_table


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'list the robots of the library, then the examples, whose numbers are assumed'
    parser = subparsers.add_parser('robots', help=text, description=text)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Print name, title and numbers of each robot."""
    robots = robot_list()
    if arguments.json:
        print_json(robots)
        return 0
    header = ('name', 'actuators', 'links', 'constraints', 'title')
    print_table(header, [[robot[key] for key in header] for robot in robots])
    return 0
