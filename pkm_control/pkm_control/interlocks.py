"""What must hold so that the robot may move: drives ready and homed, an enabling device."""

from __future__ import annotations

from typing import NamedTuple

from pkm_control.control_types import ControlFault
from pkm_control.stops import StopEvent


class Hindrance(NamedTuple):
    """Why the robot may not move."""

    event: StopEvent
    reason: str


class Interlocks:
    """Keeps what drives and the enabling device said last.

    Drives that say nothing count as ready and homed, unless they must say so: encoders that are
    incremental have no valid position before. An enabling device, where there is one, must be
    held for every motion, and say so again within `longest_silence` [s].
    """

    def __init__(
        self,
        drives_say_ready: bool,
        has_enabling_device: bool,
        longest_silence: float,
        drives_say_homed: bool = False,
    ) -> None:
        self.has_enabling_device = has_enabling_device
        self._drives_must_say = drives_say_ready
        self._longest_silence = longest_silence
        self._drives: bool | None = None
        self._must_say_homed = drives_say_homed
        self._homed: bool | None = None
        self._held_until = float('-inf')

    def hear_drives(self, ready: bool) -> None:
        """Take what the drives say."""
        self._drives = ready

    def hear_homed(self, homed: bool) -> None:
        """Take whether the positions that the drives measure are valid, by their word."""
        self._homed = homed

    def hear_enabling_device(self, held: bool, now: float) -> None:
        """Take what the enabling device says at `now` [s]."""
        self._held_until = now + self._longest_silence if held else float('-inf')

    @property
    def of_power(self) -> Hindrance | None:
        """What keeps the drives from bearing the robot; None where they can."""
        if self._drives is False:
            return Hindrance(StopEvent.DRIVES_NOT_READY, 'the drives say that they are not ready')
        if self._drives is None and self._drives_must_say:
            reason = 'the drives have not said that they are ready'
            return Hindrance(StopEvent.DRIVES_NOT_READY, reason)
        if self._homed is False:
            return Hindrance(StopEvent.NOT_HOMED, 'the drives say that they are not homed')
        if self._homed is None and self._must_say_homed:
            return Hindrance(StopEvent.NOT_HOMED, 'the drives have not said that they are homed')
        return None

    def of_motion(self, now: float) -> Hindrance | None:
        """What keeps the robot from moving at `now` [s]; None where it may."""
        if (hindrance := self.of_power) is not None:
            return hindrance
        if self.has_enabling_device and now > self._held_until:
            released = self._held_until == float('-inf')
            what = 'is not held' if released else 'has fallen silent'
            return Hindrance(StopEvent.ENABLING_DEVICE, f'the enabling device {what}')
        return None

    def check_motion(self, now: float) -> None:
        """Raise ControlFault where the robot may not move at `now` [s]."""
        if (hindrance := self.of_motion(now)) is not None:
            raise ControlFault(hindrance.event.code, hindrance.reason)
