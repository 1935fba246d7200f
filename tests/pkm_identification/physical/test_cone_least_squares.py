"""Least squares over physical bodies never fails, and is what other solvers find."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_bodies import case_of, drawn_problem, solved, verdict

from pkm_identification.estimators.consistent.physically_consistent import solver_warnings
from pkm_identification.physical import cone_least_squares
from pkm_identification.physical.barrier import Block
from pkm_identification.physical.cone_least_squares import Solver, least_squares
from pkm_identification.physical.cone_program import (
    Cone,
    at_least,
    definite,
    equal,
    matrix_of,
    minimise,
    physical_rows,
    triangle_of,
)
from pkm_identification.physical.nearest import nearest_consistent
from pkm_identification.physical.programme import Limits

SMALL = ('h4', 'five_bar', 'cart_pendulum', 'ford', 'delta', 'skew_arm', 'arm4', 'arm9')


@pytest.mark.parametrize('seed', range(24))
def test_no_drawn_problem_fails(seed):
    answer = verdict(drawn_problem(seed, SMALL))
    assert not answer.startswith('failed'), answer


@pytest.mark.parametrize('seed', [400429, 400717])
def test_a_body_at_its_limit_under_a_divergence(seed):
    """The search comes to bodies without an inertia, where the divergence has no end."""
    assert not verdict(drawn_problem(seed)).startswith('failed')


def without_clarabel(monkeypatch):
    def failing(*arguments):
        return minimise(*arguments)._replace(is_solved=False)

    monkeypatch.setattr(cone_least_squares, 'minimise', failing)


def moderate(seed=0, noise=0.3):
    """Rows of a palida-like machine, noise that makes the estimate impossible."""
    base, bodies = case_of('h4', True)
    random = np.random.default_rng(seed)
    matrix = np.asarray(base.matrix) @ base.space.expand * bodies.sizes
    design = random.normal(size=(60, len(matrix))) @ matrix
    truth = bodies.nominal / bodies.sizes
    aim = design @ truth + noise * np.abs(design @ truth).max() * random.normal(size=60)
    stacked = np.concatenate([design, 1e-2 * np.eye(len(truth))])
    return stacked, np.concatenate([aim, 1e-2 * truth]), physical_rows(bodies, 1e-6), truth


@pytest.mark.parametrize('seed', range(3))
def test_optimum_is_that_of_an_oracle(seed, monkeypatch):
    """Both solvers against a third one, in standard deviations."""
    cp = pytest.importorskip('cvxpy')
    design, aim, rows, nominal = moderate(seed)
    y = cp.Variable(design.shape[1])
    conditions = []
    for each in rows:
        slack = each.offset - each.matrix @ y
        if each.cone is Cone.DEFINITE:
            size = len(matrix_of(each.offset))
            whole = cp.Variable((size, size), PSD=True)
            picked = np.concatenate(
                [triangle_of(np.eye(size * size)[k].reshape(size, size))[None] for k in range(16)]
            )
            symmetric = 0.5 * (whole + whole.T)
            conditions.append(slack == picked.T @ cp.vec(symmetric, order='C'))
        else:
            conditions.append(slack >= 0)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(design @ y - aim)), conditions)
    problem.solve(solver=cp.SCS, eps=1e-7, max_iters=200000)
    first = least_squares(design, aim, rows, nominal)
    without_clarabel(monkeypatch)
    second = least_squares(design, aim, rows, nominal)
    assert (first.solver, second.solver) == (Solver.INTERIOR_POINT, Solver.BARRIER)
    free = np.linalg.lstsq(design, aim, rcond=None)[0]
    assert np.linalg.norm(design @ (first.y - free)) > 0.3  # limits matter
    for found in (first, second):
        assert found.is_accurate
        assert found.value == pytest.approx(problem.value, rel=1e-4)
        assert np.linalg.norm(design @ (found.y - y.value)) < 0.03
        assert np.linalg.norm(design @ (found.y - first.y)) <= found.accuracy + first.accuracy


def test_certificate_tells_a_wrong_optimum(monkeypatch):
    """What another aim would give is no optimum; its multipliers cannot show that it were."""
    design, aim, rows, nominal = moderate()
    shift = 0.2 * np.abs(aim).max()

    def wrong(squares, linear, given):
        own = given[-1]
        return minimise(squares, linear, [*given[:-1], own._replace(offset=own.offset + shift)])

    right = least_squares(design, aim, rows, nominal)
    monkeypatch.setattr(cone_least_squares, 'minimise', wrong)
    found = least_squares(design, aim, rows, nominal)
    assert found.solver is Solver.BARRIER
    assert np.linalg.norm(design @ (found.y - right.y)) < 0.02


def test_without_any_solver_the_estimate_is_projected(monkeypatch):
    design, aim, rows, nominal = moderate()
    best = least_squares(design, aim, rows, nominal)
    without_clarabel(monkeypatch)
    monkeypatch.setattr(cone_least_squares._Reduced, '_by_barrier', lambda *_: None)
    found = least_squares(design, aim, rows, nominal)
    assert found.solver is Solver.PROJECTION and not found.is_accurate
    for each in rows:
        slack = each.slack(found.y)
        low = np.linalg.eigvalsh(matrix_of(slack)) if each.cone is Cone.DEFINITE else slack
        assert low.min() > 0
    start = float(np.sum((design @ nominal - aim) ** 2))
    assert best.value < found.value < start


@pytest.mark.parametrize('size', [1e-6, 1.0, 1e6])
def test_sizes_and_weights_make_no_difference(size, monkeypatch):
    """Bodies of grams and tons alike: the same forces in other units of each parameter."""
    design, aim, rows, nominal = moderate()
    units = size ** np.linspace(-1, 1, len(nominal))
    scaled = [each._replace(matrix=each.matrix * units) for each in rows]
    right = least_squares(design, aim, rows, nominal)
    found = least_squares(design * units, aim, scaled, nominal / units)
    without_clarabel(monkeypatch)
    second = least_squares(design * units, aim, scaled, nominal / units)
    for each in (found, second):
        assert np.linalg.norm(design @ (each.y * units - right.y)) < 0.03


@pytest.mark.parametrize('matrix', [np.zeros((2, 2)), np.diag([1.0, 0.0]), -np.eye(2)])
def test_divergence_has_no_end_where_a_matrix_is_not_definite(matrix):
    """Of two negative eigenvalues the determinant is positive."""
    block = Block(np.zeros((2, 2, 1)), matrix, weight=1.0)
    assert block.divergence(np.zeros(1)) == np.inf


def test_divergence_is_stationary():
    """One matrix 2 x 2 with a divergence and no data: the minimum is the unit matrix."""
    forms = np.stack([[[1.0, 0], [0, 0]], [[0, 1.0], [1.0, 0]], [[0, 0], [0, 1.0]]], axis=2)
    prior = [Block(forms, np.zeros((2, 2)), 3.0)]
    data = np.array([[0.0, 1.0, 0.0]])
    start = np.array([2.0, 0.5, 1.0])
    for weight in (1e-3, 1.0, 30.0):
        found = least_squares(
            weight * data, np.array([0.4 * weight]), [definite(forms, 1e-9)], start, prior
        )
        a, b, c = found.y
        inverse = np.linalg.inv([[a, b], [b, c]])
        # derivatives of |w b - 0.4 w|^2 + 3 (a + c - ln det - 2)
        slopes = [3 * (1 - inverse[0, 0]), 3 * (1 - inverse[1, 1])]
        slopes.append(2 * weight**2 * (b - 0.4) - 6 * inverse[0, 1])
        np.testing.assert_allclose(slopes, 0.0, atol=2e-3 * max(1.0, weight))


def test_what_nothing_has_is_told_by_its_weights():
    rows = [at_least(np.eye(3), np.zeros(3)), equal(np.ones((1, 3)), np.array([-1.0]))]
    rows.append(equal(np.array([[1.0, -1.0, 0.0]]), np.zeros(1)))
    found = least_squares(np.eye(3), np.zeros(3), rows)
    assert found.solver is None
    negative, total, alike = found.duals
    assert (negative > 0).all() and abs(total[0]) > 1e3 * abs(alike[0])


def test_flat_bodies_stay_flat():
    """A rod without moment about its axis has two equal other moments: no solver needs to see."""
    base, bodies = case_of('cart_pendulum', True)
    assert bodies.faces['lower_pendulum'].shape == (4, 2)
    truth = np.asarray(base.matrix @ base.model.nominal_parameters)
    values = truth * np.random.default_rng(3).uniform(0.3, 2.0, len(truth))
    found = nearest_consistent(values, np.diag((0.1 * truth) ** 2 + 1e-12), base)
    names = list(base.model.parameter_names)
    first, second = (names.index(f'lower_pendulum.{field}') for field in ('Ixx', 'Iyy'))
    assert found.standard_parameters[first] == pytest.approx(found.standard_parameters[second])


def test_a_prior_that_was_needed_is_told():
    """Data that ask for bodies far from the nominal ones, in directions they hardly show."""
    drawn = (drawn_problem(seed, ('delta',)) for seed in range(20))
    found = solved(drawn_problem(5, ('h4', 'five_bar', 'ford')))
    assert found.pull > 0.1 and found.is_accurate
    (warning,) = solver_warnings(found)
    assert f'moved the estimate by up to {found.pull:.2g} standard deviations' in warning
    plain = solved(next(each for each in drawn if each.is_possible and each.limits == Limits()))
    assert plain.pull < 0.1 and solver_warnings(plain) == ()
