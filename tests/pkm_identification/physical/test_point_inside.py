"""A search for a point inside ends with one, with a proof that there is none, or says neither."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_bodies import case_of, drawn_problem, solved

from pkm_description.errors import EstimationError
from pkm_identification.physical import cone_least_squares, point_inside
from pkm_identification.physical.cone_least_squares import Solver, least_squares
from pkm_identification.physical.cone_program import (
    Cone,
    at_least,
    matrix_of,
    minimise,
    physical_rows,
)
from pkm_identification.physical.point_inside import PointInside, proves_nothing


def bodies_rows(lightest=None):
    """Rows of the bodies of an arm, and one that asks for a sum of the parameters or more."""
    _, bodies = case_of('h4', True)
    rows = physical_rows(bodies, 1e-6)
    if lightest is not None:
        rows.append(at_least(lightest[None], np.ones(1)))
    return rows, bodies.nominal / bodies.sizes


def negative_mass():
    """Row of a body's pseudo-inertia whose sign asks for less than no mass."""
    rows, _ = bodies_rows()
    body = next(each for each in rows if each.cone is Cone.DEFINITE)
    return 10.0 * body.matrix[-1]  # -S44 of the body


def fails(*arguments):
    found = minimise(*arguments)
    nowhere = np.full_like(found.y, np.nan)
    return found._replace(is_solved=False, y=nowhere)


def astray(rows, start):
    """A search that has come to nothing."""
    zeros = [np.zeros(len(each.offset)) for each in rows]
    return PointInside(start, -1.0, zeros, False)


@pytest.mark.parametrize('by_clarabel', [False, True])
def test_a_contradiction_is_proved(by_clarabel, monkeypatch):
    """Multipliers in their cones, whose sum of slacks is negative wherever one looks."""
    if by_clarabel:
        monkeypatch.setattr(point_inside, '_stepped', astray)
    rows, start = bodies_rows(negative_mass())
    found = point_inside.point_inside(rows, start)
    assert found.is_contradiction
    for each, dual in zip(rows, found.duals, strict=True):
        least = np.linalg.eigvalsh(matrix_of(dual))[0] if each.cone is Cone.DEFINITE else dual.min()
        assert least > -1e-6 * np.abs(dual).max()
    random = np.random.default_rng(0)
    for size in (0.1, 1.0, 10.0, 100.0):
        u = start + size * random.uniform(-1.0, 1.0, len(start))
        assert sum(z @ each.slack(u) for each, z in zip(rows, found.duals, strict=True)) < 0


def test_what_can_be_is_never_proved_not_to_be():
    rows, start = bodies_rows()
    assert point_inside.point_inside(rows, 3.0 * start).slack > 0
    random = np.random.default_rng(1)
    for _ in range(20):
        duals = [random.normal(size=len(each.offset)) for each in rows]
        assert not proves_nothing(rows, duals, start)


def test_a_search_that_fails_is_no_contradiction(monkeypatch):
    """Another solver finds the point; where that fails too, nothing is claimed."""
    problem = drawn_problem(4, ('h4',))
    assert problem.is_possible
    right = solved(problem)
    monkeypatch.setattr(point_inside, '_stepped', astray)
    monkeypatch.setattr(cone_least_squares, 'minimise', fails)
    found = solved(problem)
    assert found.cost == pytest.approx(right.cost, rel=1e-3, abs=1e-3)
    monkeypatch.setattr(point_inside, 'minimise', fails)
    with pytest.raises(EstimationError, match='no proof that there are none'):
        solved(problem)


def test_cones_that_only_touch_have_their_point(monkeypatch):
    """Two rows that leave one value: nothing is inside, and nothing is contradicted."""
    rows = [at_least(np.eye(2), np.zeros(2)), at_least(-np.eye(2), np.zeros(2))]
    monkeypatch.setattr(cone_least_squares, 'minimise', fails)
    found = least_squares(np.eye(2), np.array([3.0, -1.0]), rows, np.array([0.5, 0.5]))
    assert found.solver is Solver.PROJECTION
    np.testing.assert_allclose(found.y, 0.0, atol=1e-6)
