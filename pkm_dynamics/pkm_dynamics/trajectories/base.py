"""What every trajectory has: coordinates, evaluation, a dictionary form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import yaml
from numpy.typing import ArrayLike

from pkm_description.errors import TrajectoryError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.atomic_write import write_text_atomically
from pkm_dynamics.kinematics.roll_pitch_yaw import rpy_motion
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.motion import PlatformMotion
from pkm_dynamics.trajectories.bounds import (
    LONGEST_DURATION,
    LONGEST_NAME,
    MOST_COORDINATES,
    MOST_POINTS,
    require_size,
)

PLATFORM_COORDINATES = ('x', 'y', 'z', 'roll', 'pitch', 'yaw')
COORDINATES = ('platform', 'actuators')
LEAST_INTERVAL = 1e-6  # [s] between two times of a trajectory


class Trajectory(ABC):
    """A motion of the platform or of the actuators as a function of time.

    Platform coordinates are x, y, z [m], roll, pitch, yaw [rad] of the link
    `platform` in the base frame, R = Rz(yaw) Ry(pitch) Rx(roll). Actuator
    coordinates are the actuated joints [m, rad].

    Parameters
    ----------
    coordinates : 'platform' or 'actuators'
    coordinate_names : sequence of str, optional
        Needed for actuators: the joints, which are matched by name.
    robot : str
        Name of the description that the trajectory was made for; empty if any.
    """

    kind: ClassVar[str]
    #: Arguments of the constructor beside the common ones; which axis is that of the coordinates.
    fields: ClassVar[dict[str, int | None]]

    def __init__(
        self,
        coordinates: str = 'platform',
        coordinate_names: Sequence[str] | None = None,
        robot: str = '',
    ) -> None:
        if coordinate_names is not None and not isinstance(coordinate_names, Sequence):
            raise TrajectoryError(f'coordinate_names: need a list, got {coordinate_names!r}')
        if coordinates not in COORDINATES:
            raise TrajectoryError(
                f"coordinates: '{coordinates}' is unknown; valid are {', '.join(COORDINATES)}"
            )
        if coordinates == 'platform':
            if coordinate_names is not None and tuple(coordinate_names) != PLATFORM_COORDINATES:
                raise TrajectoryError(
                    'coordinate_names: platform coordinates are '
                    f'{", ".join(PLATFORM_COORDINATES)}, got {list(coordinate_names)}'
                )
            coordinate_names = PLATFORM_COORDINATES
        elif not coordinate_names:
            raise TrajectoryError('coordinate_names: actuator coordinates need the joint names')
        names = tuple(coordinate_names)
        require_size('coordinate_names', len(names), MOST_COORDINATES, 'names')
        valid = all(isinstance(name, str) and name for name in names)
        if not valid or len(set(names)) < len(names):
            raise TrajectoryError(f'coordinate_names: need distinct names, got {list(names)}')
        require_size('coordinate_names', max(map(len, names)), LONGEST_NAME, 'characters')
        if not isinstance(robot, str):
            raise TrajectoryError(f'robot: need a name, got {robot!r}')
        require_size('robot', len(robot), LONGEST_NAME, 'characters')
        self.coordinates = coordinates
        self.coordinate_names = names
        self.robot = robot

    @property
    @abstractmethod
    def period(self) -> float | None:
        """Period [s]; None when the motion starts and ends at rest."""

    @property
    def duration(self) -> float:
        """Duration [s] of one run at full speed: one period, or the whole motion."""
        assert self.period is not None
        return self.period

    @property
    def highest_frequency(self) -> float:
        """Frequency [Hz] of the fastest oscillation; 0 for a motion through points."""
        return 0.0

    @property
    def knots(self) -> Floats:
        """Times (n,) [s], the ends included, between which the motion is one polynomial each."""
        return np.empty(0)

    @abstractmethod
    def evaluate(self, t: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Coordinates (N, n_c) and their first two time derivatives at times t (N,) [s]."""

    def motion(
        self, t: ArrayLike, model: ClosedChainModel, initial: PlatformMotion | None = None
    ) -> PlatformMotion:
        """Evaluate as a motion of the platform.

        `initial` is a motion nearby, with joint positions, from which the kinematics
        start to iterate: it saves time.
        """
        return to_motion(self, self.evaluate(t), model, initial)

    def ordered(self, names: Sequence[str]) -> Trajectory:
        """Return this trajectory with its actuator coordinates in the order of `names`.

        A trajectory in platform coordinates is returned as it is.
        """
        names = tuple(names)
        if self.coordinates == 'platform' or names == self.coordinate_names:
            return self
        if set(names) != set(self.coordinate_names):
            raise TrajectoryError(
                f'coordinate_names: the trajectory moves {", ".join(self.coordinate_names)}; '
                f'the actuated joints are {", ".join(names)}'
            )
        order = [self.coordinate_names.index(name) for name in names]
        arguments: dict[str, Any] = {
            field: getattr(self, field) if axis is None else getattr(self, field).take(order, axis)
            for field, axis in self.fields.items()
        }
        arguments |= {'coordinates': self.coordinates, 'coordinate_names': names}
        return type(self)(**arguments, robot=self.robot)

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary, which `trajectory_from_dict` reads back."""
        result: dict[str, Any] = {'type': self.kind, 'coordinates': self.coordinates}
        if self.robot:
            result['robot'] = self.robot
        if self.coordinates == 'actuators':
            result['coordinate_names'] = list(self.coordinate_names)
        values = {field: getattr(self, field) for field in self.fields}
        return result | {
            k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in values.items()
        }

    def save(self, path: str | Path) -> None:
        """Write the trajectory as YAML, which `load_trajectory` reads back.

        Raises TrajectoryError where the file exists already or cannot be written.
        """
        text = yaml.safe_dump(self.to_dict(), sort_keys=False, default_flow_style=None, width=100)
        write_text_atomically(path, text, TrajectoryError)

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self.coordinates}, duration={self.duration:.6g} s)'


class ThroughPoints(Trajectory):
    """A motion through given points, at rest at both ends."""

    fields: ClassVar[dict[str, int | None]] = {'time': None, 'positions': 1}

    def __init__(
        self,
        time: ArrayLike,
        positions: ArrayLike,
        coordinates: str = 'platform',
        coordinate_names: Sequence[str] | None = None,
        robot: str = '',
    ) -> None:
        super().__init__(coordinates, coordinate_names, robot)
        self.time = increasing_times('time', time)
        require_size('time', len(self.time), MOST_POINTS, 'points')
        shape = (len(self.time), len(self.coordinate_names))
        self.positions = finite_array('positions', positions, shape)
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """Compute once what every evaluation needs."""

    @property
    def period(self) -> None:
        """None: the motion starts and ends at rest."""
        return None

    @property
    def duration(self) -> float:
        """Time [s] from the first to the last point."""
        return float(self.time[-1] - self.time[0])

    @property
    def knots(self) -> Floats:
        """Times (n_t,) [s] of the points, from 0 on."""
        return np.asarray(self.time - self.time[0])


def to_motion(
    trajectory: Trajectory,
    states: tuple[Floats, Floats, Floats],
    model: ClosedChainModel,
    initial: PlatformMotion | None = None,
) -> PlatformMotion:
    """Turn positions, velocities, accelerations (N, n_c) each into a motion of the platform."""
    x, xd, xdd = states
    if trajectory.coordinates == 'actuators':
        if trajectory.coordinate_names != tuple(model.actuated_joints):
            order = trajectory.ordered(model.actuated_joints).coordinate_names
            columns = [trajectory.coordinate_names.index(name) for name in order]
            x, xd, xdd = x[:, columns], xd[:, columns], xdd[:, columns]
        return model.motion_from_actuators(x, xd, xdd, initial=initial)
    rotation, omega, domega = rpy_motion(x[:, 3:], xd[:, 3:], xdd[:, 3:])
    guess = None
    if initial is not None and initial.joint_positions is not None and len(initial) == 1:
        guess = np.repeat(initial.joint_positions, len(x), axis=0)
    return PlatformMotion(
        x[:, :3],
        rotation,
        np.concatenate([xd[:, :3], omega], axis=1),
        np.concatenate([xdd[:, :3], domega], axis=1),
        guess,
    )


def finite_array(field: str, values: Any, shape: tuple[int | None, ...]) -> Floats:
    """Copy `values` into a read-only array of `shape` (None: any length), or say what is wrong."""
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise TrajectoryError(f'{field}: not an array of numbers ({error})') from None
    fits = array.ndim == len(shape) and all(
        wanted is None or wanted == got for wanted, got in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = ', '.join('any' if n is None else str(n) for n in shape)
        raise TrajectoryError(f'{field}: shape ({wanted}) needed, got {array.shape}')
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise TrajectoryError(f'{field}: not finite at index {where}')
    array.setflags(write=False)
    return array


def increasing_times(field: str, values: Any) -> Floats:
    """Return at least two strictly increasing times [s], or say what is wrong."""
    times = finite_array(field, values, (None,))
    if len(times) < 2:
        raise TrajectoryError(f'{field}: at least two are needed, got {len(times)}')
    late = np.flatnonzero(times[1:] <= times[:-1])
    if late.size:
        raise TrajectoryError(f'{field}: not strictly increasing at index {int(late[0]) + 1}')
    with np.errstate(over='ignore'):
        duration, intervals = times[-1] - times[0], np.diff(times)
    if not duration <= LONGEST_DURATION:
        raise TrajectoryError(
            f'{field}: a duration of {duration:g} s exceeds {LONGEST_DURATION:g} s'
        )
    if intervals.min() < LEAST_INTERVAL:
        worst = int(np.argmin(intervals))
        raise TrajectoryError(
            f'{field}: a step of {intervals[worst]:g} s at index {worst + 1} is less than '
            f'{LEAST_INTERVAL:g} s'
        )
    return times


def finite_number(
    field: str,
    value: Any,
    *,
    positive: bool = False,
    nonnegative: bool = False,
    within: tuple[float, float] | None = None,
) -> float:
    """Return `value` as a finite float, or say what is wrong with it."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TrajectoryError(f'{field}: a number is needed, got {value!r}')
    try:
        number = float(value)
    except OverflowError:  # a whole number may have any length
        number = np.inf
    if not np.isfinite(number):
        raise TrajectoryError(f'{field}: not finite')
    if positive and number <= 0.0:
        raise TrajectoryError(f'{field}: must be positive, got {number:g}')
    if nonnegative and number < 0.0:
        raise TrajectoryError(f'{field}: must not be negative, got {number:g}')
    if within is not None and not within[0] <= number <= within[1]:
        raise TrajectoryError(
            f'{field}: must be within {within[0]:g} and {within[1]:g}, got {number:g}'
        )
    return number
