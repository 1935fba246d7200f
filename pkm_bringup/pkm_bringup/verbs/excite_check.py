"""`pkm excite check`: which limit a motion breaks, where, and by how much."""

from __future__ import annotations

import sys
from typing import Any

from pkm_bringup.arguments import (
    TRAJECTORY,
    add_json,
    add_robot,
    load_model,
    load_trajectory,
    positive,
)
from pkm_bringup.console import print_json, progress
from pkm_bringup.verbs.excite_show import print_margins


def add_parser(subparsers: Any) -> None:
    """Add the subverb."""
    text = 'check a motion, with approach and ramps, against every limit of a robot'
    parser = subparsers.add_parser(
        'check', help=text, description=f'{text}; exit status 1 where it breaks one'
    )
    parser.add_argument('file', metavar='FILE', help=TRAJECTORY)
    add_robot(parser)
    parser.add_argument(
        '--ramp-time', type=positive, default=1.0,
        help='from rest to full speed and back [s]; default: 1',
    )  # fmt: skip
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Print the margins; raise FeasibilityError where one is negative."""
    from pkm_bringup.excitation_figures import check_run, margin_rows

    with progress('checking') as update:
        update('reading the robot; the first run compiles')
        model = load_model(arguments.robot)
        trajectory = load_trajectory(arguments.file, model)
        update('the motion')
        report = check_run(model, trajectory, arguments.ramp_time, start=True)
    rows = margin_rows(report)
    if arguments.json:
        print_json({'feasible': report.feasible, 'message': report.message, 'margins': rows})
    else:
        print_margins(rows)
        sys.stdout.flush()
    report.raise_if_infeasible(f"'{arguments.file}'")
    return 0
