"""Friction and inertia in turn, beside weighted least squares of all at once."""

from __future__ import annotations

import numpy as np
import pytest
from chances import spread_range, whitened_error

from pkm_description.errors import EstimationError
from pkm_identification import identify
from pkm_identification.estimators.linear import wls
from pkm_identification.estimators.staged import staged
from pkm_identification.regression.problem import build_problem
from pkm_identification.signals import process

FRICTION = np.array([False] * 3 + [True] * 4)


@pytest.fixture
def two(record, slider_model):
    """A slow and a fast recording."""
    return [record(seed=1, period=4.0, periods=4), record(seed=2, period=0.8, periods=8)]


def problem_of(data, model, **options):
    return build_problem([process(each) for each in data], model, **options)


def test_the_last_stage_is_the_inner_estimator(two, slider_model):
    problem = problem_of(two, slider_model)
    np.testing.assert_array_equal(staged(problem).values, wls(problem).values)


def test_first_stages_hold_the_rest(two, slider_model):
    """1-A is least squares of the friction with the nominal inertia, 1-B the reverse."""
    problem = problem_of(two, slider_model)
    stages = staged(problem, last='1-B').diagnostics.stages
    assert list(stages) == ['1-A', '1-B']
    only = problem_of(two, slider_model, estimate=['*.coulomb', '*.viscous'])
    np.testing.assert_array_equal(stages['1-A'][:3], slider_model.nominal_parameters[:3])
    np.testing.assert_allclose(stages['1-A'][3:], wls(only).values, rtol=0.02)
    np.testing.assert_array_equal(stages['1-B'][3:], stages['1-A'][3:])


def test_turns_converge_to_all_at_once(two, slider_model):
    """From wrong inertia, the distance to the joint estimate falls from turn to turn."""
    problem = problem_of(two, slider_model)
    stages = staged(problem).diagnostics.stages
    deviation = np.sqrt(np.diag(wls(problem).covariance))
    away = {
        name: np.abs((values - stages['3']) / deviation)[FRICTION].max()
        for name, values in stages.items()
    }
    assert away['3'] == 0 and away['2-A'] < away['1-A'] + 1e-9


@pytest.mark.parametrize('options', [{}, {'inner': 'ukf'}, {'friction_data': 0, 'inertia_data': 1}])
def test_reported_uncertainty_is_that_of_many_runs(record, slider_model, options):
    """Of the turns alone; nominal values are the true ones, so that no start is wrong."""
    truth, z = slider_model.nominal_parameters, []
    for seed in range(12):
        data = [
            record(seed=2 * seed, period=2.0, periods=3, rate=250.0),
            record(seed=2 * seed + 1, period=0.8, periods=4, rate=250.0),
        ]
        found = staged(problem_of(data, slider_model), last='2-B', **options)
        z.append(whitened_error(found.values - truth, found.covariance))
    low, high = spread_range(np.size(z))
    assert low < np.sqrt(np.mean(np.square(z))) < high


def test_filter_and_least_squares_agree(two, slider_model):
    problem = problem_of(two, slider_model)
    found = {inner: staged(problem, inner, last='2-B') for inner in ('wls', 'ukf')}
    deviation = np.sqrt(np.diag(found['wls'].covariance))
    difference = (found['ukf'].values - found['wls'].values) / deviation
    assert np.abs(difference).max() < 2.0


def test_what_does_not_fit_is_said(two, slider_model):
    with pytest.raises(EstimationError, match="'inner' must be wls or ukf, not 'ls'"):
        identify(two, slider_model, 'staged', inner='ls')
    with pytest.raises(EstimationError, match="'last' must be 1-A, 1-B, 2-A, 2-B or 3, not '4'"):
        identify(two, slider_model, 'staged', last='4')
    with pytest.raises(EstimationError, match='numbers of datasets, 0 to 1, got 2'):
        identify(two, slider_model, 'staged', friction_data=2)
    with pytest.raises(EstimationError, match='takes turns'):
        identify(two, slider_model, 'staged', estimate='*.viscous')
