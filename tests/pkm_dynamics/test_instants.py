"""Nothing that a motion does hides between the samples of its check."""

from __future__ import annotations

import numpy as np
import pytest

import pkm_description
from pkm_description.errors import TrajectoryError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.limits.feasibility import check_feasibility
from pkm_dynamics.limits.instants import MOST_INSTANTS, instants_of
from pkm_dynamics.trajectories import (
    CircleTrajectory,
    Execution,
    FourierTrajectory,
    PointToPoint,
    SampledTrajectory,
)
from pkm_dynamics.trajectories.point_to_point import quintic_blend


@pytest.fixture(scope='module')
def palida():
    return ClosedChainModel(pkm_description.load('palida'))


def home(model) -> np.ndarray:
    return np.r_[model.home_position, np.zeros(3)]


def sampled_jump(model, height: float, width: float, at: float) -> SampledTrajectory:
    """A rise by `height` within `width`, sampled so closely that the spline does not ring."""
    spacing = width / 20.0
    time = np.arange(0.0, at + 200.0 * width, spacing)
    poses = np.tile(home(model), (len(time), 1))
    poses[:, 2] += height * quintic_blend(np.clip((time - at) / width, 0.0, 1.0))[0]
    return SampledTrajectory(time, poses)


@pytest.mark.parametrize(
    ('height', 'width', 'rate'),
    [(0.045, 1.5e-3, 500.0), (0.09, 0.5e-3, None), (0.09, 0.5e-3, 500.0), (0.02, 0.1e-3, None)],
)
def test_a_sampled_jump_between_the_samples_is_refused(palida, height, width, rate) -> None:
    duration = Execution(sampled_jump(palida, height, width, 0.05)).duration
    step = duration / np.ceil(duration * (rate or 1000.0))
    at = 25.0 * step + 0.2 * (step - width)  # the next even sample is beyond the jump
    report = check_feasibility(
        palida, Execution(sampled_jump(palida, height, width, at)), rate=rate
    )
    velocity = report.margins['velocity']
    assert not report.feasible and velocity.margin < 0.0
    assert velocity.name in palida.actuated_joints and at <= velocity.time <= at + width
    assert velocity.name in report.message and 'velocity' in report.message
    # The peak of the quintic, 15/8 of the mean, through the struts' share of the vertical.
    assert abs(velocity.value) > 0.5 * 1.875 * height / width


@pytest.mark.parametrize('width', [1.5e-6, 1e-4, 1e-3])
def test_a_jump_from_point_to_point_is_refused(palida, width: float) -> None:
    low, high = home(palida), home(palida) + [0.0, 0.0, 0.09, 0.0, 0.0, 0.0]
    times = [0.0, 1.0, 1.0 + width, 2.0]
    report = check_feasibility(palida, Execution(PointToPoint(times, [low, low, high, high])))
    velocity = report.margins['velocity']
    assert 1.0 <= velocity.time <= 1.0 + width
    q = palida.inverse_kinematics(*_poses(palida, np.linspace(low, high, 5)))
    assert abs(velocity.value) > 1.7 * np.abs(q[-1] - q[0]).max() / width


def test_samples_a_microsecond_apart_that_differ_by_90_mm_are_refused(palida) -> None:
    low, high = home(palida), home(palida) + [0.0, 0.0, 0.09, 0.0, 0.0, 0.0]
    time = np.r_[np.arange(50) * 0.02, 0.98 + 1e-6 + np.arange(50) * 0.02]
    path = SampledTrajectory(time, np.repeat([low, high], 50, axis=0))
    report = check_feasibility(palida, Execution(path), rate=500.0)
    assert not report.feasible and report.margins['velocity'].margin < 0.0


def _poses(model, x: np.ndarray):
    return x[:, :3], np.tile(np.eye(3), (len(x), 1, 1))


def test_short_ramps_are_sampled(palida) -> None:
    """A circle at 0.4 m/s from rest within 1 ms: some 750 m/s^2, over before the second sample."""
    circle = CircleTrajectory(home(palida), [0.0, 0.0, 0.0], 0.05, 0.4)
    assert check_feasibility(palida, Execution(circle, 1, 1.0), acceleration=20.0).feasible
    report = check_feasibility(palida, Execution(circle, 1, 1e-3), acceleration=20.0, rate=500.0)
    assert abs(report.margins['acceleration'].value) > 100.0


def test_a_low_rate_does_not_hide_a_fast_harmonic(palida) -> None:
    """Its velocity is zero at every even sample."""
    sine = np.zeros((6, 1))
    sine[2] = 0.002
    cosine = sine[:, ::-1]
    series = FourierTrajectory(0.004, home(palida), 0.0 * sine, cosine)
    report = check_feasibility(palida, Execution(series, 20, 0.5), rate=250.0)
    assert abs(report.margins['velocity'].value) > 0.5 * 0.002 * 2.0 * np.pi / 0.004


def test_smooth_samples_get_no_further_ones(palida) -> None:
    time = np.linspace(0.0, 2.0, 2001)
    poses = np.tile(home(palida), (len(time), 1))
    poses[:, 2] += 0.03 * quintic_blend(time / 2.0)[0]
    found = instants_of(Execution(SampledTrajectory(time, poses)), 500.0)
    assert 1001 <= len(found) < 1100


def test_a_stopped_execution_is_sampled_where_its_clock_changes(palida) -> None:
    low, high = home(palida), home(palida) + [0.0, 0.0, 0.09, 0.0, 0.0, 0.0]
    jump = Execution(PointToPoint([0.0, 1.0, 1.0005, 2.0], [low, low, high, high]))
    paced = jump.stop(0.9, 0.5)
    report = check_feasibility(palida, paced)
    reached = paced.evaluate(np.linspace(0.9, paced.duration, 200001))[1]
    assert np.abs(reached).max() > 30.0  # the stop runs over the jump
    assert report.margins['velocity'].margin < 0.0


def test_the_number_of_samples_is_bounded() -> None:
    series = FourierTrajectory(1.0, np.zeros(6), np.ones((6, 1)), np.ones((6, 1)))
    with pytest.raises(TrajectoryError, match='duration: .* samples of the check'):
        instants_of(series, 1.001 * MOST_INSTANTS)
