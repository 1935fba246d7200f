"""An alarm that begins at a level and ends when all has been calm for a while."""

from __future__ import annotations

from pkm_identification.arrays import Array

# An alarm ends when all ratios have stayed below this share of their levels for so long [s]
CALM, CALM_TIME = 0.7, 0.5


class AlarmLatch:
    """Raised by ratios of residuals to their levels, `rate` [Hz] instants a second."""

    def __init__(self, rate: float) -> None:
        self.raised = False
        self.count = 0  # of alarms so far
        self.largest = 0.0  # ratio since `largest` was set to zero
        self._needed = CALM_TIME * rate
        self._calm = 0  # instants in a row that are small

    def judge(self, ratios: Array) -> bool:
        """Take in ratios (k, levels); whether the alarm has begun or ended with them."""
        largest = float(ratios.max())
        self.largest = max(self.largest, largest)
        self._calm = self._calm + len(ratios) if largest < CALM else 0
        if largest > 1.0 and not self.raised:
            self.raised = True
            self.count += 1
            return True
        if self.raised and self._calm > self._needed:
            self.raised = False
            return True
        return False

    def end(self) -> bool:
        """End it, as nothing more is seen; whether it was raised."""
        ended, self.raised, self._calm = self.raised, False, 0
        return ended
