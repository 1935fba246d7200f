"""Trajectories as `pkm_msgs/ParametricTrajectory` and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from pkm_description.errors import TrajectoryError
from pkm_dynamics import trajectories
from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories import bounds
from pkm_dynamics.trajectories.bounds import require_size
from pkm_msgs.msg import ParametricTrajectory

_COORDINATES = {
    ParametricTrajectory.PLATFORM_COORDINATES: 'platform',
    ParametricTrajectory.ACTUATOR_COORDINATES: 'actuators',
}
# Classes by type of the message, where their `fields` have the same names.
_TYPES: dict[int, type[trajectories.Trajectory]] = {
    ParametricTrajectory.FOURIER: trajectories.FourierTrajectory,
    ParametricTrajectory.CIRCLE: trajectories.CircleTrajectory,
    ParametricTrajectory.SAMPLED: trajectories.SampledTrajectory,
    ParametricTrajectory.POINT_TO_POINT: trajectories.PointToPoint,
}


def to_message(trajectory: trajectories.Trajectory) -> ParametricTrajectory:
    """Return the message that describes `trajectory`."""
    message = ParametricTrajectory()
    message.robot = trajectory.robot
    message.coordinate_names = list(trajectory.coordinate_names)
    codes = {name: code for code, name in _COORDINATES.items()}
    message.coordinates = codes[trajectory.coordinates]
    types = {kind: code for code, kind in _TYPES.items()}
    if type(trajectory) not in types:
        raise TrajectoryError(f'type: {type(trajectory).__name__} has no message form')
    message.type = types[type(trajectory)]
    for field in trajectory.fields:
        value = getattr(trajectory, field)
        setattr(message, field, value.ravel().tolist() if isinstance(value, np.ndarray) else value)
    if isinstance(trajectory, trajectories.FourierTrajectory):
        message.harmonics = trajectory.harmonics
    return message


def from_message(message: ParametricTrajectory) -> trajectories.Trajectory:
    """Return the trajectory that `message` describes; TrajectoryError names a malformed field."""
    kind, arguments = trajectory_arguments(message)
    return kind(**arguments)


def trajectory_arguments(
    message: ParametricTrajectory,
) -> tuple[type[trajectories.Trajectory], dict[str, Any]]:
    """Return the class of the trajectory that `message` describes and its arguments, unchecked.

    TrajectoryError names a field that is larger than `trajectories.bounds` allow, or of a wrong
    length, before anything is computed from it.
    """
    _require_sizes(message)
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
    kind = _TYPES[message.type]
    arguments: dict[str, Any] = {field: getattr(message, field) for field in kind.fields}
    for field in arguments.keys() & tables.keys():
        arguments[field] = _table(field, arguments[field], *tables[field])
    arguments |= {'coordinates': coordinates, 'coordinate_names': names, 'robot': message.robot}
    return kind, arguments


def _require_sizes(message: ParametricTrajectory) -> None:
    require_size('robot', len(message.robot), bounds.LONGEST_NAME, 'characters')
    most = bounds.MOST_COORDINATES
    require_size('coordinate_names', len(message.coordinate_names), most, 'names')
    require_size('harmonics', int(message.harmonics), bounds.MOST_HARMONICS, 'harmonics')
    for field, most in (
        ('offset', bounds.MOST_COORDINATES),
        ('sine', bounds.MOST_HARMONICS * bounds.MOST_COORDINATES),
        ('cosine', bounds.MOST_HARMONICS * bounds.MOST_COORDINATES),
        ('centre', bounds.MOST_COORDINATES),
        ('plane', bounds.MOST_COORDINATES),
        ('time', bounds.MOST_POINTS),
        ('positions', bounds.MOST_POINTS * bounds.MOST_COORDINATES),
    ):
        require_size(field, len(getattr(message, field)), most, 'numbers')


def _table(field: str, values: object, rows: int, columns: int) -> Floats:
    """Reshape a row-major list, or say what length would be right."""
    array = np.asarray(values, dtype=float)
    if array.size != rows * columns:
        raise TrajectoryError(
            f'{field}: {rows} x {columns} = {rows * columns} numbers needed, got {array.size}'
        )
    return array.reshape(rows, columns)
