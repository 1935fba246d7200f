"""What a periodic loop achieved: rate, success, missed deadlines, compute time, lateness."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class LoopSummary:
    """Figures over the latest cycles, times in s."""

    cycles: int
    missed: int
    between: int
    bridged: int
    bounded: int
    success_rate: float  # share of the latest states that came and got their command in time
    rate: float  # [Hz]
    compute_p50: float  # [s] of one feedforward and feedback step
    compute_p99: float  # [s]
    compute_max: float  # [s]
    late_p50: float  # [s] how long after its deadline a cycle began
    late_p99: float  # [s]


SUCCESS_PERIODS = 1000  # the latest ones, of which the success rate tells


class LoopStatistics:
    """Counts cycles and keeps the times of the latest `window` ones.

    Since the start: `cycles` that computed a command, deadlines `missed` by a period
    or more, cycles `between` two states, cycles that `bridged` a lost one, cycles in which the
    feedforward was `bounded`.
    """

    def __init__(self, window: int = 5000) -> None:
        self.cycles = self.missed = self.between = self.bridged = self.bounded = 0
        self._succeeded: deque[bool] = deque(maxlen=SUCCESS_PERIODS)
        self._latest: deque[tuple[float, float, float]] = deque(maxlen=window)

    def add(self, start: float, compute: float, late: float, bounded: bool = False) -> None:
        """Count a cycle that began at `start` [s] of a steady clock, `late` [s] after its time."""
        self.bounded += bounded
        self._latest.append((start, compute, late))
        self._succeeded.append(True)
        self.cycles += 1

    def miss(self, periods: int) -> None:
        """Count periods that went by without a cycle."""
        self._succeeded.extend([False] * min(periods, SUCCESS_PERIODS))
        self.missed += periods

    def wait(self, lost: bool) -> None:
        """Count a cycle without a new state, be it `lost` or yet to come."""
        if lost:
            self._succeeded.append(False)
            self.bridged += 1
        else:
            self.between += 1

    def summary(self) -> LoopSummary:
        """Return figures over the latest cycles; nan before there are two."""
        success = float(np.mean(self._succeeded)) if self._succeeded else float('nan')
        counts = (self.cycles, self.missed, self.between, self.bridged, self.bounded, success)
        if len(self._latest) < 2:
            return LoopSummary(*counts, *([float('nan')] * 6))
        start, compute, late = np.array(self._latest).T
        span = max(float(start.max() - start.min()), 1e-9)  # [s] of a clock that stands still
        figures = [*np.percentile(compute, [50, 99, 100]), *np.percentile(late, [50, 99])]
        return LoopSummary(*counts, (len(start) - 1) / span, *map(float, figures))
