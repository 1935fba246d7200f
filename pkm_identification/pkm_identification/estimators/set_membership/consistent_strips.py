"""Which strips contradict the others: a point that few of them miss.

The set of parameters that all strips but the smallest number allow is that of the outlier minimal
number estimator [Lahanier, Walter, Gomeni 1987]. Its point is looked for by linear programmes: the
sum of what strips have to give way is least, then again with each divided by what it gave way last,
so that a few give way and the others do not [Candes, Wakin, Boyd 2008]. Strips that hold the point
have a set in common; what misses it is left out. Where all strips have a point in common, none is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from pkm_identification.arrays import Array, Mask
from pkm_identification.estimators.set_membership.error_bounds import (
    Strips,
    StripsOfRun,
    within_periods,
)
from pkm_identification.regression.numerics import scaled_least_squares
from pkm_identification.regression.problem import Problem

NEAR = 0.6  # of the half width from the middle: strips that a better point may miss
AT_ONCE = 4000  # strips of one linear programme: the farthest from the point so far
ROUNDS = 12  # of adding strips that a point misses
REWEIGHTED = 4
SINGULAR = 1e-10  # of the largest singular value: what no strip shows stays where it is
SMALLEST_EXCESS = 0.05  # half widths: strips that gave way less weigh the same
TOUCHING = 1e-7  # half widths by which a point may be out of a strip


def contradicting(runs: Sequence[StripsOfRun], nominal: Array, radius: Array) -> list[Mask]:
    """Return the strips of each run that miss a point which few miss.

    For parameters about `nominal` (f,) in units of `radius` (f,).
    """
    nobody = [np.zeros(0, dtype=bool) for _ in runs]
    point = _least_squares(runs, nominal, radius, nobody)
    rows, middles = np.zeros((0, len(nominal))), np.zeros(0)
    best, fewest = point, _missing(runs, nominal, radius, point)[1]
    for _ in range(ROUNDS):
        further = _farthest(runs, nominal, radius, point)
        known = {row.tobytes() for row in np.column_stack([rows, middles])}
        new = [k for k, row in enumerate(np.column_stack(further)) if row.tobytes() not in known]
        if not new:
            break
        rows = np.concatenate([rows, further[0][new]])
        middles = np.concatenate([middles, further[1][new]])
        point, count = best, fewest
        for candidate in _points(rows, middles):
            found = _missing(runs, nominal, radius, candidate)[1]
            if found < count or point is best:
                point, count = candidate, found
        if count < fewest:
            best, fewest = point, count
        if fewest == 0:
            break
    return _missing(runs, nominal, radius, best)[0]


def scaled(
    run: StripsOfRun, nominal: Array, radius: Array
) -> Iterator[tuple[Array, Array, Strips]]:
    """Yield rows and middles of strips with half width one, and the strips as they are.

    Rows of strips that bound nothing, or that nothing is in, are zero.
    """
    for block in run.blocks():
        usable = np.isfinite(block.widths) & (block.widths > 0)
        inverse = np.where(usable, 1 / np.where(usable, block.widths, 1.0), 0.0)
        rows = block.rows * radius * inverse[:, None]
        yield rows, (block.middles - block.rows @ nominal) * inverse, block


def consistent_sizes(
    problem: Problem, strips: Sequence[StripsOfRun], left_out: Sequence[Mask], periods: str
) -> list[Array]:
    """Return the size (n_a,) of the residuals of each run in the strips that are not left out."""
    nominal, unit = problem.nominal, np.ones(problem.size)
    runs = [replace(each, each_period=False) for each in strips]
    point = _least_squares(runs, nominal, unit, left_out)
    sizes = []
    for run, out in zip(runs, left_out, strict=True):
        power, count = np.zeros(problem.axes), np.zeros(problem.axes)
        start = 0
        for block in run.blocks():
            kept = ~out[start : start + len(block.middles)]
            start += len(kept)
            left = block.middles - block.rows @ (nominal + point)
            power += np.sum(np.reshape(np.where(kept, left, 0.0) ** 2, (-1, problem.axes)), axis=0)
            count += np.sum(kept.reshape(-1, problem.axes), axis=0)
        sizes.append(np.sqrt(power / np.maximum(count, 1) + within_periods(run.run, periods)))
    return sizes


def _least_squares(
    runs: Sequence[StripsOfRun], nominal: Array, radius: Array, left_out: Sequence[Mask]
) -> Array:
    """Point with the least squared distances from the middles of the strips."""
    size = len(nominal)
    triangle: Array = np.zeros((0, size + 1))
    for run, out in zip(runs, left_out, strict=True):
        start = 0
        for rows, middles, _ in scaled(run, nominal, radius):
            part = out[start : start + len(middles)]
            start += len(middles)
            whole = np.column_stack([rows, middles])
            stacked = np.concatenate([triangle, whole[~part] if len(part) else whole])
            triangle = np.asarray(np.linalg.qr(stacked, mode='r'))
    return scaled_least_squares(triangle[:, :size], triangle[:, size], SINGULAR)


def _missing(
    runs: Sequence[StripsOfRun], nominal: Array, radius: Array, point: Array
) -> tuple[list[Mask], int]:
    """Return the strips of each run that a point is not in, and their number."""
    found = []
    for run in runs:
        masks = [
            (np.abs(middles - rows @ point) > 1 + TOUCHING) | ~(block.widths > 0)
            for rows, middles, block in scaled(run, nominal, radius)
        ]
        found.append(np.concatenate(masks))
    return found, sum(int(np.count_nonzero(mask)) for mask in found)


def _farthest(
    runs: Sequence[StripsOfRun], nominal: Array, radius: Array, point: Array
) -> tuple[Array, Array]:
    """Rows and middles of the strips whose edges are nearest to a point, or miss it."""
    chosen_rows, chosen_middles = np.zeros((0, len(nominal))), np.zeros(0)
    for run in runs:
        for rows, middles, _ in scaled(run, nominal, radius):
            near = np.abs(middles - rows @ point) > NEAR
            chosen_rows = np.concatenate([chosen_rows, rows[near]])
            chosen_middles = np.concatenate([chosen_middles, middles[near]])
            if len(chosen_middles) > AT_ONCE:
                distance = np.abs(chosen_middles - chosen_rows @ point)
                kept = np.sort(np.argsort(-distance, kind='stable')[:AT_ONCE])
                chosen_rows, chosen_middles = chosen_rows[kept], chosen_middles[kept]
    return chosen_rows, chosen_middles


def _points(rows: Array, middles: Array) -> Iterator[Array]:
    """Yield points with the smallest weighted sum of what the strips have to give way."""
    from scipy import sparse  # only where strips contradict each other
    from scipy.optimize import Bounds, LinearConstraint, milp

    count, size = rows.shape
    scale = np.maximum(np.linalg.norm(rows, axis=0), 1e-300)
    eye = sparse.identity(count, format='csc')
    matrix = sparse.hstack([sparse.csc_matrix(rows / scale), eye, -eye], format='csc')
    limits = LinearConstraint(matrix, middles - 1, middles + 1)
    bounds = Bounds(np.concatenate([np.full(size, -np.inf), np.zeros(2 * count)]), np.inf)
    weights = np.ones(count)
    for _ in range(REWEIGHTED):
        cost = np.concatenate([np.zeros(size), weights, weights])
        found = milp(cost, constraints=limits, bounds=bounds)
        if found.x is None:
            return
        point = found.x[:size] / scale
        yield point
        excess = found.x[size : size + count] + found.x[size + count :]
        weights = 1 / (excess + SMALLEST_EXCESS)
