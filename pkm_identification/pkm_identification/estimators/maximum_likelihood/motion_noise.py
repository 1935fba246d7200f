"""Noise of averaged positions and forces together, harmonic by harmonic.

Fourier coefficients are complex and orthonormal here, c_k - i s_k of the rows of a
`HarmonicBand`: white noise of a variance has that variance in the real and in the imaginary
part of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array, ComplexArray
from pkm_identification.regression.numerics import rounding_variance
from pkm_identification.signals import Signals
from pkm_identification.signals.bands import HarmonicBand
from pkm_identification.signals.noise import smoothed_spectrum

STANDSTILL_NOISE = 1e-13  # of the position: what an axis at rest counts as moving by


@dataclass(frozen=True)
class MotionNoise:
    """Noise of positions and forces of an averaged period, for harmonics 0 ... K.

    Where a servo answers to what its sensors read, the two are correlated.
    """

    position_root: ComplexArray  # R (K + 1, n_a, n_a), R R^H the covariance of positions [m, rad]
    gain: ComplexArray  # H (K + 1, n_a, n_a): force noise H delta goes with position noise delta
    force_covariance: ComplexArray  # (K + 1, n_a, n_a) of the other force noise [N^2, N^2 m^2]
    source: str  # where it is known from

    @property
    def whitener(self) -> ComplexArray:
        """L (K + 1, n_a, n_a) with L^H L the inverse of the force covariance."""
        return np.asarray(np.linalg.inv(np.linalg.cholesky(self.force_covariance)), dtype=complex)


def motion_noise(
    signals: Signals,
    residual_covariance: Array | None = None,
    position_noise: float | Sequence[float] | None = None,
) -> MotionNoise:
    """Estimate the noise of positions and forces, with the correlation between the two.

    From the spread over the periods: of both signals together, so that it is right for the
    periodic motion that all periods have in common, whatever made them differ: a sensor, or
    a servo that turned its noise into motion and forces. White where both are. For a single
    period `residual_covariance` (n_a, n_a) is the noise of the force rows. A given
    `position_noise`, standard deviation of a measured position, scalar or (n_a,) [m, rad], is in
    place of the spread, white and independent of the force noise. EstimationError where the noise
    is neither given nor shown by the data, or has a wrong shape.
    """
    band = signals.band
    assert isinstance(band, HarmonicBand)
    axes, size = signals.forces.shape[1], band.harmonics + 1
    joint = np.zeros((size, 2 * axes, 2 * axes), dtype=complex)
    if signals.force_noise is not None and signals.folded_forces is not None:
        spread, is_white = _spread(signals, size)
        joint += spread / signals.averaged
        source = f'spread over periods, {"white" if is_white else "coloured"}'
    elif residual_covariance is not None:
        joint[:, :axes, :axes] = _upper_half(signals) / signals.averaged
        joint[:, axes:, axes:] = residual_covariance
        source = 'residuals and upper half of the spectrum of the positions'
    else:
        raise EstimationError('one period does not show its noise: give that of the forces')
    if position_noise is not None:
        variance = _given(position_noise, axes) ** 2 / signals.averaged
        joint[:, :axes] = joint[:, :, :axes] = 0.0
        joint[:, :axes, :axes] = np.diag(variance)
        source = 'given for positions'
    if signals.measured_harmonics is not None:
        silent = ~signals.measured_harmonics[:size]
        joint[silent, :axes, axes:] = 0.0
        joint[silent, axes:, :axes] = 0.0
    return _conditioned(joint, signals, source)


def _spread(signals: Signals, size: int) -> tuple[ComplexArray, bool]:
    """Covariance (K + 1, 2 n_a, 2 n_a) of one sample of both, by harmonic; whether white."""
    positions, forces = signals.folded_positions, signals.folded_forces
    assert positions is not None and forces is not None
    assert signals.position_noise is not None and signals.force_noise is not None
    together = np.concatenate([positions.deviations, forces.deviations], axis=2)
    periods, count, channels = together.shape
    white = signals.position_noise.is_white and signals.force_noise.is_white
    if white and not (positions.interpolated or forces.interpolated):
        flat = together.reshape(-1, channels)
        covariance = flat.T @ flat / len(flat)
        return np.broadcast_to(covariance, (size, channels, channels)).astype(complex), True
    transform = np.fft.rfft(together, axis=1) / np.sqrt(count)
    outer = np.einsum('pka,pkb->kab', transform, transform.conj()) / periods
    spectrum = np.asarray(smoothed_spectrum(outer, periods)[:size])
    spectrum[0] = spectrum[0].real
    return spectrum, False


def _upper_half(signals: Signals) -> Array:
    """Covariance (n_a, n_a) of one sample of white position noise, above all motion."""
    positions = signals.folded_positions
    assert positions is not None
    mean = positions.mean
    transform = np.fft.rfft(mean, axis=0)
    upper = transform[len(transform) // 2 : -1] / np.sqrt(len(mean))
    return np.asarray((upper.T @ upper.conj()).real / len(upper)) * len(positions.samples)


def _given(position_noise: float | Sequence[float], axes: int) -> Array:
    deviation = np.asarray(position_noise, dtype=float)
    if deviation.shape not in ((), (axes,)) or not (deviation > 0).all():
        raise EstimationError(
            f'position_noise must be a positive standard deviation, or one for each of the '
            f'{axes} actuators, got {position_noise}'
        )
    return np.broadcast_to(deviation, (axes,))


def _conditioned(joint: ComplexArray, signals: Signals, source: str) -> MotionNoise:
    """Split the joint covariance, with a floor of rounding."""
    axes = signals.forces.shape[1]
    floors = []
    for values in (signals.positions, signals.forces):
        size = np.maximum(values.std(axis=0), STANDSTILL_NOISE * np.abs(values).max(axis=0))
        floors.append(rounding_variance(size))
    noisy = np.einsum('kaa->ka', joint).real.max(axis=0) > np.concatenate(floors)
    joint = joint * np.outer(noisy, noisy) + np.diag(np.concatenate(floors))
    position = joint[:, :axes, :axes]
    cross = joint[:, axes:, :axes]
    gain = np.swapaxes(np.linalg.solve(position, np.swapaxes(cross, -1, -2).conj()), -1, -2).conj()
    left = joint[:, axes:, axes:] - gain @ np.swapaxes(cross, -1, -2).conj()
    left = (left + np.swapaxes(left, -1, -2).conj()) / 2
    root = np.asarray(np.linalg.cholesky(position), dtype=complex)
    return MotionNoise(root, np.asarray(gain, dtype=complex), left, source)
