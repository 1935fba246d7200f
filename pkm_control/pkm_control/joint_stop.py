"""A stop that needs no path: each actuator from its measured state to rest."""

from __future__ import annotations

import numpy as np

from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories.point_to_point import quintic_area, quintic_blend


class JointStop:
    """Actuators from positions and velocities (n_a,) to rest within `duration` [s].

    The speed falls as a smooth step of fifth order, so that positions, velocities and
    accelerations are continuous but for the acceleration at the beginning, which is zero. Half
    the duration times the speed is travelled.
    """

    def __init__(self, positions: Floats, velocities: Floats, duration: float) -> None:
        self.duration = duration
        self._positions = np.array(positions)
        self._velocities = np.array(velocities)

    @property
    def end(self) -> Floats:
        """Positions (n_a,) [m, rad] at rest."""
        return self._positions + 0.5 * self.duration * self._velocities

    def evaluate(self, t: float) -> tuple[Floats, Floats, Floats]:
        """Positions, velocities and accelerations (n_a,) at `t` [s] after its beginning."""
        u = min(max(t / self.duration, 0.0), 1.0)
        value, slope, _ = quintic_blend(u)
        travelled = self.duration * (u - quintic_area(u))
        speed = self._velocities
        return (
            self._positions + travelled * speed,
            (1.0 - value) * speed,
            -slope / self.duration * speed,
        )
