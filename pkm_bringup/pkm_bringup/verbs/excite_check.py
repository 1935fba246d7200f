"""`pkm excite check`: which limit a motion breaks, where, and by how much."""

from __future__ import annotations

import sys
from typing import Any

from pkm_bringup.arguments import (
    TRAJECTORY,
    add_json,
    add_ramp_time,
    add_robot,
    load_model,
    load_trajectory,
    ramp_time_of,
)
from pkm_bringup.console import print_json, print_note, progress
from pkm_bringup.verbs.excite_show import print_margins


def add_parser(subparsers: Any) -> None:
    """Add the subverb."""
    text = 'check any motion, with approach and ramps, against every limit of any robot'
    parser = subparsers.add_parser(
        'check', help=text, description=f'{text}; exit status 1 where it breaks one'
    )
    parser.add_argument('file', metavar='FILE', help=TRAJECTORY)
    add_robot(parser)
    add_ramp_time(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Print the margins; raise FeasibilityError where one is negative."""
    from pkm_bringup.excitation_figures import check_run, margin_rows

    with progress('checking') as update:
        update('reading the robot; the first run compiles')
        model = load_model(arguments.robot)
        trajectory = load_trajectory(arguments.file, model, any_robot=True)
        update('the motion')
        ramp = ramp_time_of(arguments.ramp_time, arguments.file, model)
        report = check_run(model, trajectory, ramp, start=True)
    robot = model.description.name
    if trajectory.robot not in ('', robot):
        print_note(f"'{arguments.file}' was made for robot '{trajectory.robot}', not for '{robot}'")
    rows = margin_rows(report)
    if arguments.json:
        content = {'robot': robot, 'feasible': report.feasible, 'message': report.message}
        print_json(content | {'margins': rows})
    else:
        print_margins(rows)
        sys.stdout.flush()
    report.raise_if_infeasible(f"'{arguments.file}'")
    return 0
