"""Arguments that several verbs share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pkm_identification.excitation_options import FRACTION, POSITIVE
from pkm_identification.option import number
from pkm_identification.option import whole as whole_from

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


# types of arguments: what argparse makes of a text
positive: Callable[[str], float] = POSITIVE.read
not_negative: Callable[[str], float] = number(0.0).read
fraction: Callable[[str], float] = FRACTION.read
whole: Callable[[str], int] = whole_from(0).read
count: Callable[[str], int] = whole_from(1).read


@dataclass(frozen=True)
class Option:
    """One option of a verb or a study; what is not explained is as argparse takes it."""

    name: str  # of the parsed attribute; `friction_robot` is `--friction-robot`
    help: str  # with the unit; the default is added
    default: Any = None
    type: Callable[[str], Any] | None = None
    choices: Sequence[str] | None = None
    nargs: str | int | None = None
    metavar: str | tuple[str, ...] | None = None
    required: bool = False
    default_text: str | None = None  # where the value alone would not say it

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add the option to a parser."""
        told = self.default_text
        if told is None and self.default is not None:
            values = self.default if isinstance(self.default, list) else [self.default]
            told = ' '.join(f'{x:g}' if isinstance(x, float) else str(x) for x in values)
        keywords = {
            key: value
            for key in ('type', 'choices', 'nargs', 'metavar', 'required')
            if (value := getattr(self, key)) not in (None, False)
        }
        parser.add_argument(
            '--' + self.name.replace('_', '-'),
            default=self.default,
            help=self.help if told is None else f'{self.help}; default: {told}',
            **keywords,
        )


def add_arguments(parser: argparse.ArgumentParser, *options: Option) -> None:
    """Add options to a parser."""
    for option in options:
        option.add_to(parser)


def add_robot(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add the option --robot; it must be given where there is no default."""
    Option('robot', ROBOT, default, metavar='ROBOT', required=default is None).add_to(parser)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option --json."""
    parser.add_argument('--json', action='store_true', help='print the result as JSON, in SI units')


PERIODS_OPTION = Option(
    'periods',
    'periods at full speed [1]',
    type=count,
    default_text=f'{PERIODS}; 1 for a motion that ends at rest',
)
RAMP_TIME = Option(
    'ramp_time',
    'from rest to full speed and back [s]',
    type=positive,
    default_text=f'of the design, else {DEFAULT_RAMP:g}',
)
PLOT = Option(
    'plot',
    'picture to write (.png, .svg, .pdf): motion, margins, expected standard deviations; must not '
    'exist',
    metavar='PICTURE',
)
