"""Equalities of a programme taken out of its unknowns, and given their multipliers back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import null_space

from pkm_identification.arrays import Array, Mask
from pkm_identification.physical.cone_program import Cone, ConeRows, matrix_of, triangle_of

CONSTANT = 1e-12  # of a row, below which equalities have taken all unknowns from it
CONTRADICTION = 1e-7  # of the size of a row, by which it may be missed


def with_equalities(
    rows: Sequence[ConeRows], duals: Sequence[Array], gradient: Array
) -> list[Array]:
    """Give the rows of equalities the multipliers that make all stationary."""
    own = [each for each in rows if each.cone is Cone.ZERO]
    others = zip(rows, duals, strict=True)
    left = gradient + sum(each.matrix.T @ z for each, z in others if each.cone is not Cone.ZERO)
    matrix = np.concatenate([np.zeros((0, len(left))), *(each.matrix for each in own)])
    pulls = np.linalg.lstsq(matrix.T, -left, rcond=None)[0]
    ends = np.cumsum([len(each.offset) for each in own])[:-1]
    found = iter(np.split(pulls, ends) if own else [])
    return [
        dual if each.cone is not Cone.ZERO else dual + next(found)
        for each, dual in zip(rows, duals, strict=True)
    ]


def equalities(rows: Sequence[ConeRows], near: Array) -> tuple[Array, Array]:
    """Return the point nearest to one that keeps the equalities, and axes (n, u) that do."""
    fixed = [each for each in rows if each.cone is Cone.ZERO]
    matrix = np.concatenate([np.zeros((0, len(near))), *(each.matrix for each in fixed)])
    values = np.concatenate([np.zeros(0), *(each.offset for each in fixed)])
    size = np.maximum(np.linalg.norm(matrix, axis=1), 1e-300)
    matrix, values = matrix / size[:, None], values / size
    base = near + np.linalg.lstsq(matrix, values - matrix @ near, rcond=1e-12)[0]
    return base, null_space(matrix, rcond=1e-12) if len(matrix) else np.eye(len(near))


def against(rows: ConeRows, base: Array, axes: Array) -> Array:
    """Return ones where equalities alone leave a row outside of its cone."""
    slack, free = rows.slack(base), depends(rows, axes)
    size = 1.0 + np.linalg.norm(rows.matrix, axis=1) + np.abs(rows.offset)
    if rows.cone is Cone.ZERO:
        return np.where(np.abs(slack) > CONTRADICTION * size, 1.0, 0.0)
    if rows.cone is Cone.DEFINITE:
        is_outside = not free.any() and least_slack(rows, slack) < -CONTRADICTION
        return triangle_of(np.eye(len(matrix_of(slack)))) * is_outside
    return np.where(~free & (slack < -CONTRADICTION * size), 1.0, 0.0)


def depends(rows: ConeRows, axes: Array) -> Mask:
    """Rows that are left unknown; a matrix is as a whole."""
    if rows.cone is Cone.ZERO:
        return np.zeros(len(rows.offset), dtype=bool)
    size = np.linalg.norm(rows.matrix, axis=1)
    depends = np.linalg.norm(rows.matrix @ axes, axis=1) > CONSTANT * np.maximum(size, 1e-300)
    return np.full(len(size), depends.any()) if rows.cone is Cone.DEFINITE else depends


def least_slack(rows: ConeRows, slack: Array) -> float:
    """Smallest slack, or eigenvalue."""
    if rows.cone is Cone.DEFINITE:
        return float(np.linalg.eigvalsh(matrix_of(slack))[0])
    return float(slack.min(initial=np.inf))
