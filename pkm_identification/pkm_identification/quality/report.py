"""What an examination of recorded data found: counts, where and when, and the treatment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from pkm_identification.arrays import Array, Indices
from pkm_identification.percent import percent

WORDS = {
    'rate': 'rate of the stamps',
    'velocity_scale': 'measured velocities',
    'constant': 'constant values',
    'beyond_stroke': 'positions',
    'beyond_force': 'forces',
    'unlike_robot': 'forces',
    'jitter': 'jitter of the stamps',
    'stale': 'repeated samples',
    'clock_leap': 'leaps of the clock',
    'jump': 'jumps of the positions from sample to sample',
    'gap': 'lost samples',
    'pause': 'pauses of the recording',
    'duplicate_stamp': 'stamps that occur twice',
    'coarse_stamp': 'samples with the stamp of another',
    'out_of_order': 'stamps out of order',
    'not_finite': 'samples that are no number',
    'cut_off': 'the last line of the file',
    'outlier': 'outliers',
    'stuck': 'stuck samples',
    'saturation': 'saturated samples',
    'quantisation': 'coarse resolution',
    'standstill': 'standstill',
}
KINDS = tuple(WORDS)
# What makes all else doubtful that is found in the data: a signal is not what it is called
OF_ROBOT = ('beyond_stroke', 'beyond_force', 'unlike_robot')  # that the described one cannot have
DOUBTFUL = ('rate', 'velocity_scale', 'constant', *OF_ROBOT)
GONE = ('stale', 'duplicate_stamp', 'gap')  # samples that the recording does not have
TIMES = ('pause',)  # of which no samples are counted
LEFT_OUT = 'left out: weight zero'
STRETCHES = 8  # of each defect, that are named


@dataclass(frozen=True)
class Defect:
    """One kind of defect of one signal."""

    kind: str  # one of `KINDS`
    count: int  # samples concerned
    share: float  # of all samples
    treatment: str  # what is done about it
    signal: str = 'time'  # or `position` or `effort` (also a current)
    joint: str = ''  # none for stamps
    # first and last stamp [s] of the first `STRETCHES` stretches of samples
    where: tuple[tuple[float, float], ...] = ()
    stretches: int = 0  # number of all stretches
    # sizes that belong to the kind, their unit in the name or that of the signal
    figures: dict[str, float] = field(default_factory=dict)
    what: str = ''  # what is wrong with the signal as a whole, where it is not single samples

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Defect:
        """Return the defect of entries as `Quality.to_dict` gives them."""
        own = {each.name: content[each.name] for each in fields(cls) if each.name in content}
        pairs = tuple((float(first), float(last)) for first, last in own.pop('where', ()))
        return cls(**own, where=pairs)

    def touches(self, first: float, last: float) -> bool:
        """Whether it may concern samples between two stamps [s]: of many stretches one may."""
        if not self.where or self.stretches > len(self.where):
            return True
        return any(begin <= last and end >= first for begin, end in self.where)

    def line(self) -> str:
        """Return one sentence for a person."""
        if self.what:
            return lines([self])[0]
        of = f' of the {self.signal} of {self.joint}' if self.joint else ''
        if self.signal != 'time' and not self.joint:
            of = f' of the {self.signal}'
        size = ', '.join(_figure(name, value) for name, value in self.figures.items())
        share = '' if self.kind in TIMES else f' ({percent(self.share)})'
        text = f'{WORDS[self.kind]}{of}: {self.count}{share}'
        if self.where:
            first, last = self.where[0]
            at = f'{first:.6g}' if first == last else f'{first:.6g} ... {last:.6g}'
            more = f' and {self.stretches - 1} more' if self.stretches > 1 else ''
            text += f', at t = {at} s{more}'
        return text + (f' ({size})' if size else '') + f'; {self.treatment}'


def _figure(name: str, value: float) -> str:
    """Return a figure with its unit, which may end its name."""
    words, _, unit = name.rpartition('_')
    if unit not in ('s', 'Hz'):
        words, unit = name, ''
    return f'{words.replace("_", " ")} {value:.3g} {unit}'.rstrip()


def lines(defects: Sequence[Defect]) -> list[str]:
    """Return sentences for a person: one a defect, or one for signals that are wrong alike."""
    alike: dict[tuple[Any, ...], list[Defect]] = {}
    for number, each in enumerate(defects):
        own = (each.kind, each.signal, each.what, each.treatment) if each.what else (number,)
        alike.setdefault(own, []).append(each)
    return [
        f'{_whole(group)}; {group[0].treatment}' if group[0].what else group[0].line()
        for group in alike.values()
    ]


def doubts(defects: Sequence[Defect]) -> list[str]:
    """Say what makes doubtful all that is found in the data; nothing where nothing does."""
    alike: dict[tuple[str, str, str], list[Defect]] = {}
    for each in defects:
        if each.kind in DOUBTFUL:
            alike.setdefault((each.kind, each.signal, each.what), []).append(each)
    return [_whole(group) for group in alike.values()]


def _whole(group: Sequence[Defect]) -> str:
    """Say what is wrong with the signals of some joints as a whole, alike."""
    first, joints = group[0], dict.fromkeys(each.joint for each in group if each.joint)
    is_named = first.signal in ('position', 'effort') and first.kind not in OF_ROBOT
    of = f' of the {first.signal}' if is_named else ''
    of += f' of {", ".join(joints)}' if joints else ''
    return f'{WORDS[first.kind]}{of}: {first.what}'


@dataclass(frozen=True)
class Quality:
    """Quality of one recording."""

    samples: int
    interval: float  # median [s]
    defects: tuple[Defect, ...] = ()  # what was found
    # steps of the numbers by signal and joint [m, rad; N, N m], where they are quantised
    resolution: dict[str, dict[str, float]] = field(default_factory=dict)
    # standard deviation of what changes from sample to sample, by signal and joint [m, rad; N, N m]
    noise: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of defects that were found, in the order of `KINDS`."""
        found = {defect.kind for defect in self.defects}
        return tuple(kind for kind in KINDS if kind in found)

    def of_kind(self, kind: str) -> tuple[Defect, ...]:
        """Return the defects of one kind."""
        return tuple(defect for defect in self.defects if defect.kind == kind)

    def with_defect(self, defect: Defect | None) -> Quality:
        """Return the same with one more defect, where there is one."""
        return self if defect is None else replace(self, defects=(*self.defects, defect))

    def rounding_variance(self, signal: str, joints: Sequence[str]) -> Array:
        """Variance (n,) of the rounding of joints' numbers: step^2 / 12, 0 without steps."""
        steps = self.resolution.get(signal, {})
        return np.array([steps.get(name, 0.0) ** 2 / 12 for name in joints])

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, texts and lists."""
        defects = [
            asdict(each) | {'where': [list(pair) for pair in each.where], 'text': each.line()}
            for each in self.defects
        ]
        return asdict(self) | {'defects': defects}


def stretches(rows: Indices) -> Indices:
    """Return first and last (k, 2) of each series of consecutive numbers."""
    if not len(rows):
        return np.zeros((0, 2), dtype=np.int64)
    ends = np.flatnonzero(np.diff(rows) > 1)
    first = rows[np.concatenate([[0], ends + 1])]
    last = rows[np.concatenate([ends, [len(rows) - 1]])]
    return np.column_stack([first, last])


def located(
    kind: str,
    rows: Indices,
    time: Array,
    treatment: str,
    signal: str = 'time',
    joint: str = '',
    **figures: float,
) -> Defect:
    """Return the defect of some samples (rows) of a recording with stamps (N,)."""
    found = stretches(rows)
    return Defect(
        kind,
        len(rows),
        len(rows) / max(len(time), 1),
        treatment,
        signal,
        joint,
        tuple((float(time[a]), float(time[b])) for a, b in found[:STRETCHES]),
        len(found),
        {name: float(value) for name, value in figures.items()},
    )


def merged(parts: Sequence[Defect], samples: int) -> tuple[Defect, ...]:
    """Put the defects of the parts of one recording of so many samples together."""
    found: dict[tuple[str, str, str], list[Defect]] = {}
    for defect in parts:
        found.setdefault((defect.kind, defect.signal, defect.joint), []).append(defect)
    together = []
    for group in found.values():
        count = sum(defect.count for defect in group)
        names = group[0].figures
        all_samples = samples + (count if group[0].kind in GONE else 0)
        share = 0.0 if group[0].kind in TIMES else count / max(all_samples, 1)
        together.append(
            replace(
                group[0],
                count=count,
                share=share,
                where=tuple(pair for defect in group for pair in defect.where)[:STRETCHES],
                stretches=sum(defect.stretches for defect in group),
                figures={n: max(defect.figures.get(n, 0.0) for defect in group) for n in names},
            )
        )
    return tuple(sorted(together, key=lambda defect: KINDS.index(defect.kind)))
