"""The way back from outside the strokes, where no goal is feasible."""

from __future__ import annotations

import numpy as np

from pkm_control.control_types import ControlFault, ErrorCode
from pkm_control.feedforward import nominal_feedforward
from pkm_description.errors import PkmError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories import PointToPoint
from pkm_dynamics.trajectories.point_to_point import quintic_duration

SPEED = 0.02  # [m/s, rad/s] of the fastest actuator
ACCELERATION = 0.2  # [m/s^2, rad/s^2]
INSET = 0.01  # of the stroke: how far within it the way ends
SAMPLES = 200


def recovery_motion(model: ClosedChainModel, positions: Floats) -> PointToPoint:
    """Return the slow straight way of the actuators (n_a,) to just within their strokes.

    Those within stay where they are. Raises ControlFault, INFEASIBLE, where nothing is outside,
    or the loops do not close on the way, or the drives cannot hold the robot there.
    """
    lower, upper = np.asarray(model.lower), np.asarray(model.upper)
    outside = (positions < lower) | (positions > upper)
    if not outside.any():
        raise ControlFault(ErrorCode.INFEASIBLE, 'all joints are within their strokes')
    inset = INSET * (upper - lower)
    target = np.where(outside, np.clip(positions, lower + inset, upper - inset), positions)
    duration = quintic_duration(float(np.abs(target - positions).max()), SPEED, ACCELERATION)
    points = [positions, target]
    way = PointToPoint([0.0, duration], points, 'actuators', list(model.actuated_joints))
    _check(model, way)
    return way


def _check(model: ClosedChainModel, way: PointToPoint) -> None:
    times = np.linspace(0.0, way.duration, SAMPLES)
    try:
        motion = way.motion(times, model)
        forces = nominal_feedforward(model).forces(model, motion)
    except PkmError as error:
        raise ControlFault(ErrorCode.INFEASIBLE, f'on the way back: {error}') from error
    share = np.abs(forces) / np.asarray(model.force_limit)
    row, axis = np.unravel_index(int(np.argmax(share)), share.shape)
    if share[row, axis] > 1.0:
        what = f'{model.actuated_joints[int(axis)]}: the way back needs {forces[row, axis]:.4g}'
        limit = f'the limit is {model.force_limit[int(axis)]:g}'
        raise ControlFault(ErrorCode.INFEASIBLE, f'{what}, {limit}')
