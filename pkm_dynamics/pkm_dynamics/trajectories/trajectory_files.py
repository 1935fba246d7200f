"""Trajectories as dictionaries and YAML files."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pkm_description.errors import TrajectoryError
from pkm_dynamics.trajectories.base import Trajectory
from pkm_dynamics.trajectories.circle import CircleTrajectory
from pkm_dynamics.trajectories.csv_samples import read_csv
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
    path = Path(path)
    try:
        if path.stat().st_size > MAX_FILE_SIZE:
            raise TrajectoryError(f'{path}: larger than {MAX_FILE_SIZE} bytes')
        if path.suffix.lower() == '.csv':
            return read_csv(path)
        data = yaml.safe_load(path.read_text(encoding='utf-8'))
    except OSError as error:
        raise TrajectoryError(f'{path}: cannot be read ({error.strerror})') from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise TrajectoryError(f'{path}: not a YAML file ({error})') from None
    try:
        return trajectory_from_dict(data)
    except TrajectoryError as error:
        raise TrajectoryError(f'{path}: {error}') from None
