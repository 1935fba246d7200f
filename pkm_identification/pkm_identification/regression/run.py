"""The rows of one dataset: in memory where they are few, block by block, or folded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import EstimationError
from pkm_identification.regression.selection import Selection
from pkm_identification.signals import Signals
from pkm_identification.signals.bands import HarmonicBand

Array = NDArray[np.float64]

IN_MEMORY = 2**27  # numbers in the rows of a regressor
AT_ONCE = 512  # samples of a regressor
SAMPLE_ROWS = 10000  # rows that are kept of a long run to see how its residuals follow each other


@dataclass(frozen=True)
class Rows:
    """Gamma = Psi p + eta for some rows.

    Attributes
    ----------
    regressor
        Psi (m, n_a, f) of the free parameters.
    forces
        Gamma (m, n_a) [N, N m], less the part of the fixed parameters.
    fixed
        Regressor (m, n_a, g) of the fixed parameters.
    """

    regressor: Array
    forces: Array
    fixed: Array

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.forces)

    def residuals(self, values: Array) -> Array:
        """Return Gamma - Psi p (m, n_a)."""
        return self.forces - self.regressor @ values


@dataclass(frozen=True)
class Run:
    """One dataset of a problem.

    Attributes
    ----------
    signals
        Motion and forces.
    base, model
        Base parameters and mechanism.
    selection
        Free and fixed parameters.
    covariance
        Noise (m, n_a, n_a) of the rows, from the spread over periods; None where it is
        unknown and the same for all rows.
    """

    signals: Signals
    base: Any
    model: Any
    selection: Selection
    covariance: Array | None = None

    @property
    def is_periodic(self) -> bool:
        """Whether the rows are Fourier coefficients (else they are in time)."""
        return isinstance(self.signals.band, HarmonicBand)

    @property
    def periodic_signals(self) -> Signals:
        """Signals of a periodic run, which are in memory."""
        if not self.is_periodic:
            raise EstimationError('the data are not periodic; give period= if the motion has one')
        return self.signals

    @property
    def harmonic_band(self) -> HarmonicBand:
        """Band of a periodic run."""
        band = self.periodic_signals.band
        assert isinstance(band, HarmonicBand)
        return band

    @cached_property
    def count(self) -> int:
        """Number of rows m."""
        return self.signals.row_count

    @property
    def axes(self) -> int:
        """Number of actuators n_a."""
        return len(self.model.actuated_joints)

    @property
    def is_long(self) -> bool:
        """Whether the rows are too many for memory."""
        return self.count * self.axes * self.selection.size > IN_MEMORY or self.signals.is_long

    @property
    def regressor(self) -> Array:
        """Psi (m, n_a, f) of the free parameters."""
        return self.rows.regressor

    @property
    def forces(self) -> Array:
        """Gamma (m, n_a) [N, N m], less the part of the fixed parameters."""
        return self.rows.forces

    @cached_property
    def rows(self) -> Rows:
        """All rows.

        Raises
        ------
        EstimationError
            They are too many; use `blocks`, `triangle` or `compact`.
        """
        if self.is_long:
            raise EstimationError(
                f'{self.count} rows are too many to be in memory at once: ls, wls and '
                'gauss_markov estimate from recordings of this length; give others a part of it'
            )
        if '_pass' in self.__dict__ and len(self._pass[1]) == 1:
            return self._pass[1][0]
        return concatenated(list(self.blocks()))

    def blocks(self) -> Iterator[Rows]:
        """Yield the rows in their order, some thousand at once; each call reads anew."""
        if self.is_long or 'rows' not in self.__dict__:
            for regressor, forces in self.signals.row_blocks(self._base_regressor):
                yield self._select(regressor, forces)
        else:
            yield self.rows

    @property
    def triangle(self) -> Array:
        """Folded rows [Psi_1 .. Psi_na | Gamma_1 .. Gamma_na | Fixed_1 .. Fixed_na].

        (k, n_a (f + 1 + g)) with k at most that many: its Gram matrix, and so any sum over
        rows of products, is that of all rows. Axis by axis in each part.
        """
        return self._pass[0]

    @cached_property
    def compact(self) -> Rows:
        """Few rows that give the same estimate and residual covariance for constant weights.

        One matrix L (n_a, n_a) from the left on every row commutes with the rotation of
        the rows that `triangle` makes, so its rows stand for all of them.
        """
        if not self.is_long and self.count <= self.axes * (self.selection.size + 1):
            return self.rows
        return self._unfolded()

    def _unfolded(self) -> Rows:
        """Rows of the triangle, axis by axis again."""
        axes, free, fixed = self.axes, len(self.selection.free), len(self.selection.fixed)
        parts = np.split(self.triangle, np.cumsum([axes * free, axes]), axis=1)
        size = len(parts[1])
        return Rows(
            parts[0].reshape(size, axes, free), parts[1], parts[2].reshape(size, axes, fixed)
        )

    @property
    def sample(self) -> tuple[Rows, ...]:
        """Stretches of consecutive rows: all of a short run, evenly spread ones of a long one."""
        return self._pass[1]

    @property
    def sample_starts(self) -> tuple[int, ...]:
        """Number of the first row of each stretch of `sample`."""
        return self._pass[2]

    @cached_property
    def force_size(self) -> Array:
        """Root mean square (n_a,) of the forces."""
        return np.sqrt(np.sum(self.compact.forces**2, axis=0) / self.count)

    def residuals(self, values: Array) -> Array:
        """Return Gamma - Psi p (m, n_a)."""
        return self.rows.residuals(values)

    def with_rows(self, rows: Rows) -> Run:
        """Return the same run with other rows."""
        other = replace(self)
        other.__dict__['rows'] = rows
        return other

    def selected(self, selection: Selection) -> Run:
        """Return the same run with other parameters free; what was computed is kept."""
        other = replace(self, selection=selection)
        if 'rows' in self.__dict__:
            other.__dict__['rows'] = self._reselected(self.rows, selection)
        if '_pass' in self.__dict__:
            folded = self._reselected(self._unfolded(), selection)
            triangle = _wide(folded)
            sample = tuple(self._reselected(part, selection) for part in self.sample)
            other.__dict__['_pass'] = triangle, sample, self.sample_starts
        return other

    def _reselected(self, rows: Rows, selection: Selection) -> Rows:
        old = self.selection
        full = np.empty((*rows.regressor.shape[:2], old.size))
        full[..., old.free], full[..., old.fixed] = rows.regressor, rows.fixed
        fixed = full[..., selection.fixed]
        forces = rows.forces + rows.fixed @ old.values - fixed @ selection.values
        return Rows(full[..., selection.free], forces, fixed)

    def rows_of(self, signals: Signals) -> Rows:
        """Rows of other signals of this robot, for example of some periods only."""
        return concatenated(
            [self._select(*block) for block in signals.row_blocks(self._base_regressor)]
        )

    def in_time(self) -> Rows:
        """Regressor and averaged forces at every sample (n, n_a), before the band."""
        signals = self.signals
        if signals.is_long:
            return self.rows  # says that it is too long
        return self._select(self._base_regressor(signals, slice(None)), np.asarray(signals.forces))

    @cached_property
    def _pass(self) -> tuple[Array, tuple[Rows, ...], tuple[int, ...]]:
        """Fold all blocks and keep some of them, in one pass."""
        stride = max(1, -(-self.count // SAMPLE_ROWS))
        kept: list[Rows] = []
        starts: list[int] = []

        def wide() -> Iterator[Array]:
            passed = 0
            for number, rows in enumerate(self.blocks()):
                count = len(rows)
                if number % stride == 0:
                    kept.append(rows)
                    starts.append(passed)
                passed += count
                yield _wide(rows)

        triangle = fold_rows(wide())
        if stride == 1 and len(kept) > 1:
            kept, starts = [concatenated(kept)], [0]
        return triangle, tuple(kept), tuple(starts)

    def _base_regressor(self, signals: Signals, samples: slice) -> Array:
        count = len(range(*samples.indices(len(signals))))
        parts = [
            self.base.regressor(signals.motion(self.model, part)) for part in _parts(samples, count)
        ]
        return np.concatenate(parts)

    def _select(self, regressor: Array, forces: Array) -> Rows:
        if not self.selection.fixed.size:
            return Rows(regressor, forces, regressor[..., :0])
        fixed = regressor[..., self.selection.fixed]
        forces = forces - fixed @ self.selection.values
        return Rows(regressor[..., self.selection.free], forces, fixed)


def _wide(rows: Rows) -> Array:
    """One row (m, n_a (f + 1 + g)) of each: axis by axis in regressor, forces and fixed."""
    count = len(rows)
    parts = (rows.regressor.reshape(count, -1), rows.forces, rows.fixed.reshape(count, -1))
    return np.concatenate(parts, axis=1)


def _parts(samples: slice, count: int) -> Iterator[slice]:
    """Split a slice: the regressor of all standard parameters is large, a cache is not."""
    begin, step = samples.start or 0, samples.step or 1
    for k in range(0, count, AT_ONCE):
        yield slice(begin + k * step, begin + min(k + AT_ONCE, count) * step, step)


def concatenated(blocks: list[Rows]) -> Rows:
    """Return the rows of several blocks as one."""
    if len(blocks) == 1:
        return blocks[0]
    return Rows(
        np.concatenate([block.regressor for block in blocks]),
        np.concatenate([block.forces for block in blocks]),
        np.concatenate([block.fixed for block in blocks]),
    )


def fold_rows(blocks: Iterable[Array]) -> Array:
    """Fold blocks of rows (m, c) into one factor (k, c), k <= c, with the same Gram matrix."""
    factor: Array | None = None
    for block in blocks:
        stacked = block if factor is None else np.concatenate([factor, block])
        factor = np.asarray(np.linalg.qr(stacked, mode='r'))
    if factor is None:
        raise EstimationError('there are no rows to estimate from')
    return factor
