"""What a person or a machine sees: tables, JSON, progress, errors in one line."""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

QUIET_TIME = 2.0  # [s] without a word
LONGEST_PAUSE = 16.0  # [s] between two lines about the same thing where there is no terminal

Column = str | tuple[str, str] | Callable[[Mapping[str, Any]], Any]


@dataclass(frozen=True)
class Table:
    """Plain values in rows, for the terminal and for pages."""

    header: tuple[str, ...]
    rows: list[list[Any]]  # texts, numbers, whether something holds; None: nothing to say
    title: str = ''


class Update(Protocol):
    """Takes what is being done and the fraction done, 0..1, None where unknown."""

    def __call__(self, phase: str, fraction: float | None = None) -> None:
        """Remember both."""


def print_error(program: str, message: object) -> None:
    """Print an error as one line on stderr; what stands behind an empty line, as it is."""
    first, _, block = str(message).partition('\n\n')
    text = ' '.join(first.split()) or type(message).__name__
    sys.stderr.write(f'{program}: error: {text}\n' + (f'\n{block.rstrip()}\n' if block else ''))


def print_note(message: str) -> None:
    """Print a remark on stderr, where it disturbs no pipe."""
    sys.stderr.write(f'{message}\n')


def print_json(content: Any) -> None:
    """Print plain values, arrays and mappings as JSON on stdout; nan and infinities become null."""
    sys.stdout.write(json_text(content))


def json_text(content: Any) -> str:
    """Return plain values, arrays and mappings as JSON; see `print_json`."""
    return json.dumps(_plain(content), indent=2, allow_nan=False) + '\n'


def print_table(
    header: Sequence[str], rows: Iterable[Sequence[Any]], title: str = '', indent: str = ''
) -> None:
    """Print a table on stdout: texts to the left, numbers to the right, nothing cut off."""
    table = Table(tuple(header), [list(row) for row in rows], title)
    cells = [[cell_text(value) for value in row] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    right = number_columns(table)
    lines = [f'{indent}{title}'] if title else []
    for line in [list(header), ['-' * width for width in widths], *cells]:
        parts = [
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(line, widths, right, strict=True)
        ]
        lines.append((indent + '  '.join(parts)).rstrip())
    sys.stdout.write('\n'.join(lines) + '\n')


def print_columns(
    rows: Sequence[Mapping[str, Any]], columns: Mapping[str, Column], title: str = ''
) -> None:
    """Print a table of rows whose columns are declared by their headers; see `print_table`.

    A column is a key of the rows, a key and a format (one that ends in % is of 100 times the
    value), or a function of the row.
    """
    show(table_of(rows, columns, title))


def table_of(
    rows: Sequence[Mapping[str, Any]], columns: Mapping[str, Column], title: str = ''
) -> Table:
    """Return the table of rows whose columns are declared by their headers; see `print_columns`."""
    cells = [[_value(row, column) for column in columns.values()] for row in rows]
    return Table(tuple(columns), cells, title)


def show(table: Table) -> None:
    """Print a table on stdout; see `print_table`."""
    print_table(table.header, table.rows, table.title)


def number_columns(table: Table) -> list[bool]:
    """Whether each column holds numbers alone, which stand to the right."""
    count, rows = len(table.header), table.rows
    return [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(count)]


def _value(row: Mapping[str, Any], column: Column) -> Any:
    if callable(column):
        return column(row)
    key, form = (column, '') if isinstance(column, str) else column
    value = row.get(key)
    if value is None:
        return None
    if form.endswith('%'):
        value, form = 100 * value, form[:-1]
    return f'{value:{form}}' if form else value


@contextmanager
def progress(title: str) -> Iterator[Update]:
    """Show progress on stderr while the block runs.

    Yields a function that takes what is being done and the fraction done, 0..1, or
    None where that is unknown. A terminal shows a bar; anything else gets lines, the
    rarer the longer the same thing lasts. What takes under two seconds prints nothing.
    """
    state = _State(title)
    stop = threading.Event()
    show = _show_bar if sys.stderr.isatty() else _show_lines
    thread = threading.Thread(target=show, args=(state, stop), daemon=True)
    thread.start()
    try:
        yield state.update
    finally:
        stop.set()
        thread.join()


class _State:
    """What a running block last said about itself."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.start = time.monotonic()
        self.phase = ''
        self.fraction: float | None = None

    def update(self, phase: str, fraction: float | None = None) -> None:
        self.phase, self.fraction = phase, fraction

    @property
    def text(self) -> str:
        return f'{self.title}: {self.phase}' if self.phase else self.title


def _show_lines(state: _State, stop: threading.Event) -> None:
    pause, text = QUIET_TIME, ''
    while not stop.wait(pause):
        pause = QUIET_TIME if state.text != text else min(2.0 * pause, LONGEST_PAUSE)
        text = state.text
        done = '' if state.fraction is None else f' {100 * state.fraction:.0f} %,'
        print_note(f'{state.text}{done} {time.monotonic() - state.start:.0f} s')


def _show_bar(state: _State, stop: threading.Event) -> None:
    if stop.wait(QUIET_TIME):
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn('{task.description}'), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(state.text, total=None)
        while not stop.wait(0.1):
            total = None if state.fraction is None else 1.0
            bar.update(task, description=state.text, total=total, completed=state.fraction or 0.0)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def cell_text(value: Any) -> str:
    """Return how a value of a table is written: a number with five digits."""
    if value is None or isinstance(value, bool):
        return {None: '-', True: 'yes', False: 'no'}[value]
    return f'{value:.5g}' if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, 'tolist'):  # arrays and numbers of numpy
        return _plain(value.tolist())
    if isinstance(value, list | tuple | set):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)
