"""Arguments that several verbs share."""

from __future__ import annotations

import argparse

from pkm_identification.option import POSITIVE, TEXT, Option, number, whole

ROBOT = (
    'library name (see `pkm robots`) or path of a .urdf, .xacro or .sdf file; "NAME '
    'calibration:=FILE" is one machine of it'
)
SHIPPED = 'shipped'
DEFAULT_RAMP = 1.0  # [s]
PERIODS = 10
PICTURES = ('.png', '.svg', '.pdf')
TRAJECTORY = (
    'trajectory or excitation design file (.yaml), samples (.csv: time [s] and x, y, z [m], '
    'roll, pitch, yaw [rad] or the actuated joints [m, rad]), shipped (the excitation shipped for '
    'the robot), or a preset such as circle or sine_x (see `pkm excite preset`)'
)

COUNT, NATURAL, NOT_NEGATIVE = whole(1), whole(0), number(0.0)
WORKERS = Option('workers', COUNT, 'processes', None, '1', 'one a core; no effect on the result')
SCHEDULER = Option(
    'scheduler',
    TEXT,
    'address of a scheduler of `dask.distributed` (tcp://HOST:8786) whose workers compute in place '
    'of processes here; the workers see the same files',
    None,
    metavar='ADDRESS',
)


def add_arguments(parser: argparse.ArgumentParser, *options: Option) -> None:
    """Add options to a parser."""
    for option in options:
        option.add_argument(parser)


def add_robot(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add the option --robot; it must be given where there is no default."""
    needed = default is None
    Option('robot', TEXT, ROBOT, default, metavar='ROBOT', required=needed).add_argument(parser)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option --json."""
    parser.add_argument('--json', action='store_true', help='print the result as JSON, in SI units')


_usual = f'{PERIODS}; 1 for a motion that ends at rest'
PERIODS_OPTION = Option('periods', COUNT, 'periods at full speed', None, '1', _usual)
_usual = f'of the design, else {DEFAULT_RAMP:g}'
RAMP_TIME = Option('ramp_time', POSITIVE, 'from rest to full speed and back', None, 's', _usual)
_drawn = 'motion, margins, expected standard deviations; must not exist'
PLOT = Option('plot', TEXT, f'picture ({", ".join(PICTURES)}): {_drawn}', metavar='PICTURE')
FORCES_OF = Option(
    'model',
    TEXT,
    'whose forces the efforts are: nominal or a model file, SI units',
    'nominal',
    metavar='nominal|MODEL',
)
FEEDFORWARD = Option(
    'feedforward',
    TEXT,
    'model of the controller: none, nominal or a model file, SI units',
    'none',
    metavar='none|nominal|MODEL',
)
PORT = Option('port', NATURAL, 'of the view on this machine, 0 for any that is free', 8080, '1')
