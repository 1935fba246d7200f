"""One repetition of a motion: what is added to its forces, and what its errors were."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_control.learning.learned_force import LearnedForce, Scope, along
from pkm_control.learning.watch import LearningWatch
from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories import Execution

FADE_TIME = 0.1  # [s] in which a learned force that does harm is taken away
LONGEST_GAP = 0.02  # [s] between two samples of a repetition that is learned from
FULL_SPEED = 1.0 - 1e-9  # rate of the clock
# Cycles with a force at its limit: what a table asks for does not arrive there
MOST_SATURATED = 0.01


@dataclass(frozen=True)
class RecordedRepetition:
    """Samples of a repetition, at the times of the motion's own clock."""

    time: Floats  # (N,) [s] of the execution
    error: Floats  # (N, n_a) desired minus measured positions [m, rad]
    applied: Floats  # (N, n_a) [N, N m] learned force that was added
    harmful: bool  # whether the learned force was taken away on the way

    @property
    def interval(self) -> float:
        """Usual time [s] between two samples."""
        return float(np.median(np.diff(self.time)))


class Repetition:
    """Adds a learned force to a motion and records its errors, cycle by cycle.

    Whoever runs the motion asks for the force of a cycle, then tells its error.
    """

    def __init__(
        self,
        execution: Execution,
        scope: Scope,
        axes: int,
        table: LearnedForce | None = None,  # forces (n, n_a); none for the first repetition
        watch: LearningWatch | None = None,
        known: bool = True,  # what to expect in its ramps; see `along`
    ) -> None:
        self.execution = execution
        self._spoiled = ''
        self._saturated = 0
        self._scope, self._table, self._watch = scope, table, watch
        self._known = known
        self._none = np.zeros(axes)
        self._left = 1.0  # of the fading
        self._last: float | None = None
        self._rows: list[tuple[float, Floats, Floats]] = []

    @property
    def harmful(self) -> bool:
        """Whether the learned force is or was taken away."""
        return self._left < 1.0

    @property
    def spoiled(self) -> str:
        """Why nothing can be learned from it; empty where something can."""
        if not self._spoiled and self._saturated > MOST_SATURATED * len(self._rows):
            return 'forces were at their limits'
        return self._spoiled

    def force(self, time: float, rate: float) -> Floats:
        """Force (n_a,) [N, N m] to be added at the execution's `time` [s], `rate` of its clock.

        It fades with the rate: nobody has learned what other speeds need.
        """
        if self._table is None:
            return self._none
        place, weight = self._along(time)
        fade = self._left**2 * (3.0 - 2.0 * self._left)  # without a jump of its slope
        return fade * rate * weight * self._table.at(place)

    def take(
        self, time: float, rate: float, error: Floats, applied: Floats, saturated: bool = False
    ) -> None:
        """Take the error (n_a,) [m, rad] of a cycle, and the force (n_a,) that was added."""
        before, self._last = self._last, time
        if rate < FULL_SPEED:
            self.spoil('the motion was stopped, or slower than it is')
        if before is not None and time - before > LONGEST_GAP:
            self.spoil(f'no joint state for {time - before:.3g} s')
        if self._spoiled:
            return
        self._saturated += saturated
        self._rows.append((time, error, applied))
        if before is None:
            return
        interval = time - before
        if self.harmful or self._does_harm(interval, time, error):
            self._left = max(self._left - interval / FADE_TIME, 0.0)

    def _along(self, time: float) -> tuple[float, float]:
        return along(self.execution, self._scope, time, self._known)

    def _does_harm(self, interval: float, time: float, error: Floats) -> bool:
        if self._watch is None or (self._scope is Scope.PERIOD and time > self.execution.run_end):
            return False  # what happens on the way out nobody has learned
        since = time - self.execution.ramp_start
        return since >= 0.0 and self._watch.does_harm(interval, since, *self._along(time), error)

    def spoil(self, reason: str) -> None:
        """Learn nothing from this repetition."""
        self._spoiled = self._spoiled or reason

    def recorded(self) -> RecordedRepetition:
        """Return what was recorded."""
        time, error, applied = (np.array(each) for each in zip(*self._rows, strict=True))
        return RecordedRepetition(time, error, applied, self.harmful)
