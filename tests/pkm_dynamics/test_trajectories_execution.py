"""Executions: continuity, exact periodicity of the recorded part, stops."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_description.errors import TrajectoryError
from pkm_dynamics.trajectories import (
    CircleTrajectory,
    Execution,
    FourierTrajectory,
    Phase,
    PointToPoint,
    SampledTrajectory,
)

HOME = np.array([0.0, 0.0, -0.755, 0.0, 0.0, 0.0])


def fourier() -> FourierTrajectory:
    random = np.random.default_rng(4)
    return FourierTrajectory(
        2.0, HOME, 0.03 * random.normal(size=(6, 5)), 0.03 * random.normal(size=(6, 5))
    )


def executions() -> dict[str, Execution]:
    time = np.linspace(0.0, 2.0, 9)
    samples = HOME + 0.05 * np.random.default_rng(5).normal(size=(9, 6))
    start = HOME + [0.02, 0.01, 0.03, 0.1, 0.0, -0.1]
    return {
        'fourier': Execution(fourier(), 3, 0.7, start),
        'circle': Execution(CircleTrajectory(HOME, [0.5, 0, 0], 0.15, -1.0), 2, 1.0, start),
        'sampled': Execution(SampledTrajectory(time, samples), 1, 1.0, start),
        'points': Execution(PointToPoint(time, samples), 1, 1.0, start),
        'no_approach': Execution(fourier(), 1, 0.4),
    }


def stops() -> dict[str, object]:
    execution = executions()['fourier']
    middle = [0.4, 0.5, 0.9]
    times = [
        middle[0] * execution.approach_time,
        execution.ramp_start + 0.3,
        execution.run_start + 2.2,
        execution.run_end + 0.2,
    ]
    return {f'stop at {t:.2f}': execution.stop(t, 0.5) for t in times}


CASES = executions() | stops()


@pytest.mark.parametrize('name', CASES)
def test_motion_is_continuous_up_to_acceleration(name: str) -> None:
    execution = CASES[name]
    h = 1e-4
    t = np.arange(-0.1, execution.duration + 0.2, h)
    x, xd, xdd = execution.evaluate(t)
    # Trapezoidal integration of each derivative must give the function: jumps would show.
    for function, derivative in ((x, xd), (xd, xdd)):
        step = 0.5 * h * (derivative[1:] + derivative[:-1])
        tolerance = 1e-7 * (1.0 + np.abs(xdd).max())
        np.testing.assert_allclose(np.diff(function, axis=0), step, atol=tolerance)
    jump = np.abs(np.diff(xdd, axis=0)).max()
    fine = np.arange(-0.1, execution.duration + 0.2, h / 4)
    finer = np.abs(np.diff(execution.evaluate(fine)[2], axis=0)).max()
    assert finer < 0.3 * jump + 1e-9  # a jump would not shrink with the step


@pytest.mark.parametrize('name', CASES)
def test_starts_and_ends_at_rest(name: str) -> None:
    execution = CASES[name]
    for t in (0.0, execution.duration, execution.duration + 10.0):
        _, xd, xdd = execution.evaluate([t])
        np.testing.assert_allclose(xd, 0.0, atol=1e-9)
        np.testing.assert_allclose(xdd, 0.0, atol=1e-8)
    last = execution.evaluate([execution.duration])[0]
    np.testing.assert_allclose(execution.evaluate([execution.duration + 9.0])[0], last, atol=1e-12)
    assert execution.state(execution.duration + 1e-9).phase == Phase.HOLD


def test_recorded_periods_are_the_trajectory_exactly() -> None:
    execution = CASES['fourier']
    t = np.linspace(0.0, 2.0, 100, endpoint=False)
    expected = execution.trajectory.evaluate(t)
    for period in range(3):
        got = execution.evaluate(execution.run_start + 2.0 * period + t)
        for one, other in zip(expected, got, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-9)


def test_starts_where_the_robot_rests_and_turns_the_short_way() -> None:
    start = HOME + [0.02, 0.01, 0.03, 0.1, 0.0, 2.0 * np.pi - 0.1]
    execution = Execution(fourier(), 1, 0.5, start)
    wrapped = execution.evaluate([0.0])[0][0]
    np.testing.assert_allclose(wrapped[:5], start[:5], atol=1e-12)
    assert wrapped[5] == pytest.approx(-0.1)


def test_approach_keeps_its_speed() -> None:
    execution = Execution(fourier(), 1, 0.5, HOME + [0.3, 0, 0, 0, 0, 0], approach_speed=0.05)
    t = np.linspace(0.0, execution.approach_time, 2001)
    _, xd, xdd = execution.evaluate(t)
    assert np.linalg.norm(xd[:, :3], axis=1).max() == pytest.approx(0.05, rel=1e-3)
    assert np.linalg.norm(xdd[:, :3], axis=1).max() <= 1.0


def test_phases_follow_each_other_and_time_runs_out() -> None:
    execution = CASES['fourier']
    t = np.linspace(0.0, execution.duration, 4000)
    states = [execution.state(float(time)) for time in t]
    phases = [state.phase for state in states]
    assert sorted(set(phases), key=phases.index) == [
        Phase.APPROACH,
        Phase.RAMP_IN,
        Phase.RUN,
        Phase.RAMP_OUT,
        Phase.HOLD,
    ]
    assert np.all(np.diff([state.fraction for state in states]) >= 0.0)
    assert np.all(np.diff([state.s for state in states]) >= 0.0)
    assert states[0].time_left == pytest.approx(execution.duration)
    assert states[-1].fraction == 1.0
    starts = [execution.run_start + 2.0 * k for k in range(4)]
    assert [execution.state(t).period_index for t in starts] == [0, 1, 2, 3]
    assert execution.state(execution.run_start).s == pytest.approx(0.0, abs=1e-12)


def test_stop_stays_on_the_path_and_is_short() -> None:
    execution = CASES['fourier']
    start = execution.run_start + 2.2
    stopped = execution.stop(start, 0.5)
    t = np.linspace(start, start + 0.5, 60)
    expected, _, _ = execution.trajectory.evaluate([stopped.state(float(time)).s for time in t])
    np.testing.assert_allclose(stopped.evaluate(t)[0], expected, atol=1e-12)
    assert stopped.duration == pytest.approx(start + 0.5)
    assert stopped.state(start + 0.25).phase == Phase.STOPPING
    before = np.linspace(0.0, start, 50)
    np.testing.assert_array_equal(stopped.evaluate(before)[0], execution.evaluate(before)[0])
    assert stopped.stop(start + 0.1) is stopped


def test_bad_arguments_are_named() -> None:
    sampled = SampledTrajectory([0.0, 1.0], np.zeros((2, 6)))
    for arguments, field in [
        ({'periods': 0}, 'periods'),
        ({'periods': 1.5}, 'periods'),
        ({'ramp_time': 0.0}, 'ramp_time'),
        ({'ramp_time': np.nan}, 'ramp_time'),
        ({'approach_speed': -1.0}, 'approach_speed'),
        ({'start': np.zeros(5)}, 'start'),
        ({'start': np.full(6, np.nan)}, 'start'),
    ]:
        with pytest.raises(TrajectoryError, match=f'^{field}'):
            Execution(fourier(), **arguments)
    with pytest.raises(TrajectoryError, match='^periods'):
        Execution(sampled, periods=2)
    with pytest.raises(TrajectoryError, match='^stop_time'):
        Execution(fourier()).stop(1.0, 0.0)


@pytest.mark.parametrize(
    ('fields', 'message'),
    [
        ({'approach_speed': 1e-300}, 'approach_speed: must be within'),
        ({'approach_speed': 1e300}, 'approach_speed: must be within'),
        ({'ramp_time': 1e-300}, 'ramp_time: must be within'),
        ({'ramp_time': 1e300}, 'ramp_time: must be within'),
    ],
)
def test_speeds_and_times_beyond_reason_are_refused(fields: dict, message: str) -> None:
    with pytest.raises(TrajectoryError, match=message):
        Execution(fourier(), start=HOME, **fields)
    slow = FourierTrajectory(1e300, HOME, np.zeros((6, 1)), np.zeros((6, 1)))
    with pytest.raises(TrajectoryError, match='duration'):
        Execution(slow)


@pytest.mark.parametrize('far', [1e6, 1e300])
def test_a_beginning_that_is_never_reached(far: float) -> None:
    with pytest.raises(TrajectoryError, match='the way to its beginning.*more than 86400 s'):
        Execution(fourier(), 1, 1.0, HOME + [far, 0, 0, 0, 0, 0])
