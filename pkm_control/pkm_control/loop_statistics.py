"""What a periodic loop achieved: rate, missed deadlines, compute time, lateness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LoopSummary:
    """Figures over the latest cycles, times in s.

    Attributes
    ----------
    rate : float [Hz]
    compute_p50, compute_p99, compute_max : float [s]
        Of one feedforward and feedback step.
    late_p50, late_p99 : float [s]
        How long after its deadline a cycle began.
    """

    cycles: int
    missed: int
    repeated: int
    rate: float
    compute_p50: float
    compute_p99: float
    compute_max: float
    late_p50: float
    late_p99: float


class LoopStatistics:
    """Counts cycles and keeps the times of the latest ones in a ring.

    Attributes
    ----------
    cycles, missed, repeated : int
        Since the start: cycles that computed a command, deadlines missed by more than
        one period, cycles that sent the last command again for want of a new state.
    """

    def __init__(self, window: int = 5000) -> None:
        self.cycles = self.missed = self.repeated = 0
        self._window = window
        self._compute = np.zeros(window)
        self._late = np.zeros(window)
        self._start = np.zeros(window)

    def add(self, start: float, compute: float, late: float = 0.0) -> None:
        """Count a cycle that began at `start` [s] of a steady clock."""
        slot = self.cycles % self._window
        self._start[slot] = start
        self._compute[slot] = compute
        self._late[slot] = late
        self.cycles += 1

    def summary(self) -> LoopSummary:
        """Return figures over the latest cycles; nan before there are two."""
        count = min(self.cycles, self._window)
        if count < 2:
            nan = float('nan')
            return LoopSummary(self.cycles, self.missed, self.repeated, *([nan] * 6))
        starts = self._start[:count]
        p50, p99 = np.percentile(self._compute[:count], [50, 99])
        late50, late99 = np.percentile(self._late[:count], [50, 99])
        return LoopSummary(
            self.cycles,
            self.missed,
            self.repeated,
            float((count - 1) / max(starts.max() - starts.min(), 1e-9)),
            float(p50),
            float(p99),
            float(self._compute[:count].max()),
            float(late50),
            float(late99),
        )
