"""Residual scaling: what the correlation of residuals in time makes of a covariance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_rows import Dense, filter_band, random_covariances, random_problem, solved, with_twins
from scipy.linalg import block_diag
from scipy.signal import lfilter

from pkm_identification import identify
from pkm_identification.covariance.residual_scaling import (
    alike_runs,
    full_covariance,
    residual_scaled_covariance,
    with_noise,
)
from pkm_identification.covariance.residual_spectrum import noise_by_frequency, residual_spectrum
from pkm_identification.regression.residual_noise import correlation_time
from pkm_identification.regression.weighted_least_squares import Estimate
from pkm_identification.result.diagnostics import NoiseSource
from pkm_identification.signals.bands import HarmonicBand


@pytest.mark.parametrize(('memory', 'expected'), [(0.0, 1.0), (0.5, 3.0), (0.7, 17 / 3)])
def test_correlation_time_of_an_autoregressive_series(memory, expected):
    """(1 + a) / (1 - a) for x_k = a x_(k-1) + e_k, whose autocorrelation is a^k.

    The deviation of the estimate, about sqrt(80 / samples) = 2 %, is a fifth of the limit.
    """
    noise = np.random.default_rng(1).normal(size=(100_000, 2))
    series = lfilter([1.0], [1.0, -memory], noise, axis=0)
    assert correlation_time([series]) == pytest.approx(expected, rel=0.1)
    assert correlation_time(np.split(series, 50)) == pytest.approx(expected, rel=0.1)


def test_stretches_of_rows_are_not_neighbours():
    """Pairs of equal values: 2 within a stretch; each value alone: nothing to see."""
    values = np.random.default_rng(2).normal(size=(20_000, 1))
    pairs = np.repeat(values, 2, axis=0)
    assert correlation_time([pairs]) == pytest.approx(2.0, rel=0.05)
    assert correlation_time(list(pairs[:, None])) == 1.0


def test_the_noise_of_filtered_data_is_unknown(record, slider_model):
    """Its covariance rests on blocks of time, with few degrees of freedom."""
    result = identify(record(seed=1), slider_model, 'gauss_markov', method='filter', cutoff=15.0)
    fit = result.diagnostics.fit
    assert fit.residual_correlation_time > 1.2
    assert fit.residual_variance_ratio is None
    assert fit.residual_variance_ratio_per_axis is None
    assert fit.covariance_rests_on == 'residuals in blocks of time'
    assert (fit.covariance_freedom >= 2).all() and (fit.covariance_freedom <= 19).all()


def test_spectrum_of_residuals_is_a_mean_over_neighbours():
    """Of rows whose variance rises: each is the mean over 8 rows to either side."""
    rows = np.arange(40.0)[:, None] * np.array([1.0, -2.0])
    spectrum = residual_spectrum(rows)
    for k in (0, 3, 20, 39):
        near = rows[max(k - 8, 0) : k + 9]
        np.testing.assert_allclose(spectrum[k], near.T @ near / len(near), rtol=1e-12)


PERIODIC = (HarmonicBand(10, 1.0), HarmonicBand(14, 1.3))


def with_noise_times(estimate, factor):
    """The estimate, from data that are said to have so many times the noise."""
    return replace(
        estimate,
        noise=tuple(factor * each for each in estimate.row_noise),
        covariance=factor * estimate.covariance,
    )


def plain(estimate):
    """The estimate, of an estimator that does not tell its weights."""
    return replace(estimate, weights=None)


@pytest.mark.parametrize('constant', [False, True])
@pytest.mark.parametrize(
    'options', [{}, {'prior': True}, {'unshown': 1}, {'fixed': {2: 0.0}}, {'twins': True}]
)
def test_residuals_are_compared_with_what_the_fit_leaves_of_the_noise(options, constant):
    own = {key: value for key, value in options.items() if key != 'twins'}
    problem = random_problem((*PERIODIC, filter_band()), **own)
    is_known = [run.covariance is not None for run in problem.runs]
    if 'twins' in options:  # of which the data show the sum
        problem = with_twins(problem)
    estimate = solved(problem, constant=constant)
    _, fit = residual_scaled_covariance(problem, estimate)
    dense = Dense(problem, estimate)
    ratios, per_axis = [], []
    for number, run in enumerate(problem.runs):
        ratios.append(dense.square(number) / dense.expected_square(number))
        own = dense.equations(number)
        relative = dense.residuals[own] ** 2 / np.diag(dense.noise)[own]
        per_axis.append(relative.reshape(-1, 2).mean(axis=0))
        assert fit.runs[number].rows == run.count
    assert is_known == [True, True, False]
    assert fit.runs[2].residual_variance_ratio is None
    assert fit.runs[2].residual_variance_ratio_per_axis is None
    found = [run.residual_variance_ratio for run in fit.runs[:2]]
    np.testing.assert_allclose(found, ratios[:2], rtol=1e-9)
    np.testing.assert_allclose(
        [run.residual_variance_ratio_per_axis for run in fit.runs[:2]], per_axis[:2], rtol=1e-9
    )
    count = [21, 29, 40]
    assert fit.residual_variance_ratio == pytest.approx(np.average(ratios[:2], weights=count[:2]))
    np.testing.assert_allclose(
        fit.residual_variance_ratio_per_axis, np.average(per_axis[:2], axis=0, weights=count[:2])
    )
    times = [run.residual_correlation_time for run in fit.runs]
    assert times[:2] == [1.0, 1.0]
    assert fit.residual_correlation_time == pytest.approx(np.average(times, weights=count))
    spread = NoiseSource.SPREAD, NoiseSource.RESIDUALS
    assert [run.noise_from for run in fit.runs] == [spread[0], spread[0], spread[1]]
    assert fit.noise_from == spread[::-1]


def test_a_single_run_is_not_listed_apart():
    problem = random_problem(PERIODIC[:1])
    assert residual_scaled_covariance(problem, solved(problem))[1].runs == ()


def test_an_estimate_without_weights_takes_an_equation_a_parameter():
    """Shared by the runs in proportion to their rows."""
    problem = random_problem(PERIODIC)
    estimate = plain(solved(problem))
    _, fit = residual_scaled_covariance(problem, estimate)
    dense = Dense(problem, solved(problem))
    for number, share in enumerate((21 / 50, 29 / 50)):
        expected = dense.square(number) / ((100 - 5) * share)
        assert fit.runs[number].residual_variance_ratio == pytest.approx(expected)


@pytest.mark.parametrize(('harmonics', 'fixed'), [((0, 1), {}), ((0, 0), {0: 0.0})])
def test_as_many_equations_as_parameters_leave_one_degree_of_freedom(harmonics, fixed):
    """8 equations of 5 parameters and a share of 1/4: 3/4 count as 1; 4 of 4: 0 as 1."""
    bands = [HarmonicBand(each, 1.0 + each) for each in harmonics]
    problem = random_problem(bands, fixed=fixed)
    noise = tuple(np.array([[0.5, 0.1], [0.1, 0.3]]) for _ in bands)
    size = problem.size
    estimate = Estimate(np.full(size, 0.3), np.eye(size), noise=noise)
    _, fit = residual_scaled_covariance(problem, estimate)
    residuals = problem.runs[0].residuals(estimate.values)[0]
    expected = residuals @ np.linalg.solve(noise[0], residuals)
    assert fit.runs[0].residual_variance_ratio == pytest.approx(expected)


def significance_limit(problem, dense):
    """Four standard deviations of the variance ratio, by the data's degrees of freedom."""
    prior = problem.prior_rows
    by_data = problem.size - np.trace(prior @ dense.inverse @ prior.T)
    return 1 + 4 * np.sqrt(2 / (problem.equations - by_data))


@pytest.mark.parametrize('weighted', [True, False])
@pytest.mark.parametrize('prior', [True, False])
def test_covariance_grows_beyond_four_deviations_of_the_variance_ratio(weighted, prior):
    problem = random_problem(PERIODIC[:1], prior=prior)
    estimate = solved(problem)
    dense = Dense(problem, estimate)
    if not weighted:
        estimate = plain(estimate)
    factor = 1.0
    limit = significance_limit(problem, dense)
    for _ in range(30):  # with a prior the expected square changes a little with the noise
        ratio = residual_scaled_covariance(problem, with_noise_times(estimate, factor))[1]
        factor *= ratio.residual_variance_ratio / limit
    for just, rests_on in ((1 + 1e-6, 'noise'), (1 - 1e-6, None)):
        now = with_noise_times(estimate, factor * just)
        covariance, fit = residual_scaled_covariance(problem, now)
        assert (fit.covariance_rests_on == 'noise') == (rests_on == 'noise')
        assert np.allclose(covariance, now.covariance, rtol=1e-9, atol=0) == (rests_on == 'noise')


def test_few_rows_must_differ_much_from_the_noise():
    """With one degree of freedom the limit is 1 + 4 sqrt(2)."""
    problem = random_problem([HarmonicBand(0, 1.0)], fixed={0: 0.0, 1: 0.0})
    values = np.full(3, 0.1)
    residuals = problem.runs[0].residuals(values)[0]
    noise = np.diag([2.0, 0.5])
    square = residuals @ np.linalg.solve(noise, residuals)
    limit = 1 + 4 * np.sqrt(2)
    for just, rests_on in ((1 + 1e-6, 'noise'), (1 - 1e-6, 'noise scaled to the residuals')):
        scaled = noise * just * square / limit
        estimate = Estimate(values, np.eye(3), noise=(scaled,))
        covariance, fit = residual_scaled_covariance(problem, estimate)
        assert fit.covariance_rests_on == rests_on
        scale = 1.0 if rests_on == 'noise' else limit / just
        np.testing.assert_allclose(covariance, scale * np.eye(3), rtol=1e-9)
        assert fit.covariance_scale == pytest.approx(scale)


@pytest.mark.parametrize('weighted', [True, False])
def test_uncertain_fixed_parameters_may_make_residuals_larger(weighted):
    """Beyond the limit by what they add to the squares, some times as large by chance."""
    problem = random_problem(PERIODIC[:1], fixed={2: 0.08, 4: 0.01})
    estimate = solved(problem)
    dense = Dense(problem, estimate)
    freedom = dense.expected_square(0) if weighted else problem.equations - problem.size
    left = dense.fixed + dense.design @ dense.by_fixed
    spread = left @ problem.selection.covariance @ left.T
    by_fixed = np.trace(np.linalg.solve(dense.noise, spread)) / freedom
    ratio = dense.square(0) / freedom
    excess = ratio - (1 + 4 * np.sqrt(2)) * by_fixed
    assert excess > 0.1 * ratio and by_fixed > 0.01 * ratio
    factor = excess / significance_limit(problem, dense)
    # an estimator that names no weights must name what the fixed parameters change
    if not weighted:
        estimate = replace(plain(estimate), sensitivity=dense.by_fixed)
    for just, is_noise in ((1 + 1e-6, True), (1 - 1e-6, False)):
        _, fit = residual_scaled_covariance(problem, with_noise_times(estimate, factor * just))
        assert (fit.covariance_rests_on == 'noise') == is_noise


def smoothed(first, second):
    """Mean outer product of residuals over eight rows to either side."""
    rows = np.arange(len(first))
    near = [np.abs(rows - k) <= 8 for k in rows]
    return np.array([first[own].T @ second[own] / own.sum() for own in near])


def explaining_noise(problem, dense, by_frequency, factors):
    """Noise (n, n) that explains residuals: of some runs by frequency, of others by a factor."""
    noise = dense.noise.copy()
    white, roots = {}, {}
    for number, run in enumerate(problem.runs):
        own = dense.equations(number)
        noise[own, own] *= factors[number]
        root = np.linalg.cholesky(np.broadcast_to(dense.estimate.noise[number], (run.count, 2, 2)))
        left = run.residuals(dense.estimate.values)
        scale = np.sqrt(2 * run.count / dense.expected_square(number))
        white[number] = np.linalg.solve(root, left[..., None])[..., 0] * scale
        roots[number] = block_diag(*root)
    for group in by_frequency:
        for first in group:
            for second in group:
                spectrum = block_diag(*smoothed(white[first], white[second]))
                own = dense.equations(first), dense.equations(second)
                noise[own] = roots[first] @ spectrum @ roots[second].T
    return noise


def with_more(problem, number, size=1.5):
    """The problem with forces of a run that its model does not have."""
    run = problem.runs[number]
    more = size * np.sin(0.7 * np.arange(run.count))[:, None] * [1.0, -0.5]
    runs = [*problem.runs]
    runs[number] = run.with_rows(replace(run.rows, forces=run.forces + more))
    return replace(problem, runs=tuple(runs))


def assert_same_covariance(found, expected):
    """To rounding, relative to the deviations."""
    size = np.sqrt(np.diag(expected))
    scale = np.outer(size, size)
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=1e-9)


def test_residuals_of_alike_motions_widen_the_covariance_together():
    """Runs 0, 1 and 3 have the same harmonics of one period, 2 has others."""
    alike, other = PERIODIC
    bands = (alike, alike, other, alike)
    problem = with_more(random_problem(bands, prior=True), 1)
    estimate = solved(problem)
    covariance, fit = residual_scaled_covariance(problem, estimate)
    ratios = [run.residual_variance_ratio for run in fit.runs]
    assert ratios[1] > 10 and max(ratios[:1] + ratios[2:]) < 1.5
    dense = Dense(problem, estimate)
    expected = dense.covariance(explaining_noise(problem, dense, [[0, 1, 3]], [1.0] * 4))
    assert_same_covariance(covariance, expected)
    assert fit.covariance_rests_on == 'residuals by frequency'
    widened = np.diag(covariance) / np.diag(estimate.covariance)
    assert fit.covariance_scale == pytest.approx(np.median(widened))


def test_residuals_of_one_periodic_run_widen_the_covariance_by_frequency():
    problem = with_more(random_problem(PERIODIC), 0, 0.6)
    estimate = solved(problem)
    covariance, fit = residual_scaled_covariance(problem, estimate)
    assert fit.runs[0].residual_variance_ratio > 2.2 > 1.7 > fit.runs[1].residual_variance_ratio
    dense = Dense(problem, estimate)
    expected = dense.covariance(explaining_noise(problem, dense, [[0]], [1.0, 1.0]))
    assert_same_covariance(covariance, expected)


def test_residuals_of_filtered_runs_widen_by_correlation_where_weights_are_unknown():
    """By the mean over the rows; with weights, blocks do it (see `test_block_covariance`)."""
    problem = random_problem((filter_band(), filter_band()), rows=90, prior=True)
    problem = with_more(problem, 1, 0.7)
    estimate = plain(solved(problem))
    covariance, fit = residual_scaled_covariance(problem, estimate)
    times = [run.residual_correlation_time for run in fit.runs]
    assert times[1] > 1.5
    dense = Dense(problem, solved(problem))
    prior = problem.prior_rows
    by_data = problem.size - np.trace(prior @ estimate.bread @ prior.T)
    ratio = dense.square(1) / ((problem.equations - by_data) / 2)
    scale = (times[0] + times[1] * ratio) / 2
    assert fit.covariance_scale == pytest.approx(scale)
    assert_same_covariance(covariance, scale * estimate.covariance)
    assert fit.covariance_rests_on == 'noise scaled to the residuals'
    assert fit.covariance_freedom is None


def test_correlation_in_time_is_that_of_whitened_residuals():
    problem = with_more(random_problem((filter_band(), filter_band())), 1)
    estimate = solved(problem)
    _, fit = residual_scaled_covariance(problem, estimate)
    for number, run in enumerate(problem.runs):
        root = np.linalg.cholesky(estimate.noise[number])
        white = np.linalg.solve(root, run.residuals(estimate.values).T).T
        expected = correlation_time([white])
        assert fit.runs[number].residual_correlation_time == pytest.approx(expected, rel=1e-9)


def test_a_final_covariance_is_not_widened():
    problem = with_more(random_problem(PERIODIC), 0)
    final = replace(solved(problem), covariance_rests_on='a bound')
    covariance, fit = residual_scaled_covariance(problem, final)
    np.testing.assert_array_equal(covariance, final.covariance)
    assert fit.covariance_rests_on == 'a bound' and fit.covariance_scale == 1.0


def test_scale_is_that_of_the_parameters_that_are_determined():
    """Infinite and zero variances count for nothing; where there are no others it is one."""
    problem = with_more(random_problem(PERIODIC), 0)
    estimate = plain(solved(problem))
    expected = residual_scaled_covariance(problem, estimate)[1].covariance_scale
    assert expected > 5
    for variances in ([np.inf, 0.0, 1.0, 2.0, np.inf], [np.inf, 0.0, 0.0, 0.0, 0.0]):
        some = replace(estimate, covariance=np.diag(variances))
        found = residual_scaled_covariance(problem, some)[1].covariance_scale
        assert found == pytest.approx(expected if 1.0 in variances else 1.0)


def test_noise_of_rows_is_that_of_the_estimate_the_run_or_the_residuals():
    problem = random_problem((PERIODIC[0], filter_band()))
    values = solved(problem).values
    bare = Estimate(values, np.eye(5))
    first, second = with_noise(problem, bare).noise
    np.testing.assert_array_equal(first, problem.runs[0].covariance)
    left = problem.runs[1].residuals(values)
    used = 5 * 40 / (21 + 40) / 2  # parameters, by the share of the equations, of each axis
    np.testing.assert_allclose(second, left.T @ left / (40 - used), rtol=1e-5)
    named = replace(bare, noise=(np.eye(2), 2 * np.eye(2)))
    assert with_noise(problem, named).noise is named.noise


def test_runs_of_one_period_and_number_of_harmonics_are_alike():
    bands = [HarmonicBand(3, 1.0), HarmonicBand(4, 1.0), HarmonicBand(3, 1.0), HarmonicBand(3, 2.0)]
    bands += [HarmonicBand(4, 1.0), filter_band(), filter_band()]
    problem = random_problem(bands)
    found = [alike_runs(problem, [k == odd for k in range(7)]) for odd in range(7)]
    assert found == [[[0, 2]], [[1, 4]], [[0, 2]], [], [[1, 4]], [], []]
    assert alike_runs(problem, [True] * 7) == [[0, 2], [1, 4]]


@pytest.mark.parametrize('kind', ['all known', 'one unshown', 'twins'])
def test_fixed_parameters_take_their_place_in_the_covariance(kind):
    """Against the change with them by dense algebra; what the data leave open does not change."""
    unshown = 1 if kind == 'one unshown' else None
    lost = {'all known': [], 'one unshown': [1], 'twins': [1, 4]}[kind]
    problem = random_problem(PERIODIC, fixed={0: 0.3, 3: 0.8}, prior=not lost, unshown=unshown)
    if kind == 'twins':
        problem = with_twins(problem)
    estimate = solved(problem)
    dense = Dense(problem, estimate)
    turn = np.zeros((5, 5))  # from free 1, 2, 4 and fixed 0, 3 to all
    turn[np.ix_([1, 2, 4], [0, 1, 2])] = np.eye(3)
    turn[np.ix_([1, 2, 4], [3, 4])] = dense.by_fixed
    turn[np.ix_([0, 3], [3, 4])] = np.eye(2)
    turn[lost] = 0.0
    parts = block_diag(dense.covariance(dense.noise), np.diag([0.09, 0.64]))
    expected = turn @ parts @ turn.T
    expected[lost, lost] = np.inf
    found = full_covariance(problem, estimate, estimate.covariance)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_without_fixed_parameters_the_covariance_stays_as_it_is():
    problem = random_problem(PERIODIC)
    estimate = solved(problem)
    assert full_covariance(problem, estimate, estimate.covariance) is estimate.covariance


def test_noise_by_frequency_is_that_of_the_residuals_over_their_neighbours():
    """Relative to the expected noise, and larger by the freedom that the fit has taken."""
    random = np.random.default_rng(5)
    noise = random_covariances(random, 30) * np.linspace(1, 50, 30)[:, None, None]
    residuals = random.normal(size=(30, 2)) * [1.0, 2.0]
    found = noise_by_frequency(residuals, noise, 48.0)
    roots = np.linalg.cholesky(noise)
    white = np.array([np.linalg.solve(a, b) for a, b in zip(roots, residuals, strict=True)])
    for k in (0, 7, 8, 9, 20, 21, 22, 29):
        near = white[max(k - 8, 0) : k + 9]
        expected = roots[k] @ (near.T @ near / len(near)) @ roots[k].T * 60 / 48
        np.testing.assert_allclose(found[k], expected, rtol=1e-9)


def plain_correlation_time(pieces):
    """1 + 2 sum of the autocorrelation up to the first lag, of 20 at most, where it is noise."""
    values = np.concatenate(pieces)
    mean, total = values.mean(axis=0), 1.0
    power = np.sum((values - mean) ** 2)
    for lag in range(1, 21):
        products = [
            np.sum((each[k] - mean) * (each[k + lag] - mean))
            for each in pieces
            for k in range(len(each) - lag)
        ]
        if not products or sum(products) / power <= 2 / np.sqrt(values.size):
            break
        total += 2 * sum(products) / power
    return total


@pytest.mark.parametrize('scale', [1.0, 1e-8])
def test_correlation_time_is_a_sum_over_twenty_lags_at_most(scale):
    slow = np.cos(np.linspace(0, np.pi, 200))[:, None] + np.array([3.0, -1.0])
    short = np.sin(np.linspace(0, 4 * np.pi, 120))[:, None] * [1.0, 0.5]
    brief = [np.array([[1.0], [0.9], [1.1]]), np.array([[-1.0], [-0.8], [-1.2]])]
    for pieces in ([slow], [short], [slow[:, :1], short[:31, :1]], brief, [slow[:2]]):
        expected = plain_correlation_time(pieces)
        assert correlation_time([scale * each for each in pieces]) == pytest.approx(expected)
    assert plain_correlation_time([slow]) > 35
    assert correlation_time([np.zeros((5, 2))]) == correlation_time([np.ones((1, 2))]) == 1.0
