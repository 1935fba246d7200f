"""Tests of residuals, against dense algebra and many seeds; intervals and correlations."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from random_rows import Dense, filter_band, random_problem, solved, with_signals, with_twins
from scipy import signal, stats

from pkm_description.errors import EstimationError
from pkm_identification import identify, load, load_result
from pkm_identification.covariance.residual_scaling import with_noise
from pkm_identification.covariance.residual_tests import (
    analyse_residuals,
    bartlett_test,
    filtered_periodogram,
    left_variance,
    normality,
    outlier_share,
    peak_frequency,
    worst_moments,
)
from pkm_identification.estimators.linear import gauss_markov, ls, wls
from pkm_identification.regression.problem import build_problem
from pkm_identification.regression.run import Folded, Rows
from pkm_identification.regression.weighted_least_squares import (
    Estimate,
    inverse_root,
    weighted_least_squares,
)
from pkm_identification.signals import process
from pkm_identification.signals.bands import FilterBand, HarmonicBand

SEEDS = 16


def test_bartlett_is_exact_for_a_flat_spectrum_and_sees_colour():
    random = np.random.default_rng(0)
    flat = [bartlett_test(random.exponential(size=40)) for _ in range(300)]
    assert stats.kstest(flat, 'uniform').pvalue > 0.01
    coloured = random.exponential(size=200) / (1 + np.linspace(0, 3, 200) ** 2)
    assert bartlett_test(coloured) < 1e-6
    assert np.isnan(bartlett_test(np.ones(7))) and np.isnan(bartlett_test(np.zeros(20)))


@pytest.mark.parametrize('count', [10, 60, 1500])
@pytest.mark.parametrize('shape', [1.0, 3.0])
def test_chances_are_those_of_scipy(count, shape):
    random = np.random.default_rng(count)
    samples = random.standard_normal(2 * count) * np.abs(random.standard_normal(2 * count)) ** (
        shape - 1
    )
    found = normality(samples)
    expected = (
        stats.skew(samples),
        stats.kurtosis(samples),
        stats.normaltest(samples[:: -(-2 * count // 2000)]).pvalue,
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    ordinates = random.exponential(size=count) * np.linspace(1, shape, count)
    sums = np.cumsum(ordinates)[:-1] / ordinates.sum()
    assert bartlett_test(ordinates) == pytest.approx(stats.kstest(sums, 'uniform').pvalue, rel=0.03)


def kolmogorov_distance(ordinates):
    """Largest distance of the partial sums (k - 1,) from a straight line, before and after each."""
    sums = np.cumsum(ordinates)[:-1] / np.sum(ordinates)
    count = len(sums)
    above = [(k + 1) / count - each for k, each in enumerate(sums)]
    below = [each - k / count for k, each in enumerate(sums)]
    return max(above + below), count


@pytest.mark.parametrize('count', [8, 25, 200])
def test_bartlett_is_the_exact_test_where_it_matters(count):
    """To 1e-3 below 0.2, above by the corrected limit for many ordinates; colour of any sign."""
    below, above = 0, 0
    for slope in np.linspace(-0.95, 0.95, 9):
        for seed in range(3):
            rising = 1 + slope * np.linspace(-1, 1, count)
            ordinates = rising * np.random.default_rng(seed).exponential(size=count)
            distance, sums = kolmogorov_distance(ordinates)
            exact = stats.kstwo.sf(distance, sums)
            found = bartlett_test(7.0 * ordinates)
            if 2 * stats.ksone.sf(distance, sums) < 0.2:
                assert found == pytest.approx(exact, rel=1e-3)
                assert found == pytest.approx(2 * stats.ksone.sf(distance, sums), rel=1e-9)
                below += 1
            else:
                root = np.sqrt(sums)
                limit = stats.kstwobign.sf(distance * (root + 0.12 + 0.11 / root))
                assert found == pytest.approx(limit, rel=1e-9)
                assert found == pytest.approx(exact, rel=0.04)
                above += 1
    assert below > 3 and above > 3


@pytest.mark.parametrize('count', [20, 21, 50, 333, 2000, 2001, 4001])
def test_normality_is_that_of_scipy(count):
    """Of at most 2000 samples spread over all; moments are those of all."""
    random = np.random.default_rng(count)
    for samples in (
        random.standard_normal(count),
        random.uniform(-3, 1, count),
        -random.exponential(size=count),
        random.standard_t(3, size=count) ** 3,
    ):
        stride = {4001: 3, 2001: 2}.get(count, 1)
        expected = stats.skew(samples), stats.kurtosis(samples)
        np.testing.assert_allclose(normality(samples)[:2], expected, rtol=1e-9, atol=1e-12)
        statistic = stats.normaltest(samples[::stride])
        assert normality(samples)[2] == pytest.approx(statistic.pvalue, rel=1e-6, abs=1e-300)


def test_normality_of_few_or_equal_samples_is_unknown():
    assert np.isnan(normality(np.arange(19.0))).all()
    assert np.isfinite(normality(np.arange(20.0))).all()
    with np.errstate(all='raise'):
        assert np.isnan(normality(np.ones(50))).all()


def noise_spectrum(band, frequency):
    """Spectrum of filtered white noise, of every `step`-th sample, from its autocorrelation."""
    impulse = np.zeros((8001, 1))
    impulse[4000] = 1.0
    response = band.smooth(impulse)[:, 0]
    correlation = signal.fftconvolve(response, response[::-1])[8000 :: band.step]
    lag = np.arange(len(correlation))[1:]
    phase = 2 * np.pi * frequency[:, None] * lag * band.step / band.rate
    return band.step * (correlation[0] + 2 * np.cos(phase) @ correlation[1:])


@pytest.mark.parametrize('step', [1, 2, 3, 12, 25, 40])
@pytest.mark.parametrize('count', [40, 41])
def test_filtered_periodogram_is_relative_to_the_filtered_noise(step, count):
    """At the frequencies below the highest that have a twentieth of the largest power."""
    for each in (
        signal.butter(4, 20.0, fs=1000.0, output='sos'),
        signal.butter(3, [2.0, 18.0], 'bandpass', fs=1000.0, output='sos'),
        signal.butter(1, 400.0, fs=1000.0, output='sos'),
    ):
        band = FilterBand(each, 20.0, 1000.0, step, 100)
        rows = np.random.default_rng(step).normal(size=count) + 30.0
        frequency, ordinates = filtered_periodogram(rows, band)
        spacing = 1000.0 / step
        every = np.arange(count // 2 + 1) * spacing / count
        shape = noise_spectrum(band, every)
        inside = (every > 0) & (every < spacing / 2 * (1 - 1e-9)) & (shape > 0.05 * shape.max())
        np.testing.assert_allclose(frequency, every[inside], rtol=1e-12)
        turns = np.exp(-2j * np.pi * np.outer(np.arange(count // 2 + 1), np.arange(count)) / count)
        power = np.abs(turns @ (rows - rows.mean())) ** 2 / count
        np.testing.assert_allclose(ordinates, (power / shape)[inside], rtol=1e-5)


@pytest.mark.parametrize('step', [12, 25])
def test_white_noise_stays_white_through_a_filter(step):
    """Also where the rows follow each other closely: the filter passes a part of their band."""
    band = FilterBand(signal.butter(4, 20.0, fs=1000.0, output='sos'), 20.0, 1000.0, step, 100)
    random = np.random.default_rng(1)
    p_values = []
    for _ in range(200):
        rows = band.rows(random.normal(size=(4000, 1)))[:, 0]
        frequencies, ordinates = filtered_periodogram(rows, band)
        p_values.append(bartlett_test(ordinates))
    assert 0.9 * band.cutoff < frequencies.max() < 1.3 * band.cutoff
    assert stats.kstest(p_values, 'uniform').pvalue > 0.01


def test_worst_moments_are_of_different_peaks():
    time = np.arange(20000) * 1e-4
    residuals = (1 - 0.1 * time) * np.sin(np.pi * time) ** 9 - 0.4 * (np.abs(time - 1.6) < 1e-3)
    at, found = worst_moments(time, residuals, 0.1)
    np.testing.assert_allclose(at[0], 0.5, atol=5e-3)
    assert len(at) == 3 and np.diff(np.sort(at)).min() >= 0.1
    np.testing.assert_allclose(np.abs(found), np.sort(np.abs(found))[::-1])
    assert [len(each) for each in worst_moments(time[:50], residuals[:50], 0.1)] == [1, 1]


def test_worst_moments_are_three_with_their_signs():
    """Exactly as far apart as asked is far enough; equal residuals in their order."""
    time = np.array([10.0, 11.0, 12.0, 13.0, 14.0, 20.0])
    residuals = np.array([-5.0, 4.0, 3.0, -4.5, 1.0, 2.0])
    for apart, moments in ((2.0, [0, 3, 5]), (1.0, [0, 3, 1]), (3.5, [0, 5, 4]), (50.0, [0])):
        if apart == 3.5:
            residuals[3] = 0.5
        at, found = worst_moments(time, residuals, apart)
        np.testing.assert_array_equal(at, time[moments])
        np.testing.assert_array_equal(found, residuals[moments])
    at, found = worst_moments(time, np.zeros(6), 1.5)
    np.testing.assert_array_equal(at, [10.0, 12.0, 14.0])


def test_outliers_are_beyond_four_robust_deviations():
    """To either side of the median; the deviation is 1.4826 of the median distance, here 1."""
    limit = 4 * 1.482602218505602
    distances = [0.0, 1.0, 1.0, 1.0, 1.0, 2.0, 0.999 * limit, 1.001 * limit]
    samples = 7.0 + np.concatenate([distances, np.negative(distances[1:])])
    assert outlier_share(samples) == pytest.approx(2 / 15)
    # where more than half of the samples are equal there is no deviation to compare with
    assert outlier_share(np.array([2.0] * 6 + [9.0] * 5)) == 0.0


def test_peak_is_where_five_ordinates_are_largest():
    frequency = np.arange(1.0, 13.0) * 0.5
    ordinates = np.ones(12)
    ordinates[[5, 6, 8, 9]] = 4.0, 5.0, 3.0, 2.0
    ordinates[1] = 7.0  # a single one counts less
    assert peak_frequency(frequency, ordinates) == frequency[7]
    assert peak_frequency(frequency[::-1], ordinates) == frequency[4]
    for alone, peak in ((0, 0), (6, 4), (11, 9)):  # the first of equal ones
        assert peak_frequency(frequency, np.arange(12.0) == alone) == frequency[peak]
    assert peak_frequency(np.arange(5.0), np.ones(5)) == 2.0
    assert np.isnan(peak_frequency(np.arange(4.0), np.ones(4)))
    assert np.isnan(peak_frequency(np.zeros(0), np.zeros(0)))


BANDS = (HarmonicBand(10, 1.0), filter_band(), HarmonicBand(14, 1.3))


@pytest.mark.parametrize('constant', [False, True])
@pytest.mark.parametrize('options', [{}, {'prior': True}, {'unshown': 1}, {'fixed': {2: 0.0}}])
def test_variance_that_a_fit_of_several_runs_leaves(options, constant):
    """By weights that do not follow the noise, in each of the runs."""
    problem = random_problem(BANDS, **options)
    estimate = solved(problem, constant=constant)
    dense = Dense(problem, estimate)
    for number, run in enumerate(problem.runs):
        found = left_variance(problem, estimate, number)
        expected = np.diag(dense.part(number)).reshape(run.count, 2)
        noise = np.diag(dense.noise)[dense.equations(number)].reshape(run.count, 2)
        assert (expected > 2e-3 * noise).all()
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_variance_that_a_fit_with_an_open_direction_leaves():
    problem = with_twins(random_problem(BANDS))
    estimate = solved(problem)
    dense = Dense(problem, estimate)
    for number, run in enumerate(problem.runs):
        expected = np.diag(dense.part(number)).reshape(run.count, 2)
        np.testing.assert_allclose(left_variance(problem, estimate, number), expected, rtol=1e-6)


def test_an_estimate_without_weights_is_taken_for_an_efficient_one():
    problem = random_problem(BANDS)
    noise = solved(problem).row_noise
    efficient = weighted_least_squares(problem, [inverse_root(each) for each in noise], noise)
    found = left_variance(problem, replace(solved(problem), weights=None), 1)
    np.testing.assert_allclose(found, left_variance(problem, efficient, 1), rtol=1e-9)


def test_a_fit_that_takes_all_leaves_a_thousandth_of_the_noise():
    """Two equations of two parameters leave nothing but rounding."""
    problem = random_problem([HarmonicBand(0, 1.0)], fixed={0: 0.0, 1: 0.0, 2: 0.0})
    estimate = solved(problem)
    expected = 1e-3 * np.diagonal(estimate.row_noise[0], axis1=1, axis2=2)
    np.testing.assert_allclose(left_variance(problem, estimate, 0), expected, rtol=1e-6)


@pytest.mark.parametrize('solve', [ls, wls, gauss_markov])
def test_variance_that_a_fit_leaves_is_that_of_dense_algebra(record, slider_model, solve):
    problem = build_problem(process(record(periods=4, seed=3)), slider_model)
    found = solve(problem)
    (run,) = problem.runs
    m, axes, size = run.regressor.shape
    design = run.regressor.reshape(-1, size)
    noise, weight = np.zeros((2, m * axes, m * axes))
    for k in range(m):
        rows = slice(k * axes, (k + 1) * axes)
        noise[rows, rows] = run.covariance[k]
        root = np.broadcast_to(found.weights[0], run.covariance.shape)[k]
        weight[rows, rows] = root.T @ root
    hat = design @ np.linalg.solve(design.T @ weight @ design, design.T @ weight)
    left = (np.eye(m * axes) - hat) @ noise @ (np.eye(m * axes) - hat).T
    expected = np.diag(left).reshape(m, axes)
    found_left = left_variance(problem, with_noise(problem, found), 0)
    np.testing.assert_allclose(found_left, expected, rtol=1e-6, atol=1e-3 * expected.max())


def periodic_case(weights=None, **entries):
    """A problem of two periodic runs, the second with signals of its own, and samples in time."""
    random = np.random.default_rng(8)
    band = HarmonicBand(14, 1.3, weights)
    problem = random_problem((HarmonicBand(10, 1.0), band), prior=True)
    given = {'averaged': 1, 'force_noise': None, 'folded_forces': None} | entries
    problem = with_signals(problem, 0, **given, time=np.arange(50) / 50)
    problem = with_signals(problem, 1, **given, time=5.0 + 1.3 * np.arange(60) / 60)
    return problem, [random.normal(size=(50, 2)), random.normal(size=(60, 2)) * [1.0, 3.0]]


def test_figures_of_a_periodic_run():
    """Of Fourier coefficients, each against the noise that the fit leaves of it."""
    problem, in_time = periodic_case()
    estimate = solved(problem)
    entries = analyse_residuals(problem, estimate, in_time)
    assert [(each.joint, each.run) for each in entries] == [
        ('left', 0),
        ('right', 0),
        ('left', 1),
        ('right', 1),
    ]
    assert [each.rows for each in entries] == [21, 21, 29, 29]
    dense = Dense(problem, estimate)
    for entry in entries:
        run, axis = problem.runs[entry.run], ['left', 'right'].index(entry.joint)
        rows = run.residuals(estimate.values)[:, axis]
        left = np.diag(dense.part(entry.run))[axis::2]
        noise = np.diag(dense.noise)[dense.equations(entry.run)][axis::2]
        assert entry.rms == pytest.approx(np.sqrt(np.mean(rows**2)))
        assert entry.noise_rms == pytest.approx(np.sqrt(np.mean(left)))
        ratio = np.sum(rows**2 / noise) / np.sum(left / noise)
        assert entry.variance_ratio == pytest.approx(ratio) and np.isnan(entry.variance_p_value)
        power = (rows**2 / left)[1:].reshape(-1, 2).mean(axis=1)
        band = run.signals.band
        frequency = np.arange(1, band.harmonics + 1) / band.period
        assert entry.whiteness_p_value == pytest.approx(bartlett_test(power))
        assert entry.peak_frequency == pytest.approx(peak_frequency(frequency, power))
        samples = in_time[entry.run][:, axis]
        moments = entry.skewness, entry.excess_kurtosis, entry.normality_p_value
        np.testing.assert_allclose(moments, normality(samples))
        assert entry.outlier_share == outlier_share(samples)
        smooth = band.smooth(samples[:, None])[:, 0]
        times, worst = worst_moments(run.signals.time, smooth, band.period / band.harmonics / 2)
        np.testing.assert_allclose(entry.worst_times, times)
        np.testing.assert_allclose(entry.worst_residuals, worst)


@pytest.mark.parametrize('is_white', [True, False])
@pytest.mark.parametrize('periods', [2, 5])
def test_variance_is_compared_with_the_spread_over_periods(is_white, periods):
    """P - 1 of P periods tell the noise, by all samples where it is white, else by the rows."""
    noise = SimpleNamespace(is_white=is_white)
    problem, in_time = periodic_case(averaged=periods, force_noise=noise)
    estimate = solved(problem)
    dense = Dense(problem, estimate)
    for entry in analyse_residuals(problem, estimate, in_time)[2:]:
        axis = ['left', 'right'].index(entry.joint)
        ratio = np.diag(dense.part(1))[axis::2]
        freedom = np.sum(ratio / np.diag(dense.noise)[dense.equations(1)][axis::2])
        other = (periods - 1) * (60 if is_white else 29)
        expected = stats.f.sf(entry.variance_ratio, freedom, other)
        assert 1e-6 < expected < 1 - 1e-6
        assert entry.variance_p_value == pytest.approx(expected, rel=1e-6)


def test_variance_is_compared_with_nothing_where_the_spread_is_unknown():
    noise = SimpleNamespace(is_white=True)
    for entries in ({'averaged': 1, 'force_noise': noise}, {'averaged': 5}):
        problem, in_time = periodic_case(**entries)
        found = analyse_residuals(problem, solved(problem), in_time)
        assert all(np.isnan(each.variance_p_value) for each in found)
    problem, in_time = periodic_case(averaged=5, force_noise=noise)
    runs = tuple(run.with_noise(None) for run in problem.runs)
    found = analyse_residuals(replace(problem, runs=runs), solved(problem), in_time)
    assert all(np.isnan(each.variance_p_value) for each in found)


def test_samples_are_those_of_all_periods():
    """What each period has more than their mean, and what that has more than the model."""
    random = np.random.default_rng(9)
    some = random.normal(size=(3, 60, 2)) + 40.0
    folded = SimpleNamespace(some=some, mean=some.mean(axis=0))
    problem, in_time = periodic_case()
    problem.runs[1].signals.folded_forces = folded
    for entry in analyse_residuals(problem, solved(problem), in_time)[2:]:
        axis = ['left', 'right'].index(entry.joint)
        samples = np.concatenate(some - some.mean(axis=0) + in_time[1])[:, axis]
        expected = normality(samples)
        found = entry.skewness, entry.excess_kurtosis, entry.normality_p_value
        np.testing.assert_allclose(found, expected)
        assert entry.outlier_share == outlier_share(samples)


def test_samples_without_a_measurement_count_for_nothing():
    weights = np.ones((60, 2))
    weights[20:30, 0], weights[5, 1] = 0.0, 0.0
    problem, in_time = periodic_case(weights)
    for entry in analyse_residuals(problem, solved(problem), in_time)[2:]:
        axis = ['left', 'right'].index(entry.joint)
        samples = in_time[1][:, axis] * weights[:, axis]
        assert entry.excess_kurtosis == pytest.approx(stats.kurtosis(samples))
        smooth = problem.runs[1].signals.band.smooth(samples[:, None])[:, 0]
        worst = worst_moments(problem.runs[1].signals.time, smooth, 1.3 / 28)[1]
        np.testing.assert_allclose(entry.worst_residuals, worst)


def filtered_case(constant=True):
    """A problem of a filtered run of 40 rows, each 24 samples after the last."""
    problem = random_problem([filter_band(24)], rows=40)
    estimate = solved(problem, constant=True)
    if not constant:
        noise = (np.linspace(1, 3, 40)[:, None, None] * estimate.noise[0],)
        estimate = replace(estimate, noise=noise)
    time = 100.0 + np.arange(1200) / 1000.0
    random = np.random.default_rng(4)
    forces, in_time = random.normal(size=(2, 1200, 2)) * [5.0, 20.0]
    usable = slice(100, 1100)
    return with_signals(problem, 0, time=time, forces=forces, usable=usable), estimate, in_time


@pytest.mark.parametrize('constant', [True, False])
def test_figures_of_a_filtered_run(constant):
    problem, estimate, in_time = filtered_case(constant)
    (run,) = problem.runs
    signals, band = run.signals, run.signals.band
    entries = analyse_residuals(problem, estimate, [in_time])
    assert [(each.joint, each.run, each.rows) for each in entries] == [
        ('left', 0, 40),
        ('right', 0, 40),
    ]
    for axis, entry in enumerate(entries):
        rows = run.residuals(estimate.values)[:, axis]
        assert entry.rms == pytest.approx(np.sqrt(np.mean(rows**2)))
        assert np.isnan([entry.noise_rms, entry.variance_ratio]).all()  # no period shows them
        assert np.isnan(entry.variance_p_value)
        frequency, ordinates = filtered_periodogram(rows, band)
        assert entry.whiteness_p_value == pytest.approx(bartlett_test(ordinates))
        assert entry.peak_frequency == pytest.approx(peak_frequency(frequency, ordinates))
        moments = entry.skewness, entry.excess_kurtosis, entry.normality_p_value
        np.testing.assert_allclose(moments, normality(rows))
        assert entry.outlier_share == outlier_share(rows)
        # measured forces less those of the model, of which the band passes a part
        smooth = signals.forces - band.smooth(signals.forces - in_time)
        inside = slice(100, 1100)
        times, worst = worst_moments(signals.time[inside], smooth[inside, axis], 0.025)
        np.testing.assert_allclose(entry.worst_times, times)
        np.testing.assert_allclose(entry.worst_residuals, worst)


def test_figures_of_stretches_of_a_long_run():
    """Rows 0 to 17 and 30 to 39: their times, and spectra of each stretch by itself."""
    problem, estimate, _ = filtered_case()
    (run,) = problem.runs
    stretches = [slice(0, 18), slice(30, 40)]
    sample = tuple(
        Rows(run.rows.regressor[each], run.rows.forces[each], run.rows.fixed[each])
        for each in stretches
    )
    run.known_folded = Folded(run.folded.triangle, sample, (0, 30))
    run.signals.stamp = lambda number: 100.0 + number / 1000.0
    entries = analyse_residuals(problem, estimate, [None])
    for axis, entry in enumerate(entries):
        pieces = [run.residuals(estimate.values)[each, axis] for each in stretches]
        rows = np.concatenate(pieces)
        assert entry.rows == 28 and entry.rms == pytest.approx(np.sqrt(np.mean(rows**2)))
        time = 100.0 + 0.1 + 0.024 * np.r_[0:18, 30:40]
        times, worst = worst_moments(time, rows, 0.025)
        np.testing.assert_allclose(entry.worst_times, times)
        np.testing.assert_allclose(entry.worst_residuals, worst)
        parts = [filtered_periodogram(piece, run.signals.band) for piece in pieces]
        both = sorted(zip(*np.concatenate(parts, axis=1), strict=True))
        frequency, ordinates = np.transpose(both)
        assert entry.whiteness_p_value == pytest.approx(bartlett_test(ordinates))
        assert entry.peak_frequency == pytest.approx(peak_frequency(frequency, ordinates))


def test_a_few_filtered_rows_have_no_spectrum():
    problem = random_problem([filter_band()], rows=2, fixed={0: 0.0, 1: 0.0})
    noise = (np.array([[0.5, 0.1], [0.1, 0.3]]),)
    estimate = Estimate(problem.nominal, np.eye(3), noise=noise)
    problem.runs[0].signals.stamp = float
    for entry in analyse_residuals(problem, estimate, [None]):
        assert np.isnan(entry.peak_frequency) and np.isnan(entry.whiteness_p_value)
        assert entry.rows == 2 and entry.rms > 0


@pytest.mark.parametrize('options', [{}, {'method': 'filter', 'cutoff': 40.0}])
def test_p_values_of_a_right_model_are_uniform(record, slider_model, options):
    entries = [
        entry
        for seed in range(SEEDS)
        for entry in identify(
            record(seed=seed, periods=6, position_noise=0.0, correlation=0.0),
            slider_model,
            'gauss_markov',
            **options,
        ).residual_analysis
    ]
    names = ['whiteness_p_value', 'normality_p_value']
    names += [] if options else ['variance_p_value']
    for name in names:
        values = [getattr(entry, name) for entry in entries]
        assert stats.kstest(values, 'uniform').pvalue > 1e-3, name
    assert np.mean([entry.outlier_share for entry in entries]) < 1e-3
    ratios = np.array([entry.variance_ratio for entry in entries])
    assert np.isnan(ratios).all() if options else np.mean(ratios) == pytest.approx(1.0, abs=0.1)


def test_what_a_model_lacks_is_seen(record, slider_model):
    data = record(periods=6, force_noise=1.0)
    good = identify(data, slider_model).residual_analysis
    lacking = identify(data, slider_model, fixed={'left.coulomb': 0.0}).residual_analysis
    assert [entry.joint for entry in lacking] == ['left', 'right']
    assert lacking[0].variance_p_value < 1e-6 < good[0].variance_p_value
    assert lacking[0].variance_ratio > 5 > 3 > lacking[1].variance_ratio
    assert lacking[0].rms == pytest.approx(
        np.sqrt(lacking[0].variance_ratio) * lacking[0].noise_rms, rel=0.2
    )


def test_blows_and_outliers_are_found(record, slider_model):
    data = record(periods=6, force_noise=1.0)
    efforts = data.efforts.copy()
    efforts[:, 1] += 40.0 * np.exp(-(((data.time % 1.0) - 0.37) ** 2) / (2 * 0.01**2))
    struck = identify(data.changed(efforts=efforts), slider_model).residual_analysis[1]
    assert min(abs(time % 1.0 - 0.37) for time in struck.worst_times) < 0.02
    assert struck.worst_residuals[0] > 10.0
    efforts = data.efforts.copy()
    random = np.random.default_rng(4)
    chosen = random.choice(len(efforts), len(efforts) // 100, replace=False)
    efforts[chosen, 0] += 20.0 * np.sign(random.normal(size=chosen.size))
    data = data.changed(efforts=efforts)
    left, right = identify(data, slider_model, bad_samples='keep').residual_analysis
    assert 0.006 < left.outlier_share < 0.012 and left.normality_p_value < 1e-6
    assert right.outlier_share < 1e-3 and left.excess_kurtosis > 1.0
    assert outlier_share(np.zeros(10)) == 0.0


def test_confidence_intervals_and_correlations(record, slider_model):
    result = identify(record(periods=5, seed=2), slider_model, 'gauss_markov')
    low, high = result.confidence_interval(0.9).T
    reach = stats.norm.isf(0.05) * np.sqrt(np.diag(result.covariance))
    np.testing.assert_allclose(high - result.values, reach)
    np.testing.assert_allclose(result.values - low, reach)
    with pytest.raises(EstimationError, match='between 0 and 1'):
        result.confidence_interval(95)
    alone = identify(record(periods=1, seed=2), slider_model, 'gauss_markov', method='fourier')
    freedom = alone.diagnostics['equations'] - 7
    expected = stats.t.isf(0.025, freedom) * alone.standard_deviation
    np.testing.assert_allclose(alone.confidence_interval()[:, 1] - alone.values, expected)
    deviation = np.diag(1 / result.standard_deviation)
    np.testing.assert_allclose(
        result.correlation, deviation @ result.covariance @ deviation, atol=1e-12
    )
    pairs = result.strongest_correlations(3)
    assert len(pairs) == 3 and abs(pairs[0][2]) >= abs(pairs[1][2]) >= abs(pairs[2][2])
    upper = np.abs(np.triu(result.correlation, 1))
    assert abs(pairs[0][2]) == pytest.approx(upper.max())
    held = identify(record(periods=3), slider_model, fixed={'c.m': 1.5})
    index = held.names.index('c.m')
    assert np.isnan(held.correlation[index]).all()
    assert all('c.m' not in pair for pair in held.strongest_correlations())


def test_files_hold_the_analysis_and_older_ones_load(tmp_path, record, slider_model):
    result = identify(record(periods=3), slider_model)
    path = result.save(tmp_path / 'model.yaml')
    assert load_result(path).residual_analysis == result.residual_analysis
    content = yaml.safe_load(path.read_text())
    first = content['parameters'][0]
    np.testing.assert_allclose(first['interval'], result.confidence_interval()[0])
    assert content['strongest_correlations'][0]['correlation'] == pytest.approx(
        result.strongest_correlations(1)[0][2]
    )
    for key in ('residual_analysis', 'strongest_correlations'):
        del content[key]
    for parameter in content['parameters']:
        del parameter['interval'], parameter['relative_standard_deviation']
    old = tmp_path / 'old.yaml'
    old.write_text(yaml.safe_dump(content))
    loaded = load_result(old)
    assert loaded.residual_analysis == ()
    np.testing.assert_array_equal(loaded.values, result.values)


def test_provenance_names_the_file_by_its_hash(tmp_path, record, slider_model):
    data = record(periods=3)
    path = tmp_path / 'data.npz'
    np.savez(
        path,
        time=data.time,
        joint_names=data.joint_names,
        positions=data.positions,
        efforts=data.efforts,
    )
    result = identify(load(path), slider_model)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert result.provenance['data']['sha256'] == digest
    assert result.provenance['data']['source'] == str(path)
    assert result.provenance['versions']['numpy'] == np.__version__
