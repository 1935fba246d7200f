"""The samples of a problem as strips |y - d^T p| <= bound, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.estimators.set_membership.error_bounds import extremes
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Rows, Run
from pkm_identification.signals.bands import FilterBand
from pkm_identification.signals.signals import Signals

WIDENING = 1e-6  # of a bound: errors of both signs that reach it would leave strips of no width


@dataclass(frozen=True)
class Strips:
    """Some strips |middle - row p| <= width, sample by sample and axis by axis."""

    rows: Array  # (k n_a, f)
    middles: Array  # (k n_a,)
    widths: Array  # (k n_a,)


@dataclass(frozen=True)
class StripsOfRun:
    """All strips of one run, in the order of time; each call of `blocks` reads anew.

    Periodic runs are taken at the samples of one period, others as their rows are.
    """

    run: Run
    bounds: Array  # of each axis (n_a,) [N, N m]; taken 1e-6 larger, for rounding
    # Take the strip that all periods share at a sample, not that of their mean: every period has
    # the same row there, so that the strips are parallel
    each_period: bool

    def blocks(self) -> Iterator[Strips]:
        """Yield strips, some thousand samples at once."""
        if self.run.is_periodic:
            yield self._samples
            return
        for rows in self.run.blocks():
            yield _strips(rows, rows.forces, self._widths(rows.forces))

    @cached_property
    def _samples(self) -> Strips:
        """Strips of the samples of one period."""
        rows = self.run.in_time()
        middles = rows.forces
        widths = self._widths(middles)
        if self.each_period:
            assert self.run.signals.folded_forces is not None
            low, high = extremes(self.run.signals.folded_forces.blocks())
            middles = middles + 0.5 * (low + high) - self.run.signals.forces
            widths = widths - 0.5 * (high - low)
        seen = getattr(self.run.signals.band, 'weights', None)
        if seen is not None:  # what no period measured bounds nothing
            widths = np.where(seen > 0, widths, np.inf)
        return _strips(rows, middles, widths)

    def _widths(self, forces: Array) -> Array:
        return np.broadcast_to(self.bounds * (1 + WIDENING), forces.shape)

    def describe(self, number: int) -> dict[str, Any]:
        """Say which sample and axis a strip is of, by its number in the run."""
        row, axis = divmod(number, self.run.axes)
        return {
            'sample': row,
            'time': _time_of(self.run.signals, row),
            'joint': self.run.model.actuated_joints[axis],
        }


def strips_of(problem: Problem, bounds: list[Array], periods: str) -> list[StripsOfRun]:
    """Return the strips of each run."""
    return [
        StripsOfRun(run, bound, periods == 'each' and run.is_periodic)
        for run, bound in zip(problem.runs, bounds, strict=True)
    ]


def _strips(rows: Rows, middles: Array, widths: Array) -> Strips:
    flat = rows.regressor.reshape(-1, rows.regressor.shape[-1])
    return Strips(flat, middles.ravel(), np.ascontiguousarray(widths).ravel())


def _time_of(signals: Signals, row: int) -> float:
    """Stamp of a row [s]."""
    band = signals.band
    index = row
    if isinstance(band, FilterBand):
        rows = np.arange(band.trim, len(signals) - band.trim, band.step)
        index = int(rows[row] if band.holes is None else rows[~band.in_hole(rows)][row])
    return signals.stamp(index)
