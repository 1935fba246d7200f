"""`pkm excite preset`: a motion of the papers, fitted into the limits of a robot."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pkm_bringup.arguments import FEEDFORWARD, add_arguments, add_json, add_robot
from pkm_bringup.views.console import print_json, print_note, print_table, progress
from pkm_identification.excitation_options import SERVO
from pkm_identification.option import POSITIVE

MARGINS = '25 % of forces, 5 % of velocities, 4 % of ranges'
SPEEDS = 'speeds'
UNDER_SERVO = 'tracking'  # constraint of the errors
SIZES = {
    'amplitude': 'of sines [m, rad]; default: 0.0254 m, 5 degrees, or what fits',
    'frequency': 'of sines [Hz]; default: 2',
    'diameter': 'of circles [m]; default: of the benchmark circle, or what fits',
    'reach': 'of steps and strokes: fraction used of what fits [1]; default: 0.8',
    'move_time': 'of each step [s]; default: 1',
    'dwell': 'rest between steps [s]; default: 0.5',
    SPEEDS: 'of friction strokes [m/s, rad/s]; default: 2, 5 and 10 %% of the velocity limits',
}


def add_parser(subparsers: Any) -> None:
    """Add the subverb."""
    text = 'write a preset motion (sine, circle, free fall, steps, friction strokes), or list them'
    parser = subparsers.add_parser(
        'preset',
        help=text,
        description=f'{text}. A size that is given is taken as it is; without one the motion is '
        f'made to fit into the limits of the robot with {MARGINS} left free. '
        'The name alone also serves wherever a trajectory FILE is asked for. The errors (tracking) '
        'are those that the servo of the controller is expected to leave.',
    )
    text = 'preset; none: list those there are'
    parser.add_argument('name', nargs='?', metavar='NAME', help=text)
    add_robot(parser)
    text = 'trajectory to write (.yaml), SI units; must not exist'
    parser.add_argument('--output', metavar='FILE', help=text)
    for name, text in SIZES.items():
        option = f'--{name.replace("_", "-")}'
        parser.add_argument(
            option, type=POSITIVE.read, nargs='+' if name == SPEEDS else None, help=text
        )
    add_arguments(parser, FEEDFORWARD, *SERVO)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Write the preset and print what it is, or list the robot's presets."""
    from pkm_bringup.inputs import load_mechanism
    from pkm_bringup.outputs import check_output
    from pkm_bringup.servo_arguments import with_tracking
    from pkm_bringup.trajectory_inputs import facts_of
    from pkm_dynamics.presets import preset, preset_names
    from pkm_dynamics.presets.fitting import check_from_home, run_from_home

    output = arguments.output and check_output(Path(arguments.output), ('.yaml', '.yml'))
    with progress('preset') as update:
        model = load_mechanism(arguments.robot, update)
        names = preset_names(model)
        if arguments.name is not None:
            update(f'fitting {arguments.name} into the limits')
            options = {name: getattr(arguments, name) for name in SIZES}
            trajectory = preset(model, arguments.name, **options)
            report = check_from_home(model, trajectory)
            update('its servo')
            motion = run_from_home(model, trajectory)
            followed = with_tracking(report, motion, model, arguments)
    if arguments.name is None:
        if arguments.json:
            print_json(names)
        else:
            print_table(('preset', 'motion'), list(names.items()))
        return 0
    if output:
        trajectory.save(output)
    if arguments.json:
        content = {**facts_of(trajectory, model), 'name': arguments.name}
        content |= {'feasible': report.feasible, 'message': report.message}
        content |= {'followed': followed.feasible if UNDER_SERVO in followed.margins else None}
        print_json(content | {'output': str(output) if output else None})
        _print_notes(report, followed, None)
        return 0
    repeated = 'one period' if trajectory.period is not None else 'from rest to rest'
    rows = [
        ('motion', names[arguments.name]),
        ('type', f'{trajectory.kind}, in {trajectory.coordinates} coordinates'),
        ('duration', f'{trajectory.duration:.5g} s, {repeated}'),
        ('feasible', report.feasible),
    ]
    print_table(('preset', arguments.name), rows)
    shown: Any = report.violations or [report.worst]
    what = 'closest' if report.feasible else 'broken'
    sys.stdout.write(f'\nwith {MARGINS} left free\n{_listed(what, shown)}')
    sys.stdout.write(_listed('under its servo', _of_servo(followed)))
    sys.stdout.flush()
    _print_notes(report, followed, output)
    return 0


def _listed(what: str, margins: list[Any]) -> str:
    lines = [f'{what}:', *(f'  {margin}' for margin in margins)]
    return ''.join(f'{line}\n' for line in lines) if margins else ''


def _of_servo(report: Any) -> list[Any]:
    return [report.margins[name] for name in (UNDER_SERVO, 'command') if name in report.margins]


def _print_notes(report: Any, followed: Any, output: Path | None) -> None:
    if not report.feasible:
        print_note(f'warning: with the sizes that were given {MARGINS} are not left free')
    elif not followed.feasible:
        broken = '; '.join(str(each) for each in followed.violations)
        print_note(
            f'warning: under its servo the robot is not expected to follow: {broken}; take '
            '--feedforward nominal, another servo, or a smaller or slower motion'
        )
    if output:
        print_note(f"wrote '{output}'")
