"""Convex programmes over the bodies that can exist, solved by Clarabel.

Clarabel is called directly: cvxpy, in which such a programme would be three lines, takes a
second to import, longer than all else that an identification does. What these programmes need
is no more than the svec form of a matrix [Clarabel, PSDTriangleConeT].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array, Indices
from pkm_identification.physical.bodies import PhysicalBodies


class ConeRows(NamedTuple):
    """Rows of a programme in y (n,): `offset - matrix @ y` lies in a cone of Clarabel's."""

    matrix: Array
    offset: Array
    cone: Any

    def widened(self, size: int) -> ConeRows:
        """Return the same rows in y and further unknowns, `size` together."""
        return self._replace(matrix=np.pad(self.matrix, ((0, 0), (0, size - self.matrix.shape[1]))))

    def about(self, center: Array) -> ConeRows:
        """Return the same rows in the change of the first unknowns from `center`."""
        return self._replace(offset=self.offset - self.matrix[:, : len(center)] @ center)


class ConeSolution(NamedTuple):
    """Where a programme is smallest."""

    y: Array  # (n,)
    duals: list[Array]  # one array for each `ConeRows`; that of a matrix is its triangle
    value: float  # what was minimised
    status: str  # in Clarabel's words
    is_solved: bool
    is_accurate: bool  # solved with the solver's full accuracy
    is_impossible: bool  # nothing satisfies all rows


def import_clarabel() -> Any:
    """Return the solver; EstimationError where it is missing."""
    try:
        import clarabel  # only where bodies are looked at: `load` and filters do without
    except ImportError as error:
        raise EstimationError(
            f'the check for physical parameters needs clarabel: {error}'
        ) from error
    return clarabel


def minimise(squares: Array, linear: Array, rows: Sequence[ConeRows]) -> ConeSolution:
    """Minimise sum(squares * y^2) + linear @ y with all rows in their cones."""
    from scipy import sparse  # as the solver

    clarabel = import_clarabel()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    matrix = sparse.csc_matrix(np.concatenate([each.matrix for each in rows]))
    offset = np.concatenate([each.offset for each in rows])
    hessian = sparse.diags(2.0 * squares, format='csc')
    found = clarabel.DefaultSolver(
        hessian, linear, matrix, offset, [each.cone for each in rows], settings
    ).solve()
    status = clarabel.SolverStatus
    ends = np.cumsum([len(each.offset) for each in rows])[:-1]
    return ConeSolution(
        y=np.asarray(found.x, dtype=float),
        duals=np.split(np.asarray(found.z, dtype=float), ends),
        value=float(found.obj_val),
        status=str(found.status),
        is_solved=found.status in (status.Solved, status.AlmostSolved),
        is_accurate=found.status == status.Solved,
        is_impossible=found.status in (status.PrimalInfeasible, status.AlmostPrimalInfeasible),
    )


def least_squares(
    design: Array, aim: Array, rows: Sequence[ConeRows], linear: Array | None = None
) -> ConeSolution:
    """Minimise |design @ y - aim|^2 + linear @ y with all rows in their cones.

    The residuals are unknowns of their own, which follow y, so that the design is not squared.
    """
    size, count = design.shape
    own = equal(np.concatenate([design, -np.eye(size)], axis=1), aim)
    cost = np.zeros(count) if linear is None else linear
    return minimise(
        np.repeat([0.0, 1.0], [count, size]),
        np.concatenate([cost, np.zeros(size)]),
        [*(each.widened(count + size) for each in rows), own],
    )


def equal(matrix: Array, values: Array) -> ConeRows:
    """Matrix @ y == values."""
    return ConeRows(matrix, values, import_clarabel().ZeroConeT(len(values)))


def at_least(matrix: Array, values: Array) -> ConeRows:
    """Matrix @ y >= values."""
    return ConeRows(-matrix, -values, import_clarabel().NonnegativeConeT(len(values)))


def definite(forms: Array, least: float) -> ConeRows:
    """Forms (k, k, n) @ y - least * 1 is positive semidefinite."""
    size = forms.shape[0]
    column, row, scale = _triangle(size)
    cone = import_clarabel().PSDTriangleConeT(size)
    return ConeRows(-forms[row, column] * scale[:, None], -least * (row == column), cone)


def matrix_of(dual: Array) -> Array:
    """Symmetric matrix (k, k) from the triangle that is the dual of a `definite`."""
    size = int(np.sqrt(2 * len(dual)))
    column, row, scale = _triangle(size)
    matrix = np.empty((size, size))
    matrix[row, column] = matrix[column, row] = dual / scale
    return matrix


def _triangle(size: int) -> tuple[Indices, Indices, Array]:
    """Columns, rows and scales of the upper triangle of a matrix, column by column."""
    column, row = np.tril_indices(size)
    return column, row, np.where(row == column, 1.0, np.sqrt(2.0))


def physical_rows(bodies: PhysicalBodies, margin: float) -> list[ConeRows]:
    """Conditions on y = x / sizes, one a body, then that on the coefficients.

    Bodies with mass in the nominal set have the margin.
    """
    rows = [
        definite(bodies.forms(name), margin if name in bodies.massive else 0.0)
        for name in bodies.blocks
    ]
    return [*rows, coefficient_rows(bodies)] if len(bodies.coefficients) else rows


def coefficient_rows(bodies: PhysicalBodies) -> ConeRows:
    """Condition on y = x / sizes that no coefficient is negative."""
    chosen = np.eye(len(bodies.names))[bodies.coefficients]
    return at_least(chosen, np.zeros(len(chosen)))
