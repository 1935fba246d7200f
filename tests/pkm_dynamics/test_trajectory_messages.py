"""Trajectories survive the way through their message."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_description.errors import TrajectoryError
from pkm_dynamics.trajectories import (
    CircleTrajectory,
    Execution,
    FourierTrajectory,
    PointToPoint,
    SampledTrajectory,
    Trajectory,
)

pytest.importorskip('pkm_msgs', reason='pkm_msgs is built with a ROS 2 only')

from pkm_dynamics.nodes.trajectory_messages import from_message, to_message  # noqa: E402

RANDOM = np.random.default_rng(6)
FOURIER = FourierTrajectory(
    1.5, RANDOM.normal(size=6), RANDOM.normal(size=(6, 3)), RANDOM.normal(size=(6, 3)), robot='r'
)
TIME, SAMPLES = np.array([0.5, 1.0, 1.7]), RANDOM.normal(size=(3, 2))
ALL = [
    FOURIER,
    CircleTrajectory(RANDOM.normal(size=6), [0.1, 0.2, 0.3], 0.2, -0.7, 0.4, True, robot='r'),
    SampledTrajectory(TIME, SAMPLES, 'actuators', ['a', 'b'], 'r'),
    PointToPoint(TIME, SAMPLES, 'actuators', ['a', 'b'], 'r'),
]


@pytest.mark.parametrize('trajectory', ALL, ids=lambda trajectory: trajectory.kind)
def test_round_trip(trajectory: Trajectory) -> None:
    copy = from_message(to_message(trajectory))
    assert copy.to_dict() == trajectory.to_dict()


@pytest.mark.parametrize(
    ('field', 'value'),
    [
        ('type', 99),
        ('coordinates', 7),
        ('harmonics', 2),
        ('period', float('nan')),
        ('offset', [1.0, 2.0]),
        ('sine', [0.0] * 17),
        ('cosine', [float('inf')] * 18),
        ('coordinate_names', ['x', 'y']),
    ],
)
def test_malformed_messages_are_refused(field: str, value: object) -> None:
    message = to_message(FOURIER)
    setattr(message, field, value)
    with pytest.raises(TrajectoryError, match='sine' if field == 'harmonics' else f'^{field}'):
        from_message(message)


@pytest.mark.parametrize(
    ('field', 'value'),
    [
        ('harmonics', 257),
        ('sine', [0.0] * (256 * 64 + 1)),
        ('cosine', [0.0] * (256 * 64 + 1)),
        ('offset', [0.0] * 65),
        ('centre', [0.0] * 65),
        ('time', [0.0] * 100_001),  # of a type that has none
        ('positions', [0.0] * 6_400_001),
        ('coordinate_names', ['x'] * 65),
        ('robot', 'r' * 257),
    ],
)
def test_messages_that_are_too_large_are_refused_at_once(field, value, monkeypatch) -> None:
    message = to_message(FOURIER)
    setattr(message, field, value)
    monkeypatch.setattr(FourierTrajectory, '__init__', lambda *_, **__: pytest.fail('computed'))
    with pytest.raises(TrajectoryError, match=f'^{field}: .* at most'):
        from_message(message)


def test_the_largest_messages_are_read() -> None:
    series = FourierTrajectory(1.0, np.zeros(6), np.ones((6, 256)), np.ones((6, 256)))
    assert from_message(to_message(series)).harmonics == 256
    time = np.arange(100_000) * 1e-3
    motion = PointToPoint(time, np.zeros((100_000, 6)))
    assert len(from_message(to_message(motion)).time) == 100_000


def test_files_and_classes_keep_the_same_bounds() -> None:
    with pytest.raises(TrajectoryError, match='257 harmonics, 256 at most'):
        FourierTrajectory(1.0, np.zeros(6), np.ones((6, 257)), np.ones((6, 257)))
    time = np.arange(100_001) * 1e-3
    with pytest.raises(TrajectoryError, match='100001 points, 100000 at most'):
        SampledTrajectory(time, np.zeros((100_001, 6)))
    with pytest.raises(TrajectoryError, match='65 names, 64 at most'):
        names = [f'j{i}' for i in range(65)]
        FourierTrajectory(1.0, np.zeros(65), np.ones((65, 1)), np.ones((65, 1)), 'actuators', names)
    with pytest.raises(TrajectoryError, match='periods: .* exceed 86400 s in all'):
        Execution(FOURIER, 60_000)
