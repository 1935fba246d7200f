"""Trajectories against finite differences, symmetry and their dictionary form."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pkm_description.errors import TrajectoryError
from pkm_dynamics.trajectories import (
    CircleTrajectory,
    FourierTrajectory,
    PointToPoint,
    SampledTrajectory,
    Trajectory,
    load_trajectory,
    trajectory_from_dict,
)


def fourier(seed: int = 1, names: list[str] | None = None) -> FourierTrajectory:
    random = np.random.default_rng(seed)
    count = 6 if names is None else len(names)
    return FourierTrajectory(
        2.0,
        random.normal(size=count),
        0.1 * random.normal(size=(count, 5)),
        0.1 * random.normal(size=(count, 5)),
        'platform' if names is None else 'actuators',
        names,
        'palida',
    )


def sampled(cls: type = SampledTrajectory) -> Trajectory:
    random = np.random.default_rng(2)
    time = np.cumsum(0.2 + 0.3 * random.random(9))
    return cls(time, 0.1 * random.normal(size=(9, 6)))


def circle(mirrored: bool = False) -> CircleTrajectory:
    return CircleTrajectory(
        [0.1, 0.02, -0.7, 0.1, -0.2, 0.3], [0.5, 0.2, -0.4], 0.15, 1.0, 0.3, mirrored
    )


ALL = [fourier(), circle(), circle(True), sampled(), sampled(PointToPoint)]
NAMES = ['fourier', 'circle', 'mirrored', 'sampled', 'point_to_point']


@pytest.mark.parametrize('trajectory', ALL, ids=NAMES)
def test_derivatives_are_those_of_the_positions(trajectory: Trajectory) -> None:
    t = np.linspace(0.05, 0.95 * trajectory.duration, 101)
    h = 1e-5
    before, here, after = (trajectory.evaluate(t + d) for d in (-h, 0.0, h))
    for order in (0, 1):
        difference = (after[order] - before[order]) / (2.0 * h)
        scale = 1.0 + np.abs(here[order + 1]).max()
        np.testing.assert_allclose(here[order + 1], difference, atol=2e-6 * scale)


@pytest.mark.parametrize('trajectory', ALL, ids=NAMES)
def test_one_time_gives_the_row_of_many(trajectory: Trajectory) -> None:
    t = np.linspace(0.0, trajectory.duration, 7)
    many = trajectory.evaluate(t)
    for i, time in enumerate(t):
        for one, all_ in zip(trajectory.evaluate([time]), many, strict=True):
            assert one.shape == (1, 6)
            np.testing.assert_allclose(one[0], all_[i], atol=1e-12)


@pytest.mark.parametrize('trajectory', ALL[:3], ids=NAMES[:3])
def test_periodic(trajectory: Trajectory) -> None:
    t = np.linspace(0.0, trajectory.duration, 50)
    for one, next_ in zip(
        trajectory.evaluate(t), trajectory.evaluate(t + 3.0 * trajectory.duration), strict=True
    ):
        np.testing.assert_allclose(one, next_, atol=1e-11)


@pytest.mark.parametrize('trajectory', ALL[3:], ids=NAMES[3:])
def test_samples_are_met_and_both_ends_rest(trajectory: Trajectory) -> None:
    x, _, _ = trajectory.evaluate(trajectory.time - trajectory.time[0])
    np.testing.assert_allclose(x, trajectory.positions, atol=1e-12)
    ends = [-1.0, 0.0, trajectory.duration, trajectory.duration + 1.0]
    x, xd, xdd = trajectory.evaluate(ends)
    np.testing.assert_allclose(xd, 0.0, atol=1e-10)
    np.testing.assert_allclose(xdd, 0.0, atol=1e-9)
    np.testing.assert_allclose(x[[0, 3]], trajectory.positions[[0, -1]], atol=1e-12)


def test_circle_has_its_radius_speed_and_plane() -> None:
    c = circle()
    x, xd, _ = c.evaluate(np.linspace(0.0, c.period, 40))
    arm = x[:, :3] - c.centre[:3]
    np.testing.assert_allclose(np.linalg.norm(arm, axis=1), 0.15, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(xd[:, :3], axis=1), 1.0, rtol=1e-12)
    assert c.period == pytest.approx(2.0 * math.pi * 0.15)
    assert np.linalg.matrix_rank(arm, tol=1e-9) == 2
    np.testing.assert_array_equal(xd[:, 3:], 0.0)


def test_tilt_about_x_raises_the_far_side() -> None:
    tilt = math.radians(30.0)
    c = CircleTrajectory([0.0] * 6, [tilt, 0.0, 0.0], 0.15, 1.0)
    x, _, _ = c.evaluate(np.linspace(0.0, c.period, 9))
    np.testing.assert_allclose(x[:, 2], math.tan(tilt) * x[:, 1], atol=1e-12)


def test_mirrored_motion_is_the_reflection_of_platform_points() -> None:
    plain, mirrored = circle(), circle(True)
    from pkm_dynamics.kinematics.roll_pitch_yaw import rpy_to_rotation

    mirror = np.diag([1.0, -1.0, 1.0])
    t = np.linspace(0.0, 1.0, 5)
    x, y = plain.evaluate(t)[0], mirrored.evaluate(t)[0]
    point = np.array([0.03, 0.07, 0.11])
    one = x[:, :3] + rpy_to_rotation(x[:, 3:]) @ point
    other = y[:, :3] + rpy_to_rotation(y[:, 3:]) @ (mirror @ point)
    np.testing.assert_allclose(other, one @ mirror, atol=1e-12)


@pytest.mark.parametrize('trajectory', ALL, ids=NAMES)
def test_dictionary_and_file_round_trip(trajectory: Trajectory, tmp_path) -> None:
    path = tmp_path / 'trajectory.yaml'
    trajectory.save(path)
    t = np.linspace(0.0, trajectory.duration, 11)
    for copy in (trajectory_from_dict(trajectory.to_dict()), load_trajectory(path)):
        assert type(copy) is type(trajectory)
        assert copy.robot == trajectory.robot
        for one, other in zip(trajectory.evaluate(t), copy.evaluate(t), strict=True):
            np.testing.assert_array_equal(one, other)


def test_actuator_coordinates_are_matched_by_name() -> None:
    trajectory = fourier(names=['b', 'a', 'c'])
    ordered = trajectory.ordered(['a', 'b', 'c'])
    assert ordered.coordinate_names == ('a', 'b', 'c')
    x, y = trajectory.evaluate([0.3])[0], ordered.evaluate([0.3])[0]
    np.testing.assert_array_equal(y, x[:, [1, 0, 2]])
    with pytest.raises(TrajectoryError, match='coordinate_names'):
        trajectory.ordered(['a', 'b', 'd'])


def good() -> dict:
    return fourier().to_dict()


@pytest.mark.parametrize(
    ('change', 'field'),
    [
        ({'type': 'spiral'}, 'type'),
        ({'frequency': 1.0}, 'frequency'),
        ({'period': 0.0}, 'period'),
        ({'period': float('nan')}, 'period'),
        ({'period': 'two'}, 'period'),
        ({'offset': [0.0] * 5}, 'offset'),
        ({'offset': [0.0] * 5 + [float('inf')]}, 'offset'),
        ({'sine': [[0.0, 1.0]] * 6}, 'cosine'),
        ({'sine': [[float('nan')] * 5] * 6}, 'sine'),
        ({'sine': [['a'] * 5] * 6}, 'sine'),
        ({'sine': [[]] * 6, 'cosine': [[]] * 6}, 'sine'),
        ({'coordinates': 'joints'}, 'coordinates'),
        ({'coordinates': 'actuators'}, 'coordinate_names'),
        ({'coordinate_names': ['z', 'y', 'x', 'roll', 'pitch', 'yaw']}, 'coordinate_names'),
        ({'robot': 3}, 'robot'),
    ],
)
def test_errors_name_the_field(change: dict, field: str) -> None:
    with pytest.raises(TrajectoryError, match=f'^{field}'):
        trajectory_from_dict(good() | change)


def test_missing_key_is_named() -> None:
    data = good()
    del data['period']
    with pytest.raises(TrajectoryError, match='^period: missing'):
        trajectory_from_dict(data)


@pytest.mark.parametrize('cls', [SampledTrajectory, PointToPoint])
def test_bad_samples(cls: type) -> None:
    with pytest.raises(TrajectoryError, match='^time: not strictly increasing at index 2'):
        cls([0.0, 1.0, 1.0], np.zeros((3, 6)))
    with pytest.raises(TrajectoryError, match='^time: at least two'):
        cls([0.0], np.zeros((1, 6)))
    with pytest.raises(TrajectoryError, match='^positions: shape'):
        cls([0.0, 1.0], np.zeros((3, 6)))


def test_bad_files_are_named(tmp_path) -> None:
    path = tmp_path / 'broken.yaml'
    with pytest.raises(TrajectoryError, match="broken.yaml' cannot be read"):
        load_trajectory(path)
    for text in ('a: [', 'just text', '!!python/object:os.system {}', 'type: fourier'):
        path.write_text(text)
        with pytest.raises(TrajectoryError, match='broken.yaml'):
            load_trajectory(path)


@pytest.mark.parametrize('cls', [SampledTrajectory, PointToPoint])
@pytest.mark.parametrize(
    ('time', 'message'),
    [
        ([0.0, 1e-300, 1.0], 'time: a step of 1e-300 s at index 1'),
        ([0.0, 1e308], 'time: a duration of 1e'),
        ([-1e308, 1e308], 'time: a duration of inf'),
        ([0.0, 9e4], 'time: a duration of 90000 s'),
    ],
)
def test_times_beyond_reason_are_refused(cls, time: list[float], message: str) -> None:
    with pytest.raises(TrajectoryError, match=message):
        cls(time, np.zeros((len(time), 6)))


def test_a_spline_that_overflows_is_refused() -> None:
    positions = np.zeros((4, 6))
    positions[1:3] = [[1e308], [-1e308]]
    with pytest.raises(TrajectoryError, match='time'):
        SampledTrajectory([0.0, 1.0, 1.00001, 2.0], positions)
