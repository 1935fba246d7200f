"""From samples to independent rows: the part of a signal in which the motion is known.

Measured forces and the regressor go through the same operation, so nothing is biased
by content that only one of the two still has (parallel filtering [P]).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from pkm_identification.arrays import Array, Indices, Mask
from pkm_identification.datasets.effort_filter import EffortFilter

BLOCK = 5000  # samples: longer periods are thinned and taken in blocks of so many
SAMPLES_A_HARMONIC = 16
REACH = 4.0  # of 1 / cutoff: how far a zero-phase filter is continued beyond the ends
HOLE_REACH = 0.75  # of 1 / cutoff, to either side of a gap
MEMORY = 10.0  # of 1 / cutoff: beyond it a sample does not change a filtered one (1e-10)


@dataclass(frozen=True)
class HarmonicBand:
    """Orthonormal real Fourier coefficients 0 ... K of exactly one period.

    Row 0 is the mean; rows 2k - 1 and 2k are the cosine and sine of harmonic k. White
    noise keeps its variance.
    """

    harmonics: int  # K
    period: float  # [s]
    # of the samples (n, n_a), 0 where no force was measured: forces and regressor are
    # multiplied alike before they are transformed, so that a gap biases nothing. None: 1
    weights: Array | None = None

    @property
    def frequencies(self) -> Array:
        """Frequency of each row [Hz]."""
        return self.indices / self.period

    @property
    def indices(self) -> Indices:
        """Harmonic of each row."""
        return (np.arange(2 * self.harmonics + 1) + 1) // 2

    def row_count(self, count: int) -> int:
        """Return the number of rows."""
        return 2 * self.harmonics + 1

    def rows(self, samples: Array) -> Array:
        """Turn one period (n, ...) into rows (2K + 1, ...)."""
        count = len(samples)
        if self.weights is not None:
            shape = self.weights.shape + (1,) * (samples.ndim - 2)
            samples = samples * self.weights.reshape(shape)
        coefficients = np.fft.rfft(samples, axis=0)[: self.harmonics + 1]
        rows = np.empty((2 * self.harmonics + 1, *samples.shape[1:]))
        rows[0] = coefficients[0].real / np.sqrt(count)
        rows[1::2] = coefficients[1:].real * np.sqrt(2 / count)
        rows[2::2] = -coefficients[1:].imag * np.sqrt(2 / count)
        return rows

    def samples(self, rows: Array, count: int) -> Array:
        """Turn rows (2K + 1, ...) into one period (n, ...) of `count` samples, more than 2K.

        The inverse of `rows` in the band; with 2K + 1 samples a rotation, too.
        """
        coefficients = np.zeros((count // 2 + 1, *rows.shape[1:]), dtype=complex)
        coefficients[0] = rows[0] * np.sqrt(count)
        inside = slice(1, self.harmonics + 1)
        coefficients[inside] = (rows[1::2] - 1j * rows[2::2]) * np.sqrt(count / 2)
        return np.fft.irfft(coefficients, count, axis=0)

    def smooth(self, samples: Array) -> Array:
        """Return one period (n, ...) without what lies above harmonic K."""
        spectrum = np.fft.rfft(samples, axis=0)
        spectrum[self.harmonics + 1 :] = 0.0
        return np.fft.irfft(spectrum, len(samples), axis=0)

    def evaluate(self, function: Callable[[slice], Array], count: int) -> Array:
        """Rows of a function of one whole period.

        Of a long period only every few samples are used, still many a harmonic, and block by block.
        """
        stride = self.stride(count) if self.weights is None else 1
        step = BLOCK - BLOCK % stride
        blocks = [slice(i, min(i + step, count), stride) for i in range(0, count, step)]
        samples = np.concatenate([function(rows) for rows in blocks])
        return self.rows(samples) * np.sqrt(stride)

    def stride(self, count: int) -> int:
        """Largest step that divides the period and keeps enough samples a harmonic."""
        if count <= BLOCK:
            return 1
        largest = max(1, count // (SAMPLES_A_HARMONIC * max(1, self.harmonics)))
        return max(step for step in range(1, largest + 1) if count % step == 0)


@dataclass(frozen=True)
class FilterBand:
    """Zero-phase low pass, then every `step`-th sample; `trim` samples off both ends."""

    sections: Array  # of the filter
    cutoff: float  # [Hz]
    rate: float  # of the samples [Hz]
    step: int  # samples from row to row
    trim: int  # samples left out at either end
    # first and last sample (h, 2) of gaps too long for the motion to be known in them:
    # there are no rows in them and within `HOLE_REACH` / cutoff of them. None: no gaps
    holes: Indices | None = None
    # low pass of the drives in the measured forces: what is made of a motion goes through it, too
    drive: EffortFilter | None = None

    @property
    def frequencies(self) -> Array:
        """Rows are in time: no frequency of their own."""
        return np.zeros(0)

    def rows(self, samples: Array) -> Array:
        """Turn samples (n, ...) into rows."""
        whole = slice(0, len(samples))
        inside = slice(self.trim, len(samples) - self.trim, self.step)
        return self.smooth(samples)[self.picked(whole, inside)]

    def evaluate(self, function: Callable[[slice], Array], count: int) -> Array:
        """Rows of a function, in overlapping blocks so that memory does not grow with them."""
        parts = [
            self.smooth(function(samples))[self.picked(samples, inside)]
            for samples, inside in self.stretches(count)
        ]
        return np.concatenate(parts)

    def picked(self, samples: slice, inside: slice) -> slice | Indices:
        """Which of the filtered `samples` are rows: those `inside` (from the first) in no hole."""
        if self.holes is None:
            return inside
        index = np.arange(inside.start, inside.stop, inside.step)
        return index[~self.in_hole(samples.start + index)]

    def in_hole(self, samples: Indices) -> Mask:
        """Whether a filtered sample rests on a gap."""
        if self.holes is None:
            return np.zeros(len(samples), dtype=bool)
        reach = int(np.ceil(HOLE_REACH * self.rate / self.cutoff))
        begun = np.searchsorted(self.holes[:, 0] - reach, samples, side='right')
        last = np.concatenate([[-1], np.maximum.accumulate(self.holes[:, 1] + reach)])
        return np.asarray(samples <= last[begun])

    def stretches(self, count: int) -> Iterator[tuple[slice, slice]]:
        """Yield samples to filter, and which of the filtered ones are rows."""
        block = max(BLOCK, 10 * self.reach)
        block -= block % self.step
        for begin in range(self.trim, count - self.trim, block):
            end = min(begin + block, count - self.trim)
            low, high = max(0, begin - self.margin), min(count, end + self.margin)
            yield slice(low, high), slice(begin - low, end - low, self.step)

    def row_count(self, count: int) -> int:
        """Return the number of rows of so many samples."""
        return len(self.row_samples(count))

    def row_samples(self, count: int) -> Indices:
        """Which of so many samples become rows."""
        candidates = np.arange(self.trim, count - self.trim, self.step)
        return candidates[~self.in_hole(candidates)]

    @property
    def reach(self) -> int:
        """Samples that the record is continued by at either end."""
        return int(np.ceil(REACH * self.rate / self.cutoff))

    @property
    def margin(self) -> int:
        """Samples to either side that matter for one filtered sample."""
        of_drive = 0.0 if self.drive is None else self.drive.memory * self.rate
        return int(np.ceil(MEMORY * self.rate / self.cutoff + of_drive))

    def smooth(self, samples: Array) -> Array:
        """Return the filtered samples (n, ...)."""
        from scipy.signal import sosfiltfilt

        shape = samples.shape
        flat = samples.reshape(shape[0], -1)
        if self.drive is not None:
            flat = self.drive.applied(flat, self.rate)
        padding = min(self.reach, len(flat) - 1)
        return sosfiltfilt(self.sections, flat, axis=0, padlen=padding).reshape(shape)


Band = HarmonicBand | FilterBand  # samples (n, ...) to rows (m, ...)
