"""Limits for random figures, from their distributions.

Inputs of statistical tests are fixed (a seed, a shipped design), so that a test that passes
passes everywhere. Its limits must not be met by luck: for another seed, or another version of
the random generator, a check that uses this module fails with `CHANCE` at most where the code
is right. With fewer than a thousand such checks the whole suite stays below 1e-6.

Where several figures are checked at once, `figures` is their number; chances are shared out
among them (Bonferroni), which holds for figures that depend on one another, too.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

CHANCE = 1e-9
"""Of one check to fail by chance alone."""


def normal_limit(figures: int = 1) -> float:
    """Largest magnitude of standard normal figures."""
    return float(stats.norm.isf(CHANCE / (2 * figures)))


def mean_limit(runs: int, figures: int = 1) -> float:
    """Largest error of means over runs, in standard deviations of one run."""
    return normal_limit(figures) / np.sqrt(runs)


def deviation_range(runs: int, figures: int = 1) -> tuple[float, float]:
    """Least and largest observed over true standard deviation, of `runs` normal values each."""
    return spread_range(runs - 1, figures)


def spread_range(degrees: int, figures: int = 1) -> tuple[float, float]:
    """Range of the root of chi^2 / degrees; see `spread_of`."""
    tail = CHANCE / (2 * figures)
    low, high = stats.chi2.ppf(tail, degrees), stats.chi2.isf(tail, degrees)
    return float(np.sqrt(low / degrees)), float(np.sqrt(high / degrees))


def ratio_range(first: int, second: int, figures: int = 1) -> tuple[float, float]:
    """Range of a deviation of `second` runs over one of `first` runs, where both are the same."""
    tail = CHANCE / (2 * figures)
    low = stats.f.ppf(tail, second - 1, first - 1)
    high = stats.f.isf(tail, second - 1, first - 1)
    return float(np.sqrt(low)), float(np.sqrt(high))


def count_range(chance: float, trials: int, figures: int = 1) -> tuple[int, int]:
    """Least and largest number of independent trials with an event of this chance."""
    tail = CHANCE / (2 * figures)
    return int(stats.binom.ppf(tail, trials, chance)), int(stats.binom.isf(tail, trials, chance))


def whitened(estimates: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Deviations from the mean (runs, n) that have unit covariance where `covariance` is right."""
    scale = np.sqrt(np.diag(covariance))
    root = np.linalg.cholesky(covariance / np.outer(scale, scale))
    return np.linalg.solve(root, ((estimates - estimates.mean(axis=0)) / scale).T).T


def spread_of(estimates: np.ndarray, covariance: np.ndarray) -> float:
    """Observed spread of estimates (runs, n) of a known covariance, all n together, over that.

    One figure for all parameters, correlated ones included; its square times its degrees of
    freedom n (runs - 1) is chi^2, so that it tells much smaller differences than the
    deviations of single parameters: compare with `spread_range(n * (runs - 1))`.
    """
    runs, size = estimates.shape
    squares = np.sum(whitened(estimates, covariance) ** 2)
    return float(np.sqrt(squares / (size * (runs - 1))))


def whitened_error(error: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Error (n,) of an estimate as independent numbers of variance one, if `covariance` is right.

    Of many runs, the root of their mean square lies in `spread_range` of their number, and
    their means below `mean_limit`.
    """
    scale = np.sqrt(np.diag(covariance))
    root = np.linalg.cholesky(covariance / np.outer(scale, scale))
    return np.linalg.solve(root, error / scale)
