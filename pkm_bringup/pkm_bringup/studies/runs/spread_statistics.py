"""Statistics of the spread of estimates, with confidence intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.special import polygamma

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array

CONFIDENCE = 0.95
TAILS = 0.5 * (1.0 - CONFIDENCE), 0.5 * (1.0 + CONFIDENCE)
TOLERANCE = 0.2


def compare(first: Array, second: Array) -> dict[str, Any]:
    """Compare the spread of estimates (runs, n) of two experiments; runs may differ in number.

    `sigma_d`, `sigma_s` (n,): standard deviations of both, with intervals (n, 2) from the
    chi-squared distribution; `ratio` (n,): second over first, with intervals from the
    F-distribution; `smaller`: parameters whose standard deviation is smaller in the second set;
    `surely_smaller`, `surely_larger`: those whose interval of the ratio excludes 1;
    `log_volume_ratio`: ln of the volume of the confidence ellipsoid of the second set over that
    of the first, with the bias of determinants of sample covariances taken off, and its
    interval; None where the runs are no more than the parameters.

    All intervals are for independent, normally distributed estimates; see `independence`.
    Raises EstimationError for fewer than two runs, or other parameters.
    """
    if first.shape[1:] != second.shape[1:]:
        raise EstimationError(
            f'estimates of the same parameters are needed, got {first.shape} and {second.shape}'
        )
    if min(len(first), len(second)) < 2:
        raise EstimationError('one run has no spread: at least two are needed')
    sigma_d, sigma_s = (values.std(axis=0, ddof=1) for values in (first, second))
    ratio = sigma_s / sigma_d
    quantiles = np.sqrt(stats.f.ppf(TAILS, len(second) - 1, len(first) - 1))
    interval = np.stack([ratio / quantiles[1], ratio / quantiles[0]], axis=1)
    volume, spread = _log_volume_ratio(first, second)
    width = stats.norm.ppf(TAILS[1]) * spread
    known = bool(np.isfinite(volume))
    return {
        'sigma_d': sigma_d,
        'sigma_d_interval': deviation_interval(sigma_d, len(first)),
        'sigma_s': sigma_s,
        'sigma_s_interval': deviation_interval(sigma_s, len(second)),
        'ratio': ratio,
        'ratio_interval': interval,
        'smaller': int(np.sum(ratio < 1.0)),
        'surely_smaller': int(np.sum(interval[:, 1] < 1.0)),
        'surely_larger': int(np.sum(interval[:, 0] > 1.0)),
        'log_volume_ratio': volume if known else None,
        'log_volume_interval': [volume - width, volume + width] if known else None,
    }


def deviation_interval(deviation: Array, count: int) -> Array:
    """Return the confidence interval (n, 2) of standard deviations of `count` normal values."""
    factors = np.sqrt((count - 1) / stats.chi2.ppf(TAILS[::-1], count - 1))
    return np.asarray(deviation)[:, None] * factors


def agreement(predicted: Array, observed: Array, count: int) -> dict[str, Any]:
    """Return how observed standard deviations agree with predicted ones.

    `median` and `worst` of observed / predicted; `within` the number of parameters within
    20 %, `expected_within` the mean number that chance leaves of them with so many runs
    where the prediction is exact; `covered` the number of parameters whose 95 % interval
    contains the prediction; `standard_error` the relative one of a standard deviation.
    """
    ratio = observed / predicted
    interval = deviation_interval(observed, count)
    limits = (count - 1) * np.array([1.0 - TOLERANCE, 1.0 + TOLERANCE]) ** 2
    chance = np.diff(stats.chi2.cdf(limits, count - 1))[0]
    covered = (interval[:, 0] <= predicted) & (predicted <= interval[:, 1])
    return {
        'median': np.median(ratio),
        'worst': ratio[np.argmax(np.abs(np.log(ratio)))],
        'within': int(np.sum(np.abs(ratio - 1.0) <= TOLERANCE)),
        'expected_within': chance * len(ratio),
        'covered': int(np.sum(covered)),
        'standard_error': 1.0 / np.sqrt(2.0 * (count - 1)),
    }


def independence(values: Array) -> dict[str, float]:
    """Return how estimates (runs, n) depend on those of the run before.

    `lag_1` is the mean autocorrelation over the parameters, its bias of -1/runs taken off;
    `strongest` the largest of a parameter, `chance` what the largest of as many
    independent ones stays below with 95 %.
    """
    count, n = values.shape
    centred = values - values.mean(axis=0)
    lag = np.sum(centred[1:] * centred[:-1], axis=0) / np.sum(centred**2, axis=0) + 1.0 / count
    level = 0.5 * (1.0 + CONFIDENCE ** (1.0 / n))
    return {
        'lag_1': float(lag.mean()),
        'strongest': float(lag[np.argmax(np.abs(lag))]),
        'chance': float(stats.norm.ppf(level) / np.sqrt(count)),
    }


def mean_of_runs(values: ArrayLike) -> dict[str, Any]:
    """Return mean and standard deviation of a figure over runs, and the mean's interval.

    `interval` is that of Student's t, for independent runs; None for fewer than two.
    """
    figures = np.asarray(values, dtype=float)
    mean, count = float(figures.mean()), len(figures)
    if count < 2:
        return {'mean': mean, 'deviation': None, 'interval': None}
    deviation = float(figures.std(ddof=1))
    half = float(stats.t.ppf(TAILS[1], count - 1)) * deviation / np.sqrt(count)
    return {'mean': mean, 'deviation': deviation, 'interval': [mean - half, mean + half]}


def bias(values: Array, truth: Array) -> tuple[Array, Array]:
    """Return the mean error (n,) of estimates (runs, n), and its standard error."""
    return values.mean(axis=0) - truth, values.std(axis=0, ddof=1) / np.sqrt(len(values))


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
