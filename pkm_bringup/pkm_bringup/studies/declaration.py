"""What a study declares: its claim, its options, and the functions that run it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pkm_bringup.arguments import COUNT, NATURAL, ROBOT, WORKERS
from pkm_bringup.runner import Runner
from pkm_identification.option import TEXT, Option, Values, choice

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
class Study:
    """A comparison of the papers; `run` gets parsed options and runner, returns plain values."""

    name: str
    claim: str  # in a line
    description: str  # what its help says besides
    options: Sequence[Option]  # besides --output and --json
    run: Callable[[Namespace, Runner], Content]
    output: Output = Output.RESULT  # what --output makes
    keeps_best: str = ''  # what the first Ctrl-C leaves; it sets `runner.interrupted`


PLANTS = {
    'robot': 'simulated under control, where the servo feeds noise back',
    'servo': 'as noise, of the motion that the robot settles to under its servo',
    'noise': 'the exact motion and its forces with noise on both, sooner done',
}  # see `plants`


def plant(default: str, *others: str) -> Option:
    """Return the option of the plant."""
    names = (default, *others)
    meanings = '; '.join(f'{name}: {PLANTS[name]}' for name in names)
    return Option('plant', choice(*names), meanings, default)


def robot(default: str, what: str = '', name: str = 'robot') -> Option:
    """Return the option of a robot."""
    return Option(name, TEXT, f'{what}{ROBOT}', default, metavar='ROBOT')


def seed(text: str = 'of the first run') -> tuple[Option, Option]:
    """Return the options --seed and --workers."""
    return Option('seed', NATURAL, f'{text}, at least 0', 0, '1'), WORKERS


def runs(default: int, text: str = 'seeds', least: int = 1) -> tuple[Option, ...]:
    """Return the options --runs, --seed and --workers."""
    what = f'enough runs: at least {least} have a spread to compare'
    enough = Values(what, (int,), low=least) if least > 1 else COUNT
    at_least = f', at least {least}' if least > 1 else ''
    return Option('runs', enough, f'{text}{at_least}', default, '1'), *seed()
