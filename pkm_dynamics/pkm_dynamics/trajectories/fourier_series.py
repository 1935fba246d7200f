"""Finite Fourier series: periodic, band-limited, with analytic derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.errors import TrajectoryError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories.base import Trajectory, finite_array, finite_number
from pkm_dynamics.trajectories.bounds import MOST_HARMONICS, require_size


class FourierTrajectory(Trajectory):
    """x_i(t) = offset_i + sum_k sine_ik sin(k w t) + cosine_ik cos(k w t), w = 2 pi / period.

    The series of [A eq. 13] with the amplitudes themselves as coefficients: the period in s,
    offsets (n_c,), sines and cosines (n_c, harmonics).
    """

    kind: ClassVar[str] = 'fourier'
    fields: ClassVar[dict[str, int | None]] = {'period': None, 'offset': 0, 'sine': 0, 'cosine': 0}

    def __init__(
        self,
        period: float,
        offset: ArrayLike,
        sine: ArrayLike,
        cosine: ArrayLike,
        coordinates: str = 'platform',
        coordinate_names: Sequence[str] | None = None,
        robot: str = '',
    ) -> None:
        super().__init__(coordinates, coordinate_names, robot)
        count = len(self.coordinate_names)
        self._period = finite_number('period', period, positive=True)
        self.offset = finite_array('offset', offset, (count,))
        self.sine = finite_array('sine', sine, (count, None))
        self.cosine = finite_array('cosine', cosine, (count, self.sine.shape[1]))
        require_size('sine', self.harmonics, MOST_HARMONICS, 'harmonics')
        if self.sine.shape[1] < 1:
            raise TrajectoryError('sine: at least one harmonic is needed')
        w = np.arange(1, self.harmonics + 1) * 2.0 * np.pi / self._period
        self._frequencies = w[:, None]
        a, b = self.sine, self.cosine
        self._coefficients = np.block([[a, b], [-w * b, w * a], [-(w**2) * a, -(w**2) * b]])

    @property
    def period(self) -> float:
        """Period [s]."""
        return self._period

    @property
    def harmonics(self) -> int:
        """Number of harmonics of each coordinate."""
        return int(self.sine.shape[1])

    @property
    def highest_frequency(self) -> float:
        """Frequency [Hz] of the highest harmonic."""
        return self.harmonics / self._period

    def evaluate(self, t: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Coordinates and derivatives (N, n_c) at times t (N,) [s]."""
        angle = self._frequencies * np.atleast_1d(np.asarray(t, dtype=float))
        states = self._coefficients @ np.concatenate([np.sin(angle), np.cos(angle)])
        count = len(self.offset)
        position = states[:count].T + self.offset
        return position, states[count : 2 * count].T, states[2 * count :].T
