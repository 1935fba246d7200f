"""Sampled trajectories from CSV files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pkm_description.errors import TrajectoryError
from pkm_dynamics.trajectories.base import PLATFORM_COORDINATES, Array
from pkm_dynamics.trajectories.sampled import SampledTrajectory

SUFFIX = '.position'
REST = 0.05  # of the largest speed, at which a motion still begins at rest


def read_csv(path: Path) -> SampledTrajectory:
    """Read samples of a motion from rest to rest.

    The first line names the columns: `time` [s], then x, y, z [m], roll, pitch, yaw [rad]
    of the platform, or the actuated joints (`<joint>` or `<joint>.position`) [m, rad].
    Other columns with a suffix, such as `<joint>.effort`, are left out.

    Raises
    ------
    TrajectoryError
        The file cannot be read, a column is missing, or the motion begins or ends at
        speed, where it could not be followed from a standstill.
    """
    try:
        with path.open(encoding='utf-8-sig') as file:
            names = [name.strip().strip('"') for name in file.readline().split(',')]
            values = np.loadtxt(file, delimiter=',', ndmin=2)
    except OSError as error:
        raise TrajectoryError(f'{path}: cannot be read ({error.strerror})') from None
    except (ValueError, UnicodeDecodeError) as error:
        raise TrajectoryError(f'{path}: not a table of numbers ({error})') from None
    if 'time' not in names:
        raise TrajectoryError(f"{path}: has no column 'time', but {', '.join(names)}")
    if values.shape[1] != len(names):
        raise TrajectoryError(
            f'{path}: rows of {values.shape[1]} numbers under {len(names)} column names'
        )
    coordinates, chosen, used = _coordinates(path, names)
    time, positions = values[:, names.index('time')], values[:, used]
    try:
        trajectory = SampledTrajectory(
            time, positions, coordinates, None if coordinates == 'platform' else chosen
        )
    except TrajectoryError as error:
        raise TrajectoryError(f'{path}: {error}') from None
    _require_rest(path, time, positions, chosen)
    return trajectory


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


def _require_rest(path: Path, time: Array, positions: Array, names: list[str]) -> None:
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
