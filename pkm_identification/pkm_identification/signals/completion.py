"""One period of a motion with phases that no period shows: least squares instead of FFT."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsqr

from pkm_identification.arrays import Array, Mask
from pkm_identification.quality.report import stretches

LONGEST = 0.5  # of the shortest wave length: the motion in a longer gap is not determined
TOLERANCE = 1e-13
MOST_ROUNDS = 500


def completed(mean: Array, seen: Mask, harmonics: int) -> tuple[Array, Mask]:
    """Fill phases with the Fourier series that fits the others by least squares.

    The discrete Fourier transform of what is returned, up to `harmonics`, is that series:
    the filled phases carry no information of their own.

    Parameters
    ----------
    mean
        One period (n, n_a).
    seen
        Measured phases (n, n_a).
    harmonics
        Of the series.

    Returns
    -------
    filled, certain
        (n, n_a), and the phases (n,) at which the motion of all joints is determined.
    """
    count = len(mean)
    filled = np.array(mean)
    certain = np.ones(count, dtype=bool)
    for column in np.flatnonzero(~seen.all(axis=0)):
        good = seen[:, column]
        certain &= _certain(good, count / harmonics)
        filled[~good, column] = _series(mean[:, column], good, harmonics)[~good]
    return filled, certain


def _certain(good: Mask, shortest_wave: float) -> Mask:
    """Which phases (n,) do not lie in a long gap; a gap may go over the end of the period."""
    count = len(good)
    certain = np.ones(count, dtype=bool)
    twice = np.flatnonzero(~np.concatenate([good, good]))
    for first, last in stretches(twice):
        if last - first + 1 > LONGEST * shortest_wave:
            certain[np.arange(first, last + 1) % count] = False
    return certain


def _series(values: Array, good: Mask, harmonics: int) -> Array:
    """Fourier series (n,) that fits the good ones of some samples (n,)."""
    count = len(values)
    start = _low_pass(values, harmonics)

    def seen_part(spectrum: Array) -> Array:
        return _synthesis(spectrum, count)[good]

    def back(samples: Array) -> Array:
        whole = np.zeros(count)
        whole[good] = samples
        return _analysis(whole, harmonics)

    operator = LinearOperator(
        (int(good.sum()), 2 * harmonics + 1), matvec=seen_part, rmatvec=back, dtype=float
    )
    rest = values[good] - start[good]
    change = lsqr(operator, rest, atol=TOLERANCE, btol=TOLERANCE, iter_lim=MOST_ROUNDS)[0]
    return np.asarray(start + _synthesis(change, count))


def _low_pass(values: Array, harmonics: int) -> Array:
    return _synthesis(_analysis(values, harmonics), len(values))


def _analysis(values: Array, harmonics: int) -> Array:
    """Orthonormal coefficients (2 K + 1,) of samples (n,)."""
    transform = np.fft.rfft(values, norm='ortho')[: harmonics + 1]
    parts = [transform[:1].real, np.sqrt(2) * transform[1:].real, np.sqrt(2) * transform[1:].imag]
    return np.concatenate(parts)


def _synthesis(coefficients: Array, count: int) -> Array:
    """Samples (n,) of orthonormal coefficients (2 K + 1,): the transpose of `_analysis`."""
    harmonics = (len(coefficients) - 1) // 2
    spectrum = np.zeros(count // 2 + 1, dtype=complex)
    spectrum[0] = coefficients[0]
    cosine, sine = coefficients[1 : harmonics + 1], coefficients[harmonics + 1 :]
    spectrum[1 : harmonics + 1] = (cosine + 1j * sine) / np.sqrt(2)
    return np.fft.irfft(spectrum, count, norm='ortho')
