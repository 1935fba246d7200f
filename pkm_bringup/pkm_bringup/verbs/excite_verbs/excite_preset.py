"""`pkm excite preset`: a motion of the papers, fitted into the limits of a robot."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pkm_bringup.arguments import add_json, add_robot
from pkm_bringup.views.console import print_json, print_note, print_table, progress
from pkm_identification.option import POSITIVE

MARGINS = '25 % of forces, 5 % of velocities, 4 % of ranges'
SPEEDS = 'speeds'
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
        'The name alone also serves wherever a trajectory FILE is asked for.',
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
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Write the preset and print what it is, or list the robot's presets."""
    from pkm_bringup.inputs import load_mechanism
    from pkm_bringup.outputs import check_output
    from pkm_bringup.trajectory_inputs import facts_of
    from pkm_dynamics.presets import preset, preset_names
    from pkm_dynamics.presets.fitting import check_from_home

    output = arguments.output and check_output(Path(arguments.output), ('.yaml', '.yml'))
    with progress('preset') as update:
        model = load_mechanism(arguments.robot, update)
        names = preset_names(model)
        if arguments.name is not None:
            update(f'fitting {arguments.name} into the limits')
            options = {name: getattr(arguments, name) for name in SIZES}
            trajectory = preset(model, arguments.name, **options)
            report = check_from_home(model, trajectory)
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
        print_json(content | {'output': str(output) if output else None})
        _print_notes(report, None)
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
    lines = '\n'.join(f'  {margin}' for margin in shown)
    what = 'closest' if report.feasible else 'broken'
    sys.stdout.write(f'\nwith {MARGINS} left free\n{what}:\n{lines}\n')
    sys.stdout.flush()
    _print_notes(report, output)
    return 0


def _print_notes(report: Any, output: Path | None) -> None:
    if not report.feasible:
        print_note(f'warning: with the sizes that were given {MARGINS} are not left free')
    if output:
        print_note(f"wrote '{output}'")
