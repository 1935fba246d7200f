"""Whether noise is normal and how its axes go together, where it is correlated in time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from pkm_bringup.studies.runs.spread_statistics import TAILS
from pkm_identification.arrays import Array


class Normality(NamedTuple):
    """Test of one series."""

    skewness: float
    excess_kurtosis: float
    p_value: float


def normality_in_time(values: Array) -> Normality:
    """Test whether a stationary series (n,) is normal, whatever its correlation in time.

    Skewness and kurtosis against the variances that the autocovariances g of a normal process
    give them [Lobato and Velasco 2004, Econometric Theory 20]: with m_k the central moments,
    n (m_3^2 / (6 sum g^3) + (m_4 - 3 m_2^2)^2 / (24 sum g^4)) is chi-squared with two degrees of
    freedom. White noise has sum g^k = m_2^k: the test of Jarque and Bera.
    """
    count, centred = len(values), values - values.mean()
    second, third, fourth = (np.mean(centred**k) for k in (2, 3, 4))
    power = np.abs(np.fft.rfft(centred, 2 * count)) ** 2  # zeros behind: not wrapped around
    covariance = np.fft.irfft(power)[:count] / count
    # g_j with what it lacks of the lag n - j: then the sums are consistent over all lags
    wrapped = covariance + np.append(0.0, covariance[:0:-1])
    cubes, fourths = (
        2 * np.sum(covariance * wrapped ** (k - 1)) - covariance[0] * wrapped[0] ** (k - 1)
        for k in (3, 4)
    )
    of_skewness = third**2 / (6 * cubes)
    of_kurtosis = (fourth - 3 * second**2) ** 2 / (24 * fourths)
    chance = stats.chi2.sf(count * (of_skewness + of_kurtosis), 2)
    return Normality(float(third / second**1.5), float(fourth / second**2 - 3), float(chance))


def spread_with_intervals(moments: Array) -> dict[str, Array]:
    """Return standard deviations and correlations of noise, with 95 % intervals.

    `moments` (P, n, n) are mean products of the noise in each of P periods, which are independent
    of each other: leaving out one at a time (jackknife) shows the chance of their mean, whatever
    the correlation in time within them. `deviation` (n,), `correlation` (n, n), and their
    `*_interval` (.., 2).
    """
    count, size = moments.shape[:2]
    total = moments.sum(axis=0)
    logs, angles = _logarithms(total / count), _angles(total / count)
    without = (total - moments) / (count - 1)
    each_log = np.array([_logarithms(part) for part in without])
    each_angle = np.array([_angles(part) for part in without])
    width = float(stats.t.ppf(TAILS[1], count - 1)) * np.array([-1.0, 1.0])
    diagonal = np.eye(size, dtype=bool)

    def interval(value: Array, each: Array) -> Array:
        error = np.sqrt((count - 1) * np.mean((each - each.mean(axis=0)) ** 2, axis=0))
        return np.asarray(value[..., None] + error[..., None] * width)

    correlation, limits = np.tanh(angles), np.tanh(interval(angles, each_angle))
    correlation[diagonal], limits[diagonal] = 1.0, 1.0
    return {
        'deviation': np.exp(logs),
        'deviation_interval': np.exp(interval(logs, each_log)),
        'correlation': correlation,
        'correlation_interval': limits,
    }


def _logarithms(covariance: Array) -> Array:
    return np.asarray(0.5 * np.log(np.diag(covariance)))


def _angles(covariance: Array) -> Array:
    """Correlations in the scale in which they are nearly normal (Fisher); 0 on the diagonal."""
    deviation = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(deviation, deviation)
    return np.asarray(np.arctanh(np.where(np.eye(len(deviation), dtype=bool), 0.0, correlation)))
