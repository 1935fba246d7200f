"""What sections of a report are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pkm_bringup.views.console import Table, cell_text, number_columns

SHORT = 24  # characters of a cell that is not broken into lines


class Tone(str, Enum):
    """What a verdict is, beside its word."""

    FINE = 'fine'
    FAIR = 'fair'
    BAD = 'bad'
    OPEN = 'open'


@dataclass(frozen=True)
class Cell:
    """One cell of a table: what is shown, and the number behind it in full."""

    text: str
    value: float | int | None = None


@dataclass(frozen=True)
class TableBlock:
    """A table with what it shows in words."""

    table: Table
    caption: str = ''
    folded: bool = False  # shown once it is asked for, and on paper

    kind = 'table'

    @property
    def is_number(self) -> list[bool]:
        """Whether each column holds numbers alone."""
        return number_columns(self.table)

    @property
    def is_short(self) -> list[bool]:
        """Whether each column is so narrow that its cells stay on one line."""
        rows, count = self.cells, len(self.table.header)
        return [all(len(row[k].text) <= SHORT for row in rows) for k in range(count)]

    @property
    def cells(self) -> list[list[Cell]]:
        """The rows as they are printed on a terminal, numbers in full beside."""
        return [[_cell(value) for value in row] for row in self.table.rows]


@dataclass(frozen=True)
class Pictures:
    """Pictures of one kind (SVG), as many beside each other as there is room for."""

    pictures: tuple[str, ...]
    caption: str
    is_wide: bool = False

    kind = 'pictures'


@dataclass(frozen=True)
class Lines:
    """Sentences, one a line."""

    lines: tuple[str, ...]

    kind = 'lines'


@dataclass(frozen=True)
class Player:
    """A robot in motion, with a picture of it for paper and for readers without scripts."""

    html: str
    still: str  # SVG
    caption: str

    kind = 'player'


@dataclass(frozen=True)
class Missing:
    """What is not in the run, and the command that makes it; or why it cannot be shown."""

    what: str
    command: str = ''

    kind = 'missing'


Block = TableBlock | Pictures | Lines | Player | Missing


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading."""

    key: str  # of links to it
    heading: str
    blocks: tuple[Block, ...]
    lead: str = ''  # what it is about, in a sentence


@dataclass(frozen=True)
class Figure:
    """One number of the first lines of a page."""

    value: str
    label: str
    number: float | int | None = None  # in full


@dataclass(frozen=True)
class Summary:
    """The first lines of a page: the verdict."""

    grade: str
    tone: Tone  # of its colour
    headline: str
    reasons: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()  # that go on from there
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class Page:
    """All that stands in a report."""

    title: str
    subtitle: str
    summary: Summary
    sections: tuple[Section, ...]
    values: Mapping[str, Any]  # every number, for machines
    second: Summary | None = None  # verdict on the other of two runs


def _cell(value: Any) -> Cell:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return Cell(cell_text(value), value if is_number else None)
