"""Tables in text files of any delimiter, read some thousand lines at once."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from os import SEEK_END
from pathlib import Path

import numpy as np

from pkm_description.errors import DatasetError
from pkm_identification.arrays import Array
from pkm_identification.datasets.stored_array import stored
from pkm_identification.datasets.tables.column_mapping import (
    Column,
    TextForm,
    same_column,
    unknown_column,
)
from pkm_identification.quality.report import Defect

ROWS = 2**14  # lines that are turned into numbers at once
MISSING = ('', 'nan', 'null', 'none', 'na', 'n/a', '-')  # cells that hold no number
LONGEST_LINE = 1 << 20  # [bytes]
HEAD = 50  # lines that are looked at for a header


@dataclass(frozen=True)
class TextTable:
    """A text file with one sample a line."""

    path: Path
    form: TextForm

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Each column by its name holds one number a sample."""
        return dict.fromkeys(self.names, ())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns; without a header their numbers from 0."""
        cells, _ = self._start
        if not self.form.has_header:
            return tuple(str(index) for index in range(len(cells)))
        return tuple(cells)

    @cached_property
    def _start(self) -> tuple[list[str], int]:
        """Cells of the header, or of the first sample, and the number of lines before a sample."""
        form = self.form
        for number, line in enumerate(self._lines(), start=1):
            if form.has_header and form.header is not None:
                if number < form.header:
                    continue
                line = line.lstrip().removeprefix(form.comment) if form.comment else line
            elif self._is_empty(line) or (
                number < (form.first_sample or 1) and not form.has_header
            ):
                continue
            return self._cells(line), self._before(number)
        raise DatasetError(f"'{self.path}' has no line with {self._wanted}")

    @cached_property
    def cut_off(self) -> int | None:
        """Number of values that the last line has, where its writer did not come to its end."""
        with self.path.open('rb') as file:
            size = file.seek(0, SEEK_END)
            file.seek(max(size - LONGEST_LINE, 0))
            before, _, last = file.read().rpartition(b'\n')
        line = last.decode('utf-8', errors='replace')
        if not before or not line or self._is_empty(line):
            return None
        cells = self._cells(line)
        whole = len(cells) >= len(self.names) and self._number(cells[-1]) is not None
        return None if whole else len(cells)

    def defects(self, samples: int) -> tuple[Defect, ...]:
        """What is wrong with the text: that its last line was left out."""
        if self.cut_off is None:
            return ()
        what = f'cut off after {self.cut_off} of {len(self.names)} values'
        return (Defect('cut_off', 1, 1 / samples, 'left out', what=what),)

    @property
    def _wanted(self) -> str:
        return 'a header' if self.form.has_header else 'samples'

    def _before(self, number: int) -> int:
        if self.form.first_sample is not None:
            return self.form.first_sample - 1
        return number if self.form.has_header else number - 1

    def _lines(self) -> Iterator[str]:
        try:
            with self.path.open(encoding='utf-8-sig') as file:
                yield from file
        except UnicodeDecodeError as error:
            raise DatasetError(f"'{self.path}' is not text in UTF-8: {error}") from error
        except OSError as error:
            raise DatasetError(f"'{self.path}' cannot be read: {error.strerror}") from error

    def _is_empty(self, line: str) -> bool:
        text = line.strip()
        return not text or bool(self.form.comment and text.startswith(self.form.comment))

    def _cells(self, line: str) -> list[str]:
        line = line.rstrip('\r\n')
        if self.form.delimiter is None:
            return line.split()
        return [
            cell.strip()
            for cell in next(
                csv.reader([line], delimiter=self.form.delimiter, skipinitialspace=True)
            )
        ]

    def numbers(self, columns: Sequence[Column], source: str) -> Array:
        """Return samples (N, k) of some columns."""
        places = [self._place(column, source) for column in columns]
        for place, column in zip(places, columns, strict=True):
            same = columns[places.index(place)]
            if same is not column:
                raise same_column(self.path, column, same.what, source)
        return stored(self._blocks(places))

    def _place(self, column: Column, source: str) -> int:
        names = self.names
        if isinstance(column.name, int) and column.name < len(names):
            return column.name
        name = str(column.name)
        if names.count(name) > 1:
            raise DatasetError(f"'{self.path}': there are {names.count(name)} columns '{name}'")
        if name not in names or column.index is not None:
            raise unknown_column(self.path, column, source, names)
        return names.index(name)

    def _blocks(self, places: Sequence[int]) -> Iterator[Array]:
        lines = self._lines()
        number = len(list(islice(lines, self._start[1])))
        found = False
        while block := list(islice(lines, ROWS)):
            kept = [
                (number + k, line)
                for k, line in enumerate(block, 1)
                if not (self._is_empty(line) or (line[-1] != '\n' and self.cut_off is not None))
            ]
            number += len(block)
            if kept:
                found = True
                yield self._numbers(kept, places)
        if not found:
            raise DatasetError(f"'{self.path}' has a header but no samples")

    def _numbers(self, lines: Sequence[tuple[int, str]], places: Sequence[int]) -> Array:
        """Numbers (k, c) of numbered lines: all at once, else cell by cell."""
        comma, delimiter = self.form.decimal == ',', self.form.delimiter
        if delimiter is not None and self.form.has_header:
            wide = len(self.names) - 1
            if any(line.count(delimiter) > wide for _, line in lines):
                return self._rows(lines, places)
        texts = [line.replace(',', '.') if comma else line for _, line in lines]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter('ignore', UserWarning)
                table = np.loadtxt(
                    texts, delimiter=self.form.delimiter, usecols=list(places), ndmin=2,
                    comments=None, quotechar='"',
                )  # fmt: skip
            return np.asarray(table, dtype=float)
        except ValueError:
            return self._rows(lines, places)

    def _rows(self, lines: Sequence[tuple[int, str]], places: Sequence[int]) -> Array:
        return np.array([self._row(number, line, places) for number, line in lines])

    def _row(self, number: int, line: str, places: Sequence[int]) -> list[float]:
        cells = self._cells(line)
        if self.form.has_header and any(cells[len(self.names) :]):
            raise DatasetError(
                f"'{self.path}', line {number}: {len(cells)} values, but the header has "
                f'{len(self.names)} names'
            )
        if len(cells) <= max(places):
            raise DatasetError(
                f"'{self.path}', line {number}: {len(cells)} values, but "
                f"'{self.names[max(places)]}' is column {max(places) + 1}"
            )
        return [self._cell(number, place, cells[place]) for place in places]

    def _cell(self, number: int, place: int, cell: str) -> float:
        value = self._number(cell)
        if value is None:
            raise DatasetError(
                f"'{self.path}', line {number}, column '{self.names[place]}': '{cell}' is not a "
                'number'
            )
        return value

    def _number(self, cell: str) -> float | None:
        """Number of a cell, NaN where it is missing; None where it is another text."""
        if cell.lower() in MISSING:
            return float('nan')
        try:
            return float(cell.replace(',', '.') if self.form.decimal == ',' else cell)
        except ValueError:
            return None


def sniffed(path: Path) -> TextForm:
    """Guess how a text file writes its table, for a proposal; the plain form where it is unclear.

    The delimiter is that which cuts the lines into equally many and most cells.
    """
    try:
        with path.open(encoding='utf-8-sig') as file:
            lines = [line.rstrip('\r\n') for line in islice(file, HEAD)]
    except (OSError, UnicodeDecodeError):
        return TextForm()
    comment = next((sign for sign in '#%' if any(x.lstrip().startswith(sign) for x in lines)), '#')
    rows = [line for line in lines if line.strip() and not line.lstrip().startswith(comment)]
    best, cells = TextForm(comment=comment), 1
    for delimiter in (';', '\t', ',', None):
        widths = {len(line.split(delimiter)) for line in rows}
        if len(widths) == 1 and max(widths) > cells:
            cells = max(widths)
            best = TextForm(delimiter=delimiter, comment=comment)
    last = rows[-1].split(best.delimiter) if rows else []
    has_points = all(_is_number(cell, '.') for cell in last)
    decimal = '.' if best.delimiter == ',' or has_points else ','
    header = rows[0].split(best.delimiter) if rows else []
    has_header = not all(_is_number(x, decimal) for x in header)
    return TextForm(best.delimiter, None, has_header, None, comment, decimal)


def _is_number(cell: str, decimal: str) -> bool:
    try:
        float(cell.strip().strip('"').replace(decimal, '.'))
    except ValueError:
        return False
    return True


def form_keys(form: TextForm) -> Mapping[str, str]:
    """Return what a file of names says of a text form that is not the plain one."""
    plain = TextForm()
    found = {}
    if form.delimiter != plain.delimiter:
        found['delimiter'] = {'\t': 'tab', None: 'space'}.get(form.delimiter, str(form.delimiter))
    if not form.has_header:
        found['header'] = 'none'
    for key in ('comment', 'decimal'):
        if getattr(form, key) != getattr(plain, key):
            found[key] = getattr(form, key)
    return found
