"""Feedback and cancel of an action whose work is done in another thread."""

from __future__ import annotations

import time
from typing import Any

from rclpy.action.server import ServerGoalHandle


class Canceled(Exception):
    """The client has asked to stop."""


class GoalProgress:
    """How far a goal is; the type `feedback` has `phase`, `fraction` and `time_left` [s]."""

    def __init__(self, handle: ServerGoalHandle, feedback: Any) -> None:
        self._handle, self._feedback = handle, feedback
        self._phase, self._fraction = 'waiting', 0.0
        self._begun = time.monotonic()

    def begin(self, phase: str) -> None:
        """Start to count the time; raises as `step`."""
        self._begun = time.monotonic()
        self.step(phase, 0.0)

    def step(self, phase: str, fraction: float) -> None:
        """Say what is being done, from the thread that does it; raises Canceled where asked to."""
        if self._handle.is_cancel_requested:
            raise Canceled
        self._phase, self._fraction = phase, float(fraction)

    def publish(self) -> None:
        """Send the feedback, while the goal is active."""
        if not self._handle.is_active:
            return
        fraction, elapsed = self._fraction, time.monotonic() - self._begun
        feedback = self._feedback(phase=self._phase, fraction=fraction)
        feedback.time_left = elapsed * (1 - fraction) / fraction if fraction else float('nan')
        self._handle.publish_feedback(feedback)
