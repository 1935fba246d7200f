"""An option of a request: what it is called, which values it takes, what it means."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

from pkm_description.errors import EstimationError, PkmError


@dataclass(frozen=True)
class Values:
    """Which values an option takes.

    `kinds` are plain types, as YAML has them: bool, int, float, str, list, dict. An int is a
    float, a bool is no number. Other objects of Python are taken where a bool, list or dict is;
    who uses them checks them.
    """

    what: str  # in words, as an error says it: "must be ..."
    kinds: tuple[type, ...]
    words: tuple[str, ...] | None = None  # the texts that are taken; None: any text
    low: float = -math.inf  # of numbers, which must be finite
    high: float = math.inf
    ends: bool = True  # whether `low` and `high` are values themselves
    items: type | None = None  # what a list holds; None: anything

    def takes(self, value: Any) -> bool:
        """Whether an option may have this value."""
        if isinstance(value, bool):
            return bool in self.kinds
        if isinstance(value, str):
            return str in self.kinds and (self.words is None or value in self.words)
        if isinstance(value, Real):
            is_kind = float in self.kinds or (int in self.kinds and isinstance(value, Integral))
            return is_kind and self._is_inside(float(value))
        if isinstance(value, list | tuple):
            kind = self.items or object
            return list in self.kinds and all(isinstance(item, kind) for item in value)
        if isinstance(value, Mapping):
            return dict in self.kinds
        return value is not None and not {bool, list, dict}.isdisjoint(self.kinds)

    def _is_inside(self, value: float) -> bool:
        inside = math.isfinite(value) and self.low <= value <= self.high
        return inside and (self.ends or value not in (self.low, self.high))

    def read(self, text: str) -> Any:
        """Return the value that a text of the command line gives; as argparse's `type`."""
        value: Any = text
        if self.words is None or text not in self.words:
            try:
                value = int(text) if float not in self.kinds else float(text)
            except ValueError:
                value = text
        if not self.takes(value):
            raise argparse.ArgumentTypeError(f"'{text}' is not {self.what}")
        return value


def number(
    low: float = -math.inf, high: float = math.inf, *words: str, ends: bool = True
) -> Values:
    """Return finite numbers in a range, and further texts."""
    if (low, ends) == (0.0, False):
        what = 'a positive number' if high == math.inf else f'a number between 0 and {high:g}'
    elif high < math.inf:
        what = f'a number >= {low:g} and {"<=" if ends else "<"} {high:g}'
    else:
        what = 'a number' if low == -math.inf else f'a number >= {low:g}'
    kinds = (float, str) if words else (float,)
    return Values(' or '.join((what, *words)), kinds, words, low, high, ends)


def whole(least: int) -> Values:
    """Return whole numbers of at least `least`."""
    return Values(f'a whole number >= {least}', (int,), low=least)


def choice(*words: str) -> Values:
    """Return some texts."""
    *others, last = words
    return Values(f'{", ".join(others)} or {last}', (str,), words)


FLAG = Values('true or false', (bool,))
TEXT = Values('a text', (str,))
POSITIVE = number(0.0, ends=False)


@dataclass(frozen=True)
class Option:
    """One option."""

    name: str  # in Python, in a service and in `--option NAME=VALUE`
    values: Values
    help: str
    default: Any = None  # None or empty: what `otherwise` says
    unit: str = ''  # SI, percent or 1; empty where it has none
    otherwise: str = 'none'  # what holds where there is no default
    # of the command line; by default the name with hyphens, without one by its position
    flag: str = ''
    metavar: str | tuple[str, ...] | None = None
    nargs: str | int | None = None  # of a list
    required: bool = False
    many: bool = False  # the argument is repeatable, its texts come as a list
    has_argument: bool = True  # whether a verb of `pkm` has one for it, besides --option
    error: type[PkmError] = field(default=EstimationError, repr=False)

    def check(self, value: Any) -> None:
        """Raise `error` where the value is none of this option; None is no default's value."""
        if (value is None and self.default is None) or self.values.takes(value):
            return
        unit = f' [{self.unit}]' if self.unit not in ('', '1') else ''
        raise self.error(f"option '{self.name}' must be {self.values.what}{unit}, not {value!r}")

    @property
    def default_text(self) -> str:
        """The default in words."""
        if self.default in (None, ''):
            return self.otherwise
        if isinstance(self.default, bool):
            return str(self.default).lower()
        values = self.default if isinstance(self.default, list) else [self.default]
        return ' '.join(f'{x:g}' if isinstance(x, float) else str(x) for x in values)

    @property
    def argument(self) -> str:
        """The argument of the command line, where it has one."""
        return self.flag or f'--{self.name.replace("_", "-")}'

    @property
    def argument_help(self) -> str:
        """Help of the argument of the command line: meaning, unit and default."""
        unit = f' [{self.unit}]' if self.unit else ''
        default = '' if self.required else f'; default: {self.default_text}'
        return f'{self.help}{unit}{default}'.replace('%', '%%')

    def add_argument(self, parser: Any) -> None:
        """Add the option to a parser, or to a group of it, as an argument of its own."""
        if self.values == FLAG:
            parser.add_argument(self.argument, action='store_true', help=self.help)
            return
        further: dict[str, Any] = {'default': self.default, 'metavar': self.metavar}
        if self.many:
            further |= {'action': 'append', 'default': []}
        elif self.values.kinds == (str,) and self.values.words:
            further['choices'] = self.values.words
        elif self.values != TEXT and dict not in self.values.kinds:
            further['type'] = self.values.read
        if self.nargs:
            further['nargs'] = self.nargs
        if self.required and self.argument.startswith('-'):  # others always are
            further['required'] = True
        parser.add_argument(self.argument, help=self.argument_help, **further)


def table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    lines = (columns, ('---',) * len(columns), *rows)
    return '\n'.join(f'| {" | ".join(line)} |' for line in lines)


def check_values(options: Iterable[Option], given: Mapping[str, Any]) -> None:
    """Check the values of those options that are given."""
    for option in options:
        if option.name in given:
            option.check(given[option.name])
