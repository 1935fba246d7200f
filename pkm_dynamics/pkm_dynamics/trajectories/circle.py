"""A circle of the platform at constant speed and orientation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.errors import TrajectoryError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.kinematics.roll_pitch_yaw import rotation_to_rpy, rpy_to_rotation
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.trajectories.base import Trajectory, finite_array, finite_number

_MIRROR = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])


class CircleTrajectory(Trajectory):
    """The platform's origin on a circle, at constant speed, with constant orientation.

    Position = centre + R(plane) [r cos(phi), r sin(phi), 0], phi = start_angle + speed / r * t.
    """

    kind: ClassVar[str] = 'circle'
    fields: ClassVar[dict[str, int | None]] = dict.fromkeys(
        ('centre', 'plane', 'radius', 'speed', 'start_angle', 'mirrored')
    )

    def __init__(
        self,
        centre: ArrayLike,  # x, y, z [m], roll, pitch, yaw [rad] of the platform at the centre
        plane: ArrayLike,  # roll, pitch, yaw [rad] against the x-y plane of the base
        radius: float,  # [m]
        speed: float,  # [m/s]; negative turns the other way
        start_angle: float = 0.0,  # [rad]
        mirrored: bool = False,  # the whole motion as seen in the mirror of the base's x-z plane
        coordinates: str = 'platform',
        coordinate_names: Sequence[str] | None = None,
        robot: str = '',
    ) -> None:
        if coordinates != 'platform':
            raise TrajectoryError('coordinates: a circle is given in platform coordinates')
        super().__init__(coordinates, coordinate_names, robot)
        self.centre = finite_array('centre', centre, (6,))
        self.plane = finite_array('plane', plane, (3,))
        self.radius = finite_number('radius', radius, positive=True)
        self.speed = finite_number('speed', speed)
        if self.speed == 0.0:
            raise TrajectoryError('speed: must not be zero')
        self.start_angle = finite_number('start_angle', start_angle)
        if not isinstance(mirrored, (bool, np.bool_)):
            raise TrajectoryError(f'mirrored: true or false is needed, got {mirrored!r}')
        self.mirrored = bool(mirrored)
        axes = np.vstack([self.radius * rpy_to_rotation(self.plane)[:, :2], np.zeros((3, 2))])
        mirror = _MIRROR if self.mirrored else np.ones(6)
        self._centre = mirror * self.centre
        self._axes = mirror[:, None] * axes
        self._rate = self.speed / self.radius

    @property
    def period(self) -> float:
        """Time of one turn [s]."""
        return 2.0 * math.pi / abs(self._rate)

    @property
    def highest_frequency(self) -> float:
        """Frequency [Hz] of the turns."""
        return 1.0 / self.period

    def evaluate(self, t: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Coordinates and derivatives (N, 6) at times t (N,) [s]."""
        angle = self.start_angle + self._rate * np.atleast_1d(np.asarray(t, dtype=float))
        c, s, w = np.cos(angle), np.sin(angle), self._rate
        x = np.stack([c, s], axis=1) @ self._axes.T
        xd = np.stack([-w * s, w * c], axis=1) @ self._axes.T
        return x + self._centre, xd, -(w**2) * x


def benchmark_circle(
    model: ClosedChainModel, mirrored: bool = False, speed: float | None = None
) -> CircleTrajectory:
    """Return the inclined circle of METHODS.md 5 about the robot's home [A, H].

    Diameter 0.3 m, 1 m/s, tilted 30 degrees about x, constant orientation. A table
    `benchmark_circle` of the description's sidecar with `diameter` [m], `speed`
    [m/s], `tilt` [rad] and `tilt_axis` (x or y) replaces these numbers.
    """
    table = dict(model.description.sidecar.get('benchmark_circle', {}))
    diameter = finite_number('benchmark_circle.diameter', table.get('diameter', 0.3), positive=True)
    nominal = finite_number('benchmark_circle.speed', table.get('speed', 1.0))
    tilt = finite_number('benchmark_circle.tilt', table.get('tilt', math.radians(30.0)))
    axis = table.get('tilt_axis', 'x')
    if axis not in ('x', 'y'):
        raise TrajectoryError(f"benchmark_circle.tilt_axis: x or y is needed, got '{axis}'")
    plane = [tilt, 0.0, 0.0] if axis == 'x' else [0.0, tilt, 0.0]
    centre = np.concatenate([model.home_position, rotation_to_rpy(model.home_rotation)])
    return CircleTrajectory(
        centre,
        plane,
        diameter / 2.0,
        nominal if speed is None else speed,
        mirrored=mirrored,
        robot=model.description.name,
    )
