"""Rates of exceeded levels against simulated processes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import butter, sosfilt

from pkm_identification.monitoring.alarm_rates import AlarmRate

RATE = 500.0


def smooth_noise(axes: int, seconds: float, seed: int = 0) -> np.ndarray:
    """Normal processes (k, axes) of variance 1 and a band of 10 Hz."""
    random = np.random.default_rng(seed)
    white = random.normal(size=(round(seconds * RATE), axes))
    band = sosfilt(butter(4, 10.0, fs=RATE, output='sos'), white, axis=0)[500:]
    return band / band.std(axis=0)


def crossings(scores: np.ndarray, level: float) -> int:
    size = np.linalg.norm(scores, axis=1)
    return int(np.count_nonzero((size[1:] > level) & (size[:-1] <= level)))


@pytest.mark.parametrize('axes', [1, 2, 6])
def test_rates_of_normal_processes(axes: int) -> None:
    """Fitted to a minute, held for an hour in which the levels are seldom exceeded."""
    found = AlarmRate.of(smooth_noise(axes, 60.0), RATE)
    hour = smooth_noise(axes, 3600.0, seed=1)
    assert found.exponent > 0.9
    for per_hour in (3600.0, 360.0, 36.0):
        level = found.level(per_hour / 3600.0)
        if per_hour / 3600.0 * found.duration >= 1.0:
            assert found.rate(level) == pytest.approx(per_hour / 3600.0, rel=1e-6)
        else:  # hardly seen in a minute
            assert found.rate(level) <= per_hour / 3600.0
        count = crossings(hour, level)
        least = 0.4 * per_hour - 12 if per_hour / 3600.0 * found.duration >= 1.0 else -1
        assert least < count < 1.3 * per_hour + 12, (per_hour, count)


def test_a_level_of_one_alarm_a_day_is_that_of_a_normal_tail() -> None:
    """One axis of 10 Hz: some 1e6 chances a day, so that the level is about that of 1e-6."""
    level = AlarmRate.of(smooth_noise(1, 600.0), RATE).level(1 / 86400)
    assert 5.0 < level < 6.0


def test_rare_moments_count_as_they_were_seen() -> None:
    """A slow start of 0.2 s in two minutes, larger than any noise: the level is beyond it."""
    scores = smooth_noise(1, 120.0)
    usual = AlarmRate.of(scores, RATE)
    scores[1000:1100] = 8.0
    seen = AlarmRate.of(scores, RATE)
    for often in (10.0, 1.0, 0.1):
        assert usual.level(often / 86400) < 8.0 < seen.level(often / 86400) < 25.0
    # what is seen many times is known
    assert seen.level(1.0) == pytest.approx(usual.level(1.0), rel=0.05)


@pytest.mark.parametrize('power', [1.2, 1.5])
def test_heavier_tails_ask_for_higher_levels(power: float) -> None:
    def heavy(seconds: float, seed: int) -> np.ndarray:
        normal = smooth_noise(1, seconds, seed)
        scores = np.sign(normal) * np.abs(normal) ** power
        return scores / scores.std()

    rate = AlarmRate.of(heavy(600.0, 0), RATE)
    assert rate.exponent == pytest.approx(1 / power, rel=0.1)
    hour = heavy(3600.0, 2)
    for per_hour in (360.0, 36.0):
        count = crossings(hour, rate.level(per_hour / 3600.0))
        assert 0.4 * per_hour - 12 < count < 1.5 * per_hour + 12, (per_hour, count)


def test_lighter_tails_promise_nothing() -> None:
    """A bounded error never exceeds a level; that a longer recording does not is not known."""
    time = np.arange(30000) / RATE
    rate = AlarmRate.of(np.sqrt(2) * np.sin(60 * time)[:, None], RATE)
    assert rate.level(1 / 86400) > 5.0


def test_a_rate_beyond_all_has_the_most_likely_size() -> None:
    rate = AlarmRate(4, 50.0)
    assert rate.level(1e9) == pytest.approx(np.sqrt(3.0))
