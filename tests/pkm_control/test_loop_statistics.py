"""Figures of a loop."""

from __future__ import annotations

import math

import pytest

from pkm_control.loop_statistics import LoopStatistics


def test_rate_and_percentiles_of_the_latest_cycles() -> None:
    statistics = LoopStatistics(window=101)
    for k in range(250):
        statistics.add(start=k * 2e-3, compute=(k % 101) * 1e-6, late=(k % 101) * -1e-3)
    summary = statistics.summary()
    assert summary.cycles == 250
    assert summary.rate == pytest.approx(500.0)
    assert summary.compute_p50 == pytest.approx(50e-6)
    assert summary.compute_p99 == pytest.approx(99e-6)
    assert summary.compute_max == pytest.approx(100e-6)
    assert summary.late_p50 == pytest.approx(-0.05)
    assert summary.late_p99 == pytest.approx(-0.001)


def test_cycles_with_a_bounded_feedforward_are_counted() -> None:
    statistics = LoopStatistics()
    for k in range(6):
        statistics.add(start=k * 1e-3, compute=0.0, late=0.0, bounded=k % 3 == 0)
    assert statistics.summary().bounded == 2


def test_there_are_figures_from_the_second_cycle_on() -> None:
    statistics = LoopStatistics()
    for count in (0, 1):
        summary = statistics.summary()
        assert (summary.cycles, summary.missed, summary.between + summary.bridged) == (count, 0, 0)
        figures = [summary.rate, summary.compute_p50, summary.compute_p99, summary.compute_max]
        assert all(map(math.isnan, [*figures, summary.late_p50, summary.late_p99]))
        statistics.add(start=0.5 * count, compute=1e-4, late=2e-4)
    statistics.miss(3)
    statistics.wait(lost=True)
    statistics.wait(lost=False)
    summary = statistics.summary()
    assert (summary.cycles, summary.missed, summary.between + summary.bridged) == (2, 3, 2)
    assert summary.rate == pytest.approx(2.0)
    assert summary.late_p50 == pytest.approx(2e-4)
    assert summary.success_rate == pytest.approx(2 / 6)


def test_success_is_that_of_the_latest_thousand_periods() -> None:
    statistics = LoopStatistics()
    assert math.isnan(statistics.summary().success_rate)
    statistics.miss(10**9)
    for share in (0.0, 0.25, 0.5, 1.0):
        assert statistics.summary().success_rate == pytest.approx(share)
        for k in range(round(250 * (2 if share == 0.5 else 1))):
            statistics.add(start=k * 1e-3, compute=0.0, late=0.0)
    statistics.miss(10)
    assert statistics.summary().success_rate == pytest.approx(0.99)


def test_a_clock_that_stands_still_gives_a_finite_rate() -> None:
    statistics = LoopStatistics()
    for _ in range(3):
        statistics.add(start=7.0, compute=0.0, late=0.0)
    assert statistics.summary().rate == pytest.approx(2e9)


def test_five_thousand_cycles_are_kept() -> None:
    statistics = LoopStatistics()
    statistics.add(start=0.0, compute=1.0, late=0.0)
    for k in range(1, 5000):
        statistics.add(start=k * 1e-3, compute=1e-4, late=0.0)
    assert statistics.summary().compute_max == 1.0
    statistics.add(start=5.0, compute=1e-4, late=0.0)
    assert statistics.summary().compute_max == pytest.approx(1e-4)
