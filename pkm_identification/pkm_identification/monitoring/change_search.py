"""Search for changes in a series of recordings, with a stated chance of a false alarm."""

from __future__ import annotations

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
# Of what known changes explain, in variances. The model of a change is not exact, and its error
# grows with the change: on the Delta a fifth of what 50 % of friction explain looks like another
# change. Smaller ones are found once the large one is known to the model.
SHADOW = 0.3
DECISIVE = 1e-300  # a chance that is not computed any better


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

    Windows of 1, 2, 4, 8, ... recordings end at each recording: long ones find what is small and
    stays, or grows slowly, short ones what is large at once. The level of a test is the chance of a
    false alarm in the whole series over the number of tests (Bonferroni): it holds whatever the
    tests have to do with each other.
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
        sums = _Sums(series)
        for end in range(1, len(series) + 1):
            report(end / len(series))
            whole = sums.ending_at(end)
            here: list[Detection] = []
            while True:
                known = [each.cause for each in (*found, *here)]
                windows = self._windows(series, whole, end, known)
                best = self._best(windows, dict(whole), known, level)
                if best is None:
                    break
                window, cause, chance = best
                here.append(Detection(cause, end - 1, window, min(1.0, chance * tests)))
                here = [each for each in here if self._stays(each, series, found, here, level)]
                if not any(each.cause.key == cause.key for each in here):
                    break  # it and another one explain each other
            found += here
        return found

    def _windows(
        self,
        series: Sequence[Evidence],
        whole: Sequence[tuple[int, Evidence]],
        end: int,
        known: Sequence[Cause],
    ) -> list[tuple[int, Contrast]]:
        """Contrasts of the windows that end here.

        What is known to change is free in each recording: it may begin within a window.
        """
        if known:
            each = [self.beyond(item, known) for item in series[:end]]
            whole = [(size, Evidence.of(each[end - size :])) for size, _ in whole]
        return [(size, self.contrast(evidence)) for size, evidence in whole]

    def beyond(self, evidence: Evidence, known: Sequence[Cause]) -> Evidence:
        """Return what one recording tells beside known changes of any size."""
        parts = [part for cause in known for part in (cause.directions, cause.also)]
        return evidence.beyond(np.concatenate([*parts], axis=1)) if parts else evidence

    def _best(
        self,
        contrasts: Sequence[tuple[int, Contrast]],
        whole: Mapping[int, Evidence],
        known: Sequence[Cause],
        level: float,
    ) -> tuple[int, Cause, float] | None:
        """Of all changes that are no chance, the one that explains most: window, cause, chance."""
        best, most = None, 0.0
        keys = {each.key for each in known}
        for window, contrast in contrasts:
            together = self.contrast(whole[window]) if known else contrast
            shadow = SHADOW * together.fitted(self.space.all(known), NOTHING).size
            for place, cause in enumerate(self.causes):
                if cause.key in keys:
                    continue
                fit = contrast.fitted(self.space.own(cause), self.space.beside(cause, known))
                chance = self.chance(place, fit)
                explained = fit.size / self.spreads[place].factor - fit.rank
                if (
                    chance < level
                    and explained > most
                    and fit.size > shadow * (cause.kind != Kind.COMMON_FRICTION)
                ):
                    best, most = (window, cause, max(chance, DECISIVE)), explained
        return best

    def _stays(
        self,
        detection: Detection,
        series: Sequence[Evidence],
        before: Sequence[Detection],
        here: Sequence[Detection],
        level: float,
    ) -> bool:
        """Whether a detection is no chance beside all others."""
        others = [each.cause for each in (*before, *here) if each is not detection]
        end = detection.recording + 1
        window = [self.beyond(each, others) for each in series[end - detection.window : end]]
        contrast = self.contrast(Evidence.of(window))
        place = next(k for k, each in enumerate(self.causes) if each.key == detection.cause.key)
        indices = self.space.own(detection.cause), self.space.beside(detection.cause, others)
        return self.chance(place, contrast.fitted(*indices)) < level


def windows_before(end: int) -> list[int]:
    """Sizes of the windows that end before the recording number `end`."""
    return [2**k for k in range(end.bit_length()) if 2**k <= end]


class _Sums:
    """Sums over windows of a series, each made of two of half its size."""

    def __init__(self, series: Sequence[Evidence]) -> None:
        self._known = {(end, 1): each for end, each in enumerate(series, start=1)}

    def ending_at(self, end: int) -> list[tuple[int, Evidence]]:
        """Return size and sum of each window that ends with the recording number `end`."""
        windows = windows_before(end)
        for window in windows[1:]:
            half = window // 2
            parts = (self._known[end - half, half], self._known[end, half])
            self._known[end, window] = Evidence.of(parts)
        found = [(window, self._known[end, window]) for window in windows]
        for window in windows[1:]:  # no later one needs what ended so long ago
            self._known.pop((end - window, window), None)
        return found
