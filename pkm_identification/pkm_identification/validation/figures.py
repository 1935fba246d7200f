"""Figures of a validation: errors, noise, coverage of the bounds, parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pkm_description.errors import EstimationError
from pkm_identification.result.result import IdentificationResult
from pkm_identification.signals.noise import Noise

Array = NDArray[np.float64]

SPREAD = 4.0  # standard deviations of a variance that chance leaves
SINGULAR = 1e-12  # of the largest eigenvalue of a correlation


@dataclass(frozen=True)
class Comparison:
    """Predicted against reference forces.

    Attributes
    ----------
    relative_absolute_error
        Per actuator (n_a,): sum |predicted - reference| / sum |reference - mean| [M 33].
    overall
        The same over all actuators together.
    residual_rms
        (n_a,) [N, N m].
    residual_covariance
        (n_a, n_a) of the model error.
    """

    relative_absolute_error: Array
    overall: float
    residual_rms: Array
    residual_covariance: Array


@dataclass(frozen=True)
class NoiseTest:
    """Model error against the noise of the reference forces [A V].

    Attributes
    ----------
    variance_ratio
        Variance of the model error over that of the noise, per actuator (n_a,).
    p_value
        Chance of at least that ratio if the noise is all there is (n_a,): F-distribution,
        with the degrees of freedom that the colour of the noise leaves.
    is_unbiased
        Whether the ratio is at most 1 plus four standard deviations (n_a,), with the same
        degrees of freedom.
    """

    variance_ratio: Array
    p_value: Array
    is_unbiased: NDArray[np.bool_]


@dataclass(frozen=True)
class Coverage:
    """Share of forces within their predicted bounds.

    Attributes
    ----------
    level
        Nominal share.
    measured, measured_overall
        Of the measured forces, per actuator (n_a,) and of all; the bounds hold the
        uncertainty of the parameters, the noise of the measured motion as it enters through
        the inertia, and that of the forces. None where the latter is unknown.
    truth, truth_overall
        Of the noise-free forces of a simulated robot, in the band; the bounds hold the
        uncertainty of the parameters and of the motion. None without.
    noise_from
        Where the noise is known from.
    guaranteed, guaranteed_overall
        Share of the noise-free forces within the bounds of the guaranteed set, whose level
        is 1; None without such a set or without noise-free forces.

    Forces of one recording share one error of the parameters, so their share scatters
    about the level far more than that of independent ones.
    """

    level: float
    measured: Array | None
    measured_overall: float | None
    truth: Array | None
    truth_overall: float | None
    noise_from: str
    guaranteed: Array | None = None
    guaranteed_overall: float | None = None


@dataclass(frozen=True)
class ParameterError:
    """Estimates against the parameters of a simulated robot.

    Attributes
    ----------
    names, values, truth
        Base parameters (r,).
    relative
        |value - truth| / |truth| (r,), nan where the truth is zero.
    average
        Mean of these, eps_AV [M 34].
    median
        Of these.
    deviations
        (value - truth) / standard deviation (r,), nan where that is zero or infinite.
    p_value
        Chance of at least that Mahalanobis distance from the truth (chi-squared).
    """

    names: list[str]
    values: Array
    truth: Array
    relative: Array
    average: float
    median: float
    deviations: Array
    p_value: float


def relative_absolute_error(predicted: Array, reference: Array) -> tuple[Array, float]:
    """Return sum |predicted - reference| / sum |reference - mean| per axis and overall [M 33]."""
    error = np.abs(predicted - reference).sum(axis=0)
    spread = np.abs(reference - reference.mean(axis=0)).sum(axis=0)
    with np.errstate(divide='ignore', invalid='ignore'):
        return error / spread, float(error.sum() / spread.sum())


def compare(predicted: Array, reference: Array) -> Comparison:
    """Compare predicted with reference forces (n, n_a)."""
    per_axis, overall = relative_absolute_error(predicted, reference)
    residual = reference - predicted
    return Comparison(
        per_axis,
        overall,
        np.sqrt(np.mean(residual**2, axis=0)),
        residual.T @ residual / len(residual),
    )


def noise_test(residual: Array, averaged: Array, noise: Noise) -> NoiseTest:
    """Compare the variance of a model error (n, n_a) with that of the noise.

    Parameters
    ----------
    averaged
        Covariance (n_a, n_a) of the noise that the reference forces still have.
    noise
        Of one sample, with its colour and the number of periods that it is known from.
    """
    variance = np.maximum(np.diag(averaged), 1e-18)
    ratio = np.mean(residual**2, axis=0) / variance
    count = len(residual)
    power = np.einsum('kaa->ka', noise.spectrum)
    flatness = np.mean(power, axis=0) ** 2 / np.maximum(np.mean(power**2, axis=0), 1e-300)
    freedom = np.maximum(count * np.where(flatness > 0, flatness, 1.0), 1.0)
    of_noise = freedom * max(noise.periods - 1, 1)
    p_value = stats.f.sf(ratio, freedom, of_noise)
    return NoiseTest(ratio, p_value, ratio <= 1 + SPREAD * np.sqrt(2 / freedom + 2 / of_noise))


def covered(error: Array, deviation: Array, level: float) -> tuple[Array, float]:
    """Share of errors (n, n_a) within the interval of a level: per actuator, and of all."""
    reach = stats.norm.ppf(0.5 + 0.5 * level) * deviation
    within = np.abs(error) <= reach
    return within.mean(axis=0), float(within.mean())


def check_level(level: float) -> float:
    """Return a level of confidence, or raise `EstimationError`."""
    if not isinstance(level, int | float) or not 0.0 < level < 1.0:
        raise EstimationError(f'the level must lie between 0 and 1, got {level!r}')
    return float(level)


def parameter_error(result: IdentificationResult, standard_parameters: Any) -> ParameterError:
    """Compare a result with the standard parameters (n_p,) of the robot that was simulated.

    Raises
    ------
    EstimationError
        There are not as many parameters as the result has.
    """
    given = np.asarray(standard_parameters, dtype=float)
    if given.shape != (len(result.parameter_names),):
        raise EstimationError(
            f'true parameters have shape {given.shape}, expected ({len(result.parameter_names)},)'
        )
    truth = result.matrix @ given
    error = result.values - truth
    size = np.where(np.abs(truth) > 1e-12 * np.abs(truth).max(initial=0.0), np.abs(truth), np.nan)
    relative = np.abs(error) / size
    shown = relative[np.isfinite(relative)]
    deviation = result.standard_deviation
    known = np.isfinite(deviation) & (deviation > 0)
    return ParameterError(
        names=list(result.names),
        values=np.asarray(result.values),
        truth=truth,
        relative=relative,
        average=float(shown.mean()) if shown.size else float('nan'),
        median=float(np.median(shown)) if shown.size else float('nan'),
        deviations=error / np.where(known, deviation, np.nan),
        p_value=_distance_p_value(error[known], result.covariance[np.ix_(known, known)]),
    )


def _distance_p_value(error: Array, covariance: Array) -> float:
    if not error.size:
        return float('nan')
    deviation = np.sqrt(np.diag(covariance))
    spread, axes = np.linalg.eigh(covariance / np.outer(deviation, deviation))
    kept = spread > SINGULAR * spread[-1]
    whitened = (axes[:, kept].T @ (error / deviation)) / np.sqrt(spread[kept])
    return float(stats.chi2.sf(whitened @ whitened, int(kept.sum())))
