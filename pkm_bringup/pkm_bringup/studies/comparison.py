"""Statistics of the spread of estimates, with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import polygamma

Array = NDArray[np.float64]
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Comparison:
    """The spread of two sets of estimates of the same parameters.

    Attributes
    ----------
    names : tuple of str
    first, second : (n,)
        Standard deviations of the estimates.
    first_interval, second_interval : (n, 2)
        Their confidence intervals, from the chi-squared distribution.
    ratio, ratio_interval : (n,), (n, 2)
        second / first, from the F-distribution.
    smaller : int
        Parameters whose standard deviation is smaller in the second set.
    surely_smaller, surely_larger : int
        Those whose interval of the ratio excludes 1.
    log_volume_ratio, log_volume_interval : float, (2,)
        ln of the volume of the confidence ellipsoid of the second set over that of the first.
    """

    names: tuple[str, ...]
    first: Array
    second: Array
    first_interval: Array
    second_interval: Array
    ratio: Array
    ratio_interval: Array
    smaller: int
    surely_smaller: int
    surely_larger: int
    log_volume_ratio: float
    log_volume_interval: tuple[float, float]


def compare(names: list[str], first: Array, second: Array) -> Comparison:
    """Compare estimates (runs, n) of two experiments; runs may differ in number."""
    deviations = [values.std(axis=0, ddof=1) for values in (first, second)]
    degrees = len(first) - 1, len(second) - 1
    ratio = deviations[1] / deviations[0]
    tails = 0.5 * (1.0 - CONFIDENCE), 0.5 * (1.0 + CONFIDENCE)
    quantiles = np.sqrt(stats.f.ppf(tails, degrees[1], degrees[0]))
    interval = np.stack([ratio / quantiles[1], ratio / quantiles[0]], axis=1)
    volume, spread = _log_volume_ratio(first, second)
    width = stats.norm.ppf(tails[1]) * spread
    return Comparison(
        tuple(names),
        deviations[0],
        deviations[1],
        deviation_interval(deviations[0], len(first)),
        deviation_interval(deviations[1], len(second)),
        ratio,
        interval,
        int(np.sum(ratio < 1.0)),
        int(np.sum(interval[:, 1] < 1.0)),
        int(np.sum(interval[:, 0] > 1.0)),
        volume,
        (volume - width, volume + width),
    )


def deviation_interval(deviation: Array, count: int) -> Array:
    """Return the confidence interval (n, 2) of standard deviations of `count` normal values."""
    tails = 0.5 * (1.0 + CONFIDENCE), 0.5 * (1.0 - CONFIDENCE)
    factors = np.sqrt((count - 1) / stats.chi2.ppf(tails, count - 1))
    return np.asarray(deviation)[:, None] * factors


def agreement(predicted: Array, observed: Array, count: int) -> dict[str, Any]:
    """Return how observed standard deviations agree with predicted ones.

    `median` and `worst` of observed / predicted; `within` the share of the parameters
    within 20 %, `expected_within` what chance leaves of it with so many runs where the
    prediction is exact; `covered` the share of the parameters whose interval contains
    the prediction.
    """
    ratio = observed / predicted
    interval = deviation_interval(observed, count)
    limits = (count - 1) * np.array([0.8, 1.2]) ** 2
    chance = np.diff(stats.chi2.cdf(limits, count - 1))[0]
    covered = (interval[:, 0] <= predicted) & (predicted <= interval[:, 1])
    return {
        'median': float(np.median(ratio)),
        'worst': float(ratio[np.argmax(np.abs(np.log(ratio)))]),
        'within': float(np.mean(np.abs(ratio - 1.0) <= 0.2)),
        'expected_within': float(chance),
        'covered': float(np.mean(covered)),
    }


def _log_volume_ratio(first: Array, second: Array) -> tuple[float, float]:
    """Return ln(volume of second / volume of first) and its standard deviation.

    The determinant of a sample covariance is a product of independent chi-squared
    values (Wishart); its bias is taken off.
    """
    logs, variance = [], 0.0
    for values in (first, second):
        count, n = values.shape
        if count <= n + 1:
            return float('nan'), float('nan')
        scale = values.std(axis=0, ddof=1)
        correlation = np.cov((values / scale).T)
        halves = 0.5 * (count - 1 - np.arange(n))
        bias = np.sum(polygamma(0, halves) + np.log(2.0) - np.log(count - 1.0))
        determinant = np.linalg.slogdet(np.atleast_2d(correlation))[1] + 2 * np.log(scale).sum()
        logs.append(0.5 * (determinant - bias))
        variance += 0.25 * float(np.sum(polygamma(1, halves)))
    return float(logs[1] - logs[0]), float(np.sqrt(variance))
