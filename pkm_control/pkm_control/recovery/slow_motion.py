"""Slow straight ways from where the robot rests, also from outside its limits."""

from __future__ import annotations

import numpy as np

from pkm_control.feedforward import nominal_feedforward
from pkm_description.errors import FeasibilityError, PkmError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories import PointToPoint
from pkm_dynamics.trajectories.point_to_point import quintic_duration

SPEED = 0.02  # [m/s, rad/s] of the fastest coordinate: a person can follow it by eye
ACCELERATION = 0.2  # [m/s^2, rad/s^2]
SAMPLES = 200


def slow_way(
    model: ClosedChainModel, start: Floats, target: Floats, coordinates: str, speed: float = SPEED
) -> PointToPoint:
    """Return the way from rest at `start` to rest at `target`, both (n_c,) [m, rad].

    The fastest coordinate reaches `speed` [m/s, rad/s] at most.
    """
    distance = float(np.abs(target - start).max())
    names = list(model.actuated_joints) if coordinates == 'actuators' else None
    duration = quintic_duration(distance, speed, ACCELERATION)
    return PointToPoint([0.0, duration], [start, target], coordinates, names)


def check_way(model: ClosedChainModel, way: PointToPoint) -> None:
    """Raise FeasibilityError where the loops do not close, or the drives cannot hold the robot."""
    times = np.linspace(0.0, way.duration, SAMPLES)
    try:
        motion = way.motion(times, model)
        forces = nominal_feedforward(model).forces(model, motion)
    except PkmError as error:
        raise FeasibilityError(f'on the way: {error}') from error
    share = np.abs(forces) / np.asarray(model.force_limit)
    row, axis = np.unravel_index(int(np.argmax(share)), share.shape)
    if share[row, axis] > 1.0:
        what = f'{model.actuated_joints[int(axis)]}: the way needs {forces[row, axis]:.4g}'
        limit = f'the limit is {model.force_limit[int(axis)]:g}'
        raise FeasibilityError(f'{what}, {limit}')
