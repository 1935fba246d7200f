"""Rows of one drive in which force ripple is looked for: residuals and columns, whitened.

Cosine and sine of a position pass the band that the residuals passed; both are then divided
by the smoothed spectrum of the residuals, and what the model's own columns, an offset and a
spring can take is projected out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array
from pkm_identification.signals.bands import Band, FilterBand, HarmonicBand

SLOW = 0.6  # of the mean speed: about half of the samples are slower, and short periods show there
SAMPLES_A_WAVE = 4.0  # where no band says how fast a force may change
SMOOTHING = 8  # least ordinates to either side in the mean of a spectrum: it is known to a quarter
LEAST_ROWS = 20  # more than known columns: fewer have no spectrum
RANK_TOLERANCE = 1e-9  # singular values of columns of length one: below is rounding
TAPER = 0.1  # share of filtered rows that fade in and out: against leakage of the spectrum


def of_axis(band: Band, axis: int) -> Band:
    """Band of one drive: where its force was measured."""
    if isinstance(band, HarmonicBand) and band.weights is not None:
        return replace(band, weights=band.weights[:, axis : axis + 1])
    return band


@dataclass(eq=False)
class RippleRows:
    """Residuals of one drive in one recording, and columns that pass the same way."""

    positions: Array  # (n,)
    residuals: Array  # (m,)
    known: Array  # (m, k)
    band: Band | None

    def __post_init__(self) -> None:
        """Check what belongs together."""
        count = len(self.positions)
        rows = count if self.band is None else self.band.row_count(count)
        if self.residuals.shape != (rows,) or len(self.known) != rows:
            raise EstimationError(
                f'{count} positions make {rows} rows, but the residuals have the shape '
                f'{self.residuals.shape} and the known columns {self.known.shape}'
            )
        both = np.isfinite(self.positions).all(), np.isfinite(self.residuals).all()
        if not all(both):
            raise EstimationError('positions and residuals must be finite')
        own = int(np.count_nonzero(np.any(self.known, axis=0)))
        if rows < LEAST_ROWS + own:
            raise EstimationError(
                f'{rows} rows and {own} known columns are too few to look for ripple: at least '
                f'{LEAST_ROWS} more rows than columns'
            )
        # a constant and a spring are no ripple, whether the model has them or not
        middle = float(np.mean(self.positions))
        plain = self._passed(
            lambda part: np.stack(
                [np.ones_like(self.positions[part]), self.positions[part] - middle], axis=-1
            )[:, None]
        )[:, 0]
        self.known = np.concatenate([self.known, plain], axis=1)
        self.weights = np.ones(0)
        self.recoloured(np.zeros(0), np.zeros((rows, 0)))

    def recoloured(self, values: Array, columns: Array) -> None:
        """Divide by the spectrum of what columns (m, c) with these values leave."""
        power = self._ordinates(self.residuals - columns @ values) ** 2
        # two ordinates a frequency but for the mean
        frequencies = 0.5 * (power[1::2] + power[2::2])
        reach = max(SMOOTHING, round(np.sqrt(len(frequencies))))
        reach = min(reach, (len(frequencies) - 1) // 2)
        padded = np.pad(frequencies, reach, mode='reflect')
        smooth = np.convolve(padded, np.ones(2 * reach + 1), 'valid') / (2 * reach + 1)
        smooth = np.maximum(smooth, 1e-12 * smooth.max() + 1e-300)
        self.weights = 1.0 / np.sqrt(np.concatenate([smooth[:1], np.repeat(smooth, 2)]))
        self.weights[len(self.weights) - self._outside :] = 0.0
        self._basis = _basis_of(self._ordinates(self.known) * self.weights[:, None])
        self.target = self._left(self._ordinates(self.residuals) * self.weights)
        self.freedom = int(np.count_nonzero(self.weights)) - self._basis.shape[1]

    def columns(self, wave_numbers: ArrayLike) -> Array:
        """Rows (m, w, 2) of cosine and sine for wave numbers (w,) [1/m, 1/rad]."""
        waves = 2.0 * np.pi * np.asarray(wave_numbers, dtype=float)

        def samples(part: slice) -> Array:
            angle = self.positions[part, None] * waves
            return np.stack([np.cos(angle), np.sin(angle)], axis=-1)

        return self._passed(samples)

    def _passed(self, samples: Callable[[slice], Array]) -> Array:
        """Rows that the band makes of samples (n, w, c)."""
        count = len(self.positions)
        return samples(slice(count)) if self.band is None else self.band.evaluate(samples, count)

    def whitened(self, rows: Array) -> Array:
        """Divide rows (m, ...) by the spectrum, less what the known columns take."""
        flat = self._ordinates(rows.reshape(len(rows), -1)) * self.weights[:, None]
        return self._left(flat).reshape(len(flat), *rows.shape[1:])

    def _left(self, ordinates: Array) -> Array:
        return np.asarray(ordinates - self._basis @ (self._basis.T @ ordinates))

    def _ordinates(self, rows: Array) -> Array:
        """Real Fourier coefficients of rows; those of a period are some already."""
        if isinstance(self.band, HarmonicBand):
            return rows
        shape = (-1,) + (1,) * (rows.ndim - 1)
        return self._transform.rows(rows * self._taper.reshape(shape))

    @property
    def shortest(self) -> float:
        """Shortest period [m, rad] that passes the band at less than the mean speed."""
        samples = SAMPLES_A_WAVE
        if isinstance(self.band, FilterBand):
            samples = self.band.rate / self.band.cutoff
        elif isinstance(self.band, HarmonicBand):
            samples = len(self.positions) / max(self.band.harmonics, 1)
        return SLOW * samples * float(np.mean(np.abs(np.diff(self.positions))))

    @cached_property
    def _transform(self) -> HarmonicBand:
        return HarmonicBand((len(self.residuals) - 1) // 2, 1.0)

    @cached_property
    def _taper(self) -> Array:
        place = np.arange(len(self.residuals)) / (len(self.residuals) - 1)
        near = np.minimum(np.minimum(place, 1.0 - place) / TAPER, 1.0)
        return np.asarray(np.sin(0.5 * np.pi * near))

    @cached_property
    def _outside(self) -> int:
        """Ordinates at the end that a filter does not pass."""
        if not isinstance(self.band, FilterBand):
            return 0
        length = len(self.residuals) * self.band.step / self.band.rate  # [s]
        return 2 * max(0, self._transform.harmonics - int(self.band.cutoff * length))


def _basis_of(columns: Array) -> Array:
    """Orthonormal basis (m, r) of columns (m, k), of which some may be zero: of other drives."""
    length = np.linalg.norm(columns, axis=0)
    columns = columns[:, length > 0.0] / length[length > 0.0]
    if columns.shape[1] == 0:
        return columns
    left, singular, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, singular > RANK_TOLERANCE * singular[0]])
