"""Figures of a validation against direct calculations and many seeds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import signal, stats

from pkm_description.errors import EstimationError
from pkm_identification import identify, reduce_model, validate
from pkm_identification.datasets import Truth
from pkm_identification.signals import SignalOptions, process
from pkm_identification.validation.reference import noise_gain, passed_power

PERIOD = 1.3


@pytest.fixture
def held_out(record, slider_model, motion):
    """The function that gives another recording, with its noise-free forces."""

    def make(seed=8, periods=6, **options):
        data = record(seed=seed, periods=periods, period=PERIOD, **options)
        forces = slider_model.inverse_dynamics(motion(data.time, PERIOD))
        return replace(data, truth=Truth(data.time, data.positions, data.positions, forces))

    return make


def test_coverage_is_the_level_over_many_seeds(record, slider_model, held_out):
    shares = []
    for seed in range(20):
        result = identify(record(seed=seed, periods=5), slider_model, 'gauss_markov')
        coverage = validate(held_out(100 + seed), result, slider_model, level=0.8).coverage
        shares.append((coverage.measured_overall, coverage.truth_overall))
        assert coverage.noise_from == 'spread over periods' and coverage.level == 0.8
        assert coverage.measured_overall == pytest.approx(coverage.measured.mean())
    measured, truth = np.mean(shares, axis=0)
    assert measured == pytest.approx(0.8, abs=0.02)
    assert truth == pytest.approx(0.8, abs=0.15)  # one error of the parameters a seed


def test_colour_of_the_noise_is_no_bias(record, slider_model, held_out):
    """White noise of the fixture through a low pass, of two periods: few degrees of freedom."""
    result = identify(record(periods=40, force_noise=0.5), slider_model, 'gauss_markov')
    verdicts = []
    for seed in range(30):
        data = held_out(400 + seed, periods=4, force_noise=0.0, position_noise=0.0)
        white = np.random.default_rng(seed).normal(size=data.efforts.shape)
        noise = signal.lfilter([5.0], [1.0, -0.95], white, axis=0)
        found = validate(data.changed(efforts=data.efforts + noise), result, slider_model)
        verdicts += found.is_unbiased.tolist()
    assert np.mean(verdicts) > 0.97


def test_a_wrong_model_is_not_covered(record, slider_model, held_out):
    result = identify(record(periods=5), slider_model)
    wrong = replace(result, values=1.3 * result.values).with_model(slider_model)
    found = validate(held_out(), wrong, slider_model)
    assert found.coverage.truth_overall < 0.5 and found.coverage.measured_overall < 0.9
    assert found.noise_test.p_value.min() < 1e-6 and not found.noise_test.is_unbiased.all()


def test_noise_test_is_an_f_test(record, slider_model, held_out):
    p_values = []
    for seed in range(12):
        exact = identify(record(seed=seed, periods=40), slider_model, 'gauss_markov')
        exact = replace(exact, values=slider_model.nominal_parameters).with_model(slider_model)
        data = held_out(200 + seed, position_noise=0.0)
        found = validate(data, exact, slider_model)
        residual = found.measured - found.predicted
        noise = np.diag(found.noise_covariance)
        np.testing.assert_allclose(
            found.noise_test.variance_ratio, np.mean(residual**2, axis=0) / noise
        )
        np.testing.assert_array_equal(found.is_unbiased, found.noise_test.is_unbiased)
        p_values.extend(found.noise_test.p_value)
    assert stats.kstest(p_values, 'uniform').pvalue > 1e-3


def test_parameter_errors(record, slider_model, held_out):
    result = identify(record(periods=5), slider_model, 'gauss_markov')
    found = validate(held_out(), result, slider_model).parameter_error
    truth = slider_model.nominal_parameters
    relative = np.abs(result.values - truth) / truth
    np.testing.assert_allclose(found.relative, relative)
    assert found.average == pytest.approx(relative.mean())
    difference = result.values - truth
    distance = difference @ np.linalg.solve(result.covariance, difference)
    assert found.p_value == pytest.approx(stats.chi2.sf(distance, 7), rel=1e-6)
    own = replace(held_out(), truth=None)
    assert validate(own, result, slider_model).parameter_error is None
    other = validate(own, result, slider_model, true_parameters=2 * truth).parameter_error
    np.testing.assert_allclose(other.truth, 2 * truth)
    with pytest.raises(EstimationError, match=r'shape \(3,\), expected \(7,\)'):
        validate(own, result, slider_model, true_parameters=np.ones(3))


def test_noise_of_the_identification_serves_where_the_data_show_none(record, slider_model):
    result = identify(record(periods=8), slider_model, 'gauss_markov')
    data = record(periods=1, seed=5)
    once = validate(data, result, slider_model, method='fourier')
    assert once.noise_covariance is None and once.is_unbiased is None
    assert once.coverage.noise_from == 'identification'
    assert once.coverage.measured_overall == pytest.approx(0.95, abs=0.02)
    filtered = validate(
        record(periods=4, seed=6), result, slider_model, method='filter', cutoff=40.0
    )
    assert filtered.coverage.noise_from == 'identification'
    assert filtered.coverage.measured_overall == pytest.approx(0.95, abs=0.03)
    single = identify(record(periods=1), slider_model, method='fourier')
    held_out = validate(data, single, slider_model, method='fourier').coverage
    assert held_out.noise_from == 'held-out residuals'
    # one second of filtered forces: some 50 independent ones
    assert held_out.measured_overall == pytest.approx(0.95, abs=0.1)
    earlier = replace(single, diagnostics=replace(single.diagnostics, force_errors=None))
    silent = validate(data, earlier, slider_model, method='fourier').coverage
    assert silent.measured is None and silent.noise_from == 'unknown'


def test_residuals_of_filtered_data_tell_the_noise_too(record, slider_model):
    filtered = {'method': 'filter', 'cutoff': 40.0}
    result = identify(record(periods=8), slider_model, **filtered)
    for options in (filtered, {'method': 'filter', 'cutoff': 60.0}, {'method': 'fourier'}):
        data = record(periods=1 if options['method'] == 'fourier' else 5, seed=4)
        found = validate(data, result, slider_model, **options).coverage
        assert found.noise_from == 'held-out residuals'
        assert found.measured_overall == pytest.approx(0.95, abs=0.03), options


def test_gain_of_a_filter_is_that_of_white_noise(record):
    band = process(record(periods=4), SignalOptions(method='filter', cutoff=40.0)).band
    noise = np.random.default_rng(0).normal(size=200_000)
    sections = signal.butter(4, band.cutoff, fs=1000.0, output='sos')
    expected = np.var(signal.sosfiltfilt(sections, noise))
    assert noise_gain(band, 1000.0) == pytest.approx(expected, rel=0.03)
    assert passed_power() * 40.0 / 500.0 == pytest.approx(expected, rel=0.03)


def test_levels_and_reduced_results(record, slider_model, held_out):
    data = record(periods=4, force_noise=25.0, seed=1)
    with pytest.raises(EstimationError, match='between 0 and 1'):
        validate(data, identify(data, slider_model), slider_model, level=95)
    reduced = reduce_model(data, slider_model, 'gauss_markov')
    found = validate(held_out(force_noise=25.0), reduced.result, slider_model)
    summary = found.summary()
    assert summary['against_truth_in_band']['relative_absolute_error_overall'] < 0.2
    assert summary['coverage']['level'] == 0.95 and summary['rollout'] is None
    assert len(summary['noise_test']['p_value']) == 2


@pytest.mark.parametrize(('options', 'period'), [({}, PERIOD), ({'method': 'filter'}, None)])
def test_the_period_says_whether_the_forces_are_one_of_many(
    record, slider_model, held_out, options, period
):
    result = identify(record(periods=5), slider_model)
    found = validate(held_out(periods=3), result, slider_model, **options)
    assert found.period == pytest.approx(period)
    assert np.ptp(found.time) < PERIOD if period else np.ptp(found.time) > 2 * PERIOD
