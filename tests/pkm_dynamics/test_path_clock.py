"""The clock of a motion: smooth, never backwards, at the rate that was asked for."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_dynamics.trajectories.path_clock import PathClock


def sampled(clock: PathClock, t: np.ndarray) -> np.ndarray:
    return np.array([clock.at(float(each)) for each in t])


def drawn(seed: int) -> tuple[PathClock, float]:
    """A clock whose rate was changed eight times, most of them before the last was over."""
    random = np.random.default_rng(seed)
    clock, t = PathClock(), 0.0
    for _ in range(8):
        t += random.uniform(0.0, 0.6)
        clock.change(t, float(random.choice([0.0, 0.05, 0.3, 1.0])), random.uniform(0.05, 0.5))
    return clock, clock.end


def test_without_a_change_it_is_time_itself() -> None:
    assert PathClock().at(3.25) == (3.25, 1.0, 0.0)
    assert PathClock(0.5).at(3.0) == (1.5, 0.5, 0.0)


def test_a_stop_is_the_smooth_step_of_fifth_order() -> None:
    clock = PathClock()
    clock.change(2.0, 0.0, 0.5)
    u = np.linspace(0.0, 1.0, 21)
    path, rate, slope = sampled(clock, 2.0 + 0.5 * u).T
    np.testing.assert_allclose(rate, 1.0 - u**3 * (10.0 - 15.0 * u + 6.0 * u**2), atol=1e-12)
    np.testing.assert_allclose(slope, -30.0 * u**2 * (1.0 - u) ** 2 / 0.5, atol=1e-11)
    assert path[-1] == pytest.approx(2.25, abs=1e-12)  # half the time of the stop
    assert clock.at(9.0) == (path[-1], 0.0, 0.0)


@pytest.mark.parametrize('seed', range(20))
def test_changes_at_any_moment_are_continuous_and_never_swing(seed: int) -> None:
    clock, end = drawn(seed)
    h = 5e-5
    path, rate, slope = sampled(clock, np.arange(0.0, end + 0.1, h)).T
    assert rate.min() >= -1e-9 and rate.max() <= 1.0 + 1e-9
    np.testing.assert_allclose(np.diff(path), 0.5 * h * (rate[1:] + rate[:-1]), atol=1e-9)
    middle = 0.5 * h * (slope[1:] + slope[:-1])
    np.testing.assert_allclose(np.diff(rate), middle, atol=2e-2 * h)  # a jump is not of order h
    assert rate[-1] == clock.target


def test_the_past_stays_as_it_was() -> None:
    clock = PathClock()
    clock.change(1.0, 0.5, 0.4)
    before = sampled(clock, np.linspace(0.0, 2.0, 50))
    clock.change(2.0, 0.0, 0.4)
    np.testing.assert_array_equal(sampled(clock, np.linspace(0.0, 2.0, 50)), before)


def test_a_stop_while_the_rate_falls_takes_no_longer_and_no_more_of_the_path() -> None:
    plain, falling = PathClock(), PathClock()
    plain.change(1.0, 0.0, 0.5)
    falling.change(0.8, 0.2, 0.5)
    falling.change(1.0, 0.0, 0.5)
    assert falling.end <= plain.end
    assert falling.at(2.0)[0] <= plain.at(2.0)[0]
