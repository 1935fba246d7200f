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

    Their sizes (k, n_a + 1) are those of the axes, and of all together, whitened: what errors of
    the motion make is alike in all axes, the `own` share (k, n_a) of the variance of a score, as of
    friction of a drive at rest, is not.
    """

    correlation: Array  # (n_a, n_a) of scores, beside their own shares
    rates: tuple[AlarmRate, ...]  # of the axes, then of all together

    @classmethod
    def of(cls, scores: Array, rate: float, own: Array | None = None) -> ScoreStatistics:
        """Find them in scores sampled at `rate` [Hz]."""
        correlation = _correlation(scores, np.zeros_like(scores) if own is None else own)
        single = [AlarmRate.of(each[:, None], rate) for each in scores.T]
        together = AlarmRate.of(_whitened(scores, correlation, own), rate)
        return cls(correlation, (*single, together))

    def sizes(self, scores: Array, own: Array | None = None) -> Array:
        """Sizes (k, n_a + 1) of scores."""
        together = np.linalg.norm(_whitened(scores, self.correlation, own), axis=1)
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


def _correlation(scores: Array, own: Array) -> Array:
    """Correlation (n_a, n_a) of scores, of moments at which their own shares are small.

    Axes that are seldom free of their own share at one time count as less correlated than they are.
    """
    shared = (1.0 - own) * scores
    size = np.maximum(np.sqrt(np.mean(shared**2, axis=0)), np.finfo(float).tiny)
    relative = shared / size
    found = relative.T @ relative / len(scores)
    np.fill_diagonal(found, 1.0)
    return found + ROUNDING * np.eye(len(found))


def _whitened(scores: Array, correlation: Array, own: Array | None) -> Array:
    """Independent scores (k, n_a) of variance 1."""
    if own is None:
        return np.asarray(np.linalg.solve(np.linalg.cholesky(correlation), scores.T).T)
    shared = np.sqrt(1.0 - own)
    covariance = shared[:, :, None] * correlation * shared[:, None, :]
    covariance += own[:, :, None] * np.eye(scores.shape[1])
    return np.asarray(np.linalg.solve(np.linalg.cholesky(covariance), scores[..., None])[..., 0])
