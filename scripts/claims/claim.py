"""A claim of a source paper, and what a study of ours says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

Content = Mapping[str, Any]  # of a study's result, SI units


class Mark(Enum):
    """How much of a claim holds here."""

    REPRODUCED = 'reproduced'
    PARTLY = 'partly'
    NOT_REPRODUCED = 'not reproduced'
    NOT_REPEATED = 'not repeated'


@dataclass(frozen=True)
class Judgement:
    """Figures of ours, and which parts of the claim they confirm."""

    figures: str
    holds: Sequence[bool]

    @property
    def mark(self) -> Mark:
        """All parts hold, some, or none."""
        if not self.holds:
            raise ValueError('a claim has at least one part')
        if all(self.holds):
            return Mark.REPRODUCED
        return Mark.PARTLY if any(self.holds) else Mark.NOT_REPRODUCED


@dataclass(frozen=True)
class Claim:
    """What a paper says and by which result it is judged.

    Attributes
    ----------
    where
        Tables, figures or sections of the paper, as the page names them.
    statement, theirs
        What it says, and its figures.
    why
        Why our figures are others, or why the claim was not repeated.
    study
        Name of the result; none where no study repeats it.
    judge
        Finds our figures in that result; raises KeyError where it lacks them.
    """

    where: str
    statement: str
    theirs: str
    why: str = ''
    study: str = ''
    judge: Callable[[Content], Judgement] | None = None

    def row(self, results: Mapping[str, Content]) -> tuple[str, Mark]:
        """Return the claim's line of the page, and its mark."""
        if self.judge is None:
            mark, here = Mark.NOT_REPEATED, ''
        else:
            found = self.judge(results[self.study])
            mark, here = found.mark, f'{found.figures} (`{self.study}`)'
        cells = (self.where, self.statement, self.theirs, here, f'**{mark.value}**', self.why)
        return f'| {" | ".join(cells)} |', mark


def case(rows: Sequence[Content], **wanted: Any) -> Content:
    """Return the row of a result with these entries; KeyError without exactly one."""
    found = [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]
    if len(found) != 1:
        raise KeyError(f'{len(found)} rows with {wanted}')
    return found[0]


def percent(value: float) -> str:
    """Write a share in per cent, two digits; below 1e-6 as such."""
    return 'below 1e-6 %' if 0 < abs(value) < 1e-8 else f'{float(f"{100 * value:.2g}"):g} %'


def percents(values: Sequence[float]) -> str:
    """Write shares in per cent."""
    return f'{", ".join(percent(each).removesuffix(" %") for each in values)} %'
