"""A point strictly inside of cones, or the proof that nothing is in all of them.

The proof are multipliers in the cones whose sum of the rows no unknowns make positive (Farkas'
lemma for cones [Boyd and Vandenberghe, Convex Optimization, 5.8]). A search that ends with
neither has failed, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.physical.barrier import centres
from pkm_identification.physical.cone_program import (
    Cone,
    ConeRows,
    at_least,
    matrix_of,
    minimise,
    triangle_of,
)
from pkm_identification.physical.equalities import least_slack

ROOM = 0.05  # of the bodies' size: far enough inside to start from
ROUNDS = 8  # of the search by Newton steps
STEEP = 1e4  # weight of the squares over that of the barrier, from which it starts
CLOSE = 1e-3  # weight of the distance in it
# Sizes of the bodies within which a proof holds: none that a step ends at is farther away
REACH = 1e3


class PointInside(NamedTuple):
    """Where a search has ended."""

    u: Array  # (n,)
    slack: float  # the least there, of an eigenvalue or a row; positive inside
    duals: list[Array]  # one array for each `ConeRows`; the proof, where there is one
    is_contradiction: bool  # whether they prove that nothing is in all cones


def point_inside(rows: Sequence[ConeRows], start: Array) -> PointInside:
    """Find a point strictly inside of all rows, or the proof that there is none.

    By Newton steps from the `start` (n,); where these come to neither, by Clarabel.
    """
    found = _stepped(rows, start)
    if found.slack > 0:
        return found
    tried = [found]
    if not proves_nothing(rows, found.duals, start):
        tried += _by_clarabel(rows, start)
    for each in tried:
        if each.slack > 0:
            return each
        if proves_nothing(rows, each.duals, start):
            return each._replace(is_contradiction=True)
    return max(tried, key=lambda each: each.slack)


def proves_nothing(rows: Sequence[ConeRows], duals: Sequence[Array], start: Array) -> bool:
    """Whether multipliers show that no unknowns within reach have all slacks in their cones.

    The sum of z^T slack would have to be positive, and is z^T offset - (matrix^T z)^T u: less
    than zero for all u (n,) within `REACH`.
    """
    total, gradient = 0.0, np.zeros(len(start))
    for each, dual in zip(rows, duals, strict=True):
        if not np.isfinite(dual).all():
            return False
        inward = into_cone(each, dual)
        total += float(inward @ each.slack(start))
        gradient += each.matrix.T @ inward
    return total + REACH * float(np.abs(gradient).sum()) < 0


def into_cone(rows: ConeRows, dual: Array) -> Array:
    """Nearest dual in the cone."""
    if rows.cone is not Cone.DEFINITE:
        return np.maximum(dual, 0.0)
    values, axes = np.linalg.eigh(matrix_of(dual))
    return triangle_of((axes * np.maximum(values, 0.0)) @ axes.T)


def widened_by(rows: Sequence[ConeRows], width: float) -> list[ConeRows]:
    """Return rows whose cones reach so far beyond their limits."""
    return [each._replace(offset=each.offset + width * _unit(each)) for each in rows]


def _stepped(rows: Sequence[ConeRows], start: Array) -> PointInside:
    """Widen all cones by s and make it small, near the start, from where that leads again."""
    size, u = len(start), start
    weights = [np.zeros(len(each.offset)) for each in rows]
    widened = [_with_width(each) for each in rows]
    before = -np.inf
    for _ in range(ROUNDS):
        least = _least_slack(rows, u)
        if least >= ROOM or 0 < least < 2 * before:
            break
        if least <= 0 and least < 0.7 * before:
            break
        width = ROOM - 1.5 * min(least, 0.0)
        near = CLOSE * np.eye(size + 1)[:size] / (width + ROOM)
        aim = np.append(near[:, :size] @ u, -1.0)
        design = np.concatenate([near, np.eye(size + 1)[-1:] / (width + ROOM)])
        first = np.append(u, max(width, ROOM - least))
        for found in centres(design, aim, widened, (), first, STEEP, _has_room):
            u, weights = found.y[:size], found.duals
            if _has_room(found.y) or found.gap < ROOM**2:
                break
        before = least
    return PointInside(u, _least_slack(rows, u), weights, False)


def _by_clarabel(rows: Sequence[ConeRows], start: Array) -> Iterator[PointInside]:
    """Make the width s alone as small as may be, no less than -`ROOM`; there always is one."""
    size = len(start)
    columns = np.sqrt(sum(np.sum(each.matrix**2, axis=0) for each in rows) + 1e-300)
    columns = np.where(columns > 1e-100, columns, 1.0)
    scaled = [
        _with_width(each._replace(matrix=each.matrix / columns, offset=each.slack(start)))
        for each in rows
    ]
    last = np.eye(size + 1)[-1:]
    found = minimise(np.zeros(size + 1), last[0], [*scaled, at_least(last, np.array([-ROOM]))])
    u = start + found.y[:size] / columns
    if np.isfinite(u).all():
        yield PointInside(u, _least_slack(rows, u), found.duals[:-1], False)


def _least_slack(rows: Sequence[ConeRows], u: Array) -> float:
    return min((least_slack(each, each.slack(u)) for each in rows), default=1.0)


def _has_room(trial: Array) -> bool:
    """Whether the width is negative by far enough."""
    return bool(trial[-1] < -2 * ROOM)


def _unit(rows: ConeRows) -> Array:
    """Slack that is one in all directions."""
    if rows.cone is Cone.DEFINITE:
        return triangle_of(np.eye(len(matrix_of(rows.offset))))
    return np.ones(len(rows.offset))


def _with_width(rows: ConeRows) -> ConeRows:
    """Rows with a further unknown, which widens the cone."""
    return rows._replace(matrix=np.column_stack([rows.matrix, -_unit(rows)]))
