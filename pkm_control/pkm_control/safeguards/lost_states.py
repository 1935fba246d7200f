"""Cycles without a new joint state: when one is lost, and how long that is bridged."""

from __future__ import annotations

from collections import deque
from statistics import median

# A state is lost where none has come for this many times the usual time between two: a robot
# whose states come slower than the cycles, and unevenly, loses none.
LATE = 2.0
USUAL = 15  # the latest times between states, of which the median counts: a gap does not shift it


BRIDGED_CYCLES = 50  # 50 ms at 1 kHz: PaLiDA is 3 mm off its circle of 1 m/s then
# [s] for which a force may be held between two states: up to there a held force is as good as one
# that follows the motion.
LONGEST_HOLD = 0.01


class LostStates:
    """Counts the cycles in a row for which a state is missing that should have come."""

    def __init__(self, most: int) -> None:
        self.most = most  # cycles that are bridged before the robot stops
        self.cycles = 0  # lost in a row
        self._last: float | None = None  # [s] stamp
        self._intervals: deque[float] = deque(maxlen=USUAL)

    def heard(self, stamp: float) -> None:
        """Take note of a new state with this stamp [s]."""
        if self._last is not None:
            self._intervals.append(stamp - self._last)
        self._last, self.cycles = stamp, 0

    def missing(self, age: float) -> bool:
        """Count a cycle without a new state; whether one was lost.

        `age` [s] is the time since the last one came.
        """
        if not self._intervals or age <= LATE * median(self._intervals):
            return False
        self.cycles += 1
        return True

    @property
    def too_many(self) -> bool:
        """Whether this is the first cycle that is not bridged any more."""
        return self.cycles == self.most + 1
