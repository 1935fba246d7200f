"""Tests of residuals, against dense algebra and many seeds; intervals and correlations."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import yaml
from scipy import signal, stats

from pkm_description.errors import EstimationError
from pkm_identification import identify, load, load_result
from pkm_identification.covariance.judgement import condition_numbers
from pkm_identification.covariance.residual_scaling import with_noise
from pkm_identification.covariance.residual_tests import (
    bartlett_test,
    filtered_periodogram,
    left_variance,
    normality,
    outlier_share,
    worst_moments,
)
from pkm_identification.estimators.linear import gauss_markov, ls, wls
from pkm_identification.regression.problem import build_problem
from pkm_identification.signals import process
from pkm_identification.signals.bands import FilterBand

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
    ratios = [entry.variance_ratio for entry in entries]
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.1)


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
    alone = identify(record(periods=1, seed=2), slider_model, 'gauss_markov')
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
