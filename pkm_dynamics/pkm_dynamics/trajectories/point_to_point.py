"""Rest-to-rest motion between points, quintic in time."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories.base import ThroughPoints


class PointToPoint(ThroughPoints):
    """Straight lines in the coordinates, at rest in every point.

    Between two points x = a + (b - a) (10 u^3 - 15 u^4 + 6 u^5): velocity and
    acceleration vanish at both ends. The points (n_t, n_c) are reached at strictly increasing
    times (n_t,) [s], at least two.
    """

    kind: ClassVar[str] = 'point_to_point'

    def _prepare(self) -> None:
        self._intervals = np.diff(self.time)
        self._steps = np.diff(self.positions, axis=0)

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


def quintic_blend(u: Any) -> tuple[Any, Any, Any]:
    """Return 10 u^3 - 15 u^4 + 6 u^5 and its first two derivatives, for u in [0, 1]."""
    blend = u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
    slope = 30.0 * u**2 * (1.0 - u) ** 2
    bend = 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u)
    return blend, slope, bend


def quintic_area(u: Any) -> Any:
    """Return the integral of `quintic_blend` from 0 to u in [0, 1], which is 1/2 at 1."""
    return u**4 * (2.5 - 3.0 * u + u * u)


def quintic_duration(distance: float, speed: float, acceleration: float) -> float:
    """Shortest time [s] for a rest-to-rest quintic with these peak values (15/8, 10/sqrt(3))."""
    bent = 10.0 / math.sqrt(3.0)
    return max(1.875 * distance / speed, math.sqrt(bent * distance / acceleration))
