"""Arguments that several verbs share."""

from __future__ import annotations

import argparse

from pkm_bringup.argument_types import count, positive

ROBOT = 'library name (see `pkm robots`) or path of a .urdf or .xacro file'
SHIPPED = 'shipped'
DEFAULT_RAMP = 1.0  # [s]
PERIODS = 10
TRAJECTORY = (
    'trajectory or excitation design file (.yaml), samples (.csv: time [s] and x, y, z [m], '
    'roll, pitch, yaw [rad] or the actuated joints [m, rad]), shipped (the excitation shipped for '
    'the robot), or a preset such as circle or sine_x (see `pkm excite preset`)'
)
DATA = 'rosbag2 folder, .mcap, .db3, .csv or .npz file; positions [m, rad], efforts [N, N m], '
DATA += 'currents [A]'


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


def add_signals(parser: argparse.ArgumentParser, also: str = '') -> None:
    """Add the option --option and that for cut-off bags."""
    parser.add_argument(
        '--option',
        action='append',
        default=[],
        metavar='NAME=VALUE',
        help='repeatable; of the signals: method=auto|fourier|filter|local_cubic, period=[s], '
        'harmonics=[1], '
        f'cutoff=[Hz], skip_periods=[1], bad_samples=leave_out|keep, delay=[s] or estimate{also}',
    )
    parser.add_argument(
        '--allow-incomplete',
        action='store_true',
        help='read a bag that was cut off up to its last whole chunk',
    )
    parser.add_argument(
        '--topic',
        help='of the sensor_msgs/JointState messages in a bag; default: joint_states in '
        'any namespace',
    )
    parser.add_argument(
        '--joint',
        action='append',
        default=[],
        metavar='NAME=NAME',
        help="repeatable; name in the data = name of the robot's joint; joints that are not named "
        'are then left out; default: equal names',
    )
    parser.add_argument(
        '--effort-unit',
        choices=('N', 'A'),
        default='N',
        help='of the efforts in the data: N (also N m), or A where they are motor currents; '
        'default: N',
    )
    parser.add_argument(
        '--force-constant',
        action='append',
        default=[],
        metavar='JOINT=VALUE[,DEVIATION]',
        help='repeatable; force or torque a current with its standard deviation [N/A, N m/A]; '
        'default: of the data, else of the description',
    )


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
