"""What the residuals of a fit say about noise and model, axis by axis.

Rows are what the estimator fits: Fourier coefficients of an averaged period, or filtered samples.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtrc, fdtrc, kolmogorov, ndtri, smirnov

from pkm_identification.arrays import Array
from pkm_identification.covariance.axis_residuals import AxisResiduals
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Run
from pkm_identification.regression.weighted_least_squares import (
    RANK_TOLERANCE,
    Estimate,
    rows_for,
    weights_of,
)
from pkm_identification.signals.bands import FilterBand

OUTLIER = 4.0  # robust standard deviations
TESTED = 2000  # samples; a test of more finds deviations that do not matter
WORST = 3  # moments that a report names
LEAST_ORDINATES = 8  # of a spectrum: a test of fewer finds nothing
PASSED = 0.05  # of the largest power that a filter passes: with less, what leaks in is more
LEAST_SHARE = 1e-3  # of the noise of a row that a fit leaves: below it is rounding
SMOOTHED = 5  # ordinates: a single one is exponential, its peak means nothing


class _Left(NamedTuple):
    """What a fit leaves of a run, and what the noise makes of it."""

    rows: Array  # (m, n_a)
    expected: Array  # variances (m, n_a)
    ratios: Array  # (n_a,) of the variance over the expected one
    p_values: Array  # (n_a,)
    spectra: list[tuple[Array, Array]]  # frequencies [Hz] and relative ordinates of each actuator
    samples: Array  # (k, n_a)
    time: Array  # (n,) of `smooth` [s]
    smooth: Array  # (n, n_a), within the band
    apart: float  # shortest time between moments that are named [s]


def analyse_residuals(
    problem: Problem, estimate: Estimate, in_time: list[Array | None]
) -> tuple[AxisResiduals, ...]:
    """Analyse what a fit leaves, actuator by actuator in each run.

    The estimate has the noise of the rows (see `residual_scaling.with_noise`); `in_time` are
    measured minus predicted forces (n, n_a) of each run at its samples, before the band, None for
    recordings that are too long.
    """
    found = []
    for number, (run, samples) in enumerate(zip(problem.runs, in_time, strict=True)):
        if run.is_periodic:
            left = _periodic(problem, estimate, number, np.asarray(samples))
        else:
            left = _filtered(run, estimate, samples)
        for axis, joint in enumerate(run.model.actuated_joints):
            found.append(_axis(joint, number, left, axis))
    return tuple(found)


def bartlett_test(ordinates: Array) -> float:
    """Chance of so uneven a cumulative periodogram (k,) if the spectrum is flat.

    The normalised partial sums of independent exponential ordinates are uniform order
    statistics, so the Kolmogorov-Smirnov test is exact for them. nan with fewer than 8
    ordinates, or where all are zero.
    """
    total = float(ordinates.sum())
    if len(ordinates) < LEAST_ORDINATES or not total > 0:
        return float('nan')
    sums = np.cumsum(ordinates)[:-1] / total
    count = len(sums)
    steps = np.arange(count + 1) / count
    distance = max(float(np.max(steps[1:] - sums)), float(np.max(sums - steps[:-1])))
    # Twice the one-sided chance is exact to 1e-3 below 0.2, where only one side can be far off;
    # above, the limit for many ordinates as Stephens (1970) corrects it, to 3 %.
    chance = 2 * float(smirnov(count, distance))
    root = np.sqrt(count)
    return chance if chance < 0.2 else float(kolmogorov((root + 0.12 + 0.11 / root) * distance))


def filtered_periodogram(rows: Array, band: FilterBand) -> tuple[Array, Array]:
    """Periodogram of consecutive filtered rows (m,), over what the filter makes of white noise.

    Frequencies (k,) [Hz] and relative ordinates (k,), where the filter passes enough.
    """
    from scipy.signal import sosfreqz  # takes as long to load as a recording

    count = len(rows)
    power = np.abs(np.fft.rfft(rows - rows.mean())) ** 2 / count
    spacing = band.rate / band.step
    frequency = np.fft.rfftfreq(count, 1 / spacing)
    alias = frequency + spacing * np.arange(band.step)[:, None]  # up to the rate of the samples
    _, gain = sosfreqz(band.sections, worN=2 * np.pi * alias.ravel() / band.rate)
    shape = np.sum(np.abs(gain.reshape(alias.shape)) ** 4, axis=0)
    inner = np.arange(1, (count + 1) // 2)  # without the mean and the highest frequency
    inner = inner[shape[inner] > PASSED * shape.max()]
    return np.asarray(frequency[inner], dtype=float), power[inner] / shape[inner]


def peak_frequency(frequency: Array, ordinates: Array) -> float:
    """Frequency about which the ordinates (k,) of a spectrum are largest; nan of too few."""
    if len(ordinates) < SMOOTHED:
        return float('nan')
    reach = SMOOTHED // 2  # sums at the ends are of those that there are
    total = np.convolve(ordinates, np.ones(SMOOTHED))[reach:-reach]
    return float(frequency[np.argmax(total)])


def outlier_share(samples: Array) -> float:
    """Share of samples (n,) beyond 4 robust standard deviations from their median."""
    distance = np.abs(samples - np.median(samples))
    scale = float(np.median(distance)) / float(ndtri(0.75))
    return float(np.mean(distance > OUTLIER * scale)) if scale > 0 else 0.0


def worst_moments(time: Array, residuals: Array, apart: float) -> tuple[Array, Array]:
    """Stamps and values of the largest residuals (n,), at least `apart` [s] from each other."""
    left = np.abs(residuals)
    chosen: list[int] = []
    while len(chosen) < WORST and (left >= 0).any():
        chosen.append(int(np.argmax(left)))
        left[np.abs(time - time[chosen[-1]]) < apart] = -1.0
    return time[chosen], residuals[chosen]


def left_variance(problem: Problem, estimate: Estimate, number: int) -> Array:
    """Variance (m, n_a) that the noise of a run's rows leaves in the residuals of a fit.

    With whitening weights L and Q the orthonormal basis of the columns of L Psi (all runs,
    and the prior), the weighted residuals are (1 - Q Q^T) L eta. Estimates without weights
    are taken for efficient ones, which weigh by the inverse noise.
    """
    weights = weights_of(problem, estimate)
    parts = []  # L Psi, and S = L noise L^T
    for run, weight, noise in zip(problem.runs, weights, estimate.row_noise, strict=True):
        design = rows_for(run, weight, noise).weighted(weight)[0]
        parts.append((design, weight @ noise @ np.swapaxes(weight, -1, -2)))
    basis = _orthonormal([problem.prior_rows, *(design for design, _ in parts)])
    taken = (problem.prior_rows @ basis).T @ (problem.prior_rows @ basis)
    for design, spread in parts:  # Q^T S Q
        part = (design @ basis).reshape(-1, problem.axes, basis.shape[1])
        taken = taken + np.einsum('kaf,kag->fg', part, spread @ part, optimize=True)
    weight, spread, noise = weights[number], parts[number][1], estimate.row_noise[number]
    own = (weight @ problem.runs[number].regressor) @ basis  # (m, n_a, rank)
    hat, turned = own @ np.swapaxes(own, -1, -2), np.swapaxes(own, -1, -2)
    left = spread - hat @ spread - spread @ hat + own @ taken @ turned
    back = np.linalg.inv(weight)
    variance = np.einsum('...aa->...a', back @ left @ np.swapaxes(back, -1, -2))
    return np.asarray(np.maximum(variance, LEAST_SHARE * np.diagonal(noise, axis1=-2, axis2=-1)))


def _orthonormal(blocks: list[Array]) -> Array:
    """Matrix (f, rank) that turns stacked rows (k, f) into rows of orthonormal columns."""
    stacked = np.concatenate(blocks)
    length = np.linalg.norm(stacked, axis=0)
    scale = np.where(length > 0, length, 1.0)
    _, singular, right = np.linalg.svd(np.linalg.qr(stacked / scale, mode='r'))
    kept = singular > RANK_TOLERANCE * singular[0]
    return np.asarray(right[kept].T / singular[kept] / scale[:, None])


def _periodic(problem: Problem, estimate: Estimate, number: int, in_time: Array) -> _Left:
    """Residuals of Fourier coefficients, and of the samples of all periods."""
    run = problem.runs[number]
    signals: Any = run.signals
    band = signals.band
    rows = run.residuals(estimate.values)
    left = left_variance(problem, estimate, number)
    own = np.diagonal(estimate.row_noise[number], axis1=-2, axis2=-1)
    freedom = np.sum(left / own, axis=0)
    ratios = np.sum(rows**2 / own, axis=0) / freedom
    p_values = np.full(run.axes, np.nan)
    if run.covariance is not None and signals.force_noise is not None and signals.averaged > 1:
        count = len(signals) if signals.force_noise.is_white else run.count
        p_values = fdtrc(freedom, float((signals.averaged - 1) * count), ratios)
    whitened = rows / np.sqrt(left)
    ordinates = (whitened[1::2] ** 2 + whitened[2::2] ** 2) / 2  # at harmonics 1 ... K
    frequency = np.arange(1, len(ordinates) + 1) / band.period
    if band.weights is not None:
        in_time = in_time * band.weights
    samples = in_time
    if signals.folded_forces is not None:  # the spread over the periods and that of the mean
        deviations = signals.folded_forces.some - signals.folded_forces.mean
        samples = (deviations + in_time).reshape(-1, run.axes)
    return _Left(
        rows,
        left,
        ratios,
        p_values,
        [(frequency, column) for column in ordinates.T],
        samples,
        signals.time,
        band.smooth(in_time),
        band.period / (2.0 * band.harmonics),
    )


def _filtered(run: Run, estimate: Estimate, in_time: Array | None) -> _Left:
    """Residuals of filtered samples: all, or stretches of a long run."""
    signals: Any = run.signals
    band = signals.band
    assert isinstance(band, FilterBand)
    pieces = [piece.residuals(estimate.values) for piece in run.folded.sample]
    rows = np.concatenate(pieces)
    if in_time is not None:
        inside = signals.usable
        predicted = band.smooth(signals.forces - in_time)  # the forces are in the band already
        smooth, time = (signals.forces - predicted)[inside], signals.time[inside]
    else:
        counts = [
            start + np.arange(len(piece))
            for start, piece in zip(run.folded.starts, pieces, strict=True)
        ]
        smooth = rows
        time = signals.stamp(0) + (band.trim + band.step * np.concatenate(counts)) / band.rate
    spectra = []
    for axis in range(run.axes):
        parts = [filtered_periodogram(piece[:, axis], band) for piece in pieces]
        frequency, ordinates = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.argsort(frequency, kind='stable')
        spectra.append((frequency[order], ordinates[order]))
    return _Left(
        rows,
        np.full(rows.shape, np.nan),  # no period shows the noise
        np.full(run.axes, np.nan),
        np.full(run.axes, np.nan),
        spectra,
        rows,
        time,
        smooth,
        0.5 / band.cutoff,
    )


def _axis(joint: str, number: int, left: _Left, axis: int) -> AxisResiduals:
    """Figures of one actuator."""
    samples, (frequency, ordinates) = left.samples[:, axis], left.spectra[axis]
    skewness, kurtosis, normal = normality(samples)
    times, residuals = worst_moments(left.time, left.smooth[:, axis], left.apart)
    return AxisResiduals(
        joint=joint,
        run=number,
        rows=len(left.rows),
        rms=float(np.sqrt(np.mean(left.rows[:, axis] ** 2))),
        noise_rms=float(np.sqrt(np.mean(left.expected[:, axis]))),
        variance_ratio=float(left.ratios[axis]),
        variance_p_value=float(left.p_values[axis]),
        whiteness_p_value=bartlett_test(ordinates),
        peak_frequency=peak_frequency(frequency, ordinates),
        skewness=skewness,
        excess_kurtosis=kurtosis,
        normality_p_value=normal,
        outlier_share=outlier_share(samples),
        worst_times=tuple(times.tolist()),
        worst_residuals=tuple(residuals.tolist()),
    )


def normality(samples: Array) -> tuple[float, float, float]:
    """Skewness, excess kurtosis and p-value of D'Agostino and Pearson's test of samples (n,)."""
    if len(samples) < 20 or not samples.std() > 0:
        return float('nan'), float('nan'), float('nan')
    stride = -(-len(samples) // TESTED)
    few = samples[::stride]
    skewness, kurtosis = _moments(few)
    scores = _skewness_score(skewness, len(few)), _kurtosis_score(kurtosis, len(few))
    return *_moments(samples), float(chdtrc(2, np.square(scores).sum()))


def _moments(samples: Array) -> tuple[float, float]:
    """Skewness and excess kurtosis of samples (n,)."""
    second, third, fourth = (np.mean((samples - samples.mean()) ** k) for k in (2, 3, 4))
    return float(third / second**1.5), float(fourth / second**2 - 3)


def _skewness_score(skewness: float, n: int) -> float:
    """Standard normal score of a skewness of n normal samples (D'Agostino 1970)."""
    scaled = skewness * np.sqrt((n + 1) * (n + 3) / (6 * (n - 2)))
    fourth = 3 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9))
    squared = np.sqrt(2 * (fourth - 1)) - 1
    return float(np.arcsinh(scaled / np.sqrt(2 / (squared - 1))) / np.sqrt(np.log(squared) / 2))


def _kurtosis_score(kurtosis: float, n: int) -> float:
    """Standard normal score of an excess kurtosis of n normal samples (Anscombe, Glynn 1983)."""
    variance = 24 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    scaled = (kurtosis + 6 / (n + 1)) / np.sqrt(variance)
    third = 6 * (n**2 - 5 * n + 2) / ((n + 7) * (n + 9))
    third *= np.sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    freedom = 6 + 8 / third * (2 / third + np.sqrt(1 + 4 / third**2))
    cube = (1 - 2 / freedom) / (1 + scaled * np.sqrt(2 / (freedom - 4)))
    return float((1 - 2 / (9 * freedom) - np.cbrt(cube)) / np.sqrt(2 / (9 * freedom)))
