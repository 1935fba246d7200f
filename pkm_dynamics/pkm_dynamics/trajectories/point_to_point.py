"""Rest-to-rest motion between points, quintic in time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories.base import Trajectory, finite_array, increasing_times


class PointToPoint(Trajectory):
    """Straight lines in the coordinates, at rest in every point.

    Between two points x = a + (b - a) (10 u^3 - 15 u^4 + 6 u^5): velocity and
    acceleration vanish at both ends.

    Parameters
    ----------
    time : (n_t,) [s]
        When each point is reached; strictly increasing, at least two.
    positions : (n_t, n_c)
    """

    kind: ClassVar[str] = 'point_to_point'

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
        shape = (len(self.time), len(self.coordinate_names))
        self.positions = finite_array('positions', positions, shape)
        self._intervals = np.diff(self.time)
        self._steps = np.diff(self.positions, axis=0)

    @property
    def period(self) -> None:
        """None: the motion starts and ends at rest."""
        return None

    @property
    def duration(self) -> float:
        """Time [s] from the first to the last point."""
        return float(self.time[-1] - self.time[0])

    def evaluate(self, t: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Coordinates and derivatives (N, n_c) at times t (N,) [s] after the first point."""
        times = np.atleast_1d(np.asarray(t, dtype=float)) + self.time[0]
        segment = np.searchsorted(self.time, times, side='right') - 1
        segment = np.clip(segment, 0, len(self._steps) - 1)
        interval = self._intervals[segment]
        u = np.clip((times - self.time[segment]) / interval, 0.0, 1.0)
        step = self._steps[segment]
        blend, slope, bend = quintic_blend(u)
        position = self.positions[segment] + step * blend[:, None]
        return position, step * (slope / interval)[:, None], step * (bend / interval**2)[:, None]

    def parameters(self) -> dict[str, Any]:
        """Return times and positions."""
        return {'time': self.time.tolist(), 'positions': self.positions.tolist()}

    def _select(self, indices: list[int], names: tuple[str, ...]) -> PointToPoint:
        return PointToPoint(
            self.time, self.positions[:, indices], self.coordinates, names, self.robot
        )


def quintic_blend(u: Any) -> tuple[Any, Any, Any]:
    """Return 10 u^3 - 15 u^4 + 6 u^5 and its first two derivatives, for u in [0, 1]."""
    blend = u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
    slope = 30.0 * u**2 * (1.0 - u) ** 2
    bend = 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u)
    return blend, slope, bend


def quintic_duration(distance: float, speed: float, acceleration: float) -> float:
    """Shortest time [s] for a rest-to-rest quintic with these peak values (15/8, 10/sqrt(3))."""
    bent = 10.0 / math.sqrt(3.0)
    return max(1.875 * distance / speed, math.sqrt(bent * distance / acceleration))
