"""Rows of convex programmes over the bodies that can exist, and Clarabel, which solves them.

Clarabel is called directly: cvxpy, in which such a programme would be three lines, takes a
second to import, longer than all else that an identification does. What these programmes need
is no more than the svec form of a matrix [Clarabel, PSDTriangleConeT].
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array, Indices
from pkm_identification.physical.bodies import PhysicalBodies


class Cone(Enum):
    """Where the slack of some rows lies."""

    ZERO = 'ZeroConeT'
    NONNEGATIVE = 'NonnegativeConeT'
    DEFINITE = 'PSDTriangleConeT'  # triangle of a positive semidefinite matrix


class ConeRows(NamedTuple):
    """Rows of a programme in y (n,): the slack `offset - matrix @ y` lies in a cone."""

    matrix: Array
    offset: Array
    cone: Cone

    def widened(self, size: int) -> ConeRows:
        """Return the same rows in y and further unknowns, `size` together."""
        matrix = np.zeros((len(self.matrix), size))
        matrix[:, : self.matrix.shape[1]] = self.matrix
        return self._replace(matrix=matrix)

    def about(self, center: Array) -> ConeRows:
        """Return the same rows in the change of the first unknowns from `center`."""
        return self._replace(offset=self.offset - self.matrix[:, : len(center)] @ center)

    def slack(self, y: Array) -> Array:
        """Return what lies in the cone."""
        return self.offset - self.matrix @ y


class ConeSolution(NamedTuple):
    """Where a programme is smallest."""

    y: Array  # (n,)
    duals: list[Array]  # one array for each `ConeRows`; that of a matrix is its triangle
    value: float  # what was minimised
    status: str  # in Clarabel's words
    is_solved: bool
    is_impossible: bool  # nothing satisfies all rows


def minimise(squares: Array, linear: Array, rows: Sequence[ConeRows]) -> ConeSolution:
    """Minimise sum(squares * y^2) + linear @ y with all rows in their cones, by Clarabel."""
    from scipy import sparse  # only where bodies are looked at: `load` and filters do without

    try:
        import clarabel  # as sparse
    except ImportError as error:
        raise EstimationError(
            f'the check for physical parameters needs clarabel: {error}'
        ) from error
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    matrix = sparse.csc_matrix(np.concatenate([each.matrix for each in rows]))
    offset = np.concatenate([each.offset for each in rows])
    count = len(squares)
    diagonal = 2.0 * squares, np.arange(count), np.arange(count + 1)
    hessian = sparse.csc_matrix(diagonal, shape=(count, count))
    cones: list[Any] = [
        getattr(clarabel, each.cone.value)(
            matrix_size(each.offset) if each.cone is Cone.DEFINITE else len(each.offset)
        )
        for each in rows
    ]
    found = clarabel.DefaultSolver(hessian, linear, matrix, offset, cones, settings).solve()
    status = clarabel.SolverStatus
    ends = np.cumsum([len(each.offset) for each in rows])[:-1]
    return ConeSolution(
        y=np.asarray(found.x, dtype=float),
        duals=np.split(np.asarray(found.z, dtype=float), ends),
        value=float(found.obj_val),
        status=str(found.status),
        is_solved=found.status in (status.Solved, status.AlmostSolved),
        is_impossible=found.status in (status.PrimalInfeasible, status.AlmostPrimalInfeasible),
    )


def equal(matrix: Array, values: Array) -> ConeRows:
    """Matrix @ y == values."""
    return ConeRows(matrix, values, Cone.ZERO)


def at_least(matrix: Array, values: Array) -> ConeRows:
    """Matrix @ y >= values."""
    return ConeRows(-matrix, -values, Cone.NONNEGATIVE)


def definite(forms: Array, least: float) -> ConeRows:
    """Forms (k, k, n) @ y - least * 1 is positive semidefinite."""
    column, row, scale = _triangle(forms.shape[0])
    matrix = -forms[row, column] * scale[:, None]
    return ConeRows(matrix, -least * (row == column), Cone.DEFINITE)


def matrix_size(triangle: Array) -> int:
    """Size k of the matrix with this triangle (k (k + 1) / 2, ...)."""
    return int(np.sqrt(2 * len(triangle)))


def matrix_of(triangle: Array) -> Array:
    """Symmetric matrix (k, k, ...) from its triangle, as slack and dual of a `definite` are."""
    size = matrix_size(triangle)
    column, row, scale = _triangle(size)
    matrix = np.empty((size, size, *triangle.shape[1:]))
    scaled = (triangle.T / scale).T
    matrix[row, column] = matrix[column, row] = scaled
    return matrix


def triangle_of(matrix: Array) -> Array:
    """Triangle (k (k + 1) / 2, ...) of a symmetric matrix (k, k, ...)."""
    column, row, scale = _triangle(len(matrix))
    return np.asarray((matrix[row, column].T * scale).T)


@lru_cache
def _triangle(size: int) -> tuple[Indices, Indices, Array]:
    """Columns, rows and scales of the upper triangle of a matrix, column by column."""
    column, row = np.tril_indices(size)
    return column, row, np.where(row == column, 1.0, np.sqrt(2.0))


def physical_rows(bodies: PhysicalBodies, margin: float) -> list[ConeRows]:
    """Conditions on y = x / sizes, one a body, then on the coefficients and `bodies.flat`.

    Bodies with mass in the nominal set have the margin.
    """
    rows = [
        definite(bodies.forms(name), margin if name in bodies.massive else 0.0)
        for name in bodies.blocks
    ]
    if len(bodies.coefficients):
        rows.append(coefficient_rows(bodies))
    return [*rows, *flat_rows(bodies)]


def flat_rows(bodies: PhysicalBodies) -> list[ConeRows]:
    """Conditions on y = x / sizes that flat bodies stay so."""
    return [equal(bodies.flat, np.zeros(len(bodies.flat)))] if len(bodies.flat) else []


def coefficient_rows(bodies: PhysicalBodies) -> ConeRows:
    """Condition on y = x / sizes that no coefficient is negative."""
    chosen = np.eye(len(bodies.names))[bodies.coefficients]
    return at_least(chosen, np.zeros(len(chosen)))
