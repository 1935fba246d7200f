"""What uncertain force constants and open directions do to a covariance, by dense algebra."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_rows import Dense, filter_band, random_problem, solved, with_twins

from pkm_identification.covariance.force_constant_covariance import (
    force_constant_covariance,
    unidentifiable_directions,
)
from pkm_identification.regression.weighted_least_squares import weighted_least_squares
from pkm_identification.signals.bands import HarmonicBand

BANDS = (HarmonicBand(6, 1.0), HarmonicBand(8, 1.3), filter_band())
PERIODIC = (HarmonicBand(6, 1.0), HarmonicBand(8, 1.3), HarmonicBand(15, 1.0))
DEVIATIONS = (np.array([0.05, 0.01]), None, np.array([0.0, 0.2]))


def forces_of_constants(dense):
    """What all forces (n, n_a) of an axis are off by, where its constant is by one deviation."""
    problem = dense.problem
    forces = dense.forces + dense.fixed @ problem.selection.values
    columns = np.zeros((len(forces), 2))
    for number, sizes in enumerate(DEVIATIONS):
        own = dense.equations(number)
        for axis in range(2):
            rows = np.arange(own.start + axis, own.stop, 2)
            columns[rows, axis] = forces[rows] * (0.0 if sizes is None else sizes[axis])
    return columns


@pytest.mark.parametrize('constant', [False, True])
@pytest.mark.parametrize('options', [{}, {'fixed': {1: 0.3, 3: 0.0}, 'prior': True}])
def test_constants_are_wrong_alike_in_all_runs(options, constant):
    problem = random_problem(BANDS, **options)
    estimate = solved(problem, constant=constant)
    dense = Dense(problem, estimate)
    change = dense.gain @ forces_of_constants(dense)
    found = force_constant_covariance(problem, estimate, DEVIATIONS, estimate.covariance)
    added = change @ change.T
    assert np.max(np.diag(added) / np.diag(estimate.covariance)) > 1.0
    np.testing.assert_allclose(found, estimate.covariance + added, rtol=1e-9, atol=1e-12)


def test_measured_forces_add_nothing():
    problem = random_problem(BANDS)
    estimate = solved(problem)
    for deviations in ((None,) * 3, (np.zeros(2), None, np.zeros(2))):
        found = force_constant_covariance(problem, estimate, deviations, estimate.covariance)
        assert found is estimate.covariance


@pytest.mark.parametrize('lost', [[1], [0, 4]])
def test_what_the_data_leave_open_does_not_change_with_the_constants(lost):
    problem = random_problem(BANDS, unshown=1) if lost == [1] else with_twins(random_problem(BANDS))
    estimate = solved(problem)
    found = force_constant_covariance(problem, estimate, DEVIATIONS, estimate.covariance)
    dense = Dense(problem, estimate)
    change = dense.gain @ forces_of_constants(dense)
    change[lost] = 0.0
    expected = estimate.covariance + change @ change.T
    assert np.isinf(np.diag(found)[lost]).all()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize('deviations', [None, DEVIATIONS])
def test_what_is_known_across_an_open_direction(deviations):
    """The sum of both is known as if one of them were held, and so are the other parameters."""
    problem = with_twins(random_problem(PERIODIC, fixed={2: 0.1}))
    estimate = solved(problem)
    assert np.isinf(np.diag(estimate.covariance)[[0, -1]]).all()
    found = unidentifiable_directions(problem, estimate, deviations)
    direction = found.directions / found.directions[:, :1]
    np.testing.assert_allclose(direction, [[1.0, 0.0, 0.0, 0.0, -1.0]], atol=1e-9)
    dense = Dense(problem, estimate)
    held = dense.design[:, :3]  # parameters 0, 1, 3; 4 has the column of 0
    gain = np.linalg.solve(held.T @ dense.weight @ held, held.T @ dense.weight)
    turn = np.column_stack([gain, -gain @ dense.fixed])
    spread = np.zeros((len(dense.forces) + 1,) * 2)
    spread[:-1, :-1], spread[-1, -1] = dense.noise, 0.01
    if deviations is not None:
        columns = forces_of_constants(dense)
        spread[:-1, :-1] += columns @ columns.T
    turn = np.vstack([turn, np.eye(len(spread))[-1]])
    expected = turn @ spread @ turn.T  # of parameters 0, 1, 3 and the fixed 2
    shown = np.zeros((4, 5))
    shown[0, [0, 4]] = shown[1, 1] = shown[2, 3] = shown[3, 2] = 1.0
    np.testing.assert_allclose(shown @ found.covariance @ shown.T, expected, rtol=1e-7, atol=1e-10)
    across = np.array([1.0, 0.0, 0.0, 0.0, -1.0])
    assert across @ found.covariance @ across == pytest.approx(0.0, abs=1e-9)


def test_residuals_widen_what_is_known_across_an_open_direction():
    """Held along the direction, and widened as any other covariance."""
    problem = with_twins(random_problem(BANDS))
    noise = [0.01 * each for each in solved(problem).row_noise]
    estimate = weighted_least_squares(problem, solved(problem).weights, noise)
    found = unidentifiable_directions(problem, estimate).covariance
    held = np.sqrt(np.diag(found)[1:4] / np.diag(estimate.covariance)[1:4])
    assert (held > 3).all()


def test_there_are_no_open_directions_where_all_is_known_or_nothing_tells():
    problem = random_problem(BANDS)
    assert unidentifiable_directions(problem, solved(problem)) is None
    problem = with_twins(random_problem(BANDS))
    estimate = solved(problem)
    assert unidentifiable_directions(problem, estimate) is not None
    for name in ('unidentifiable_directions', 'weights', 'bread', 'noise'):
        assert unidentifiable_directions(problem, replace(estimate, **{name: None})) is None
    nothing = np.zeros(0, dtype=np.int64)
    assert unidentifiable_directions(problem, replace(estimate, undetermined=nothing)) is None
