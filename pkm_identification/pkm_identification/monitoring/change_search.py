"""Search for changes in a series of recordings, with a stated chance of a false alarm."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import fdtrc

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Indices
from pkm_identification.monitoring.causes import Cause, Kind
from pkm_identification.monitoring.contrast import Contrast, Evidence, Fit

LEAST_REFERENCE = 3  # recordings: fewer show no spread
# Degrees of freedom with which the spread of a group of changes counts in that of one [Smyth 2004,
# moderated variances]: joints of one kind are alike, but each meets other errors of the model
SHARED_FREEDOM = 20.0
DECISIVE = 1e-300  # a chance that is not computed any better
# Variances by which one change explains more than another that is ruled out: 20 to 1 in likelihood,
# strong evidence by [Kass and Raftery 1995]
CLOSE = 2 * np.log(20.0)


NOTHING = np.zeros(0, dtype=np.int64)  # no amounts


class Amounts:
    """The amounts of all changes, one after the other."""

    def __init__(self, causes: Sequence[Cause]) -> None:
        parts = [part for each in causes for part in (each.directions, each.also)]
        ends = np.cumsum([part.shape[1] for part in parts])
        self.directions = np.concatenate(parts, axis=1)  # (w, d)
        spans = np.split(np.arange(self.directions.shape[1]), ends[:-1])
        self._own = {each.key: spans[2 * k] for k, each in enumerate(causes)}
        self._all = {
            each.key: np.concatenate(spans[2 * k : 2 * k + 2]) for k, each in enumerate(causes)
        }
        self._warmth = [each for each in causes if each.kind == Kind.COMMON_FRICTION]

    def own(self, cause: Cause) -> Indices:
        """Return the amounts of a change."""
        return self._own[cause.key]

    def all(self, known: Sequence[Cause]) -> Indices:
        """Return the amounts of known changes and of warmth."""
        keys = dict.fromkeys(each.key for each in (*self._warmth, *known))
        return np.concatenate([NOTHING, *(self._all[key] for key in keys)])

    def beside(self, cause: Cause, found: Sequence[Cause] = ()) -> Indices:
        """Return the amounts that are free beside it: of changes that were found, and warmth."""
        keys = dict.fromkeys(each.key for each in (*self._warmth, *found))
        parts = [self._all[key] for key in keys if key != cause.key]
        if cause.kind == Kind.COMMON_FRICTION:
            parts = [self._all[each.key] for each in found if each.key != cause.key]
        return np.concatenate([NOTHING, *parts])


@dataclass(frozen=True)
class Spread:
    """How far the amounts of one change scatter from recording to recording.

    `factor` is their variance over the one that a recording tells of itself; it holds what the
    model lacks and other motions show otherwise. It is known with `freedom` degrees of freedom.
    """

    factor: float
    freedom: float


def spreads_of(causes: Sequence[Cause], references: Sequence[Evidence]) -> list[Spread]:
    """Spread of each change between reference recordings, each compared with all others.

    EstimationError where there are fewer than three.
    """
    if len(references) < LEAST_REFERENCE:
        raise EstimationError(
            f'{len(references)} reference recordings show no spread; at least {LEAST_REFERENCE}'
        )
    whole, space = Evidence.of(references), Amounts(causes)
    sizes = np.zeros((len(references), len(causes)))
    ranks = np.zeros_like(sizes)
    for number, own in enumerate(references):
        contrast = Contrast.between(whole.without(own), own).along(space.directions)
        for place, cause in enumerate(causes):
            fit = contrast.fitted(space.own(cause), space.beside(cause))
            sizes[number, place], ranks[number, place] = fit.size, fit.rank
    squares = sizes.sum(axis=0)
    freedom = ranks.sum(axis=0) * (1 - 1 / len(references))
    groups = np.array([cause.group for cause in causes])
    found = []
    for place, cause in enumerate(causes):
        alike = groups == cause.group
        together = squares[alike].sum() / max(freedom[alike].sum(), 1.0)
        shared = min(SHARED_FREEDOM, freedom[alike].sum())
        own_freedom = freedom[place]
        total = shared + own_freedom
        # without a reference that shows the change its spread is the one that recordings tell
        factor = (shared * together + squares[place]) / total if total else 1.0
        found.append(Spread(max(float(factor), np.finfo(float).tiny), max(float(total), 1.0)))
    return found


@dataclass(frozen=True)
class Detection:
    """A change that is too large for chance."""

    cause: Cause
    recording: int  # number of the last one of the window that it was found in
    window: int  # recordings in it
    chance: float  # at most, of this or a larger one anywhere in a healthy series


@dataclass(frozen=True, eq=False)
class Search:
    """Compares windows of recordings with a reference.

    Windows of 1, 2 and 4 recordings end at each recording, those of 8, 16, 32, ... at each second,
    fourth, eighth, ...: long ones find what is small and stays, or grows slowly, short ones what is
    large at once. The level of a test is the chance of a false alarm in the whole series over the
    number of tests (Bonferroni): it holds whatever the tests have to do with each other.
    """

    causes: Sequence[Cause]
    reference: Evidence
    spreads: Sequence[Spread]
    false_alarms: float  # chance of any in a healthy series

    def tests(self, count: int) -> int:
        """Number of tests in a series of so many recordings."""
        windows = sum(len(windows_before(end)) for end in range(1, count + 1))
        return max(windows * len(self.causes), 1)

    def level(self, count: int) -> float:
        """Chance of a false alarm in one test, in a series of so many recordings."""
        return self.false_alarms / self.tests(count)

    def chance(self, place: int, fit: Fit) -> float:
        """Chance of at least such a fit of one change without any change."""
        if not fit.rank:
            return 1.0
        spread = self.spreads[place]
        ratio = fit.size / fit.rank / spread.factor
        return float(fdtrc(fit.rank, spread.freedom, ratio))

    @cached_property
    def space(self) -> Amounts:
        """Amounts of all changes."""
        return Amounts(self.causes)

    def contrast(self, evidence: Evidence) -> Contrast:
        """Compare with the reference."""
        return Contrast.between(self.reference, evidence).along(self.space.directions)

    def fit(self, contrast: Contrast, cause: Cause, found: Sequence[Cause]) -> Fit:
        """Amounts of a change beside those that were found, with the covariance of the spread."""
        place = next(k for k, each in enumerate(self.causes) if each.key == cause.key)
        plain = contrast.fitted(self.space.own(cause), self.space.beside(cause, found))
        factor = self.spreads[place].factor
        return Fit(plain.values, plain.covariance * factor, plain.told, plain.size / factor)

    def detections(
        self, series: Sequence[Evidence], report: Callable[[float], object] = lambda fraction: None
    ) -> list[Detection]:
        """Return the changes of a series, each once, in the order in which they show."""
        level, tests = self.level(len(series)), self.tests(len(series))
        found: list[Detection] = []
        sums = _SumsBesideKnown(self, series)
        for end in range(1, len(series) + 1):
            report(end / len(series))
            here: list[Detection] = []
            while True:
                known = [each.cause for each in (*found, *here)]
                best = self._best(sums.ending_at(end, known), known, level)
                if best is None:
                    break
                window, cause, chance = best
                here.append(Detection(cause, end - 1, window, min(1.0, chance * tests)))
                here = [each for each in here if self._stays(each, sums, found, here, level)]
                if not any(each.cause.key == cause.key for each in here):
                    break  # it and another one explain each other
            found += here
        return found

    def beyond(self, evidence: Evidence, known: Sequence[Cause]) -> Evidence:
        """Return what one recording tells beside known changes of any size."""
        parts = [part for cause in known for part in (cause.directions, cause.also)]
        return evidence.beyond(np.concatenate([*parts], axis=1)) if parts else evidence

    def rivals(self, evidence: Evidence, cause: Cause, found: Sequence[Cause]) -> tuple[Cause, ...]:
        """Return what explains some recordings as well as a change that was found, or nearly so.

        Beside all that was `found`; what explains most comes first.
        """
        contrast = self.contrast(evidence)
        others = [each for each in found if each.key != cause.key]
        keys = {each.key for each in others}
        explained = {
            each.key: self._explained(contrast, place, others)[1]
            for place, each in enumerate(self.causes)
            if each.key not in keys
        }
        least = explained.pop(cause.key) - CLOSE
        close = [c for c in self.causes if explained.get(c.key, -np.inf) > max(least, 0.0)]
        return tuple(sorted(close, key=lambda each: -explained[each.key]))

    def _explained(
        self, contrast: Contrast, place: int, known: Sequence[Cause]
    ) -> tuple[Fit, float]:
        """Fit of a change, and the variances beyond those of chance that it explains."""
        cause = self.causes[place]
        fit = contrast.fitted(self.space.own(cause), self.space.beside(cause, known))
        return fit, fit.size / self.spreads[place].factor - fit.rank

    def _best(
        self, windows: Mapping[int, Contrast], known: Sequence[Cause], level: float
    ) -> tuple[int, Cause, float] | None:
        """Of all changes that are no chance, the one that explains most: window, cause, chance."""
        best, most = None, 0.0
        keys = {each.key for each in known}
        for window, contrast in windows.items():
            for place, cause in enumerate(self.causes):
                if cause.key in keys:
                    continue
                fit, explained = self._explained(contrast, place, known)
                if explained > most and (chance := self.chance(place, fit)) < level:
                    best, most = (window, cause, max(chance, DECISIVE)), explained
        return best

    def _stays(
        self,
        detection: Detection,
        sums: _SumsBesideKnown,
        before: Sequence[Detection],
        here: Sequence[Detection],
        level: float,
    ) -> bool:
        """Whether a detection is no chance beside all others."""
        others = [each.cause for each in (*before, *here) if each is not detection]
        contrast = sums.ending_at(detection.recording + 1, others)[detection.window]
        place = next(k for k, each in enumerate(self.causes) if each.key == detection.cause.key)
        indices = self.space.own(detection.cause), self.space.beside(detection.cause, others)
        return self.chance(place, contrast.fitted(*indices)) < level


def windows_before(end: int) -> list[int]:
    """Sizes of the windows that end with the recording number `end`."""
    sizes = [2**k for k in range(end.bit_length()) if 2**k <= end]
    return [size for size in sizes if end % _step(size) == 0]


def _step(size: int) -> int:
    """Recordings from one window of a size to the next: a window is made of four such blocks."""
    return max(size // 4, 1)


class _SumsBesideKnown:
    """Contrasts of the windows of a series, with what is known to change free in each recording.

    A change may begin within a window. Each set of known changes has sums of its own.
    """

    def __init__(self, search: Search, series: Sequence[Evidence]) -> None:
        self._search, self._series = search, series
        self._sums: dict[frozenset[str], _Sums] = {}
        self._contrasts: dict[frozenset[str], dict[int, Contrast]] = {}
        self._end = 0

    def ending_at(self, end: int, known: Sequence[Cause]) -> dict[int, Contrast]:
        """Return the contrasts of the windows that end with the recording number `end`."""
        if end != self._end:
            self._end, self._contrasts = end, {}
        key = frozenset(each.key for each in known)
        if key not in self._contrasts:
            sums = self._sums.setdefault(key, _Sums())
            while sums.count < end:
                sums.add(self._search.beyond(self._series[sums.count], known))
            self._contrasts[key] = {
                size: self._search.contrast(whole) for size, whole in sums.windows().items()
            }
        return self._contrasts[key]


class _Sums:
    """Sums over windows of a series, from the last four blocks of each size.

    So they take as much memory whatever the length of the series.
    """

    def __init__(self) -> None:
        self.count = 0
        self._blocks: list[deque[Evidence]] = []  # of 1, 2, 4, ... recordings

    def add(self, evidence: Evidence) -> None:
        """Take in the next recording."""
        self.count += 1
        for level in range(self.count.bit_length()):
            if self.count % 2**level:
                break
            if level:
                halves = self._blocks[level - 1]
                evidence = Evidence.of([halves[-2], halves[-1]])
            if level == len(self._blocks):
                self._blocks.append(deque(maxlen=4))
            self._blocks[level].append(evidence)

    def windows(self) -> dict[int, Evidence]:
        """Return size and sum of each window that ends with the latest recording."""
        found = {}
        for size in windows_before(self.count):
            blocks = self._blocks[_step(size).bit_length() - 1]
            found[size] = Evidence.of(list(blocks)[-(size // _step(size)) :])
        return found
