"""A trajectory through given samples, at rest at both ends."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import make_interp_spline

from pkm_description.errors import TrajectoryError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories.base import ThroughPoints


class SampledTrajectory(ThroughPoints):
    """A quintic spline through `positions` that starts and ends at rest.

    Velocity and acceleration vanish at both ends and the spline has continuous
    derivatives up to the fourth, so that the motion joins a standstill with
    continuous acceleration. Before the first and after the last sample it rests. The times
    (n_t,) [s], at least two, increase strictly; the positions are (n_t, n_c).
    """

    kind: ClassVar[str] = 'sampled'

    def _prepare(self) -> None:
        rest = [(1, np.zeros(self.positions.shape[1])), (2, np.zeros(self.positions.shape[1]))]
        try:
            with np.errstate(over='ignore', invalid='ignore', divide='ignore'):
                spline = make_interp_spline(
                    self.time - self.time[0], self.positions, k=5, bc_type=(rest, rest)
                )
        except (ValueError, np.linalg.LinAlgError) as error:
            raise TrajectoryError(f'time: no spline through the samples ({error})') from error
        if not np.isfinite(spline.c).all():
            raise TrajectoryError('time, positions: the spline through the samples is not finite')
        self._spline, self._derivatives = spline, (spline.derivative(1), spline.derivative(2))

    def evaluate(self, t: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Coordinates and derivatives (N, n_c) at times t (N,) [s] after the first sample."""
        times = np.atleast_1d(np.asarray(t, dtype=float))
        inside = np.clip(times, 0.0, self.duration)
        moving = (inside == times)[:, None]
        first, second = self._derivatives
        return self._spline(inside), first(inside) * moving, second(inside) * moving
