"""What predicted forces are compared with: noise-free forces, and the noise of measured ones."""

from __future__ import annotations

import numpy as np
from scipy.special import beta

from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording, Truth
from pkm_identification.regression.problem import apparent_inertia, row_covariance
from pkm_identification.regression.run import LinearParameters
from pkm_identification.result.result import IdentificationResult
from pkm_identification.signals import Signals
from pkm_identification.signals.bands import BLOCK, FilterBand, HarmonicBand

POINTS = 4096  # of the filter's gain


def noise_free_forces(truth: Truth | None, signals: Signals) -> Array | None:
    """Noise-free forces (n, n_a) at the samples of the signals, averaged as those."""
    if truth is None or len(truth) < 2:
        return None
    if not isinstance(signals.band, HarmonicBand):
        return truth.forces_at(signals.time)
    total = np.zeros_like(signals.forces)
    for k in range(signals.averaged):
        total += truth.forces_at(signals.time + k * signals.band.period)
    return np.asarray(total / signals.averaged)


def predicted_forces(
    signals: Signals, result: IdentificationResult, model: ClosedChainModel
) -> tuple[Array, Array]:
    """Forces (n, n_a) and their standard deviations at the samples, in blocks."""
    result = result.with_model(model)
    blocks = [slice(i, i + BLOCK) for i in range(0, len(signals), BLOCK)]
    parts = [result.predict(signals.motion(model, rows), True) for rows in blocks]
    forces = np.concatenate([part[0] for part in parts])
    deviation = np.concatenate([part[1] for part in parts])
    if isinstance(signals.band, FilterBand):
        forces = signals.band.smooth(forces)  # as the measured forces
    return forces, deviation


def own_noise(signals: Signals) -> Array | None:
    """Noise covariance (n_a, n_a) of the averaged forces, from their spread over periods."""
    if signals.force_noise is None:
        return None
    return np.asarray(signals.force_noise.covariance) / signals.averaged


def noise_of_identification(
    data: Recording, signals: Signals, result: IdentificationResult
) -> Array | None:
    """Noise covariance (n_a, n_a) of the forces, from that which the identification measured.

    The noise of one sample, taken for white, averaged or filtered as these forces. Where
    the identification had no spread over periods but filtered data, its residuals tell; they
    hold what its model lacks, too, and are not asked where the result says the errors of its
    forces. None where neither is there.
    """
    known = [each for each in result.diagnostics.data if _is_known(each.force_noise)]
    if not known or known[0].force_noise is None:
        has_errors = result.diagnostics.force_errors is not None
        return None if has_errors else _from_residuals(data, signals, result)
    deviation, correlation = known[0].force_noise, known[0].force_noise_correlation
    covariance = np.outer(deviation, deviation)
    if correlation is not None and _is_known(correlation):
        covariance = covariance * correlation
    else:
        covariance = np.diag(deviation**2)
    if not isinstance(signals.band, FilterBand):
        return np.asarray(covariance / signals.averaged)
    return np.asarray(covariance * noise_gain(signals.band, 1.0 / data.interval))


def _from_residuals(
    data: Recording, signals: Signals, result: IdentificationResult
) -> Array | None:
    """Noise covariance (n_a, n_a) from the residuals of an identification of filtered data."""
    made = result.diagnostics.data
    cutoff = made[0].signals.get('cutoff') if made else None
    if not cutoff:
        return None
    density = result.residual_rms**2 / (float(cutoff) * passed_power())
    band = signals.band
    if isinstance(band, FilterBand):
        return np.diag(density * band.cutoff * passed_power())
    return np.diag(density / (2 * data.interval * signals.averaged))


def passed_power() -> float:
    """Integral over x of (1 + x^8)^-2, x = frequency / cutoff.

    The power that a Butterworth filter of order 4, to and fro, passes of noise with a density
    of one.
    """
    return float(beta(1 / 8, 15 / 8) / 8)


def motion_variance(
    signals: Signals, result: IdentificationResult, model: ClosedChainModel
) -> Array:
    """Variance (n_a,) of predicted forces that noise of the measured motion makes.

    Through the accelerations and the inertia that the actuators see, as for the rows of an
    estimate; zero where the noise of the positions is unknown.
    """
    axes = len(model.actuated_joints)
    if signals.position_noise is None:
        return np.zeros(axes)
    base = LinearParameters(result.names, result.columns, model)
    inertia = apparent_inertia(signals, base, model, np.asarray(result.values))
    both, forces = row_covariance(signals, inertia), row_covariance(signals, None)
    if both is None or forces is None:
        return np.zeros(axes)
    return np.asarray(np.einsum('kaa->a', both - forces) / len(signals))


def noise_gain(band: FilterBand, rate: float) -> float:
    """Variance of white noise of one sample at `rate` [Hz] that a zero-phase filter passes."""
    from scipy.signal import sosfreqz

    frequency = (np.arange(POINTS) + 0.5) / POINTS * (band.rate / 2)
    _, gain = sosfreqz(band.sections, worN=2 * np.pi * frequency / band.rate)
    return float(np.mean(np.abs(gain) ** 4) * band.rate / rate)


def _is_known(values: Array | None) -> bool:
    return values is not None and bool(np.isfinite(values).all())
