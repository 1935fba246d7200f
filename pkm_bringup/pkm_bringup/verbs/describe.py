"""`pkm describe`: what a description says, and what can be identified of it."""

from __future__ import annotations

import math
import sys
from typing import Any

from pkm_bringup.arguments import ROBOT, add_json, load_model
from pkm_bringup.console import print_json, print_table, progress


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'bodies, joints, loops, mobility, limits and base parameters of a robot'
    parser = subparsers.add_parser('describe', help=text, description=text)
    parser.add_argument('robot', metavar='ROBOT', help=ROBOT)
    parser.add_argument(
        '--base',
        action='store_true',
        help='print the base parameters: nominal value in SI units, and which combination of '
        'standard parameters each one is',
    )
    parser.add_argument(
        '--no-shared',
        action='store_true',
        help='base parameters without sharing among links and joints of one design',
    )
    parser.add_argument(
        '--no-reduced',
        action='store_true',
        help='base parameters with those that the description declares zero',
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Print tables, or everything as JSON."""
    from pkm_bringup.overview import base_figures, overview

    with progress(f"reading '{arguments.robot}'") as update:
        model = load_model(arguments.robot)
        content = overview(model)
        update('base parameters; the first run compiles')
        base = model.base_parameters(
            shared=not arguments.no_shared, reduced=not arguments.no_reduced
        )
        content['base_parameters'] = base_figures(base, arguments.base)
    if arguments.json:
        print_json(content)
    else:
        _print(content)
    return 0


def _print(content: dict[str, Any]) -> None:
    out = sys.stdout.write
    out(f'{content["name"]}: {content["title"] or "no title"}\n{content["path"]}\n')
    x, y, z = content['home']['position']
    out(
        f'mobility {content["mobility"]}, {content["loops"]} loop closures, mass '
        f'{content["total_mass"]:.4g} kg, platform at home ({x:.4g}, {y:.4g}, {z:.4g}) m\n\n'
    )
    print_table(
        ('link', 'mass [kg]', 'centre of mass [m]', 'Ixx, Iyy, Izz about it [kg m^2]'),
        [
            (link['name'], link['mass'], _triple(link['com']), _triple(_diagonal(link['inertia'])))
            for link in content['links']
        ],
    )
    out('\n')
    print_table(
        ('joint (* actuated)', 'type', 'parent', 'child', 'range [m, rad]',
         'velocity [m/s, rad/s]', 'effort [N, N m]', 'Coulomb [N, N m]', 'viscous [N s/m, N m s]'),
        [_joint_row(joint) for joint in content['joints']],
    )  # fmt: skip
    if content['constraints']:
        out('\n')
        keys = ('name', 'type', 'parent', 'child', 'coulomb', 'viscous')
        print_table(
            ('loop closure', *keys[1:4], 'Coulomb [N, N m]', 'viscous [N s/m, N m s]'),
            [[item[key] for key in keys] for item in content['constraints']],
        )
    base = content['base_parameters']
    out(
        f'\n{content["standard_parameters"]} standard parameters, {base["rank"]} base parameters '
        f'({base["rigid_body"]} of rigid bodies, {base["friction_and_rotor"]} of friction and '
        'rotors)\n'
    )
    if 'parameters' in base:
        header = ('name', 'nominal', 'unit', 'expression')
        print_table(header, [[item[key] for key in header] for item in base['parameters']])
    for warning in content['warnings']:
        out(f'note: {warning}\n')


def _joint_row(joint: dict[str, Any]) -> list[Any]:
    return [
        f'{joint["name"]}{" *" if joint["actuated"] else ""}',
        *(joint[key] for key in ('type', 'parent', 'child')),
        _range(joint['lower'], joint['upper']),
        _limit(joint['velocity']),
        _limit(joint['effort']),
        joint['coulomb'],
        joint['viscous'],
    ]


def _diagonal(matrix: Any) -> Any:
    return None if matrix is None else matrix.diagonal()


def _triple(values: Any) -> str:
    return '-' if values is None else ', '.join(f'{value:.4g}' for value in values)


def _range(lower: float, upper: float) -> str:
    if math.isinf(lower) and math.isinf(upper):
        return '-'
    return f'{lower:.4g} to {upper:.4g}'


def _limit(value: float) -> float | None:
    return value if math.isfinite(value) else None
