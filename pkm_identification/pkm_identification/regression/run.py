"""The rows of one dataset: in memory where they are few, block by block, or folded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.equations.dynamic_model import DynamicModel
from pkm_identification.arrays import Array
from pkm_identification.regression.selection import Selection
from pkm_identification.signals import Signals
from pkm_identification.signals.bands import BLOCK, FilterBand, HarmonicBand

IN_MEMORY = 2**27  # numbers in the rows of a regressor: 1 GiB
AT_ONCE = 512  # samples whose regressor of all standard parameters fits a cache
SAMPLE_ROWS = 10000  # rows that are kept of a long run to see how its residuals follow each other


@dataclass(frozen=True)
class Rows:
    """Gamma = Psi p + eta for some rows."""

    regressor: Array  # Psi (m, n_a, f) of the free parameters
    forces: Array  # Gamma (m, n_a) [N, N m], less the part of the fixed parameters
    fixed: Array  # (m, n_a, g), regressor of the fixed parameters

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.forces)

    def residuals(self, values: Array) -> Array:
        """Return Gamma - Psi p (m, n_a)."""
        return self.forces - self.regressor @ values

    def weighted(self, weights: Array) -> tuple[Array, Array, Array]:
        """Regressor (m n_a, f), forces (m n_a,) and fixed (m n_a, g) times L (..., n_a, n_a)."""
        size = self.forces.size
        return (
            (weights @ self.regressor).reshape(size, -1),
            (weights @ self.forces[..., None]).ravel(),
            (weights @ self.fixed).reshape(size, -1),
        )


class Folded(NamedTuple):
    """What one pass over the rows of a run leaves of them."""

    # Folded rows [Psi_1 .. Psi_na | Gamma_1 .. Gamma_na | Fixed_1 .. Fixed_na] (k, n_a (f + 1 +
    # g)) with k at most that many: any sum over rows of products is that of all rows.
    triangle: Array
    sample: tuple[Rows, ...]  # stretches of consecutive rows: all, or evenly spread ones if long
    starts: tuple[int, ...]  # number of the first row of each stretch


class RowRegressor(Protocol):
    """What makes rows of a regressor from motions: base parameters, with or without payloads."""

    @property
    def names(self) -> list[str]:
        """Names of the parameters (r)."""

    @property
    def columns(self) -> Array:
        """Standard parameters with the same forces (n_p, r)."""

    def regressor(self, motion: PlatformMotion) -> Array:
        """Return the force per parameter (N, n_a, r)."""


@dataclass(frozen=True)
class LinearParameters:
    """Parameters whose columns of the regressor are sums of those of standard parameters."""

    names: list[str]
    columns: Array  # (n_p, r)
    model: DynamicModel

    def regressor(self, motion: PlatformMotion) -> Array:
        """Return the force per parameter (N, n_a, r)."""
        return np.asarray(self.model.regressor(motion)) @ self.columns


@dataclass(eq=False)
class Run:
    """One dataset of a problem. Its rows are read, or folded, once: when they are asked for."""

    signals: Signals
    base: RowRegressor
    model: ClosedChainModel
    selection: Selection
    # Noise (m, n_a, n_a) of the rows, from the spread over periods; None where it is unknown and
    # the same for all rows
    covariance: Array | None = None
    known_rows: Rows | None = None
    known_compact: Rows | None = None
    known_folded: Folded | None = None

    @property
    def is_periodic(self) -> bool:
        """Whether the rows are Fourier coefficients (else they are in time)."""
        return isinstance(self.signals.band, HarmonicBand)

    @property
    def filter(self) -> FilterBand:
        """The filter of rows that are in time; EstimationError where they are not."""
        if not isinstance(self.signals.band, FilterBand):
            raise EstimationError('the motion is not filtered: its rows are Fourier coefficients')
        return self.signals.band

    def noise_or(self, other: Array) -> Array:
        """Noise of the rows as the spread over periods shows it, else another one."""
        return other if self.covariance is None else self.covariance

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

    @property
    def rows(self) -> Rows:
        """All rows; EstimationError where they are too many: use `blocks`, `folded`, `compact`."""
        if self.known_rows is None:
            if self.is_long:
                raise EstimationError(
                    f'{self.count} rows are too many to be in memory at once: ls, wls and '
                    'gauss_markov estimate from recordings of this length; give others a part of it'
                )
            whole = self.known_folded is not None and len(self.known_folded.sample) == 1
            self.known_rows = concatenated(list(self.folded.sample if whole else self.blocks()))
        return self.known_rows

    def blocks(self) -> Iterator[Rows]:
        """Yield the rows in their order, some thousand at once; each call reads anew."""
        if self.known_rows is not None:
            yield self.known_rows
            return
        for regressor, forces in self.signals.row_blocks(self._base_regressor):
            yield self._select(regressor, forces)

    @property
    def folded(self) -> Folded:
        """All rows folded, and some of them, from one pass over the blocks."""
        if self.known_folded is None:
            self.known_folded = self._fold()
        return self.known_folded

    @property
    def compact(self) -> Rows:
        """Few rows that give the same estimate and residual covariance for constant weights.

        One matrix L (n_a, n_a) from the left on every row commutes with the rotation of
        the rows that `folded` makes, so its rows stand for all of them.
        """
        if not self.is_long and self.count <= self.axes * (self.selection.size + 1):
            return self.rows
        if self.known_compact is None:
            self.known_compact = self._unfolded()
        return self.known_compact

    def _unfolded(self) -> Rows:
        """Rows of the triangle, axis by axis again."""
        axes, free = self.axes, len(self.selection.free)
        design, forces, fixed = np.split(
            self.folded.triangle, np.cumsum([axes * free, axes]), axis=1
        )
        shape = (len(forces), axes, -1)
        return Rows(design.reshape(shape), forces, fixed.reshape(shape))

    @cached_property
    def force_size(self) -> Array:
        """Root mean square (n_a,) of the forces."""
        return np.sqrt(np.sum(self.compact.forces**2, axis=0) / self.count)

    def residuals(self, values: Array) -> Array:
        """Return Gamma - Psi p (m, n_a)."""
        return self.rows.residuals(values)

    def with_noise(self, covariance: Array | None) -> Run:
        """Return the same run with the noise of its rows."""
        return replace(self, covariance=covariance)

    def with_rows(
        self, rows: Rows, selection: Selection | None = None, compact: Rows | None = None
    ) -> Run:
        """Return the same run with other rows, of other parameters for example."""
        return replace(
            self,
            selection=selection or self.selection,
            known_rows=rows,
            known_compact=compact,
            known_folded=None,
        )

    def scaled(self, signals: Signals, factors: Array) -> Run:
        """Return the run with the forces of each axis times a factor (n_a,), in such signals."""
        column = factors[:, None]

        def times(rows: Rows | None) -> Rows | None:
            if rows is None:
                return None
            return Rows(column * rows.regressor, factors * rows.forces, column * rows.fixed)

        noise = self.covariance
        return replace(
            self,
            signals=signals,
            covariance=None if noise is None else noise * np.outer(factors, factors),
            known_rows=times(self.known_rows),
            known_compact=times(self.known_compact),
            known_folded=None,
        )

    def selected(self, selection: Selection) -> Run:
        """Return the same run with other parameters free, without reading the data again."""
        rows, folded = self.known_rows, self.known_folded
        if rows is not None:
            rows = self._reselected(rows, selection)
        if folded is not None:
            folded = Folded(
                _wide(self._reselected(self._unfolded(), selection)),
                tuple(self._reselected(part, selection) for part in folded.sample),
                folded.starts,
            )
        return replace(
            self, selection=selection, known_rows=rows, known_compact=None, known_folded=folded
        )

    def _reselected(self, rows: Rows, selection: Selection) -> Rows:
        full = self.full_regressor(rows)
        fixed = full[..., selection.fixed]
        forces = rows.forces + rows.fixed @ self.selection.values - fixed @ selection.values
        return Rows(full[..., selection.free], forces, fixed)

    def full_regressor(self, rows: Rows) -> Array:
        """Regressor (m, n_a, r) of free and fixed parameters of some rows of the run."""
        chosen = self.selection
        full = np.empty((*rows.forces.shape, chosen.size))
        full[..., chosen.free], full[..., chosen.fixed] = rows.regressor, rows.fixed
        return full

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

    def _fold(self) -> Folded:
        """Fold all blocks and keep some of them, in one pass."""
        stride = max(1, -(-self.count // SAMPLE_ROWS))
        kept: dict[int, Rows] = {}  # by the number of their first row
        factor: Array | None = None
        passed = 0
        # a block that lies in a gap has no rows
        for number, rows in enumerate(filter(len, self.blocks())):
            if number % stride == 0:
                kept[passed] = rows
            passed += len(rows)
            wide = _wide(rows) if factor is None else np.concatenate([factor, _wide(rows)])
            factor = np.asarray(np.linalg.qr(wide, mode='r'))
        if factor is None:
            raise EstimationError('there are no rows to estimate from')
        if stride == 1 and len(kept) > 1:
            kept = {0: concatenated(list(kept.values()))}
        return Folded(factor, tuple(kept.values()), tuple(kept))

    def _base_regressor(self, signals: Signals, samples: slice) -> Array:
        begin, _, step = samples.indices(len(signals))

        def block(part: slice) -> Array:
            chosen = slice(begin + part.start * step, begin + part.stop * step, step)
            return self.base.regressor(signals.motion(self.model, chosen))

        return in_blocks(len(range(*samples.indices(len(signals)))), block, AT_ONCE)

    def _select(self, regressor: Array, forces: Array) -> Rows:
        if not self.selection.fixed.size:
            return Rows(regressor, forces, regressor[..., :0])
        fixed = regressor[..., self.selection.fixed]
        forces = forces - fixed @ self.selection.values
        return Rows(regressor[..., self.selection.free], forces, fixed)


@dataclass(frozen=True)
class PeriodicRun:
    """A run whose rows are Fourier coefficients; EstimationError where it is no such one."""

    run: Run

    @property
    def signals(self) -> Signals:
        """Signals of the run, which are in memory."""
        if not self.run.is_periodic:
            raise EstimationError('the data are not periodic; give period= if the motion has one')
        return self.run.signals

    @property
    def band(self) -> HarmonicBand:
        """Turns a period into the rows of the run."""
        band = self.signals.band
        assert isinstance(band, HarmonicBand)
        return band


def _wide(rows: Rows) -> Array:
    """One row (m, n_a (f + 1 + g)) of each: axis by axis in regressor, forces and fixed."""
    count = len(rows)
    parts = (rows.regressor.reshape(count, -1), rows.forces, rows.fixed.reshape(count, -1))
    return np.concatenate(parts, axis=1)


def in_blocks(count: int, function: Callable[[slice], Array], size: int = BLOCK) -> Array:
    """Concatenate what a function gives for so many samples, some at once."""
    return np.concatenate([function(slice(k, min(k + size, count))) for k in range(0, count, size)])


def concatenated(blocks: list[Rows]) -> Rows:
    """Return the rows of several blocks as one."""
    if len(blocks) == 1:
        return blocks[0]
    parts = zip(*(vars(block).values() for block in blocks), strict=True)
    return Rows(*map(np.concatenate, parts))
