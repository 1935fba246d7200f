"""Least squares with rows in cones, which always ends: by one solver, another, or a projection.

Whatever is found is certified by itself: slacks inside their cones, and a bound on how far from
the best it can be, from the multipliers [Boyd and Vandenberghe, Convex Optimization, 5.5].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from pkm_identification.arrays import Array, Mask
from pkm_identification.physical.barrier import Block, block_of, centres
from pkm_identification.physical.cone_program import ConeRows, equal, minimise
from pkm_identification.physical.equalities import (
    against,
    depends,
    equalities,
    least_slack,
    with_equalities,
)
from pkm_identification.physical.point_inside import (
    PointInside,
    into_cone,
    point_inside,
    widened_by,
)

ACCURATE = 1e-2  # standard deviations from the best that are as good as the best
RELATIVE = 1e-4  # of the distance from the aim: the same
ENOUGH = 1e-6  # squared standard deviations, beyond which nothing is worth a step
NOTHING = 1e-10  # the same over what is minimised
LARGEST_TARGET = 1e7  # standard deviations in all forces together, beyond which they are exact
OUTSIDE = 1e-9  # that a slack may be outside of its cone by rounding
FAR = 10.0  # times the largest unknown, beyond which no solution is looked for
TOUCHING = 1e-7  # of the bodies' size: cones that share no more than a point are as near
NEARLY = 0.99  # of the way to the limit
SHOWN = 1e-7  # of the largest singular value: directions with less are not projected along


class Solver(Enum):
    """What found a solution."""

    INTERIOR_POINT = 'interior-point method (Clarabel)'
    BARRIER = 'Newton steps in a logarithmic barrier'
    PROJECTION = 'projection of the least-squares estimate'


@dataclass(frozen=True)
class Found:
    """Where the squares are smallest, or that nothing is in all cones."""

    y: Array  # (n,)
    duals: list[Array]  # one array for each `ConeRows`; that of a matrix is its triangle
    value: float  # what was minimised
    solver: Solver | None  # None: nothing was found that satisfies all rows
    accuracy: float  # the best is at most so many standard deviations away; inf: not known
    scale: float = 1.0  # the accuracy was asked for in so much of a standard deviation
    is_proved: bool = True  # of nothing found: whether the duals prove it, or the search has failed

    @property
    def is_accurate(self) -> bool:
        """Whether nothing better is worth looking for."""
        least = max(ACCURATE / self.scale, RELATIVE * np.sqrt(max(self.value, 0.0)))
        return self.solver is not None and self.accuracy <= least


def least_squares(
    design: Array,
    aim: Array,
    rows: Sequence[ConeRows],
    inside: Array | None = None,
    prior: Sequence[Block] = (),
) -> Found:
    """Minimise |design @ y - aim|^2 and the divergences of `prior` with all rows in their cones.

    `inside` (n,) is a point in or near all cones but those of equalities. Where nothing is in
    all cones the duals are weights of the rows in a sum that no y makes positive.
    """
    count = design.shape[1]
    near = np.zeros(count) if inside is None else inside
    base, axes = equalities(rows, near)
    missed = [against(each, base, axes) for each in rows]
    if any(weight.any() for weight in missed):
        return Found(near, with_equalities(rows, missed, np.zeros(count)), np.inf, None, np.inf)
    problem = _reduced(design, aim, rows, near, prior, base, axes)
    return problem.of_all(problem.solve(), design, aim, rows)


@dataclass(frozen=True)
class _Reduced:
    """The same problem without equalities in u, y = base + axes @ u, with a diagonal design."""

    stretch: Array  # (n,), the singular values of the design, scaled
    aim: Array  # (n,), of stretch * u; what no u can reach is left out
    rows: list[ConeRows]
    start: Array  # inside or near
    prior: list[Block]
    base: Array
    axes: Array
    kept: list[Mask]  # of the rows: others do not depend on u
    scale: float  # of the squares' root

    def cost(self, u: Array) -> float:
        """Return what is minimised."""
        squares = float(np.sum((self.stretch * u - self.aim) ** 2))
        return squares + sum(block.divergence(u) for block in self.prior)

    def solve(self) -> Found:
        """Try one solver after the other until one's certificate holds; else take the best."""
        best: Found | None = None
        if not self.prior:
            best = self._by_clarabel()
            if best is not None and best.is_accurate:
                return best
        point = point_inside(self.rows, self.start)
        if point.slack <= 0:
            return best or self._without_inside(point)
        inside = point.u
        found = self._by_barrier(inside)
        if found is not None and (best is None or found.accuracy < best.accuracy):
            best = found
        if best is not None and best.is_accurate:
            return best
        projected = self._projected(inside)
        return projected if best is None or projected.value < best.value else best

    def _without_inside(self, point: PointInside) -> Found:
        """Tell a contradiction from a failed search; take what is as good as in the cones."""
        if point.is_contradiction or point.slack < -TOUCHING:
            proved = point.is_contradiction
            return Found(point.u, point.duals, np.inf, None, np.inf, is_proved=proved)
        wide = widened_by(self.rows, TOUCHING - point.slack)
        return replace(self, rows=wide)._projected(point.u)

    def _by_clarabel(self) -> Found | None:
        """Residuals are unknowns of their own, which follow u, so that nothing is squared."""
        count = len(self.stretch)
        columns = np.sqrt(sum(np.sum(each.matrix**2, axis=0) for each in self.rows) + 1e-300)
        columns = np.where(columns > 1e-100, columns, 1.0)
        own = equal(np.hstack([np.diag(self.stretch / columns), -np.eye(count)]), self.aim)
        scaled = [each._replace(matrix=each.matrix / columns) for each in self.rows]
        rows = [*(each.widened(2 * count) for each in scaled), own]
        found = minimise(np.repeat([0.0, 1.0], count), np.zeros(2 * count), rows)
        if not found.is_solved:
            return None
        return self._certified(found.y[:count] / columns, found.duals[:-1], Solver.INTERIOR_POINT)

    def _by_barrier(self, inside: Array) -> Found | None:
        """Follow the path as long as its certificates get better, to a gap that is nothing."""
        best, least = None, -np.inf
        for centre in centres(np.diag(self.stretch), self.aim, self.rows, self.prior, inside):
            found = self._certified(centre.y, centre.duals, Solver.BARRIER)
            if found is None:
                continue
            least = max(least, found.value - found.accuracy**2)  # nothing is below
            if best is None or found.value < best.value:
                left = float(np.sqrt(max(found.value - least, 0.0)))
                best = replace(found, accuracy=min(found.accuracy, left))
            if centre.gap < max(ENOUGH, NOTHING * found.value):
                break
        return best

    def _certified(self, u: Array, duals: list[Array], solver: Solver) -> Found | None:
        """Bound what is lost, from multipliers; None outside of a cone or at a divergence's end."""
        cost = self.cost(u)
        if not np.isfinite(cost):
            return None
        gap, gradient = 0.0, np.zeros(len(u))
        inward = []
        for each, dual in zip(self.rows, duals, strict=True):
            slack = each.slack(u)
            if least_slack(each, slack) < -OUTSIDE or not np.isfinite(dual).all():
                return None
            inward.append(into_cone(each, dual))
            gap += abs(float(inward[-1] @ slack))
            gradient += each.matrix.T @ inward[-1]
        seen = gradient + 2.0 * self.stretch * (self.stretch * u - self.aim)
        curvature = self.stretch**2
        for block in self.prior:
            relative, inverse = block.relative(block.at(u))
            pull = np.einsum('iik->k', block.forms)
            pull = pull - np.einsum('ij,ijk->k', inverse.T @ inverse, block.forms)
            seen += block.weight * pull
            curvature = curvature + 0.5 * block.weight * np.sum(relative**2, axis=0)
        reach = FAR * (1.0 + float(np.abs(u).max(initial=0.0)))
        bound = np.abs(seen) * reach
        lost = np.minimum(seen**2 / np.maximum(4.0 * curvature, 1e-300), bound)
        return Found(u, inward, cost, solver, float(np.sqrt(gap + lost.sum())))

    def _projected(self, inside: Array) -> Found:
        """Go from a point inside towards the least-squares estimate, as far as cones allow."""
        shown = self.stretch > SHOWN * self.stretch.max(initial=1e-300)
        change = np.where(shown, self.aim - self.stretch * inside, 0.0)
        step = change / np.where(shown, self.stretch, 1.0)
        rates = np.concatenate([block_of(each).rates(inside, step) for each in self.rows])
        length = min(1.0, NEARLY / max(-float(rates.min(initial=0.0)), 1e-300))
        u = inside + length * step
        duals = [np.zeros(len(each.offset)) for each in self.rows]
        return Found(u, duals, self.cost(u), Solver.PROJECTION, np.inf)

    def of_all(self, found: Found, design: Array, aim: Array, rows: Sequence[ConeRows]) -> Found:
        """Return the solution in y, with the duals of equalities, in the squares' own scale."""
        y = self.base + self.axes @ found.y
        known = iter(found.duals)
        duals = []
        for each, kept in zip(rows, self.kept, strict=True):
            dual = np.zeros(len(each.offset))
            if kept.any():
                dual[kept] = next(known) / self.scale**2
            duals.append(dual)
        if found.solver is None:
            return replace(found, y=y, duals=with_equalities(rows, duals, np.zeros(len(y))))
        duals = with_equalities(rows, duals, 2.0 * design.T @ (design @ y - aim))
        value = float(np.sum((design @ y - aim) ** 2))
        value += sum(block.divergence(found.y) for block in self.prior) / self.scale**2
        return Found(y, duals, value, found.solver, found.accuracy / self.scale, self.scale)


def _reduced(
    design: Array,
    aim: Array,
    rows: Sequence[ConeRows],
    near: Array,
    prior: Sequence[Block],
    base: Array,
    axes: Array,
) -> _Reduced:
    """Put the problem into the singular axes of its design, without what equalities determine."""
    turned, stretch, turn = np.linalg.svd(design @ axes)
    stretch = np.pad(stretch, (0, len(turn) - len(stretch)))
    goal = turned.T[: len(turn)] @ (aim - design @ base)
    goal = np.pad(goal, (0, len(turn) - len(goal)))
    axes = axes @ turn.T
    kept, left = [], []
    for each in rows:
        chosen = depends(each, axes)
        kept.append(chosen)
        if chosen.any():
            matrix, offset = each.matrix[chosen] @ axes, each.slack(base)[chosen]
            left.append(ConeRows(matrix, offset, each.cone))
    scale = min(1.0, LARGEST_TARGET / max(float(np.linalg.norm(goal)), 1e-300))
    blocks = [b.in_terms(base, axes)._replace(weight=b.weight * scale**2) for b in prior]
    start = axes.T @ (near - base)
    return _Reduced(scale * stretch, scale * goal, left, start, blocks, base, axes, kept, scale)
