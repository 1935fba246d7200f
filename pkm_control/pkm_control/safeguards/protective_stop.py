"""A stop that stays until somebody resets it."""

from __future__ import annotations


class ProtectiveStop:
    """Latches the first reason; a reset needs every lasting request to be gone."""

    def __init__(self) -> None:
        self.reason = ''  # why the robot must not move; empty where it may
        self._lasting = False

    @property
    def latched(self) -> bool:
        """Whether the robot must not move."""
        return bool(self.reason)

    def request(self, reason: str, lasting: bool = False) -> bool:
        """Ask for the stop; whether it is a new one. A `lasting` request goes by `release`."""
        self._lasting = self._lasting or lasting
        if self.reason:
            return False
        self.reason = reason
        return True

    def release(self) -> None:
        """End the lasting request; the stop stays until it is reset."""
        self._lasting = False

    def reset(self) -> bool:
        """Let the robot move again; False while the lasting request is there."""
        if self._lasting:
            return False
        self.reason = ''
        return True
