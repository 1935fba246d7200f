"""What is watched in every cycle: speeds, strokes, sensors that sleep."""

from __future__ import annotations

import numpy as np
import pytest
from gantry import Gantry

from pkm_control.control_types import ControllerOptions
from pkm_control.stops import StopEvent
from pkm_control.supervision import BRAKING_SHARE, SAME_SPEED, STUCK, Supervisor

MODEL = Gantry()  # strokes of 1 m, 3 m/s, 200 N
INERTIA = np.full(3, 10.0)
DECELERATION = BRAKING_SHARE * 200.0 / 10.0
OPTIONS = ControllerOptions(max_position_error=0.05)
STILL = np.zeros(3)


class Watched:
    """A supervisor whose cycles take a millisecond, with noise in the last digit."""

    def __init__(self) -> None:
        self.supervisor = Supervisor(MODEL, OPTIONS, INERTIA)
        self.supervisor.begin(STILL)
        self.random = np.random.default_rng(1)

    def check(self, measured=STILL, error=STILL, velocity=STILL, slip=STILL, moving=True):
        noise = 1e-9 * self.random.normal(size=3)
        arrays = (np.asarray(each, dtype=float) for each in (measured, error, velocity, slip))
        measured, error, velocity, slip = arrays
        return self.supervisor.check(1e-3, moving, measured + noise, error, velocity, slip)

    def first(self, cycles: int = 40, **state):
        """The first finding, and after how many cycles."""
        for cycle in range(cycles):
            if (finding := self.check(**state)) is not None:
                return finding, cycle
        return None, cycles


def test_a_speed_above_its_limit_ends_commands_once_it_lasts() -> None:
    fast = [0.0, -OPTIONS.overspeed * 3.0 - 1e-6, 0.0]
    finding, cycle = Watched().first(velocity=fast)
    assert finding.event is StopEvent.OVERSPEED and finding.message.startswith('y: measured speed')
    assert cycle == pytest.approx(OPTIONS.reaction_time / 1e-3, abs=1.5)
    assert Watched().first(velocity=[0.0, OPTIONS.overspeed * 3.0, 0.0])[0] is None
    watched = Watched()
    for _ in range(20):  # single samples never last
        assert watched.check(velocity=fast) is None
        assert watched.check() is None


def test_braking_that_would_end_beyond_the_stroke_ends_commands() -> None:
    speed = 2.0
    way = OPTIONS.reaction_time * speed + 0.5 * speed**2 / DECELERATION
    edge = 1.0 + OPTIONS.stroke_tolerance - way
    state = {'velocity': [0.0, 0.0, speed], 'slip': [0.0, 0.0, -speed]}
    finding, _ = Watched().first(measured=[0.0, 0.0, edge + 1e-6], **state)
    assert finding.event is StopEvent.LIMIT_AHEAD and 'z: at 0.' in finding.message
    assert Watched().first(measured=[0.0, 0.0, edge - 1e-6], **state)[0] is None
    back = {'velocity': [0.0, 0.0, -speed], 'slip': [0.0, 0.0, speed]}
    assert Watched().first(measured=[0.0, 0.0, edge + 1e-6], **back)[0] is None
    # The speed of the motion itself was checked before it began.
    slow = {**state, 'slip': [0.0, 0.0, -SAME_SPEED * 3.0]}
    assert Watched().first(measured=[0.0, 0.0, edge + 1e-6], **slow)[0] is None


def test_a_sensor_that_shows_the_same_digits_on_the_way_is_stuck() -> None:
    way = STUCK * OPTIONS.max_position_error
    supervisor = Supervisor(MODEL, OPTIONS, INERTIA)
    supervisor.begin(STILL)
    for gone in np.linspace(0.0, way, 30):
        assert supervisor.check(1e-3, True, STILL, np.array([gone, 0, 0]), STILL, STILL) is None
    finding = supervisor.check(1e-3, True, STILL, np.array([way + 1e-6, 0, 0]), STILL, STILL)
    assert finding is not None and finding.event is StopEvent.BAD_STATE
    assert finding.message.startswith('x: the measured position stays at 0')
    watched = Watched()  # a drive that sticks while its sensor lives
    for gone in np.linspace(0.0, 0.9 * OPTIONS.max_position_error, 30):
        assert watched.check(error=[gone, 0.0, 0.0]) is None


def test_the_way_back_from_outside_is_allowed_and_no_way_farther() -> None:
    watched = Watched()
    outside = np.array([1.05, 0.0, 0.0])
    assert watched.check(outside).event is StopEvent.STROKE_LEFT
    watched.supervisor.begin(outside)
    assert watched.check(outside) is None and watched.check([1.03, 0.0, 0.0]) is None
    assert watched.check([1.0515, 0.0, 0.0]).event is StopEvent.STROKE_LEFT
    assert watched.check([1.0515, 0.0, 0.0], moving=False) is None


@pytest.mark.parametrize('speed', [0.0, 0.01, 0.5, 3.0, 30.0])
def test_a_stop_off_the_path_is_as_short_as_the_drives_can(speed: float) -> None:
    stop = Supervisor(MODEL, OPTIONS, INERTIA).stop(STILL, np.array([0.0, speed, 0.0]))
    assert OPTIONS.reaction_time <= stop.duration <= OPTIONS.stop_time
    times = np.linspace(0.0, stop.duration, 200)
    q, qd, qdd = np.array([stop.evaluate(float(t)) for t in times]).swapaxes(0, 1)
    assert qd[0, 1] == min(speed, 3.0) and not qd[-1].any()
    np.testing.assert_allclose(q[-1], stop.end)
    peak = np.abs(qdd).max()
    assert peak <= DECELERATION * (1.0 + 1e-3) or stop.duration == OPTIONS.stop_time
    np.testing.assert_allclose(np.gradient(q[:, 1], times)[1:-1], qd[1:-1, 1], atol=2e-3 * 3.0)
