"""Trajectories as dictionaries, YAML files and samples in CSV files."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pkm_description.errors import TrajectoryError
from pkm_description.untrusted.bounded_yaml import load_yaml
from pkm_description.untrusted.named_files import file_text, regular_file
from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories.base import PLATFORM_COORDINATES, Trajectory
from pkm_dynamics.trajectories.circle import CircleTrajectory
from pkm_dynamics.trajectories.fourier_series import FourierTrajectory
from pkm_dynamics.trajectories.point_to_point import PointToPoint
from pkm_dynamics.trajectories.sampled import SampledTrajectory

TRAJECTORY_TYPES: tuple[type[Trajectory], ...] = (
    FourierTrajectory,
    CircleTrajectory,
    SampledTrajectory,
    PointToPoint,
)
MAX_FILE_SIZE = 64 * 1024 * 1024  # bytes; a longer sampled trajectory belongs into pieces
SUFFIX = '.position'
REST = 0.05  # of the largest speed, at which a motion still begins at rest


def trajectory_from_dict(data: Mapping[str, Any]) -> Trajectory:
    """Build the trajectory that `data` describes.

    `data` has `type` (fourier, circle, sampled, point_to_point) and the arguments
    of that class by name. Raises TrajectoryError for an unknown type, an unknown or missing
    key, wrong shapes or numbers; the message names the key.
    """
    if not isinstance(data, Mapping):
        raise TrajectoryError(f'a trajectory is a table of keys, got {type(data).__name__}')
    types = {cls.kind: cls for cls in TRAJECTORY_TYPES}
    kind = data.get('type')
    if not isinstance(kind, str) or kind not in types:
        raise TrajectoryError(f'type: {kind!r} is unknown; valid are {", ".join(types)}')
    signature = inspect.signature(types[kind].__init__).parameters
    valid = [name for name in signature if name != 'self']
    arguments = {key: value for key, value in data.items() if key != 'type'}
    for key in arguments:
        if key not in valid:
            raise TrajectoryError(
                f"{key}: unknown key of a '{kind}' trajectory; valid are {', '.join(valid)}"
            )
    for name in valid:
        if name not in arguments and signature[name].default is inspect.Parameter.empty:
            raise TrajectoryError(f"{name}: missing key of a '{kind}' trajectory")
    return types[kind](**arguments)


def load_trajectory(path: str | Path) -> Trajectory:
    """Read a trajectory from a YAML file, or samples from a CSV file (see `read_csv`).

    Raises
    ------
    TrajectoryError
        When the file is unreadable or describes no trajectory; the message names it.
    """
    path = regular_file(path, TrajectoryError, MAX_FILE_SIZE)
    if path.suffix.lower() == '.csv':
        return read_csv(path)
    text = file_text(path, TrajectoryError, MAX_FILE_SIZE, 'trajectory')
    data = load_yaml(text, f'{path}', TrajectoryError, MAX_FILE_SIZE)
    try:
        return trajectory_from_dict(data)
    except TrajectoryError as error:
        raise TrajectoryError(f'{path}: {error}') from None


def read_csv(path: Path) -> SampledTrajectory:
    """Read samples of a motion from rest to rest.

    The first line names the columns: `time` [s], then x, y, z [m], roll, pitch, yaw [rad]
    of the platform, or the actuated joints (`<joint>` or `<joint>.position`) [m, rad].
    Other columns with a suffix, such as `<joint>.effort`, are left out. Raises TrajectoryError,
    which names line and column, where the file cannot be read, a column is missing or given
    twice, a number is missing or not finite, time does not increase, or the motion begins or
    ends at speed, where it could not be followed from a standstill.
    """
    names, values = _table(path)
    if 'time' not in names:
        raise TrajectoryError(f"{path}: has no column 'time', but {', '.join(names)}")
    coordinates, chosen, used = _coordinates(path, names)
    time, positions = values[:, names.index('time')], values[:, used]
    _require_numbers(path, time, positions, [names[index] for index in used])
    try:
        trajectory = SampledTrajectory(
            time, positions, coordinates, None if coordinates == 'platform' else chosen
        )
    except TrajectoryError as error:
        raise TrajectoryError(f'{path}: {error}') from None
    _require_rest(path, time, positions, chosen)
    return trajectory


def _table(path: Path) -> tuple[list[str], Floats]:
    """Return the names of the columns and the numbers (N, n), which may be not finite."""
    try:
        lines = path.read_text(encoding='utf-8-sig').splitlines()
    except OSError as error:
        raise TrajectoryError(f'{path}: cannot be read ({error.strerror})') from None
    except UnicodeDecodeError:
        raise TrajectoryError(f'{path}: not a text file in UTF-8') from None
    if not lines or not lines[0].strip():
        raise TrajectoryError(f'{path}: has no first line that names the columns')
    names = [name.strip().strip('"') for name in lines[0].split(',')]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TrajectoryError(f"{path}: column '{twice[0]}' is there twice")
    if len(names) == 1:
        raise TrajectoryError(
            f"{path}: one column, '{names[0]}'; names and numbers are separated by commas"
        )
    rows = lines[1:]
    while rows and not rows[-1].strip():
        rows.pop()
    if len(rows) < 2:
        raise TrajectoryError(f'{path}: {len(rows)} samples; a motion needs at least two')
    try:
        values = np.loadtxt(rows, delimiter=',', ndmin=2, comments=None)
    except ValueError:
        values = np.empty((0, 0))
    if values.shape != (len(rows), len(names)):
        raise TrajectoryError(f'{path}: {_first_offence(rows, names)}')
    return names, values


def _first_offence(rows: list[str], names: list[str]) -> str:
    for number, row in enumerate(rows, 2):
        cells = [cell.strip() for cell in row.split(',')]
        if len(cells) != len(names):
            return f'line {number}: {len(cells)} numbers under {len(names)} column names'
        for name, cell in zip(names, cells, strict=True):
            try:
                float(cell)
            except ValueError:
                return f"line {number}, column '{name}': '{cell}' is not a number"
    return 'not a table of numbers'


def _require_numbers(path: Path, time: Floats, positions: Floats, names: list[str]) -> None:
    table, columns = np.column_stack([time, positions]), ['time', *names]
    wrong = np.argwhere(~np.isfinite(table))
    if wrong.size:
        row, column = wrong[0]
        raise TrajectoryError(
            f"{path}: line {row + 2}, column '{columns[column]}': {table[row, column]} is not "
            'finite'
        )
    late = np.flatnonzero(np.diff(time) <= 0.0)
    if late.size:
        row = int(late[0]) + 1
        raise TrajectoryError(
            f'{path}: line {row + 2}: time must increase, got {time[row]:g} s after '
            f'{time[row - 1]:g} s'
        )


def _coordinates(path: Path, names: list[str]) -> tuple[str, list[str], list[int]]:
    """Return the kind of coordinates, their names and their columns."""
    if set(PLATFORM_COORDINATES) <= set(names):
        chosen = list(PLATFORM_COORDINATES)
        return 'platform', chosen, [names.index(name) for name in chosen]
    if set(PLATFORM_COORDINATES) & set(names):
        missing = [name for name in PLATFORM_COORDINATES if name not in names]
        raise TrajectoryError(f'{path}: platform coordinates lack {", ".join(missing)}')
    bare = {
        index: name.removesuffix(SUFFIX)
        for index, name in enumerate(names)
        if name != 'time' and ('.' not in name or name.endswith(SUFFIX))
    }
    if not bare:
        raise TrajectoryError(
            f'{path}: needs columns {", ".join(PLATFORM_COORDINATES)}, or one for each actuated '
            f'joint; has {", ".join(names)}'
        )
    return 'actuators', list(bare.values()), list(bare)


def _require_rest(path: Path, time: Floats, positions: Floats, names: list[str]) -> None:
    speeds = np.abs(np.diff(positions, axis=0) / np.diff(time)[:, None])
    largest = np.maximum(speeds.max(axis=0), 1e-12)
    for row, what in ((0, 'begins'), (-1, 'ends')):
        moving = speeds[row] / largest
        worst = int(np.argmax(moving))
        if len(speeds) > 2 and moving[worst] > REST:
            raise TrajectoryError(
                f"{path}: the motion {what} at {speeds[row, worst]:.3g} of '{names[worst]}' per "
                'second; samples must lead from rest to rest, a periodic motion is given by its '
                'Fourier series'
            )
