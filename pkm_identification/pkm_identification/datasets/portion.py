"""A part of a recording by its times, as `run.csv:0-40` names it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

from pkm_description.errors import DatasetError

EXAMPLES = Path(__file__).parents[1] / 'examples'
SHIPPED = 'shipped:'  # before the name of a recording that comes with the package
NUMBER = r'(?:\d+\.?\d*|\.\d+)?'
PORTION = re.compile(rf'(?P<path>.+):(?P<start>{NUMBER})-(?P<stop>{NUMBER})')
FORM = 'DATA:FROM-TO, such as run.csv:0-40, run.csv:40- or run.csv:-40 [s from the first sample]'


@dataclass(frozen=True)
class Portion:
    """A recording on disk and the times [s from its first sample] that are wanted of it."""

    path: Path
    start: float | None = None  # None: from the first sample on
    stop: float | None = None  # None: to the last sample

    @property
    def is_whole(self) -> bool:
        """Whether all of the recording is wanted."""
        return self.start is None and self.stop is None

    @property
    def suffix(self) -> str:
        """What names the times behind the path; nothing of a whole recording."""
        return '' if self.is_whole else f':{_text(self.start)}-{_text(self.stop)}'

    @property
    def ends(self) -> tuple[float, float]:
        """First and last time [s from the first sample]; `DatasetError` where none is between."""
        start = 0.0 if self.start is None else self.start
        stop = math.inf if self.stop is None else self.stop
        if not 0 <= start < stop:
            raise DatasetError(
                f"'{self.path}': from {start:g} s to {stop:g} s is no time; the first must not be "
                'negative, the second must be later'
            )
        return start, stop


def portion_of(text: Path | str, start: float | None = None, stop: float | None = None) -> Portion:
    """Read `DATA` or `DATA:FROM-TO`; `start` and `stop` [s] hold where the text says no times.

    `shipped:NAME` is a recording that comes with the package.
    """
    match = PORTION.fullmatch(str(text))
    if match is None or Path(text).exists() or not (match['start'] or match['stop']):
        return Portion(_path_of(str(text)), start, stop)
    own = (float(match[name]) if match[name] else None for name in ('start', 'stop'))
    return Portion(_path_of(match['path']), *own)


def _path_of(text: str) -> Path:
    if not text.startswith(SHIPPED):
        return Path(text)
    found = {path.stem: path for path in sorted(EXAMPLES.glob('*.csv'))}
    name = text.removeprefix(SHIPPED)
    if name not in found:
        raise DatasetError(f"there is no shipped recording '{name}'; there are {', '.join(found)}")
    return found[name]


def _text(time: float | None) -> str:
    return '' if time is None else f'{time:g}'
