"""Margins of a motion to the limits of a robot, and the extrema of signals that they are from.

Extrema of sampled signals are bounded between the samples too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from pkm_description.errors import FeasibilityError
from pkm_dynamics.array_types import Floats

ASSEMBLED = 'kinematics'  # constraint that is broken where loops do not close


@dataclass(frozen=True)
class Margin:
    """The worst case of one constraint along a motion.

    Constraints are `stroke`, `velocity`, `acceleration`, `force`, `joint`, `joint_velocity`,
    `workspace`, `tilt`, `aperture`, `clearance`, `conditioning`, `tracking` and `command` (errors
    and forces of a servo) and `kinematics`.
    """

    constraint: str
    margin: float  # distance to the limit in `unit`, negative beyond it
    value: float  # reached
    limit: float  # that is meant, safety margins included
    name: str  # of the joint or coordinate
    time: float  # [s] of the worst case
    unit: str  # of margin, value and limit
    size: float | None = None  # the range between two limits; the limit's magnitude when absent

    @property
    def relative(self) -> float:
        """Margin as a fraction of the range, or of the limit's magnitude where there is none."""
        size = abs(self.limit) if self.size is None else self.size
        return float(self.margin / max(size, 1e-12))

    def __str__(self) -> str:
        kind = self.constraint.replace('_', ' ')
        if self.constraint == ASSEMBLED:
            return f'{kind}: no closed configuration at t = {self.time:.4f} s'
        unit = f' {self.unit}' if self.unit else ''
        return (
            f'{kind} of {self.name} at t = {self.time:.4f} s: {self.value:.5g}{unit}, '
            f'limit {self.limit:.5g}{unit} (margin {self.margin:.3g}{unit})'
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as written into files and reports."""
        keys = ('margin', 'value', 'limit', 'name', 'time', 'unit')
        return {key: getattr(self, key) for key in keys}


@dataclass(frozen=True)
class FeasibilityReport:
    """Worst margin of each constraint along a motion.

    Attributes
    ----------
    margins : Mapping[str, Margin]
        By constraint; constraints without a limit in the description are absent.
    samples : int
        Number of instants that were evaluated.
    duration : float
        Length of the checked motion [s].
    broken : tuple of Margin
        Every limit that is exceeded, the worst first: one entry for each constraint, joint
        and end of its range, at the time when it is worst.
    """

    margins: Mapping[str, Margin]
    samples: int
    duration: float
    broken: tuple[Margin, ...] = ()

    @property
    def feasible(self) -> bool:
        """Whether no limit is exceeded."""
        return all(margin.margin >= 0.0 for margin in self.margins.values())

    @property
    def worst(self) -> Margin | None:
        """The constraint that is closest to its limit or furthest beyond it."""
        if not self.margins:
            return None
        return min(self.margins.values(), key=lambda margin: margin.relative)

    @property
    def violations(self) -> list[Margin]:
        """The worst case of each exceeded constraint, the worst first; see `broken`."""
        broken = [margin for margin in self.margins.values() if margin.margin < 0.0]
        return sorted(broken, key=lambda margin: margin.relative)

    @property
    def message(self) -> str:
        """One sentence naming joint, time, value and limit."""
        worst = self.worst
        if worst is None:
            return 'the description gives no limit to check'
        if self.feasible:
            return f'feasible; closest is the {worst}'
        return 'infeasible: ' + '; '.join(str(margin) for margin in self.violations)

    def with_margins(self, found: Sequence[Margin]) -> FeasibilityReport:
        """Return the report with these margins in place of those of the same constraints.

        One for each joint or coordinate, or end of its range.
        """
        new = {margin.constraint for margin in found}
        kept = [each for name, each in self.margins.items() if name not in new]
        broken = [margin for margin in self.broken if margin.constraint not in new]
        return self._of([*kept, *found], [*broken, *found])

    def worse_of(self, other: FeasibilityReport) -> FeasibilityReport:
        """Return the report with what is worse in another one, of the same motion."""
        margins = [*self.margins.values(), *other.margins.values()]
        return self._of(margins, [*self.broken, *other.broken])

    def only(self, constraints: Collection[str]) -> FeasibilityReport:
        """Return the report about these constraints alone."""
        margins = {name: each for name, each in self.margins.items() if name in constraints}
        broken = tuple(each for each in self.broken if each.constraint in constraints)
        return replace(self, margins=margins, broken=broken)

    def _of(self, margins: Sequence[Margin], broken: Sequence[Margin]) -> FeasibilityReport:
        """The worst of the margins by constraint, and all that are broken, by joint and end."""
        by_size = sorted(margins, key=lambda margin: margin.relative, reverse=True)
        worst = {margin.constraint: margin for margin in by_size}
        names = dict.fromkeys(margin.constraint for margin in margins)
        beyond = sorted(
            (margin for margin in broken if margin.margin < 0.0),
            key=lambda margin: margin.relative,
            reverse=True,
        )
        each = {(m.constraint, m.name, m.limit): m for m in beyond}
        ordered = sorted(each.values(), key=lambda margin: margin.relative)
        return replace(self, margins={name: worst[name] for name in names}, broken=tuple(ordered))

    def raise_if_infeasible(self, what: str = 'trajectory') -> None:
        """Raise FeasibilityError with the message unless the motion is feasible."""
        if not self.feasible:
            raise FeasibilityError(f'{what} is {self.message}')


class Extremum(NamedTuple):
    """The sample of a signal that comes closest to its limit."""

    margin: float
    value: float
    limit: float
    column: int
    time: float


def peaks(values: Floats, time: Floats | None = None) -> Floats:
    """Return samples (N, n) at times (N,), local maxima raised to the apex of a parabola.

    Without times they are evenly spaced. The parabola goes through the neighbours; no sample
    is lowered, and none raised by more than an eighth of its larger step, which evenly spaced
    samples never are: a steep short side would otherwise promise a peak on the long one.
    """
    raised = np.array(values, dtype=float)
    rise, fall = values[1:-1] - values[:-2], values[1:-1] - values[2:]
    steps = np.ones(max(len(values) - 1, 0)) if time is None else np.diff(time)
    first, second = steps[:-1, None], steps[1:, None]
    apex = (rise >= 0.0) & (fall >= 0.0) & (rise + fall > 0.0)
    with np.errstate(over='ignore', invalid='ignore', divide='ignore'):
        into, out = rise / first, fall / second
        bend = np.where(apex, into + out, 1.0)
        gain = (into * second - out * first) ** 2 / (4.0 * bend * (first + second))
        gain = np.fmin(gain, 0.125 * np.maximum(rise, fall))
    raised[1:-1] += np.where(apex, gain, 0.0)
    return raised


def largest(values: Floats, limit: Floats, time: Floats) -> list[Extremum]:
    """Return where each column of `values` (N, n) comes closest to its upper `limit` (n,).

    Columns without a finite limit are left out. What is no number exceeds every limit.
    """
    finite = np.flatnonzero(np.isfinite(limit))
    raised = peaks(values[:, finite], time)
    margins = limit[finite] - raised
    margins = np.where(np.isnan(margins), -np.inf, margins)
    rows = np.argmin(margins, axis=0)
    found = zip(margins.min(axis=0), raised[rows, np.arange(len(rows))], finite, rows, strict=True)
    return [
        Extremum(float(margin), float(value), float(limit[column]), int(column), float(time[row]))
        for margin, value, column, row in found
    ]


def smallest(values: Floats, limit: Floats, time: Floats) -> list[Extremum]:
    """Return where each column of `values` (N, n) comes closest to its lower `limit` (n,)."""
    found = largest(-values, -np.asarray(limit), time)
    return [e._replace(value=-e.value, limit=-e.limit) for e in found]
