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
from pkm_identification.arrays import Array
from pkm_identification.physical.bodies import PhysicalBodies


class ConeRows(NamedTuple):
    """Rows of a programme in y (n,): `offset - matrix @ y` lies in a cone of Clarabel's."""

    matrix: Array
    offset: Array
    cone: Any


class ConeSolution(NamedTuple):
    """Where a programme is smallest.

    Attributes
    ----------
    y
        (n,).
    duals
        One array for each `ConeRows`; that of a matrix is its triangle.
    value
        What was minimised.
    status
        In Clarabel's words.
    is_solved, is_accurate
        Whether there is a solution, and whether it has the solver's full accuracy.
    """

    y: Array
    duals: list[Array]
    value: float
    status: str
    is_solved: bool
    is_accurate: bool


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
    hessian = sparse.csc_matrix(np.diag(2.0 * squares))
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
    )


def equal(matrix: Array, values: Array) -> ConeRows:
    """Matrix @ y == values."""
    return ConeRows(matrix, values, import_clarabel().ZeroConeT(len(values)))


def not_negative(matrix: Array) -> ConeRows:
    """Matrix @ y >= 0."""
    count = len(matrix)
    return ConeRows(-matrix, np.zeros(count), import_clarabel().NonnegativeConeT(count))


def definite(forms: Array, least: float) -> ConeRows:
    """Forms (k, k, n) @ y - least * 1 is positive semidefinite."""
    size = forms.shape[0]
    column, row = np.tril_indices(size)  # the upper triangle, column by column
    scale = np.where(row == column, 1.0, np.sqrt(2.0))
    cone = import_clarabel().PSDTriangleConeT(size)
    return ConeRows(-forms[row, column] * scale[:, None], -least * (row == column), cone)


def physical_rows(bodies: PhysicalBodies, margin: float, further: int = 0) -> list[ConeRows]:
    """Conditions on y = x / sizes, one a body, then that on the coefficients.

    Bodies with mass in the nominal set have the margin. `further` unknowns follow y.
    """
    rows = []
    for name in bodies.blocks:
        forms = bodies.forms(name)
        least = margin if bodies.scales[name][1] else 0.0
        rows.append(definite(np.pad(forms, ((0, 0), (0, 0), (0, further))), least))
    if len(bodies.coefficients):
        rows.append(not_negative(np.eye(len(bodies.names) + further)[bodies.coefficients]))
    return rows
