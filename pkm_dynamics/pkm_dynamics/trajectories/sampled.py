"""A trajectory through given samples, at rest at both ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline, make_interp_spline

from pkm_description.errors import TrajectoryError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories.base import Trajectory, finite_array, increasing_times


class SampledTrajectory(Trajectory):
    """A quintic spline through `positions` that starts and ends at rest.

    Velocity and acceleration vanish at both ends and the spline has continuous
    derivatives up to the fourth, so that the motion joins a standstill with
    continuous acceleration. Before the first and after the last sample it rests.

    Parameters
    ----------
    time : (n_t,) [s]
        Strictly increasing, at least two.
    positions : (n_t, n_c)
    """

    kind: ClassVar[str] = 'sampled'

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
        self._spline = self._build()
        self._derivatives = (self._spline.derivative(1), self._spline.derivative(2))

    def _build(self) -> BSpline:
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
        return spline

    @property
    def period(self) -> None:
        """None: the motion starts and ends at rest."""
        return None

    @property
    def duration(self) -> float:
        """Time [s] from the first to the last sample."""
        return float(self.time[-1] - self.time[0])

    def evaluate(self, t: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Coordinates and derivatives (N, n_c) at times t (N,) [s] after the first sample."""
        times = np.atleast_1d(np.asarray(t, dtype=float))
        inside = np.clip(times, 0.0, self.duration)
        moving = (inside == times)[:, None]
        first, second = self._derivatives
        return self._spline(inside), first(inside) * moving, second(inside) * moving

    def parameters(self) -> dict[str, Any]:
        """Return times and positions."""
        return {'time': self.time.tolist(), 'positions': self.positions.tolist()}

    def _select(self, indices: list[int], names: tuple[str, ...]) -> SampledTrajectory:
        return type(self)(
            self.time, self.positions[:, indices], self.coordinates, names, self.robot
        )
