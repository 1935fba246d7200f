"""Levels that scores of single axes, and of all axes together, exceed as often as is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array, Mask
from pkm_identification.monitoring.alarm_rates import DAY, AlarmRate

ROUNDING = 1e-9  # of a variance of scores: drives with one and the same error keep a level


@dataclass(frozen=True)
class ScoreStatistics:
    """What scores (k, n_a), forces over their own deviations, do while nothing is wrong.

    Their sizes (k, n_a + 1) are those of the axes, and of all together, whitened.
    """

    whitening: Array  # (n_a, n_a) that makes scores independent
    rates: tuple[AlarmRate, ...]  # of the axes, then of all together

    @classmethod
    def of(cls, scores: Array, rate: float) -> ScoreStatistics:
        """Find them in scores sampled at `rate` [Hz]."""
        covariance = scores.T @ scores / len(scores) + ROUNDING * np.eye(scores.shape[1])
        whitening = np.linalg.inv(np.linalg.cholesky(covariance))
        single = [AlarmRate.of(each[:, None], rate) for each in scores.T]
        return cls(whitening, (*single, AlarmRate.of(scores @ whitening.T, rate)))

    def sizes(self, scores: Array) -> Array:
        """Sizes (k, n_a + 1) of scores."""
        together = np.linalg.norm(scores @ self.whitening.T, axis=1)
        return np.column_stack([np.abs(scores), together])

    def levels(self, false_alarms: float) -> Array:
        """Levels (n_a + 1,) of sizes, with so many false alarms a day in all."""
        return alarm_levels(self.rates, false_alarms)


@dataclass(frozen=True)
class Judged:
    """Sizes of scores over their alarm levels."""

    ratios: Array  # (k, n_a + 1) of the axes, and of all together

    @property
    def alarms(self) -> Mask:
        """Which instants (k,) are beyond a level."""
        return np.asarray((self.ratios > 1.0).any(axis=1))


def alarm_levels(rates: Sequence[AlarmRate], false_alarms: float) -> Array:
    """Levels of single axes, then of all together, with so many false alarms a day in all.

    `rates` are in that order. Half of the alarms is left to all axes together, the other half to
    single ones. Raises EstimationError where the number is not between 0 and one a second.
    """
    if not 0.0 < false_alarms < DAY:
        raise EstimationError(f'false_alarms: more than 0 a day are needed, got {false_alarms}')
    shares = [*[0.5 / max(len(rates) - 1, 1)] * (len(rates) - 1), 0.5]
    pairs = zip(rates, shares, strict=True)
    return np.array([rate.level(share * false_alarms / DAY) for rate, share in pairs])
