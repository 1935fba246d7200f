"""Trajectories survive the way through their message."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_description.errors import TrajectoryError
from pkm_dynamics.trajectories import (
    CircleTrajectory,
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
