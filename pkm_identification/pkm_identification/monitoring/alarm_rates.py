"""How often a quantity that nothing disturbs exceeds a level by chance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln

from pkm_identification.arrays import Array

# Levels, in standard deviations of one axis, at which the tail is compared with a normal one
COMPARED = (1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
LEAST_CROSSINGS = 20  # of a level that says something about the tail: known to a quarter
LEAST_EXPONENT = 0.5  # tails of an exponential distribution: extremes that nothing bounds better
RARE = 0.05  # chance of a size that a tail does not foresee
RULE_OF_THREE = 3.0  # events that a time without one may have, with a confidence of 95 %
HIGHEST = 1e4  # level: beyond it nothing is by chance
DAY = 86400.0  # [s]


@dataclass(frozen=True)
class AlarmRate:
    """Rate at which the root of a sum of `axes` squared normal processes crosses a level upwards.

    Each has variance 1 and `quickness` [1/s], the RMS of its derivative [Rice 1945; Lindgren 1980].
    Real residuals have larger extremes than normal ones: a level u is for them what
    `tail` u^`exponent` is for normal ones, or u where that is less.
    """

    axes: int
    quickness: float
    tail: float = 1.0
    exponent: float = 1.0  # at most 1: lighter tails promise nothing beyond what was seen
    largest: float = 0.0  # size that was seen
    duration: float = 0.0  # [s] in which it was

    @classmethod
    def of(cls, scores: Array, rate: float) -> AlarmRate:
        """Fit to the roots of sums of squares of scores (k, axes), sampled at `rate` [Hz]."""
        axes = scores.shape[1]
        slopes = np.diff(scores, axis=0) * rate
        variance = np.maximum(np.mean(scores**2, axis=0), np.finfo(float).tiny)
        quickness = float(np.sqrt(np.mean(np.mean(slopes**2, axis=0) / variance)))
        size = np.sqrt(np.sum(scores**2, axis=1))
        duration = len(size) / rate
        extreme = {'largest': float(size.max()), 'duration': duration}
        normal = cls(axes, max(quickness, np.finfo(float).tiny), **extreme)
        levels, alike, weights = [], [], []
        for level in np.sqrt(axes - 1 + np.square(COMPARED)):
            count = np.count_nonzero((size[1:] > level) & (size[:-1] <= level))
            if count >= LEAST_CROSSINGS:
                levels.append(np.log(level))
                alike.append(np.log(normal.level(count / duration)))
                weights.append(np.sqrt(count))
        if len(levels) < 2:
            return normal
        slope, _ = np.polyfit(levels, alike, 1, w=weights)
        exponent = float(np.clip(slope, LEAST_EXPONENT, 1.0))
        tail = np.average(np.array(alike) - exponent * np.array(levels), weights=np.square(weights))
        return replace(normal, tail=float(np.exp(tail)), exponent=exponent)

    def rate(self, level: float) -> float:
        """Crossings a second [1/s] of a level above the most likely size."""
        return float(np.exp(self._logarithm(level)))

    def _logarithm(self, level: float) -> float:
        u, n = min(self.tail * level**self.exponent, level), self.axes
        size = (n - 1) * np.log(u) - u**2 / 2 - (n - 1) / 2 * np.log(2) - gammaln(n / 2)
        return float(size + np.log(self.quickness / np.sqrt(np.pi)))

    def level(self, rate: float) -> float:
        """Level that is crossed at this rate [1/s]; the most likely size where none is so often.

        Few rare moments, as of a slow start, make no crossings of low levels, which the tail is
        from. Levels that would hardly be crossed in the time that was seen are therefore no less
        than the largest size says, with a confidence of 95 %: such a size is not crossed more than
        three times in that time [the rule of three, Hanley and Lippman-Hand 1983]. From there on
        extremes grow as the tail says, or, where it did not foresee such a size, as those of an
        exponential distribution.
        """
        found = self._level(rate)
        if rate * self.duration >= 1.0:
            return found
        normal = AlarmRate(self.axes, self.quickness)
        usual = normal._level(RULE_OF_THREE / self.duration) if self.duration else np.inf
        more = max(normal._level(rate) / usual, 1.0)
        foreseen = self.largest <= self._level(RARE / self.duration) if self.duration else True
        exponent = self.exponent if foreseen else LEAST_EXPONENT
        return max(found, self.largest * more ** (1.0 / exponent))

    def _level(self, rate: float) -> float:
        least = max(np.sqrt(self.axes - 1), 1e-3)  # most likely of normal ones
        least = max(least, (least / self.tail) ** (1.0 / self.exponent))
        if self.rate(least) <= rate:
            return float(least)
        wanted = np.log(rate)
        return float(brentq(lambda level: self._logarithm(level) - wanted, least, HIGHEST))
