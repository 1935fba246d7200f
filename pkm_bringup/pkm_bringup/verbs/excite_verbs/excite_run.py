"""`pkm excite run`: run and record an excitation through ROS 2."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import Any

from pkm_bringup.arguments import (
    PERIODS_OPTION,
    RAMP_TIME,
    TRAJECTORY,
    add_arguments,
    add_json,
    add_robot,
)
from pkm_bringup.views.console import print_json, print_note, print_table, progress
from pkm_identification.option import POSITIVE, TEXT, Option


def add_parser(subparsers: Any) -> None:
    """Add the subverb."""
    text = 'run and record a trajectory: a goal of the excitation server of a running graph'
    parser = subparsers.add_parser(
        'run',
        help=text,
        description=f'{text}. The first Ctrl-C cancels it: the robot '
        'stops on its path and the bag is closed (exit status 130).',
    )
    parser.add_argument('file', metavar='FILE', help=TRAJECTORY)
    add_robot(parser)
    bag = Option('bag', TEXT, 'bag to write; must not exist', metavar='FOLDER', required=True)
    serves = 'node that serves the action'
    add_arguments(
        parser,
        bag,
        PERIODS_OPTION,
        RAMP_TIME,
        Option('server', TEXT, serves, 'excitation_server', metavar='NODE'),
        Option('timeout', POSITIVE, 'longest wait for the server', 10.0, 's'),
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Send the goal, show its feedback, print what was checked in the recording."""
    from pkm_bringup.inputs import load_model
    from pkm_bringup.outputs import OutputError
    from pkm_bringup.trajectory_inputs import load_trajectory, periods_of, ramp_time_of

    bag = Path(arguments.bag).absolute()
    if bag.exists():
        raise OutputError(f"'{arguments.bag}' exists already and is not overwritten")
    with progress('exciting') as update:
        model = load_model(arguments.robot, update)
        trajectory = load_trajectory(arguments.file, model)
        periods = periods_of(arguments.periods, arguments.file, trajectory)
        from pkm_bringup.nodes.excite_client import excite

        ramp = ramp_time_of(arguments.ramp_time, arguments.file, model)
        server = (arguments.server, arguments.timeout)
        outcome = excite(trajectory, periods, ramp, str(bag), *server, update)
    if arguments.json:
        print_json({'joints': model.actuated_joints, **outcome})
        return 0
    rows = zip(model.actuated_joints, outcome['tracking_rms'], outcome['tracking_max'], strict=True)
    print_table(('joint', 'RMS error [m, rad]', 'largest [m, rad]'), list(rows))
    saturated = 100 * outcome['saturated_fraction']
    limited = '' if isnan(saturated) else f', {saturated:.2g} % with a force at its limit'
    where = f'in {periods} periods' if trajectory.period is not None else 'from rest to rest'
    print_note(
        f'{outcome["samples"]} samples {where} at {outcome["rate"]:.1f} '
        f'Hz, {outcome["gaps"]} gaps{limited}'
    )
    for warning in outcome['warnings']:
        print_note(f'warning: {warning}')
    print_note(f"wrote '{outcome['bag']}'")
    return 0
