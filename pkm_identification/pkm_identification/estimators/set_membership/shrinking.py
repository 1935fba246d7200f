"""An ellipsoid shrunk by strips, without those that contradict the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pkm_identification.arrays import Array, Mask
from pkm_identification.estimators.set_membership.bounding_ellipsoid import bound as take_in
from pkm_identification.estimators.set_membership.consistent_strips import (
    consistent_sizes,
    contradicting,
    scaled,
)
from pkm_identification.estimators.set_membership.error_bounds import (
    BoundOption,
    StripsOfRun,
    force_bounds,
    strips_of,
)
from pkm_identification.regression.problem import Problem

ROUNDS = 4  # of bounds from the residuals of the strips that do not contradict each other
SETTLED = 0.03  # relative change of such bounds that makes no difference


class Bounding:
    """An ellipsoid around parameters in units of the start, and which strips missed it.

    The start has the centre `nominal` (f,) and the half-axes `radius` (f,).
    """

    def __init__(
        self,
        nominal: Array,
        radius: Array,
        strips: list[StripsOfRun],
        cut: bool,
        left_out: list[Mask] | None = None,
    ) -> None:
        self.nominal, self.radius, self.strips, self.cut = nominal, radius, strips, cut
        self.root, self.centre = np.eye(len(nominal)), np.zeros(len(nominal))
        self.left_out = left_out
        self.missed = left_out or [np.zeros(0, dtype=bool) for _ in strips]
        self.used = 0

    @property
    def missed_share(self) -> float:
        """Share of the strips that missed the ellipsoid or were left out."""
        missed = sum(int(np.count_nonzero(each)) for each in self.missed)
        return missed / max(sum(len(each) for each in self.missed), 1)

    def largest_excess(self) -> float:
        """Largest distance from the centre to the middle of a strip, over half its width."""
        return max(
            float(np.abs(middles - rows @ self.centre).max(initial=0.0))
            for run in self.strips
            for rows, middles, _ in scaled(run, self.nominal, self.radius)
        )

    @property
    def log_size(self) -> float:
        """Logarithm of the geometric mean of the half-axes, in units of the start's."""
        return float(-np.mean(np.log(np.abs(np.diag(self.root)))))

    def shrink(self, passes: int, tolerance: float) -> list[float]:
        """Pass after pass until the set shrinks no more; sizes before and after each."""
        history = [self.log_size]
        for _ in range(passes):
            self.once()
            history.append(self.log_size)
            if history[-2] - history[-1] < tolerance:
                break
        return history

    def once(self) -> None:
        """Take all strips in once; what misses in any pass is an outlier."""
        self.used = 0
        for k, run in enumerate(self.strips):
            found: list[Mask] = []
            start = 0
            for block in run.blocks():
                missed = np.zeros(len(block.rows), dtype=np.bool_)
                widths = block.widths
                if self.left_out is not None:
                    out = self.left_out[k][start : start + len(widths)]
                    widths = np.where(out, np.inf, widths)
                start += len(widths)
                rows = np.ascontiguousarray(block.rows * self.radius)
                middles = block.middles - block.rows @ self.nominal
                self.used += take_in(
                    self.root, self.centre, rows, middles, widths, self.cut, missed
                )
                found.append(missed)
            now = np.concatenate(found)
            self.missed[k] = now | self.missed[k] if len(self.missed[k]) else now


class BoundOptions(NamedTuple):
    """Options of the bounds, as of `ellipsoid`."""

    bound: BoundOption
    bound_of: str
    bound_at: str
    periods: str


class ShrunkSet(NamedTuple):
    """A set, and the bounds of its strips."""

    run: Bounding
    history: list[float]
    bounds: list[Array]
    gains: list[float]


def shrunk_set(
    problem: Problem, options: BoundOptions, radius: Array, cut: bool, passes: int, tolerance: float
) -> ShrunkSet:
    """Shrink the set by all strips, or without those that contradict the others.

    Bounds in standard deviations are then those of the residuals of the other strips, which again
    tell what contradicts: wrong samples make no bound wide enough for themselves.
    """
    sizes: list[Array] | None = None
    for count in range(ROUNDS):
        bounds, gains = force_bounds(problem, *options, sizes)
        strips = strips_of(problem, bounds, options.periods)
        run = Bounding(problem.nominal, radius, strips, cut)
        history = run.shrink(passes, tolerance)
        if run.missed_share == 0:
            break
        out = contradicting(strips, problem.nominal, radius)
        run = Bounding(problem.nominal, radius, strips, cut, out)
        history = run.shrink(passes, tolerance)
        if options.bound_of != 'noise' or count == ROUNDS - 1:
            break
        before = sizes
        sizes = consistent_sizes(problem, strips, out, options.periods)
        if before is not None and np.allclose(before, sizes, rtol=SETTLED):
            break
    return ShrunkSet(run, history, bounds, gains)
