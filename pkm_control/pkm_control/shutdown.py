"""The end of a stop of category 1: rest, brakes, and only then no force."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pkm_control.control_types import ControlFault


class ShutdownPhase(Enum):
    """What a shut-down waits for."""

    REST = 'rest'
    BRAKES = 'brakes'
    DONE = 'done'


@dataclass(frozen=True)
class ShutdownTimes:
    """Times [s] of a shut-down."""

    settle_time: float = 0.05  # at rest before the brakes close
    brake_time: float = 0.1  # in which brakes that do not report it have closed

    @property
    def total(self) -> float:
        """Both together."""
        return self.settle_time + self.brake_time


class Shutdown:
    """Waits until the robot rests and its brakes bear it.

    `reason` is the fault that it is for, None where somebody asked for it.
    """

    def __init__(self, times: ShutdownTimes, reason: ControlFault | None) -> None:
        self.reason = reason
        self.phase = ShutdownPhase.REST
        self._times = times
        self._since: float | None = None  # [s] of the present phase

    def advance(self, time: float, moving: bool, closed: bool) -> ShutdownPhase:
        """Return what is waited for after the cycle at `time` [s].

        `closed` is whether the brakes report to be closed; they are asked to close in BRAKES.
        """
        if moving:
            self._since = None
        elif self._since is None:
            self._since = time
        if self._since is None:
            return self.phase
        waited = time - self._since
        if self.phase is ShutdownPhase.REST and waited >= self._times.settle_time:
            self.phase, self._since = ShutdownPhase.BRAKES, time
        elif self.phase is ShutdownPhase.BRAKES and (closed or waited >= self._times.brake_time):
            self.phase = ShutdownPhase.DONE
        return self.phase
