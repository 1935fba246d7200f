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
# By type of the message: the class, and its arguments, which have the same names in the message.
_TYPES: dict[int, tuple[type[Trajectory], tuple[str, ...]]] = {
    ParametricTrajectory.FOURIER: (FourierTrajectory, ('period', 'offset', 'sine', 'cosine')),
    ParametricTrajectory.CIRCLE: (
        CircleTrajectory,
        ('centre', 'plane', 'radius', 'speed', 'start_angle', 'mirrored'),
    ),
    ParametricTrajectory.SAMPLED: (SampledTrajectory, ('time', 'positions')),
    ParametricTrajectory.POINT_TO_POINT: (PointToPoint, ('time', 'positions')),
}


def to_message(trajectory: Trajectory) -> ParametricTrajectory:
    """Return the message that describes `trajectory`."""
    message = ParametricTrajectory()
    message.robot = trajectory.robot
    message.coordinate_names = list(trajectory.coordinate_names)
    codes = {name: code for code, name in _COORDINATES.items()}
    message.coordinates = codes[trajectory.coordinates]
    types = {kind: code for code, (kind, _) in _TYPES.items()}
    if type(trajectory) not in types:
        raise TrajectoryError(f'type: {type(trajectory).__name__} has no message form')
    message.type = types[type(trajectory)]
    for field in _TYPES[message.type][1]:
        value = getattr(trajectory, field)
        setattr(message, field, value.ravel().tolist() if isinstance(value, np.ndarray) else value)
    if isinstance(trajectory, FourierTrajectory):
        message.harmonics = trajectory.harmonics
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
    if message.type not in _TYPES:
        raise TrajectoryError(f'type: {message.type} is unknown')
    coordinates = _COORDINATES[message.coordinates]
    names = list(message.coordinate_names) or None
    count = len(names) if coordinates == 'actuators' and names else 6
    tables = {
        'sine': (count, int(message.harmonics)),
        'cosine': (count, int(message.harmonics)),
        'positions': (len(message.time), count),
    }
    kind, fields = _TYPES[message.type]
    arguments = {
        field: _table(field, getattr(message, field), *tables[field])
        if field in tables
        else getattr(message, field)
        for field in fields
    }
    return kind(**arguments, coordinates=coordinates, coordinate_names=names, robot=message.robot)


def _table(field: str, values: object, rows: int, columns: int) -> Floats:
    """Reshape a row-major list, or say what length would be right."""
    array = np.asarray(values, dtype=float)
    if array.size != rows * columns:
        raise TrajectoryError(
            f'{field}: {rows} x {columns} = {rows * columns} numbers needed, got {array.size}'
        )
    return array.reshape(rows, columns)
