"""Noise-free signals of a simulated robot beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pkm_identification.arrays import Array, Indices
from pkm_identification.datasets.stored_array import with_columns


@dataclass(frozen=True)
class Truth:
    """Noise-free signals, in the joint order of their recording.

    The arrays may be maps of files; then only what is used comes into memory.
    """

    time: Array  # stamps (M,) [s], on the clock of the recording
    positions: Array  # of the actuated joints (M, n_a) [m, rad]
    velocities: Array  # [m/s, rad/s]
    forces: Array  # [N, N m]

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.time)

    def with_columns(self, columns: Sequence[int] | Indices) -> Truth:
        """Return the signals of some joints."""
        chosen = np.asarray(columns, dtype=np.int64)
        signals = (self.positions, self.velocities, self.forces)
        return Truth(self.time, *(with_columns(values, chosen) for values in signals))

    def forces_at(self, time: Array) -> Array:
        """Forces (k, n_a) [N, N m] at ascending times (k,), linearly between samples."""
        low = max(int(np.searchsorted(self.time, time[0], side='right')) - 1, 0)
        rows = slice(low, int(np.searchsorted(self.time, time[-1])) + 1)
        known, forces = np.asarray(self.time[rows]), np.asarray(self.forces[rows])
        return np.column_stack([np.interp(time, known, column) for column in forces.T])
