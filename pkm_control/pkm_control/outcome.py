"""How a commanded motion ended, and how well it was followed."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ErrorCode(IntEnum):
    """Error codes of `pkm_msgs/FollowPlatformTrajectory`, by the same names and numbers."""

    NONE = 0
    BAD_TRAJECTORY = 100
    WRONG_ROBOT = 101
    INFEASIBLE = 102
    NOT_ACTIVE = 103
    BUSY = 104
    STATE_TIMEOUT = 105
    BAD_STATE = 106
    TRACKING_ERROR = 107
    CANCELED = 108
    SUPERSEDED = 109
    DEACTIVATED = 110
    LIMIT_VIOLATED = 111
    KINEMATICS = 112


@dataclass
class TrackingStatistics:
    """Position errors of the actuators over the cycles at full speed."""

    count: int = 0
    squares: Array = field(default_factory=lambda: np.zeros(0))
    largest: Array = field(default_factory=lambda: np.zeros(0))
    cycles: int = 0
    saturated_cycles: int = 0

    @classmethod
    def empty(cls, axes: int) -> TrackingStatistics:
        """Return statistics of no cycles yet."""
        return cls(0, np.zeros(axes), np.zeros(axes))

    def add(self, error: Array, saturated: bool, at_full_speed: bool) -> None:
        """Count one cycle of the motion with position errors (n_a,) [m, rad]."""
        self.cycles += 1
        self.saturated_cycles += saturated
        if at_full_speed:
            self.count += 1
            self.squares += error**2
            np.maximum(self.largest, np.abs(error), out=self.largest)

    @property
    def rms(self) -> Array:
        """Root mean square error (n_a,) [m, rad] at full speed, zero before it is reached."""
        return np.sqrt(self.squares / max(self.count, 1))

    @property
    def saturated_fraction(self) -> float:
        """Fraction of all cycles of the motion with any clamped command."""
        return self.saturated_cycles / max(self.cycles, 1)


@dataclass(frozen=True)
class Outcome:
    """The end of a commanded motion."""

    code: ErrorCode
    message: str
    statistics: TrackingStatistics

    @property
    def succeeded(self) -> bool:
        """Whether the whole motion ran as commanded."""
        return self.code is ErrorCode.NONE
