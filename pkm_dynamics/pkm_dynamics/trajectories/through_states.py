"""A trajectory through points with given velocities, at rest at both ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.errors import TrajectoryError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories.base import ThroughPoints, finite_array

REST_SPEED = 1e-6  # [m/s, rad/s] at an end that counts as rest: what rounding leaves


class ThroughStates(ThroughPoints):
    """Quintics between points with positions, velocities and accelerations (n_t, n_c) each.

    Without accelerations a point gets the mean of what the cubics through positions and velocities
    have on its two sides. The motion begins and ends at rest: velocities there must be
    zero, accelerations are taken for zero whatever they are, since a robot at rest has none.
    The times (n_t,) [s], at least two, increase strictly.
    """

    kind: ClassVar[str] = 'through_states'
    fields: ClassVar[dict[str, int | None]] = {
        'time': None,
        'positions': 1,
        'velocities': 1,
        'accelerations': 1,
    }

    def __init__(
        self,
        time: ArrayLike,
        positions: ArrayLike,
        velocities: ArrayLike,
        accelerations: ArrayLike | None = None,
        coordinates: str = 'platform',
        coordinate_names: Sequence[str] | None = None,
        robot: str = '',
    ) -> None:
        self._given = velocities, accelerations
        super().__init__(time, positions, coordinates, coordinate_names, robot)

    def _prepare(self) -> None:
        shape = self.positions.shape
        velocities = finite_array('velocities', self._given[0], shape).copy()
        for end in (0, -1):
            fastest = float(np.abs(velocities[end]).max())
            if fastest > REST_SPEED:
                where = 'first' if end == 0 else 'last'
                raise TrajectoryError(
                    f'velocities: {fastest:g} in the {where} point, where the robot must rest'
                )
            velocities[end] = 0.0
        with np.errstate(over='ignore', invalid='ignore'):
            self.velocities, self.accelerations = velocities, self._bends(velocities)
            self._coefficients = self._quintics()
        del self._given
        for values in (self.velocities, self.accelerations):
            values.setflags(write=False)
        if not np.isfinite(self._coefficients).all():
            raise TrajectoryError('velocities, accelerations: the motion through them overflows')

    def _bends(self, velocities: Floats) -> Floats:
        """Accelerations (n_t, n_c) in the points."""
        if self._given[1] is not None:
            given = finite_array('accelerations', self._given[1], self.positions.shape).copy()
            given[[0, -1]] = 0.0
            return given
        step, moved = np.diff(self.time)[:, None], np.diff(self.positions, axis=0)
        first, second = velocities[:-1], velocities[1:]
        begins = (6.0 * moved / step - 4.0 * first - 2.0 * second) / step
        ends = (-6.0 * moved / step + 2.0 * first + 4.0 * second) / step
        rest = np.zeros((1, moved.shape[1]))
        return np.concatenate([rest, 0.5 * (ends[:-1] + begins[1:]), rest])

    def _quintics(self) -> Floats:
        """Coefficients (6, n_t - 1, n_c) in u = (t - t_k) / step, from both ends of each piece."""
        step, moved = np.diff(self.time)[:, None], np.diff(self.positions, axis=0)
        speed, bend = self.velocities[:-1] * step, 0.5 * self.accelerations[:-1] * step**2
        a = moved - speed - bend
        b = self.velocities[1:] * step - speed - 2.0 * bend
        c = self.accelerations[1:] * step**2 - 2.0 * bend
        high = 10 * a - 4 * b + 0.5 * c, -15 * a + 7 * b - c, 6 * a - 3 * b + 0.5 * c
        return np.stack([self.positions[:-1], speed, bend, *high])

    def evaluate(self, t: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Coordinates and derivatives (N, n_c) at times t (N,) [s] after the first point."""
        times = np.atleast_1d(np.asarray(t, dtype=float)) + self.time[0]
        piece = np.searchsorted(self.time, times, side='right') - 1
        piece = np.clip(piece, 0, len(self.time) - 2)
        step = (self.time[piece + 1] - self.time[piece])[:, None]
        u = np.clip((times - self.time[piece])[:, None] / step, 0.0, 1.0)
        p, v, a, b, c, d = self._coefficients[:, piece]
        position = p + u * (v + u * (a + u * (b + u * (c + u * d))))
        velocity = (v + u * (2 * a + u * (3 * b + u * (4 * c + u * 5 * d)))) / step
        acceleration = (2 * a + u * (6 * b + u * (12 * c + u * 20 * d))) / step**2
        moving = ((times >= self.time[0]) & (times <= self.time[-1]))[:, None]
        return position, velocity * moving, acceleration * moving
