"""Figures of a validation: errors, noise, coverage of the bounds, parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc, fdtrc

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array, Mask
from pkm_identification.result.result import IdentificationResult
from pkm_identification.signals.noise import Noise

SPREAD = 4.0  # standard deviations of a variance that chance leaves
SINGULAR = 1e-12  # of the largest eigenvalue of a correlation


@dataclass(frozen=True)
class Comparison:
    """Predicted against reference forces."""

    # per actuator (n_a,): sum |predicted - reference| / sum |reference - mean| [M 33]
    relative_absolute_error: Array
    overall: float  # the same over all actuators together
    # root mean square of the errors over that of the references, over all actuators together
    relative_rms: float
    residual_rms: Array  # (n_a,) [N, N m]
    residual_covariance: Array  # (n_a, n_a) of the model error


@dataclass(frozen=True)
class NoiseTest:
    """Model error against the noise of the reference forces [A V]."""

    variance_ratio: Array  # variance of the model error over that of the noise, per actuator (n_a,)
    # chance of at least that ratio if the noise is all there is (n_a,): F-distribution,
    # with the degrees of freedom that the colour of the noise leaves
    p_value: Array
    # whether the ratio is at most 1 plus four standard deviations (n_a,), with these degrees
    is_unbiased: Mask


@dataclass(frozen=True)
class Coverage:
    """Share of forces within their predicted bounds.

    Forces of one recording share one error of the parameters, so their share scatters
    about the level far more than that of independent ones.
    """

    level: float  # nominal share
    # of the measured forces, per actuator (n_a,) and of all; the bounds hold the
    # uncertainty of the parameters, the noise of the measured motion as it enters through
    # the inertia, what the model lacks as held-out data show it, and the noise of the forces.
    # None where nothing of these is known
    measured: Array | None
    measured_overall: float | None
    # of the noise-free forces of a simulated robot, in the band; the bounds are the same less
    # the noise of the forces, where that is known. None without
    truth: Array | None
    truth_overall: float | None
    noise_from: str  # where the noise is known from
    # share of the noise-free forces within the bounds of the guaranteed set, whose level
    # is 1; None without such a set or without noise-free forces
    guaranteed: Array | None = None
    guaranteed_overall: float | None = None
    # of the measured forces (3,) where their actuator is slow, of middle speed and fast: thirds
    # of its samples. None without measured forces within known bounds
    by_speed: Array | None = None
    # of the samples (n_a,), in which a joint was where, or as fast as, it never was in the data of
    # the identification: the bounds know nothing of what the model lacks there. None where the
    # motion of these data is not kept
    beyond: Array | None = None
    within_domain: float | None = None  # as `measured_overall`, of samples with no such joint


@dataclass(frozen=True)
class ParameterError:
    """Estimates against the parameters of a simulated robot."""

    names: list[str]  # base parameters (r,)
    values: Array
    truth: Array
    relative: Array  # |value - truth| / |truth| (r,), nan where the truth is zero
    average: float  # mean of these, eps_AV [M 34]
    median: float  # of these
    # (value - truth) / standard deviation (r,), nan where that is zero or infinite
    deviations: Array
    p_value: float  # chance of at least that Mahalanobis distance from the truth (chi-squared)


class RunningComparison:
    """A `Comparison` of forces that come part by part; `mean` (n_a,) is that of the references."""

    def __init__(self, mean: Array) -> None:
        self._mean, self.count = mean, 0
        self._error, self._spread = np.zeros_like(mean), np.zeros_like(mean)
        self._square = np.zeros((len(mean), len(mean)))
        self._power = 0.0

    def add(self, predicted: Array, reference: Array) -> None:
        """Take in forces (k, n_a)."""
        residual = reference - predicted
        self.count += len(residual)
        self._error += np.abs(residual).sum(axis=0)
        self._spread += np.abs(reference - self._mean).sum(axis=0)
        self._square += residual.T @ residual
        self._power += float(np.sum(reference**2))

    def result(self) -> Comparison:
        """Return the figures of all samples."""
        covariance = self._square / self.count
        with np.errstate(divide='ignore', invalid='ignore'):
            return Comparison(
                self._error / self._spread,
                float(self._error.sum() / self._spread.sum()),
                float(np.sqrt(np.trace(self._square) / self._power)) if self._power else np.inf,
                np.sqrt(np.diag(covariance)),
                covariance,
            )


def relative_absolute_error(predicted: Array, reference: Array) -> tuple[Array, float]:
    """Return sum |predicted - reference| / sum |reference - mean| per axis and overall [M 33]."""
    found = compare(predicted, reference)
    return found.relative_absolute_error, found.overall


def compare(predicted: Array, reference: Array) -> Comparison:
    """Compare predicted with reference forces (n, n_a)."""
    running = RunningComparison(reference.mean(axis=0))
    running.add(predicted, reference)
    return running.result()


def noise_test(mean_square: Array, count: int, averaged: Array, noise: Noise) -> NoiseTest:
    """Compare the variance of a model error with that of the noise.

    `mean_square` (n_a,) [N^2, N^2 m^2] is of the model error, over `count` samples, and `averaged`
    the covariance (n_a, n_a) of the noise that the reference forces still have. `noise` is of one
    sample, with its colour and the number of periods that it is known from.
    """
    variance = np.maximum(np.diag(averaged), 1e-18)
    ratio = mean_square / variance
    power = np.einsum('kaa->ka', noise.spectrum)
    flatness = np.mean(power, axis=0) ** 2 / np.maximum(np.mean(power**2, axis=0), 1e-300)
    freedom = np.maximum(count * np.where(flatness > 0, flatness, 1.0), 1.0)
    of_noise = freedom * max(noise.periods - 1, 1)
    p_value = fdtrc(freedom, of_noise, ratio)
    return NoiseTest(ratio, p_value, ratio <= 1 + SPREAD * np.sqrt(2 / freedom + 2 / of_noise))


class RunningShare:
    """Share of forces within their bounds, per actuator and of all; the forces come by parts."""

    def __init__(self) -> None:
        self._within: Array | int = 0
        self._count: Array | int = 0

    def add(self, within: Mask, counted: Mask | bool = True) -> None:
        """Take in which forces (k, n_a) are within, of those that count."""
        counted = np.broadcast_to(counted, within.shape)
        self._within = self._within + np.count_nonzero(within & counted, axis=0)
        self._count = self._count + np.count_nonzero(counted, axis=0)

    def result(self) -> tuple[Array | None, float | None]:
        """Return the shares (n_a,) and that of all; None where there were no forces."""
        if not np.any(self._count):
            return None, None
        share = np.asarray(self._within / np.maximum(self._count, 1))
        return share, float(np.sum(self._within) / np.sum(self._count))


def parameter_error(result: IdentificationResult, standard_parameters: Any) -> ParameterError:
    """Compare a result with the standard parameters (n_p,) of the robot that was simulated.

    nan where they are not known.
    """
    given = np.asarray(standard_parameters, dtype=float)
    if given.shape != (len(result.parameter_names),):
        raise EstimationError(
            f'true parameters have shape {given.shape}, expected ({len(result.parameter_names)},)'
        )
    unknown = np.isnan(given)
    truth = result.matrix @ np.where(unknown, 0.0, given)
    truth = np.where(np.any(result.matrix[:, unknown] != 0.0, axis=1), np.nan, truth)
    error = result.values - truth
    largest = np.nanmax(np.abs(truth), initial=0.0)
    size = np.where(np.abs(truth) > 1e-12 * largest, np.abs(truth), np.nan)
    relative = np.abs(error) / size
    shown = relative[np.isfinite(relative)]
    deviation = result.standard_deviation
    known = np.isfinite(deviation) & (deviation > 0) & np.isfinite(truth)
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
    return float(chdtrc(int(kept.sum()), whitened @ whitened))
