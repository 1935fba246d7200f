"""States as drives send them: slow, fast, with stamps of a late host, two at once, of motors."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

from drive_world import circle  # noqa: E402

from pkm_control.control_types import ErrorCode  # noqa: E402

LATE = 1e-3  # [s] the most that a host's stamp is late by: a jitter of +-0.5 ms about its mean
WORST = 1.06  # of the error at 1 kHz with even stamps


@pytest.fixture(scope='module')
def even():
    """RMS error [m] of the struts on the circle, with states of 1 kHz and even stamps."""
    with pytest.MonkeyPatch.context() as patch:
        run = circle(patch, 1000.0, 'timer')
    assert run.outcomes[0].code is ErrorCode.NONE and not run.faults
    assert run.error < 0.4e-3
    return run.error


@pytest.mark.parametrize(
    ('mode', 'rate', 'late', 'batch', 'geared'),
    [
        ('timer', 250.0, 0.0, 1, False),
        ('timer', 500.0, LATE, 1, False),
        ('timer', 1000.0, LATE, 1, False),
        ('timer', 1000.0, 0.0, 2, False),
        ('timer', 1000.0, 0.0, 1, True),
        ('state', 250.0, 0.0, 1, False),
        ('state', 1000.0, LATE, 1, True),
        ('state', 1000.0, 0.0, 2, False),
        ('state', 2000.0, 0.0, 1, False),
    ],
)
def test_the_circle_is_followed_as_with_even_states(
    monkeypatch, even, mode, rate, late, batch, geared
):
    """No false fault, no stop, full bandwidth, and the path as good but for a constant delay."""
    run = circle(monkeypatch, rate, mode, late, batch, geared)
    assert not run.faults and run.outcomes[0].code is ErrorCode.NONE
    assert run.share == 1.0
    assert run.error < WORST * even
    assert 0.0 < run.late_by < 1.0 / rate * batch + 1e-3
