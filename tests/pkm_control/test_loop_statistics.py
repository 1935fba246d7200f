"""Figures of a loop."""

from __future__ import annotations

import math

import pytest

from pkm_control.loop_statistics import LoopStatistics


def test_rate_and_percentiles_of_the_latest_cycles() -> None:
    statistics = LoopStatistics(window=100)
    assert math.isnan(statistics.summary().rate)
    for k in range(250):
        statistics.add(start=k * 2e-3, compute=(k % 100) * 1e-6, late=1e-4)
    summary = statistics.summary()
    assert summary.cycles == 250
    assert summary.rate == pytest.approx(500.0)
    assert summary.compute_p50 == pytest.approx(49.5e-6)
    assert summary.compute_max == pytest.approx(99e-6)
    assert summary.late_p99 == pytest.approx(1e-4)
