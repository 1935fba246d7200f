"""Arguments that several verbs share."""

from __future__ import annotations

import argparse

from pkm_bringup.argument_types import count, positive

ROBOT = 'library name (see `pkm robots`) or path of a .urdf or .xacro file'
SHIPPED = 'shipped'
DEFAULT_RAMP = 1.0  # [s]
PERIODS = 10
PICTURES = ('.png', '.svg', '.pdf')
TRAJECTORY = (
    'trajectory or excitation design file (.yaml), samples (.csv: time [s] and x, y, z [m], '
    'roll, pitch, yaw [rad] or the actuated joints [m, rad]), shipped (the excitation shipped for '
    'the robot), or a preset such as circle or sine_x (see `pkm excite preset`)'
)


def add_robot(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add the option --robot; it must be given where there is no default."""
    otherwise = '' if default is None else f'; default: {default}'
    parser.add_argument(
        '--robot',
        required=default is None,
        default=default,
        metavar='ROBOT',
        help=f'{ROBOT}{otherwise}',
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option --json."""
    parser.add_argument('--json', action='store_true', help='print the result as JSON, in SI units')


def add_periods(parser: argparse.ArgumentParser) -> None:
    """Add the option --periods."""
    parser.add_argument(
        '--periods',
        type=count,
        help=f'periods at full speed [1]; default: {PERIODS}; 1 for a motion that ends at rest',
    )


def add_ramp_time(parser: argparse.ArgumentParser) -> None:
    """Add the option --ramp-time."""
    parser.add_argument(
        '--ramp-time',
        type=positive,
        help=f'from rest to full speed and back [s]; default: of the design, else {DEFAULT_RAMP:g}',
    )


def add_plot(parser: argparse.ArgumentParser) -> None:
    """Add the option --plot of an excitation."""
    parser.add_argument(
        '--plot',
        metavar='PICTURE',
        help='picture to write (.png, .svg, .pdf): motion, margins, expected standard deviations; '
        'must not exist',
    )
