"""What the residuals of a fit say about noise and model, axis by axis.

Each test has a p-value: the chance of at least as odd a figure if the model is right and
the noise is what it was measured to be. Rows are what the estimator fits: Fourier
coefficients of an averaged period, or filtered samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.signal import sosfreqz

from pkm_identification.arrays import Array
from pkm_identification.signals.bands import FilterBand

OUTLIER = 4.0  # robust standard deviations
TESTED = 2000  # samples; a test of more finds deviations that do not matter
WORST = 3  # moments that a report names
LEAST_ORDINATES = 8  # of a spectrum: a test of fewer finds nothing
PASSED = 0.05  # of the largest power that a filter passes: with less, what leaks in is more


@dataclass(frozen=True)
class AxisResiduals:
    """Residuals of one actuator in one recording.

    Attributes
    ----------
    joint, run
        Actuator, and number of the recording.
    rows
        Number of rows.
    rms
        Root mean square of the rows [N, N m].
    noise_rms
        What the noise of the rows makes of it, less what the fit takes [N, N m].
    variance_ratio
        Square of rms / noise_rms; 1 where the noise explains the residuals.
    variance_p_value
        Chance of at least that ratio (F-distribution, with the degrees of freedom of the
        residuals and of the noise); nan where the noise was taken from the residuals.
    whiteness_p_value
        Of a flat spectrum, relative to that of the noise: Kolmogorov-Smirnov distance of
        the cumulative periodogram (Bartlett). Filtered samples are compared with what the
        filter makes of white noise.
    peak_frequency
        Where the relative spectrum, smoothed over five ordinates, is largest [Hz].
    skewness, excess_kurtosis
        Of the residuals of single samples; 0 for normal ones.
    normality_p_value
        D'Agostino and Pearson's test on at most 2000 evenly spread samples; it takes them
        for independent.
    outlier_share
        Samples beyond 4 robust standard deviations; 6.3e-5 of normal ones.
    worst_times, worst_residuals
        Stamps [s] of the largest residuals within the band of the rows, and these [N, N m]
        in units of force; of averaged data within the first period.
    """

    joint: str
    run: int
    rows: int
    rms: float = float('nan')
    noise_rms: float = float('nan')
    variance_ratio: float = float('nan')
    variance_p_value: float = float('nan')
    whiteness_p_value: float = float('nan')
    peak_frequency: float = float('nan')
    skewness: float = float('nan')
    excess_kurtosis: float = float('nan')
    normality_p_value: float = float('nan')
    outlier_share: float = float('nan')
    worst_times: tuple[float, ...] = ()
    worst_residuals: tuple[float, ...] = ()


def bartlett_test(ordinates: Array) -> float:
    """Chance of so uneven a cumulative periodogram if the spectrum is flat.

    The normalised partial sums of independent exponential ordinates are uniform order
    statistics, so the Kolmogorov-Smirnov test is exact for them.

    Parameters
    ----------
    ordinates
        Periodogram (k,) relative to the expected spectrum, in order of frequency.

    Returns
    -------
    float
        nan with fewer than 8 ordinates, or where all are zero.
    """
    total = float(ordinates.sum())
    if len(ordinates) < LEAST_ORDINATES or not total > 0:
        return float('nan')
    sums = np.cumsum(ordinates)[:-1] / total
    return float(stats.kstest(sums, 'uniform').pvalue)


def coefficient_periodogram(whitened: Array) -> Array:
    """Periodogram (K,) at harmonics 1 ... K of rows (2 K + 1,) of a `HarmonicBand`."""
    return np.asarray((whitened[1::2] ** 2 + whitened[2::2] ** 2) / 2)


def filtered_periodogram(rows: Array, band: FilterBand) -> tuple[Array, Array]:
    """Periodogram of filtered rows, over what the filter makes of white noise.

    Parameters
    ----------
    rows
        Consecutive rows (m,) of one actuator.
    band
        That the forces went through before they were thinned out.

    Returns
    -------
    frequencies, ordinates
        (k,) [Hz], and the relative ordinates (k,), where the filter passes enough.
    """
    count = len(rows)
    power = np.abs(np.fft.rfft(rows - rows.mean())) ** 2 / count
    spacing = band.rate / band.step
    frequency = np.fft.rfftfreq(count, 1 / spacing)
    shape = np.zeros(len(frequency))
    for fold in range(-(band.step // 2) - 1, band.step // 2 + 2):
        alias = np.abs(frequency + fold * spacing)
        inside = alias <= band.rate / 2
        _, gain = sosfreqz(band.sections, worN=2 * np.pi * alias[inside] / band.rate)
        shape[inside] += np.abs(gain) ** 4
    inner = np.arange(1, (count + 1) // 2)  # without the mean and the highest frequency
    inner = inner[shape[inner] > PASSED * shape.max(initial=0.0)]
    return np.asarray(frequency[inner], dtype=float), power[inner] / shape[inner]


def normality(samples: Array) -> tuple[float, float, float]:
    """Skewness, excess kurtosis and p-value of D'Agostino and Pearson's test of samples (n,)."""
    if len(samples) < 20 or not samples.std() > 0:
        return float('nan'), float('nan'), float('nan')
    stride = -(-len(samples) // TESTED)
    p_value = float(stats.normaltest(samples[::stride]).pvalue)
    return float(stats.skew(samples)), float(stats.kurtosis(samples)), p_value


def outlier_share(samples: Array) -> float:
    """Share of samples (n,) beyond 4 robust standard deviations from their median."""
    distance = np.abs(samples - np.median(samples))
    scale = float(np.median(distance)) / stats.norm.ppf(0.75)
    return float(np.mean(distance > OUTLIER * scale)) if scale > 0 else 0.0


def worst_moments(time: Array, residuals: Array, apart: float) -> tuple[Array, Array]:
    """Stamps and values of the largest residuals (n,), at least `apart` [s] from each other."""
    left = np.abs(residuals)
    chosen: list[int] = []
    while len(chosen) < WORST and (left >= 0).any():
        chosen.append(int(np.argmax(left)))
        left[np.abs(time - time[chosen[-1]]) < apart] = -1.0
    return time[chosen], residuals[chosen]
