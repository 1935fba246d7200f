"""`pkm goal`: a motion with efforts as a goal of a joint_trajectory_controller."""

from __future__ import annotations

from typing import Any

from pkm_bringup.arguments import (
    FORCES_OF,
    PERIODS_OPTION,
    RAMP_TIME,
    TRAJECTORY,
    add_arguments,
    add_json,
    add_robot,
)
from pkm_bringup.views.console import print_json, print_note, progress
from pkm_identification.option import POSITIVE, TEXT, Option


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'write a motion with efforts as a goal of a joint_trajectory_controller'
    parser = subparsers.add_parser(
        'goal',
        help=text,
        description=f'{text}: positions, velocities, accelerations and the forces of the model in '
        'every point, in the YAML of `ros2 action send_goal ... '
        'control_msgs/action/FollowJointTrajectory`. The motion is checked and begins at home.',
    )
    parser.add_argument('file', metavar='FILE', help=TRAJECTORY)
    add_robot(parser)
    output = 'file to write; must not exist'
    add_arguments(
        parser,
        Option('output', TEXT, output, metavar='GOAL.yaml', required=True),
        FORCES_OF,
        Option(
            'rate',
            POSITIVE,
            'of the points; give a whole share of the update rate of the controller',
            None,
            'Hz',
            'the lowest of 50, 100, ... 1000 at which lines between efforts are right to 0.2 % of '
            'the force limits',
        ),
        PERIODS_OPTION,
        RAMP_TIME,
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Check the motion and write the goal."""
    from pkm_bringup.inputs import load_model
    from pkm_bringup.offline import checked_from_home, feedforward_of
    from pkm_bringup.outputs import OutputError, check_output
    from pkm_bringup.trajectory_inputs import load_trajectory, periods_of, ramp_time_of
    from pkm_control.effort_trajectory import goal_text, motion_points
    from pkm_dynamics.atomic_write import write_text_atomically

    output = check_output(arguments.output, ('.yaml',))
    with progress('goal') as update:
        model = load_model(arguments.robot, update)
        trajectory = load_trajectory(arguments.file, model)
        ramp = ramp_time_of(arguments.ramp_time, arguments.file, model)
        periods = periods_of(arguments.periods, arguments.file, trajectory)
        feedforward = feedforward_of(model, arguments.model)
        update('checking the motion')
        execution = checked_from_home(model, trajectory, ramp, periods)
        points = motion_points(model, execution, feedforward, arguments.rate)
        write_text_atomically(output, goal_text(points), OutputError)
    rate = (len(points) - 1) / execution.duration
    if arguments.json:
        found = {'points': len(points), 'rate': rate, 'duration': execution.duration}
        found['interpolation_error'] = points.interpolation_error
        print_json({'robot': model.description.name, **found, 'output': str(output)})
        return 0
    print_note(
        f'{len(points)} points in {execution.duration:.5g} s, {rate:.4g} a second; lines between '
        f'efforts miss at most {100 * points.interpolation_error:.2g} % of a force limit'
    )
    print_note(f"wrote '{output}'")
    return 0
