"""What a study declares: its claim, its options, and the functions that run it."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pkm_bringup.argument_types import count, whole
from pkm_bringup.arguments import ROBOT
from pkm_bringup.studies.runner import Runner

Content = dict[str, Any]


class Output(Enum):
    """What `--output` makes: its help and the endings that its name may have."""

    RESULT = (
        'FILE',
        'file to write (.json), SI units, with the options and versions that made it; must not '
        'exist; with it, an interrupted study continues where it was',
        ('.json',),
    )
    DESIGN = ('FILE', 'design to write (.yaml), SI units', ('.yaml', '.yml'))
    FOLDER = (
        'FOLDER',
        'new folder for designs (.yaml), study.json and study.png, SI units; with it, an '
        'interrupted study continues where it was',
        (),
    )


@dataclass(frozen=True)
class Option:
    """One option of a study.

    Attributes
    ----------
    name
        As the attribute of the parsed arguments; `friction_robot` is `--friction-robot`.
    help
        With the unit; the default is added.
    default, type, choices, nargs, metavar
        As argparse takes them.
    default_text
        How the help tells the default where the value alone would not say it.
    """

    name: str
    help: str
    default: Any = None
    type: Callable[[str], Any] | None = None
    choices: Sequence[str] | None = None
    nargs: str | int | None = None
    metavar: str | tuple[str, ...] | None = None
    default_text: str | None = None

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add the option to a parser."""
        told = self.default_text
        if told is None and self.default is not None:
            many = isinstance(self.default, list)
            told = ' '.join(map(_short, self.default)) if many else _short(self.default)
        keywords = {
            key: value
            for key in ('type', 'choices', 'nargs', 'metavar')
            if (value := getattr(self, key)) is not None
        }
        parser.add_argument(
            '--' + self.name.replace('_', '-'),
            default=self.default,
            help=self.help if told is None else f'{self.help}; default: {told}',
            **keywords,
        )


@dataclass(frozen=True)
class Study:
    """A comparison of the papers that can be repeated.

    Attributes
    ----------
    name
        `pkm study NAME`.
    claim
        In a line.
    description
        What its help says.
    options
        Besides `--output` and `--json`.
    run
        Gets the parsed options and the runner; returns the result as plain values.
    output
        What `--output` makes.
    keeps_best
        What the first Ctrl-C leaves, of a search that can end early; it sets
        `runner.interrupted`.
    """

    name: str
    claim: str
    description: str
    options: Sequence[Option]
    run: Callable[[Namespace, Runner], Content]
    output: Output = Output.RESULT
    keeps_best: str = ''


def robot(default: str, what: str = '', name: str = 'robot') -> Option:
    """Return the option of a robot."""
    return Option(name, f'{what}{ROBOT}', default, metavar='ROBOT')


def seed(text: str = 'of the first run') -> tuple[Option, Option]:
    """Return the options --seed and --workers."""
    workers = Option(
        'workers', 'processes [1]', type=count, default_text='one a core; no effect on the result'
    )
    return Option('seed', f'{text}, at least 0 [1]', 0, whole), workers


def runs(default: int, text: str = 'seeds', least: int = 1) -> tuple[Option, ...]:
    """Return the options --runs, --seed and --workers."""

    def number(given: str) -> int:
        value = count(given)
        if value < least:
            raise argparse.ArgumentTypeError(
                f'{value} runs have no spread to compare: at least {least}'
            )
        return value

    at_least = f', at least {least}' if least > 1 else ''
    return Option('runs', f'{text}{at_least} [1]', default, number), *seed()


def _short(value: Any) -> str:
    return f'{value:g}' if isinstance(value, float) else str(value)
