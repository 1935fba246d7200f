"""`pkm study conditioning`: the condition numbers of [M]'s trajectories."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pkm_bringup.argument_types import count
from pkm_bringup.arguments import add_json, add_robot
from pkm_bringup.inputs import load_model
from pkm_bringup.verbs.study_options import add_seed, with_origin
from pkm_bringup.views.console import print_json, print_note, print_table

FRICTIONS = ('symmetric', 'described')


def add_study(studies: Any) -> None:
    """Add the study."""
    text = 'smallest condition number of all parameters under the limits of the joints'
    study = studies.add_parser(
        'conditioning',
        help=text,
        description=f'{text}: strokes, velocities, forces and apertures; box and tilt of the '
        'description are left out. Names the combinations of parameters that bound it.',
    )
    add_robot(study, 'rps_upv')
    study.add_argument(
        '--harmonics', type=count, default=11, help='of each coordinate [1]; default: 11'
    )
    study.add_argument(
        '--reduced',
        metavar='MODEL',
        help="reduced model of the description, or 'none'; default: its first",
    )
    study.add_argument(
        '--friction',
        choices=FRICTIONS,
        default='symmetric',
        help='one Coulomb coefficient for both directions, or what the description says; default: '
        'symmetric',
    )
    study.add_argument('--starts', type=count, default=24, help='optimised starts [1]; default: 24')
    add_seed(study, 'of the search')
    study.add_argument('--output', metavar='FILE', help='design to write (.yaml), SI units')
    add_json(study)
    study.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Search, print what was found and what bounds it."""
    from pkm_bringup.outputs import check_output
    from pkm_bringup.studies.conditioning import design, report
    from pkm_bringup.views.design_view import design_view, stop_on_interrupt

    output = arguments.output and check_output(Path(arguments.output), ('.yaml', '.yml'))
    with (
        stop_on_interrupt('the best design so far is kept') as interrupted,
        design_view('designing') as tell,
    ):
        tell('reading the robot; the first run compiles', None, float('nan'))
        description = load_model(arguments.robot).description
        found = design(
            description,
            _reduced(arguments.reduced, description),
            arguments.friction,
            arguments.harmonics,
            arguments.starts,
            arguments.seed,
            arguments.workers,
            tell,
            interrupted,
        )
        if output:
            found.save(output)
    content = report(found) | {'robot': arguments.robot, 'friction': arguments.friction}
    if arguments.json:
        print_json(with_origin(content, arguments))
    else:
        _print(content)
    if output:
        print_note(f"wrote '{output}'")
    return 0


def _reduced(name: str | None, description: Any) -> bool | str:
    if name == 'none':
        return False
    models = list(description.sidecar.get('reduced_models') or {})
    return name or (models[0] if models else True)


def _print(content: dict[str, Any]) -> None:
    print_table(
        ('combination', 'singular value', 'parameters, SI units'),
        [
            (
                one['which'],
                f'{one["singular_value"]:.4g}',
                '  '.join(f'{part:+.2f} {name}' for name, part in one['components'].items()),
            )
            for one in content['directions']
        ],
        f'condition number {content["condition_number"]:.4g} of {content["parameters"]} '
        f'parameters (scaled {content["condition_number_scaled"]:.4g}), period '
        f'{content["period"]:.4g} s, {content["harmonics"]} harmonics',
    )
    margins = ', '.join(
        f'{name.replace("_", " ")} {value["margin"]:.3g} {value["unit"]}'.rstrip()
        for name, value in content['margins'].items()
    )
    sys.stdout.write(f'\nleft of the limits: {margins}\n')
