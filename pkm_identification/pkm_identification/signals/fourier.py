"""Fourier refit of a periodic motion: analytic derivatives, harmonics chosen from the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array, ComplexArray, Mask

FALSE_ALARM = 1e-3
KEEP_NULL = 0.002  # share of pure-noise harmonics that are kept
MAX_RELATIVE_FREQUENCY = 0.2  # of the sampling rate
ROUNDING = 1e-13


@dataclass(frozen=True)
class FourierFit:
    """A periodic signal x(t) = Re sum_k c_k exp(i k w t), t = 0 at the first sample."""

    coefficients: ComplexArray  # (K + 1, n_a), complex; c_0 is the mean
    period: float  # [s]

    @property
    def kept(self) -> Mask:
        """Which harmonics (K + 1,) are not left out as noise."""
        return np.asarray((np.abs(self.coefficients) > 0).any(axis=1))

    @property
    def harmonics(self) -> int:
        """Number of harmonics K."""
        return len(self.coefficients) - 1

    def evaluate(self, time: Array, derivative: int = 0) -> Array:
        """Return the signal or a derivative of it at any times (N, n_a)."""
        order = 1j * 2 * np.pi / self.period * np.arange(self.harmonics + 1)
        factors = self.coefficients * (order**derivative)[:, None]
        return np.real(np.exp(np.multiply.outer(time, order)) @ factors)

    def sampled(self, count: int, delay: float = 0.0, derivative: int = 0) -> Array:
        """Return one period on `count` grid points, begun `delay` [s] after the first sample.

        The same as `evaluate` there, by fast transform.
        """
        order = 1j * 2 * np.pi / self.period * np.arange(self.harmonics + 1)
        factors = self.coefficients * (order**derivative * np.exp(order * delay))[:, None]
        spectrum = np.zeros((count // 2 + 1, factors.shape[1]), dtype=complex)
        spectrum[: len(factors)] = factors * (count / 2)
        spectrum[0] = factors[0] * count
        return np.fft.irfft(spectrum, count, axis=0)


def fit(mean: Array, period: float, harmonics: int, variance: Array | None = None) -> FourierFit:
    """Least squares on one averaged period (n, n_a): the orthogonal projection on K harmonics.

    With the noise `variance` (n_h, n_a) of one sample of `mean`, harmonics that are
    indistinguishable from it, over all axes, are left out. Their noise would enter the
    accelerations with the square of the frequency and bias the inertia.
    """
    count = len(mean)
    largest = (count - 1) // 2
    if not 1 <= harmonics <= largest:
        raise EstimationError(
            f'{harmonics} harmonics cannot be fitted to {count} samples a period; '
            f'valid are 1 to {largest}'
        )
    coefficients = np.fft.rfft(mean, axis=0)[: harmonics + 1] * (2 / count)
    coefficients[0] /= 2
    if variance is not None:
        power = np.abs(coefficients[1:]) ** 2 * (count / 4)
        floor = np.maximum(variance[1 : harmonics + 1], (ROUNDING * np.abs(mean).max(axis=0)) ** 2)
        evidence = (power / floor).sum(axis=1)
        coefficients[1:][evidence < gammaincinv(mean.shape[1], 1 - KEEP_NULL)] = 0
    return FourierFit(coefficients, period)


def noise_floor(mean: Array) -> Array:
    """Variance (n_a,) of one averaged sample, from the upper half of its spectrum."""
    count = len(mean)
    power = np.abs(np.fft.rfft(mean, axis=0)) ** 2 / count
    upper = power[len(power) // 2 :]
    return np.median(upper, axis=0) / np.log(2)


def significant_harmonics(mean: Array, variance: Array) -> int:
    """Return the highest harmonic of one averaged period (n, n_a) that stands out in any axis.

    Out of the noise `variance` (n_a,) or (n_h, n_a) of one sample of `mean`.
    """
    count = len(mean)
    largest = min((count - 1) // 2, max(1, int(MAX_RELATIVE_FREQUENCY * count)))
    power = np.abs(np.fft.rfft(mean, axis=0)[1 : largest + 1]) ** 2 / count
    scale = np.abs(mean).max(axis=0)
    floor = np.broadcast_to(variance, (count // 2 + 1, mean.shape[1]))[1 : largest + 1]
    floor = np.maximum(floor, (ROUNDING * scale) ** 2)
    limit = np.log(power.size / FALSE_ALARM)
    found = np.flatnonzero((power > limit * floor).any(axis=1))
    if not found.size:
        raise EstimationError('no harmonic of the motion stands out of the position noise')
    return int(found[-1]) + 1
