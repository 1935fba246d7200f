"""Noise of measured signals from their spread over periods: covariance and colour [A]."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from pkm_identification.arrays import Array, Mask

AnyArray = NDArray[Any]

BINS = 12  # bands of the spectrum, of equal width in octaves
SIGNIFICANCE = 4.0  # standard deviations of a band's mean: white noise has 6e-5 of them beyond
COLOUR = 1.15  # a band of this times the mean power counts as coloured
DRIFT = 0.01  # probability that the mean of any axis counts as drifting that does not
DEGREES = 20  # complex degrees of freedom of a smoothed spectrum, times the axes


@dataclass(frozen=True)
class Noise:
    """Noise of one sample of a measured signal."""

    covariance: Array  # (n_a, n_a), with cross-correlation between the axes
    # covariance by harmonic (n_h, n_a, n_a), in the units of `covariance`; white noise has
    # the same in all harmonics. That of the mean, harmonic 0, is larger where the means of
    # the periods drift, as by temperature or an offset of a sensor
    spectrum: Array
    is_white: bool  # whether the power in no frequency band stands out and no mean drifts
    periods: int  # number of periods that it was estimated from

    @property
    def correlation(self) -> Array:
        """Correlation matrix (n_a, n_a)."""
        deviation = np.sqrt(np.diag(self.covariance))
        scale = np.where(deviation > 0, deviation, 1.0)
        return self.covariance / np.outer(scale, scale)


def noise_from_blocks(
    blocks: Iterable[Array], *, use_total: bool = True, negligible: Array | float = 0.0
) -> Noise:
    """Estimate the noise from deviations of periods from their mean, (k, n, n_a) of some at once.

    They are scaled as `Folded.scaled_deviations` gives them. With `use_total` noise without colour
    counts as white, with the covariance of all samples; otherwise the spectrum is always kept.
    Variances (n_a,) that are `negligible` are no noise worth a colour.
    """
    square: Array | float = 0.0
    power: Array | float = 0.0
    periods = count = 0
    for block in blocks:
        flat = block.reshape(-1, block.shape[2])
        transform = np.fft.rfft(block, axis=1)
        square = square + flat.T @ flat
        power = power + np.einsum('pka,pkb->kab', transform.conj(), transform).real
        periods, count = periods + len(block), block.shape[1]
    covariance, outer = (np.asarray(each / (periods * count)) for each in (square, power))
    is_white = (np.diag(covariance) <= negligible).all() or (
        _is_white(outer, covariance, periods) and not _drifting(outer[0], covariance, periods).any()
    )
    if is_white and use_total:
        spectrum = np.broadcast_to(covariance, outer.shape)
    else:
        spectrum = smoothed_spectrum(outer, periods)
    return Noise(covariance, spectrum, bool(is_white), periods)


def smoothed_spectrum(outer: AnyArray, periods: int) -> AnyArray:
    """Smooth a spectrum over as many harmonics as its matrices need to be well determined.

    `outer` are mean outer products (n_h, n, n), over the periods, of the Fourier coefficients, real
    or complex. That of the mean, harmonic 0, becomes that of its neighbours, larger where means
    drift.
    """
    channels = outer.shape[-1]
    smooth = _smooth(outer, max(1, -(-DEGREES * channels // max(1, periods - 1)) // 2))
    ratio = _power_ratio(outer[0], smooth[0])
    growth = np.where(_drifting(outer[0], smooth[0], periods), np.sqrt(ratio), 1.0)
    smooth[0] = growth[:, None] * smooth[0] * growth
    return smooth


def _is_white(outer: Array, covariance: Array, periods: int) -> bool:
    """Compare the power in frequency bands with the total power, axis by axis."""
    variance = np.diag(covariance)
    if not (variance > 0).any():
        return True
    power = np.einsum('kaa->ka', outer)[:, variance > 0] / variance[variance > 0]
    edges = np.unique(np.round(np.geomspace(1, len(power), BINS + 1)).astype(int))
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        ratio = power[low:high].mean(axis=0)
        deviation = 1 / np.sqrt((high - low) * max(1, periods - 1))
        limit = max(COLOUR - 1, SIGNIFICANCE * deviation)
        if (np.abs(ratio - 1) > limit).any():
            return False
    return True


def _power_ratio(mean: AnyArray, expected: AnyArray) -> Array:
    """Variances (n,) of the means of the periods over those that are expected of them."""
    variance = np.diag(expected).real
    return np.diag(mean).real / np.where(variance > 0, variance, np.inf)


def _drifting(mean: AnyArray, expected: AnyArray, periods: int) -> Mask:
    """Which means (n,) of the periods differ more than noise of the expected size makes them."""
    freedom = max(1, periods - 1)
    return _power_ratio(mean, expected) > chdtri(freedom, DRIFT / len(mean)) / freedom


def _smooth(outer: AnyArray, reach: int) -> AnyArray:
    """Running mean over 2 reach + 1 harmonics; without harmonic 0, which has that of 1."""
    body = outer[1:]
    total = np.concatenate([np.zeros((1, *body.shape[1:]), body.dtype), np.cumsum(body, axis=0)])
    index = np.arange(len(body))
    low = np.maximum(0, index - reach)
    high = np.minimum(len(body), index + reach + 1)
    smooth = (total[high] - total[low]) / (high - low)[:, None, None]
    return np.concatenate([smooth[:1], smooth])
