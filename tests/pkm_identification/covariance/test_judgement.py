"""Condition of a regressor, residuals at the samples and the nearest real bodies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_rows import Dense, filter_band, random_problem, solved

from pkm_identification import identify
from pkm_identification.covariance.judgement import condition_numbers, judge
from pkm_identification.estimators.linear import gauss_markov
from pkm_identification.physical.nearest import nearest_consistent
from pkm_identification.regression.numerics import with_variance
from pkm_identification.regression.preparation import Phase
from pkm_identification.regression.problem import build_problem
from pkm_identification.regression.solution import solve_problem
from pkm_identification.signals import process
from pkm_identification.signals.bands import HarmonicBand


def test_condition_numbers(record, slider_model):
    problem = build_problem(process(record(periods=4)), slider_model)
    found = condition_numbers(problem, gauss_markov(problem))
    design = problem.regressor.reshape(-1, 7)
    assert found.condition_number_unscaled == pytest.approx(np.linalg.cond(design), rel=1e-6)
    scaled = design / np.linalg.norm(design, axis=0)
    assert found.condition_number_scaled == pytest.approx(np.linalg.cond(scaled), rel=1e-6)
    root = np.linalg.inv(np.linalg.cholesky(problem.runs[0].covariance))
    white = (root @ problem.regressor).reshape(-1, 7)
    white = white / np.linalg.norm(white, axis=0)
    expected = np.linalg.cond(white)
    assert found.condition_number_weighted == pytest.approx(expected, rel=1e-6)
    diagnostics = identify(record(periods=4), slider_model, 'gauss_markov').diagnostics
    assert diagnostics['condition_number'] == pytest.approx(expected, rel=1e-6)


def test_condition_numbers_are_those_of_all_runs_and_the_prior():
    """The prior counts for the whitened rows alone."""
    problem = random_problem((HarmonicBand(3, 1.0), filter_band()), prior=True)
    estimate = solved(problem)
    dense = Dense(problem, estimate)
    found = condition_numbers(problem, estimate)
    plain = dense.design
    assert found.condition_number_unscaled == pytest.approx(np.linalg.cond(plain), rel=1e-9)
    scaled = plain / np.linalg.norm(plain, axis=0)
    assert found.condition_number_scaled == pytest.approx(np.linalg.cond(scaled), rel=1e-9)
    root = np.linalg.inv(np.linalg.cholesky(dense.noise))
    white = np.concatenate([root @ plain, problem.prior_rows])
    white = white / np.linalg.norm(white, axis=0)
    weighted = np.linalg.cond(white)
    assert found.condition_number_weighted == pytest.approx(weighted, rel=1e-9)
    assert found.condition_number == estimate.condition_number
    silent = replace(estimate, condition_number=np.nan)
    assert condition_numbers(problem, silent).condition_number == pytest.approx(weighted)


@pytest.mark.parametrize('column', range(5))
def test_a_zero_column_has_no_condition_number(column):
    """Wherever it stands; a prior of its parameter makes the whitened rows regular."""
    for prior in (False, True):
        problem = random_problem((HarmonicBand(3, 1.0),), unshown=column, prior=prior)
        found = condition_numbers(problem, solved(problem))
        assert found.condition_number_unscaled == found.condition_number_scaled == np.inf
        is_regular = prior and column < 2  # of which the prior says something
        assert np.isfinite(found.condition_number_weighted) == is_regular


@pytest.fixture
def solution(record, slider_model):
    """Of two runs of different length."""
    data = [record(periods=4, seed=1), record(periods=5, period=1.5, seed=2)]
    problem = build_problem([process(each) for each in data], slider_model)
    return solve_problem(problem, 'gauss_markov', {})


def say_nothing(phase, share):
    """Of the progress."""


def test_residuals_are_measured_less_predicted_forces(solution, slider_model):
    told = []
    found = judge(solution, (), lambda *state: told.append(state))
    parts = []
    for run in solution.problem.runs:
        signals = run.signals
        motion = type(signals.motion(slider_model))(
            signals.positions, signals.velocities, signals.accelerations
        )
        parts.append(signals.forces - slider_model.regressor(motion) @ solution.values)
    np.testing.assert_allclose(found.residuals, np.concatenate(parts), rtol=1e-9, atol=1e-9)
    rows = np.concatenate([run.residuals(solution.values) for run in solution.problem.runs])
    np.testing.assert_allclose(found.residual_rms, np.sqrt(np.mean(rows**2, axis=0)), rtol=1e-9)
    assert [each.run for each in found.analysis] == [0, 0, 1, 1]
    assert told == [(Phase.ANALYSING, 0.7), (Phase.CHECKING, 0.8)]
    expected = condition_numbers(solution.problem, solution.estimate)
    assert found.condition == expected


def test_parameters_of_any_value_do_not_count_for_the_nearest_bodies(solution):
    """A friction that the data make negative, unless it may have any value."""
    values = solution.values.copy()
    values[4] = -1.0
    negative = replace(solution, values=values)
    held = judge(negative, (), say_nothing).consistent
    assert not held.is_physical and held.distance > 2
    free = judge(negative, [4], say_nothing).consistent
    assert free.is_physical
    covariance = with_variance(solution.covariance, np.array([4]))
    expected = nearest_consistent(values, covariance, solution.problem.base)
    np.testing.assert_allclose(free.standard_parameters, expected.standard_parameters)


def test_physical_parameters_of_the_estimator_are_taken_as_they_are(solution, slider_model):
    given = slider_model.nominal_parameters * 1.25
    estimate = replace(solution.estimate, standard_parameters=given)
    found = judge(replace(solution, estimate=estimate), (), say_nothing)
    np.testing.assert_array_equal(found.consistent.standard_parameters, given)
