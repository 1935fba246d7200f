"""The period of a motion from the drift of its phase."""

import numpy as np
import pytest

from pkm_identification.datasets import Recording
from pkm_identification.quality.stamps import nominal_interval
from pkm_identification.signals import SignalOptions, process
from pkm_identification.signals.period_search import refined_period

NOISE = 2e-5


def motion(time, period):
    phase = 2 * np.pi * time[:, None] / period * np.array([1.0, 3.0])
    return np.sin(phase) + 0.3 * np.cos(2 * phase + 0.4)


def epoch(time):
    """Stamps of a driver that counts seconds since 1970 in double precision, as ROS keeps them."""
    stamps = np.round((1.7e9 + time) * 1e9).astype(np.int64)
    return (stamps - stamps[0]) * 1e-9


def test_stamps_of_few_digits_have_the_interval_of_their_clock():
    time = epoch(np.arange(6000) / 500)
    assert abs(np.median(np.diff(time)) - 2e-3) > 5e-8
    assert nominal_interval(time) == pytest.approx(2e-3, abs=1e-11)


@pytest.mark.parametrize('rate', [500.0, 1000.0])
def test_no_period_is_taken_for_settling_where_stamps_have_few_digits(rate):
    period = 0.599  # 299.5 samples at 500 Hz
    time = np.arange(int(12 * rate)) / rate
    random = np.random.default_rng(0)
    positions = motion(time, period) + NOISE * random.normal(size=(len(time), 2))
    efforts = 5 * motion(time, period)[:, ::-1] + 0.2 * random.normal(size=(len(time), 2))
    signals = process(Recording.from_arrays(epoch(time), ('a', 'b'), positions, efforts))
    how = signals.diagnostics
    assert how.period == pytest.approx(period, abs=1e-7)
    assert (how.periods, how.skipped_periods) == (20, 0)
    np.testing.assert_allclose(np.sqrt(np.diag(signals.force_noise.covariance)), 0.2, rtol=0.15)


@pytest.mark.parametrize('drift', [1e-5, -3e-5])
def test_clocks_of_robot_and_recorder_that_differ(drift):
    """A period of nearly, but not quite, a whole number of samples stays in phase."""
    period = 1.0 + drift
    time = np.arange(20000) * 1e-3
    noise = NOISE * np.random.default_rng(1).normal(size=(20000, 2))
    positions = motion(time, period) + noise
    assert refined_period(time, positions, 1.0) == pytest.approx(period, abs=1e-7)
    signals = process(Recording.from_arrays(time, ('a', 'b'), positions, 5 * positions[:, ::-1]))
    assert signals.diagnostics.skipped_periods == 0
    # 200 us of drift would look like noise of 1e-3
    np.testing.assert_allclose(np.sqrt(np.diag(signals.position_noise.covariance)), NOISE, rtol=0.3)


def test_one_clock_gives_whole_samples_and_settling_does_not_matter():
    time = np.arange(15000) * 1e-3
    noise = NOISE * np.random.default_rng(2).normal(size=(15000, 2))
    settling = 0.02 * np.exp(-time / 0.5)[:, None] * motion(time + 0.1, 0.7)
    positions = motion(time, 1.0) + settling + noise
    assert refined_period(time, positions, 1.0 + 3e-6) == pytest.approx(1.0, abs=1e-12)
    uneven = np.sort(time + 1e-4 * np.random.default_rng(3).normal(size=15000))
    there = np.random.default_rng(4).random((15000, 2)) > 0.02
    positions = motion(uneven, 0.9999) + noise
    assert refined_period(uneven, positions, 1.0, there) == pytest.approx(0.9999, abs=2e-7)


def test_a_wrong_period_is_said():
    time = np.arange(12000) * 1e-3
    positions = motion(time, 1.0) + NOISE * np.random.default_rng(5).normal(size=(12000, 2))
    dataset = Recording.from_arrays(time, ('a', 'b'), positions, 5 * positions[:, ::-1])
    assert process(dataset).warnings == ()
    warnings = process(dataset, SignalOptions(period=1.0003)).warnings
    assert len(warnings) == 1
    assert 'its period is not 1.0003 s' in warnings[0]
    assert process(dataset, SignalOptions(period=1.0003, skip_periods=8)).warnings == ()
