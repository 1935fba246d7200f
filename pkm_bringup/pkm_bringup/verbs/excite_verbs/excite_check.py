"""`pkm excite check`: which limits a motion breaks, where, and by how much."""

from __future__ import annotations

import sys
from typing import Any

from pkm_bringup.arguments import (
    FEEDFORWARD,
    RAMP_TIME,
    TRAJECTORY,
    add_arguments,
    add_json,
    add_robot,
)
from pkm_bringup.views.console import print_json, print_note, progress, show
from pkm_description.errors import FeasibilityError
from pkm_identification.excitation_options import SERVO


def add_parser(subparsers: Any) -> None:
    """Add the subverb."""
    text = 'check any motion, with approach and ramps, against every limit of any robot'
    parser = subparsers.add_parser(
        'check',
        help=text,
        description=f'{text}: the worst case of each constraint, and every limit that is broken, '
        'at which joint, when and by how much. Exit status 1 where one is. The errors (tracking) '
        'are those that the servo of the controller is expected to leave.',
    )
    parser.add_argument('file', metavar='FILE', help=TRAJECTORY)
    add_robot(parser)
    add_arguments(parser, RAMP_TIME, FEEDFORWARD, *SERVO)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Print the margins and the broken limits; raise FeasibilityError where there are any."""
    from pkm_bringup.inputs import load_mechanism
    from pkm_bringup.servo_arguments import check_followed
    from pkm_bringup.trajectory_inputs import load_trajectory, ramp_time_of, run_of
    from pkm_bringup.views.excitation_view import (
        broken_rows,
        margin_rows,
        margin_table,
        print_broken,
    )

    with progress('checking') as update:
        model = load_mechanism(arguments.robot, update)
        trajectory = load_trajectory(arguments.file, model, any_robot=True)
        update('the motion')
        ramp = ramp_time_of(arguments.ramp_time, arguments.file, model)
        request = run_of(trajectory, ramp, from_home=True)
        report = check_followed(request, model, arguments)
    robot = model.description.name
    if trajectory.robot not in ('', robot):
        print_note(f"'{arguments.file}' was made for robot '{trajectory.robot}', not for '{robot}'")
    rows, broken = margin_rows(report), broken_rows(report)
    if arguments.json:
        content = {'robot': robot, 'feasible': report.feasible, 'message': report.message}
        print_json(content | {'duration': report.duration, 'margins': rows, 'broken': broken})
    else:
        show(margin_table(rows))
        if broken:
            sys.stdout.write('\n')
            print_broken(broken)
        sys.stdout.flush()
    if not report.feasible:
        limits = 'one limit' if len(broken) == 1 else f'{len(broken)} limits'
        worst = '; '.join(str(margin) for margin in report.violations)
        raise FeasibilityError(f"'{arguments.file}' breaks {limits}: {worst}")
    return 0
