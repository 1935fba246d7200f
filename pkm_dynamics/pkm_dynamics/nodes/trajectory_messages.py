"""Trajectories as `pkm_msgs/ParametricTrajectory` and back."""

from __future__ import annotations

import numpy as np

from pkm_description.errors import TrajectoryError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories import (
    CircleTrajectory,
    FourierTrajectory,
    PointToPoint,
    SampledTrajectory,
    Trajectory,
)
from pkm_msgs.msg import ParametricTrajectory

_COORDINATES = {
    ParametricTrajectory.PLATFORM_COORDINATES: 'platform',
    ParametricTrajectory.ACTUATOR_COORDINATES: 'actuators',
}


def to_message(trajectory: Trajectory) -> ParametricTrajectory:
    """Return the message that describes `trajectory`."""
    message = ParametricTrajectory()
    message.robot = trajectory.robot
    message.coordinate_names = list(trajectory.coordinate_names)
    codes = {name: code for code, name in _COORDINATES.items()}
    message.coordinates = codes[trajectory.coordinates]
    if isinstance(trajectory, FourierTrajectory):
        message.type = ParametricTrajectory.FOURIER
        message.period = trajectory.period
        message.harmonics = trajectory.harmonics
        message.offset = trajectory.offset.tolist()
        message.sine = trajectory.sine.ravel().tolist()
        message.cosine = trajectory.cosine.ravel().tolist()
    elif isinstance(trajectory, CircleTrajectory):
        message.type = ParametricTrajectory.CIRCLE
        message.centre = trajectory.centre.tolist()
        message.plane = trajectory.plane.tolist()
        message.radius = trajectory.radius
        message.speed = trajectory.speed
        message.start_angle = trajectory.start_angle
        message.mirrored = trajectory.mirrored
    elif isinstance(trajectory, (SampledTrajectory, PointToPoint)):
        sampled = isinstance(trajectory, SampledTrajectory)
        message.type = (
            ParametricTrajectory.SAMPLED if sampled else ParametricTrajectory.POINT_TO_POINT
        )
        message.time = trajectory.time.tolist()
        message.positions = trajectory.positions.ravel().tolist()
    else:
        raise TrajectoryError(f'type: {type(trajectory).__name__} has no message form')
    return message


def from_message(message: ParametricTrajectory) -> Trajectory:
    """Return the trajectory that `message` describes.

    Raises
    ------
    TrajectoryError
        When the message is malformed; the error names the field.
    """
    if message.coordinates not in _COORDINATES:
        raise TrajectoryError(f'coordinates: {message.coordinates} is unknown')
    coordinates = _COORDINATES[message.coordinates]
    names = list(message.coordinate_names) or None
    common = {'coordinates': coordinates, 'coordinate_names': names, 'robot': message.robot}
    count = len(names) if coordinates == 'actuators' and names else 6
    if message.type == ParametricTrajectory.FOURIER:
        harmonics = int(message.harmonics)
        return FourierTrajectory(
            message.period,
            list(message.offset),
            _table('sine', message.sine, count, harmonics),
            _table('cosine', message.cosine, count, harmonics),
            **common,
        )
    if message.type == ParametricTrajectory.CIRCLE:
        return CircleTrajectory(
            list(message.centre),
            list(message.plane),
            message.radius,
            message.speed,
            message.start_angle,
            message.mirrored,
            **common,
        )
    kinds = {
        ParametricTrajectory.SAMPLED: SampledTrajectory,
        ParametricTrajectory.POINT_TO_POINT: PointToPoint,
    }
    if message.type not in kinds:
        raise TrajectoryError(f'type: {message.type} is unknown')
    time = list(message.time)
    positions = _table('positions', message.positions, len(time), count)
    return kinds[message.type](time, positions, **common)


def _table(field: str, values: object, rows: int, columns: int) -> Floats:
    """Reshape a row-major list, or say what length would be right."""
    array = np.asarray(values, dtype=float)
    if array.size != rows * columns:
        raise TrajectoryError(
            f'{field}: {rows} x {columns} = {rows * columns} numbers needed, got {array.size}'
        )
    return array.reshape(rows, columns)
