"""Analysis of the residuals of a problem's runs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import fdtrc

from pkm_identification.arrays import Array
from pkm_identification.covariance.residual_analysis import (
    AxisResiduals,
    bartlett_test,
    coefficient_periodogram,
    filtered_periodogram,
    normality,
    outlier_share,
    worst_moments,
)
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Run
from pkm_identification.regression.weighted_least_squares import (
    RANK_TOLERANCE,
    Estimate,
    inverse_root,
    rows_for,
    whitened_rows,
)
from pkm_identification.result.diagnostics import ConditionNumbers
from pkm_identification.signals.bands import FilterBand

LEAST_SHARE = 1e-3  # of the noise of a row that a fit leaves: below it is rounding
SMOOTHED = 5  # ordinates: a single one is exponential, its peak means nothing


def analyse_residuals(
    problem: Problem, estimate: Estimate, in_time: list[Array | None]
) -> tuple[AxisResiduals, ...]:
    """Analyse what a fit leaves, actuator by actuator in each run.

    Parameters
    ----------
    problem, estimate
        With the noise of the rows (see `residual_scaling.with_noise`).
    in_time
        Measured minus predicted forces (n, n_a) of each run at its samples, before the
        band; None for recordings that are too long.
    """
    assert estimate.noise is not None
    found: list[AxisResiduals] = []
    for number, run in enumerate(problem.runs):
        noise = estimate.noise[number]
        if run.is_periodic:
            found += _periodic(problem, estimate, number, np.asarray(in_time[number]))
        else:
            found += _filtered(run, estimate.values, number, noise, in_time[number])
    return tuple(found)


def condition_numbers(problem: Problem, estimate: Estimate) -> ConditionNumbers:
    """Condition numbers of the regressor of an estimate; infinite where a column is zero."""
    assert estimate.noise is not None
    plain = np.concatenate(
        [run.compact.regressor.reshape(-1, problem.size) for run in problem.runs]
    )
    weighted = _condition(_scaled(whitened_rows(problem, estimate.noise)[0]))
    own = estimate.condition_number
    return ConditionNumbers(
        condition_number=own if np.isfinite(own) else weighted,
        condition_number_unscaled=_condition(plain),
        condition_number_scaled=_condition(_scaled(plain)),
        condition_number_weighted=weighted,
    )


def _scaled(matrix: Array) -> Array:
    length = np.linalg.norm(matrix, axis=0)
    return matrix / np.where(length > 0, length, 1.0)


def _condition(matrix: Array) -> float:
    singular = np.linalg.svd(np.linalg.qr(matrix, mode='r'), compute_uv=False)
    return float(singular[0] / singular[-1]) if singular[-1] > 0 else float('inf')


def left_variance(problem: Problem, estimate: Estimate, number: int) -> Array:
    """Variance (m, n_a) that the noise of a run's rows leaves in the residuals of a fit.

    With whitening weights L and Q the orthonormal basis of the columns of L Psi (all runs,
    and the prior), the weighted residuals are (1 - Q Q^T) L eta. Estimates without weights
    are taken for efficient ones, which weigh by the inverse noise.
    """
    assert estimate.noise is not None
    weights = estimate.weights or tuple(inverse_root(noise) for noise in estimate.noise)
    several = []
    for run, weight, noise in zip(problem.runs, weights, estimate.noise, strict=True):
        rows = (weight @ rows_for(run, weight, noise).regressor).reshape(-1, problem.size)
        several.append((rows, weight @ noise @ np.swapaxes(weight, -1, -2)))
    basis = _orthonormal([problem.prior_rows, *(rows for rows, _ in several)])
    taken = (problem.prior_rows @ basis).T @ (problem.prior_rows @ basis)
    for rows, spread in several:  # Q^T S Q with S = L noise L^T
        part = (rows @ basis).reshape(-1, problem.axes, basis.shape[1])
        taken = taken + np.einsum(
            'kaf,kab,kbg->fg',
            part,
            np.broadcast_to(spread, (len(part), *spread.shape[-2:])),
            part,
            optimize=True,
        )
    run, weight, noise = problem.runs[number], weights[number], estimate.noise[number]
    own = (weight @ run.regressor) @ basis  # (m, n_a, rank)
    spread = weight @ noise @ np.swapaxes(weight, -1, -2)
    spread = np.broadcast_to(spread, (len(own), *spread.shape[-2:]))
    hat = own @ np.swapaxes(own, -1, -2)
    left = spread - hat @ spread - spread @ hat + own @ taken @ np.swapaxes(own, -1, -2)
    back = np.linalg.inv(weight)
    variance = np.einsum('...aa->...a', back @ left @ np.swapaxes(back, -1, -2))
    whole = np.broadcast_to(np.diagonal(noise, axis1=-2, axis2=-1), variance.shape)
    return np.asarray(np.maximum(variance, LEAST_SHARE * whole))


def _orthonormal(blocks: list[Array]) -> Array:
    """Matrix (f, rank) that turns stacked rows (k, f) into rows of orthonormal columns."""
    stacked = np.concatenate(blocks)
    length = np.linalg.norm(stacked, axis=0)
    scale = np.where(length > 0, length, 1.0)
    _, singular, right = np.linalg.svd(np.linalg.qr(stacked / scale, mode='r'))
    kept = singular > RANK_TOLERANCE * singular[0]
    return np.asarray(right[kept].T / singular[kept] / scale[:, None])


def _periodic(
    problem: Problem, estimate: Estimate, number: int, in_time: Array
) -> list[AxisResiduals]:
    run: Run = problem.runs[number]
    signals: Any = run.signals
    assert estimate.noise is not None
    residuals = run.residuals(estimate.values)
    left = left_variance(problem, estimate, number)
    own = np.broadcast_to(np.diagonal(estimate.noise[number], axis1=-2, axis2=-1), residuals.shape)
    whitened = residuals / np.sqrt(left)
    freedom = np.sum(left / own, axis=0)
    chi = np.sum(residuals**2 / own, axis=0)
    noise_freedom = 0.0
    if run.covariance is not None and signals.force_noise is not None:
        rows = len(signals) if signals.force_noise.is_white else run.count
        noise_freedom = float((signals.averaged - 1) * rows)
    if signals.band.weights is not None:
        in_time = in_time * signals.band.weights
    smooth = signals.band.smooth(in_time)
    samples = _single_samples(signals, in_time)
    apart = signals.band.period / (2.0 * max(signals.band.harmonics, 1))
    found = []
    for axis, joint in enumerate(run.model.actuated_joints):
        ordinates = coefficient_periodogram(whitened[:, axis])
        worst = worst_moments(signals.time, smooth[:, axis], apart)
        found.append(
            _axis(
                joint,
                number,
                residuals[:, axis],
                left[:, axis],
                chi[axis] / freedom[axis],
                float(fdtrc(freedom[axis], noise_freedom, chi[axis] / freedom[axis]))
                if noise_freedom
                else float('nan'),
                ordinates,
                np.arange(1, len(ordinates) + 1) / signals.band.period,
                samples[:, axis],
                worst,
            )
        )
    return found


def _single_samples(signals: Any, in_time: Array) -> Array:
    """Residuals (k, n_a) of single samples: the spread over the periods and that of the mean."""
    if signals.folded_forces is None:
        return in_time
    some = signals.folded_forces.some
    deviations = some - signals.folded_forces.mean
    return np.asarray((deviations + in_time).reshape(-1, in_time.shape[1]))


def _filtered(
    run: Run, values: Array, number: int, noise: Array, in_time: Array | None
) -> list[AxisResiduals]:
    signals: Any = run.signals
    band = signals.band
    assert isinstance(band, FilterBand)
    pieces = [piece.residuals(values) for piece in run.folded.sample]
    starts = run.folded.starts
    interval = band.step / band.rate
    first = signals.stamp(0) + band.trim / band.rate
    time = np.concatenate(
        [
            first + interval * (start + np.arange(len(piece)))
            for start, piece in zip(starts, pieces, strict=True)
        ]
    )
    rows = np.concatenate(pieces)
    if in_time is not None:
        inside = signals.usable
        predicted = band.smooth(signals.forces - in_time)  # the forces are in the band already
        smooth, smooth_time = (signals.forces - predicted)[inside], signals.time[inside]
    else:
        smooth, smooth_time = rows, time
    expected = np.diag(noise) if noise.ndim == 2 else np.diagonal(noise, axis1=1, axis2=2).mean(0)
    found = []
    for axis, joint in enumerate(run.model.actuated_joints):
        spectra = [filtered_periodogram(piece[:, axis], band) for piece in pieces]
        frequency = np.concatenate([each[0] for each in spectra])
        order = np.argsort(frequency, kind='stable')
        ordinates = np.concatenate([each[1] for each in spectra])[order]
        mean_square = float(np.mean(rows[:, axis] ** 2))
        found.append(
            _axis(
                joint,
                number,
                rows[:, axis],
                np.full(len(rows), expected[axis]),
                mean_square / expected[axis],
                float('nan'),
                ordinates,
                frequency[order],
                rows[:, axis],
                worst_moments(smooth_time, smooth[:, axis], 0.5 / band.cutoff),
            )
        )
    return found


def _axis(
    joint: str,
    number: int,
    residuals: Array,
    expected: Array,
    ratio: float,
    p_value: float,
    ordinates: Array,
    frequency: Array,
    samples: Array,
    worst: tuple[Array, Array],
) -> AxisResiduals:
    skewness, kurtosis, normal = normality(samples)
    smooth = np.convolve(ordinates, np.ones(SMOOTHED) / SMOOTHED, mode='same')
    return AxisResiduals(
        joint=joint,
        run=number,
        rows=len(residuals),
        rms=float(np.sqrt(np.mean(residuals**2))),
        noise_rms=float(np.sqrt(np.mean(expected))),
        variance_ratio=float(ratio),
        variance_p_value=p_value,
        whiteness_p_value=bartlett_test(ordinates),
        peak_frequency=float(frequency[np.argmax(smooth)]) if len(frequency) else float('nan'),
        skewness=skewness,
        excess_kurtosis=kurtosis,
        normality_p_value=normal,
        outlier_share=outlier_share(samples),
        worst_times=tuple(float(value) for value in worst[0]),
        worst_residuals=tuple(float(value) for value in worst[1]),
    )
