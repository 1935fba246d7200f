"""How large the error of a force may be, and the samples as strips |y - d^T p| <= bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array
from pkm_identification.estimators.linear import gauss_markov
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.residual_noise import residual_covariances
from pkm_identification.regression.run import Rows, Run
from pkm_identification.signals.bands import BLOCK, FilterBand
from pkm_identification.signals.filtering import TRIM
from pkm_identification.signals.signals import Signals

BoundOption = float | Sequence[float] | Mapping[str, float]

SPLINE = 5  # degree of the splines that put stamps onto a grid
WIDENING = 1e-6  # of a bound: errors of both signs that reach it would leave strips of no width
NODES = 41  # of the grid: far enough from its ends in the middle


def force_bounds(
    problem: Problem,
    bound: BoundOption,
    bound_of: str,
    bound_at: str,
    periods: str,
    sizes: Sequence[Array] | None = None,
) -> tuple[list[Array], list[float]]:
    """Bounds (n_a,) [N, N m] of the errors of the rows in time, one array a run, and gains.

    Options as of `ellipsoid`: `bound` one for all axes, one an axis, or by joint. `bound_of`:
    `force` is in N, N m, `limit` in per cent of the largest force of the actuator, `range` in per
    cent of half the range of the measured forces, `noise` in standard deviations of the residuals
    of a Gauss-Markov fit, or `sizes` (n_a,) of each run. `bound_at`: where the first three hold;
    those of samples grow by `bound_gain`. EstimationError where a joint is unknown, or a bound is
    not positive.
    """
    joints = list(problem.model.actuated_joints)
    factor = _per_axis(bound, joints)
    if bound_of == 'noise' and sizes is None:
        values = gauss_markov(problem.without_prior()).values
        residuals = residual_covariances(problem, values)
        sizes = [
            _in_time(run, values, periods) if run.is_periodic else np.sqrt(np.diag(each))
            for run, each in zip(problem.runs, residuals, strict=True)
        ]
    bounds, gains = [], []
    for number, run in enumerate(problem.runs):
        gain = 1.0
        if bound_of == 'noise' and sizes is not None:
            size = factor * sizes[number]
        else:
            gain = bound_gain(run.signals) if bound_at == 'samples' else 1.0
            size = gain * factor * _unit(problem, run, bound_of)
        bad = np.flatnonzero(~(np.isfinite(size) & (size > 0)))
        if bad.size:
            joint = joints[bad[0]]
            raise EstimationError(
                f"joint '{joint}': the bound ({bound_of}) comes out as {size[bad[0]]:g}; give a "
                'positive one with bound_of=force'
            )
        bounds.append(size)
        gains.append(gain)
    return bounds, gains


def _per_axis(bound: BoundOption, joints: list[str]) -> Array:
    """Bound (n_a,) as it was given."""
    if isinstance(bound, Mapping):
        unknown = [name for name in bound if name not in joints]
        missing = [name for name in joints if name not in bound]
        if unknown or missing:
            what = f"unknown joint '{unknown[0]}'" if unknown else f"no bound for '{missing[0]}'"
            raise EstimationError(f'bound: {what}; the actuated joints are {", ".join(joints)}')
        given = np.array([bound[name] for name in joints], dtype=float)
    else:
        given = np.atleast_1d(np.asarray(bound, dtype=float))
    if given.shape not in ((1,), (len(joints),)) or not (np.isfinite(given) & (given > 0)).all():
        raise EstimationError(
            f'bound must be a positive number, one for each of {", ".join(joints)}, or by joint; '
            f'got {bound!r}'
        )
    return np.broadcast_to(given, (len(joints),)).astype(float)


def _unit(problem: Problem, run: Run, bound_of: str) -> Array:
    if bound_of == 'force':
        return np.ones(problem.axes)
    if bound_of == 'limit':
        return np.asarray(problem.model.force_limit, dtype=float) / 100
    signals = run.signals
    if signals.is_long:
        blocks = signals.row_blocks(lambda part, rows: part.forces[rows])
        least, most = extremes(forces for _, forces in blocks)
    else:
        least, most = extremes([signals.forces])
    return (most - least) / 200


def extremes(blocks: Iterable[Array]) -> tuple[Array, Array]:
    """Least and largest of blocks of values, along their first axis."""
    low, high = np.asarray(np.inf), np.asarray(-np.inf)
    for block in blocks:
        low, high = np.minimum(low, block.min(axis=0)), np.maximum(high, block.max(axis=0))
    return low, high


def _in_time(run: Run, values: Array, periods: str) -> Array:
    """Standard deviation (n_a,) of the samples of a period from a model with these values."""
    power = np.mean(run.in_time().residuals(values) ** 2, axis=0)
    return np.sqrt(power + within_periods(run, periods))


def within_periods(run: Run, periods: str) -> Array | float:
    """Variance (n_a,) of one period about their mean, where bounds are those of each."""
    noise = run.signals.force_noise
    if periods != 'each' or noise is None:
        return 0.0
    return np.asarray(np.diag(noise.covariance) * (1 - 1 / noise.periods))


def bound_gain(signals: Signals) -> float:
    """Return how much larger the error of a row may be than that of a sample.

    A mean over periods has no larger error than its worst sample. A filter or an
    interpolation adds samples with weights of both signs: the sum of their magnitudes.
    """
    gain = _interpolation_gain() if signals.diagnostics.interpolated else 1.0
    return gain * _filter_gain(signals.band) if isinstance(signals.band, FilterBand) else gain


def _filter_gain(band: FilterBand) -> float:
    """Sum of the magnitudes of the filter's weights, with the odd continuation at the ends."""
    half = min(BLOCK, 4 * band.margin)
    impulse = np.zeros(2 * half + 1)
    impulse[half] = 1.0
    measured = replace(band, drive=None)  # the noise is that of efforts behind the drive
    weights = np.abs(measured.smooth(impulse[:, None])[:, 0])
    distance = np.abs(np.arange(-half, half + 1)) * band.cutoff / band.rate
    return float(weights.sum() + 2 * weights[distance > TRIM].sum())


def _interpolation_gain() -> float:
    """Largest sum of the magnitudes of the weights of a spline on a grid."""
    from scipy.interpolate import make_interp_spline

    nodes = np.arange(NODES, dtype=float)
    cardinal = make_interp_spline(nodes, nodes == NODES // 2, k=SPLINE)
    shift = np.linspace(0, 1, 21)[:, None]
    inside = nodes[SPLINE : -SPLINE - 1]
    return float(np.abs(cardinal(inside + shift)).sum(axis=1).max())


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
        joint = self.run.model.actuated_joints[axis]
        return {'sample': row, 'time': _time_of(self.run.signals, row), 'joint': joint}


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
    if not isinstance(band, FilterBand):
        return signals.stamp(row)
    rows = np.arange(band.trim, len(signals) - band.trim, band.step)
    return signals.stamp(int((rows if band.holes is None else rows[~band.in_hole(rows)])[row]))
