"""Selected and fixed parameters, priors and several runs, against their normal equations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pkm_description.errors import EstimationError
from pkm_identification import identify, load_result
from pkm_identification.covariance.residual_scaling import full_covariance
from pkm_identification.estimators.linear import gauss_markov, ls, noise_of_rows, wls
from pkm_identification.regression.problem import build_problem
from pkm_identification.regression.weighted_least_squares import (
    weighted_least_squares,
    whitened_rows,
)
from pkm_identification.signals import SignalOptions, process

SOLVERS = (ls, wls, gauss_markov)


@pytest.fixture
def signals(record):
    """Two periodic runs of different length and noise, positions without noise."""
    first = record(periods=4, position_noise=0.0, seed=1)
    second = record(periods=6, period=1.5, force_noise=3.0, position_noise=0.0, seed=2)
    return process(first), process(second)


def normal_equations(run, covariance=None):
    """Information and its right side of a run, row by row."""
    rows = zip(run.regressor, run.forces, run.covariance, strict=True)
    parts = [(psi.T @ np.linalg.solve(c, psi), psi.T @ np.linalg.solve(c, y)) for psi, y, c in rows]
    return sum(part[0] for part in parts), sum(part[1] for part in parts)


def test_several_runs_add_their_information(signals, slider_model):
    problem = build_problem(signals, slider_model)
    estimate = gauss_markov(problem)
    parts = [normal_equations(run) for run in problem.runs]
    information = parts[0][0] + parts[1][0]
    expected = np.linalg.solve(information, parts[0][1] + parts[1][1])
    np.testing.assert_allclose(estimate.values, expected, rtol=1e-9)
    np.testing.assert_allclose(estimate.covariance, np.linalg.inv(information), rtol=1e-7)
    assert len(problem.forces) == sum(run.count for run in problem.runs)
    assert sum(len(run.covariance) for run in problem.runs) == len(problem.forces)


def test_an_earlier_result_as_prior_equals_both_runs_together(record, slider_model):
    first = record(periods=4, position_noise=0.0, seed=1)
    second = record(periods=6, period=1.5, force_noise=3.0, position_noise=0.0, seed=2)
    earlier = identify(first, slider_model, 'gauss_markov')
    later = identify(second, slider_model, 'gauss_markov', prior=earlier)
    together = identify([first, second], slider_model, 'gauss_markov')
    assert earlier.diagnostics['covariance_scale'] == later.diagnostics['covariance_scale'] == 1.0
    np.testing.assert_allclose(later.values, together.values, rtol=1e-8)
    np.testing.assert_allclose(later.covariance, together.covariance, rtol=1e-6, atol=1e-12)
    assert len(together.residuals) == 1000 + 1500
    assert len(together.diagnostics['signals']) == len(together.diagnostics['runs']) == 2


@pytest.mark.parametrize('solve', [wls, gauss_markov])
def test_a_prior_is_rows_beside_those_of_the_data(signals, slider_model, solve):
    prior = {'a.m': (1.9, 0.01), '*.viscous': (11.0, 0.5)}
    problem = build_problem(signals[0], slider_model, prior=prior)
    estimate = solve(problem)
    noise = problem.runs[0].covariance
    weights = noise
    if solve is wls:  # variances of noise and of what the model lacks, the same for all rows
        weights = np.linalg.inv(estimate.weights[0]) ** 2
        beyond = np.diagonal(weights - noise, axis1=1, axis2=2)
        assert (beyond >= -1e-12).all() and np.ptp(beyond, axis=0).max() < 1e-9
    run = problem.runs[0].with_noise(weights)
    information, right = normal_equations(run)
    for name, value, deviation in (
        ('a.m', 1.9, 0.01),
        ('left.viscous', 11.0, 0.5),
        ('right.viscous', 11.0, 0.5),
    ):
        i = slider_model.parameter_names.index(name)
        information[i, i] += deviation**-2
        right[i] += value * deviation**-2
    np.testing.assert_allclose(estimate.values, np.linalg.solve(information, right), rtol=1e-9)
    if solve is gauss_markov:
        expected = np.linalg.inv(information)
        np.testing.assert_allclose(estimate.covariance, expected, rtol=1e-7, atol=1e-12)
    design, target = whitened_rows(problem, [weights])
    folded = np.linalg.lstsq(design, target, rcond=None)[0]
    np.testing.assert_allclose(estimate.values, folded, rtol=1e-9)


@pytest.mark.parametrize('first', [True, False])
def test_a_name_goes_before_a_pattern(signals, slider_model, first):
    """In whatever order they stand, and nothing is counted twice."""
    pairs = [('left.viscous', (10.0, 0.1)), ('*.viscous', (12.0, 5.0))]
    given = dict(pairs if first else pairs[::-1])
    fixed = build_problem(signals, slider_model, fixed=given).selection
    np.testing.assert_allclose(fixed.values, [10.0, 12.0])
    np.testing.assert_allclose(np.diag(fixed.covariance), [0.01, 25.0])
    rows, target = build_problem(signals, slider_model, prior=given).prior_information
    np.testing.assert_allclose(np.diag(rows.T @ rows), [0, 0, 0, 0, 100.0, 0, 0.04])
    np.testing.assert_allclose(rows.T @ target, [0, 0, 0, 0, 1000.0, 0, 0.48])


@pytest.mark.parametrize('solve', SOLVERS)
def test_uncertain_fixed_parameters_make_the_others_uncertain(signals, slider_model, solve):
    """Monte Carlo over noise and over the true values of what is fixed."""
    fixed = {'c.m': (1.5, 0.2), 'left.viscous': (10.0, 3.0)}
    problem = build_problem(signals, slider_model, fixed=fixed)
    estimate = solve(problem)
    covariance = full_covariance(problem, estimate, estimate.covariance)
    random = np.random.default_rng(0)
    draws, truth = 4000, slider_model.nominal_parameters
    drawn = truth + np.zeros((draws, 7))
    drawn[:, [2, 4]] += random.normal(size=(draws, 2)) * [0.2, 3.0]
    full = build_problem(signals, slider_model)
    sums, right = 0.0, 0.0
    for run, whole, weight in zip(problem.runs, full.runs, estimate.weights, strict=True):
        noise = np.linalg.cholesky(whole.covariance) @ random.normal(
            size=(draws, len(whole.forces), 2, 1)
        )
        forces = np.einsum('kap,dp->dka', whole.regressor, drawn) + noise[..., 0]
        forces -= run.rows.fixed @ problem.selection.values
        weight = np.broadcast_to(weight, whole.covariance.shape)
        rows = weight @ run.regressor
        weighted = np.einsum('kab,dkb->dka', weight, forces)
        sums = sums + np.einsum('kap,kaq->pq', rows, rows)
        right = right + np.einsum('kap,dka->dp', rows, weighted)
    found = np.linalg.solve(sums, right.T).T
    errors = np.empty((draws, 7))
    errors[:, problem.free] = found - drawn[:, problem.free]
    errors[:, [2, 4]] = problem.selection.values - drawn[:, [2, 4]]
    deviation = np.sqrt(np.diag(covariance))
    seen = errors.T @ errors / draws / np.outer(deviation, deviation)
    np.testing.assert_allclose(seen, covariance / np.outer(deviation, deviation), atol=0.08)
    alone = np.sqrt(np.diag(estimate.covariance))
    assert deviation[0] > 2 * alone[0]


@pytest.mark.parametrize('estimator', ['ls', 'gauss_markov', 'iv', 'maximum_likelihood'])
def test_what_a_fixed_value_leaves_in_the_residuals_does_not_count_twice(
    record, slider_model, estimator
):
    """Half a standard deviation off: the noise explains the rest; ten: something is wrong."""
    data, spread = record(force_noise=1.0), 0.2
    near, far = (
        identify(data, slider_model, estimator, fixed={'c.m': (1.5 + off * spread, spread)})
        for off in (0.5, 10.0)
    )
    assert near.diagnostics['residual_variance_ratio'] > 1.5
    assert near.diagnostics['covariance_rests_on'] == 'noise'
    assert near.diagnostics['covariance_scale'] == 1.0
    assert far.diagnostics['covariance_rests_on'] != 'noise'
    assert far.diagnostics['covariance_scale'] > 1.0


def test_fixed_equals_a_prior_where_the_data_say_nothing(signals, slider_model):
    """A column that repeats another: the data tell the sum alone."""

    def with_twin(**options):
        problem = build_problem(signals[0], slider_model, **options)
        run = problem.runs[0]
        whole = build_problem(signals[0], slider_model).regressor.copy()
        whole[..., 6] = whole[..., 5]
        rows = run._select(whole, whole @ slider_model.nominal_parameters + 0.1)
        return replace(problem, runs=(run.with_rows(rows),))

    held = with_twin(fixed={'right.viscous': (11.0, 0.7)})
    joint = with_twin(prior={'right.viscous': (11.0, 0.7)})
    estimate, other = gauss_markov(held), gauss_markov(joint)
    np.testing.assert_allclose(held.expand(estimate.values), other.values, rtol=1e-6)
    covariance = full_covariance(held, estimate, estimate.covariance)
    np.testing.assert_allclose(covariance, other.covariance, rtol=1e-5, atol=1e-9)


def test_selection_by_name_and_pattern(record, slider_model, tmp_path):
    data = record(periods=4)
    result = identify(data, slider_model, 'gauss_markov', estimate=['*.m'], fixed={'c.*': None})
    assert result.diagnostics['fixed'] == [
        'c.m',
        'left.coulomb',
        'left.viscous',
        'right.coulomb',
        'right.viscous',
    ]
    np.testing.assert_array_equal(result.values[2:], slider_model.nominal_parameters[2:])
    assert (result.standard_deviation[:2] > 0).all() and not result.standard_deviation[2:].any()
    everything = identify(data, slider_model, 'gauss_markov')
    assert (result.standard_deviation[:2] < everything.standard_deviation[:2]).all()
    loaded = load_result(result.save(tmp_path / 'model.yaml'), slider_model)
    np.testing.assert_allclose(loaded.covariance, result.covariance, atol=1e-12)
    assert loaded.provenance['options']['estimate'] == ['*.m']


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'estimate': ['a.mm']}, "estimate: no base parameter .* 'a.mm'; near are a.m"),
        ({'fixed': {'lefty.*': 1.0}}, "fixed: no base parameter .* 'lefty"),
        ({'prior': {'z': (1.0, 1.0)}}, "prior: no base parameter .* 'z'; near are"),
        ({'estimate': ['a.m'], 'fixed': {'a.m': 2.0}}, 'both in estimate and in fixed'),
        ({'fixed': {'a.m': (2.0, -1.0)}}, "parameter 'a.m': give a value or"),
        ({'fixed': {'a.m': 'heavy'}}, "parameter 'a.m': give a value or"),
        ({'fixed': {'*': None}}, 'nothing to estimate'),
        ({'prior': {'a.m': 2.0}}, "prior of 'a.m' needs a standard deviation"),
        ({'prior': {'a.m': (2.0, 1.0)}, 'fixed': {'a.m': 2.0}}, 'is fixed and has a prior'),
        ({'prior': 3.0}, 'prior must be'),
    ],
)
def test_wrong_selections_are_named(record, slider_model, options, message):
    with pytest.raises(EstimationError, match=message):
        identify(record(periods=2), slider_model, **options)


def test_no_dataset_at_all(slider_model):
    with pytest.raises(EstimationError, match='no dataset'):
        identify([], slider_model)


@pytest.mark.parametrize('estimator', ['irls', 'iv'])
def test_iterated_estimates_of_two_runs(record, slider_model, estimator):
    """Against Gauss-Markov, with which they agree to a fraction of the noise."""
    runs = [record(periods=4, seed=5), record(periods=6, period=1.5, seed=6)]
    options = {'fixed': {'c.m': (1.5, 0.1)}, 'prior': {'left.coulomb': (4.0, 0.05)}}
    robust = identify(runs, slider_model, estimator, **options)
    reference = identify(runs, slider_model, 'gauss_markov', **options)
    free = np.arange(7) != 2
    distance = (robust.values - reference.values)[free] / reference.standard_deviation[free]
    assert np.abs(distance).max() < 1.0
    ratio = robust.standard_deviation / reference.standard_deviation
    assert (np.abs(ratio - 1) < 0.25).all()
    assert robust.standard_deviation[2] == pytest.approx(0.1)


@pytest.mark.parametrize('solve', SOLVERS)
def test_the_folded_rows_stand_for_all_rows(record, slider_model, solve):
    """Compact rows of filtered data against every row with its own copy of the weights."""
    options = SignalOptions(method='filter')
    runs = [process(record(periods=n, seed=n, force_noise=n), options) for n in (12, 15)]
    problem = build_problem(
        runs, slider_model, fixed={'b.m': (3.0, 0.1)}, prior={'a.m': (2.0, 0.1)}
    )
    assert all(len(run.compact.forces) == 16 < run.count for run in problem.runs)
    estimate = solve(problem)
    noise, weights = (
        [np.broadcast_to(a, (run.count, 2, 2)) for a, run in zip(each, problem.runs, strict=True)]
        for each in (estimate.noise, estimate.weights)
    )
    direct = weighted_least_squares(problem, weights, noise)
    np.testing.assert_allclose(estimate.values, direct.values, rtol=1e-10)
    np.testing.assert_allclose(estimate.covariance, direct.covariance, rtol=1e-8)
    gram = sum(run.folded.triangle.T @ run.folded.triangle for run in problem.runs)
    rows = [
        np.concatenate([r.regressor.reshape(r.count, -1), r.forces, r.rows.fixed[..., 0]], axis=1)
        for r in problem.runs
    ]
    np.testing.assert_allclose(gram, sum(row.T @ row for row in rows), rtol=1e-10, atol=1e-8)
    for signals in runs:
        alone = build_problem(signals, slider_model, fixed={'b.m': (3.0, 0.1)})
        (found,) = noise_of_rows(alone, whiten=False)
        residuals = alone.runs[0].residuals(ls(alone).values)
        np.testing.assert_allclose(found, residuals.T @ residuals / len(residuals), rtol=0.05)


def with_cogging(dataset, size=10.0):
    """Forces that the model does not have, the same at the same place."""
    extra = size * np.sin(600.0 * dataset.positions)
    return dataset.changed(efforts=dataset.efforts + extra)


def test_what_the_model_lacks_does_not_average_out_over_runs_of_one_motion(record, slider_model):
    runs = [
        with_cogging(record(periods=8, force_noise=0.5, position_noise=0.0, seed=seed))
        for seed in (1, 2, 3)
    ]
    single = identify(runs[0], slider_model, 'gauss_markov')
    assert single.diagnostics['covariance_rests_on'] == 'residuals by frequency'
    three = identify(runs, slider_model, 'gauss_markov')
    np.testing.assert_allclose(three.standard_deviation, single.standard_deviation, rtol=0.05)
    truth = three.matrix @ slider_model.nominal_parameters
    assert np.all(np.abs(three.values - truth) < 4 * three.standard_deviation)
    other = with_cogging(record(periods=8, period=1.3, force_noise=0.5, position_noise=0.0, seed=4))
    both = identify([runs[0], other], slider_model, 'gauss_markov')
    assert np.median(both.standard_deviation / single.standard_deviation) < 0.9
