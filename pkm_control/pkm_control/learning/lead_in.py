"""The way from rest into a motion of which a period is learned, on the even grid of its table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_control.feedforward import Feedforward
from pkm_control.learning.learned_force import LearnedForce, LearningError, Scope, along
from pkm_control.learning.learning_grid import PADDING, means
from pkm_control.learning.loop_inverse import LoopInverse, ServoTiming, loop_inverse
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories import Execution


@dataclass(frozen=True)
class LeadInGrid:
    """From where the robot leaves rest to the end of the first period at full speed.

    Padded before, at rest, and after, along the motion.
    """

    execution: Execution
    interval: float  # [s]
    count: int
    padding: int  # of samples before and after
    loop: LoopInverse

    @property
    def time(self) -> Floats:
        """Times (n,) [s] of the execution, with the padding."""
        points = np.arange(-self.padding, self.count + self.padding, dtype=float)
        return np.asarray(self.execution.ramp_start + self.interval * points)

    def of(self, time: Floats, values: Floats) -> Floats:
        """Means (n, n_a) about the points, with the padding, of samples at execution times (N,)."""
        edges = self.time[0] + self.interval * (np.arange(len(self.time) + 1) - 0.5)
        if time[0] > self.execution.ramp_start + self.interval:
            raise LearningError('the repetition was not recorded from its begin to its end')
        ends = [min(time[0], edges[0]) - PADDING, *time, max(time[-1], edges[-1]) + PADDING]
        held = np.concatenate([values[:1], values, values[-1:]])
        return means(np.array(ends), held, edges)

    def cropped(self, values: Floats) -> Floats:
        """Take the padding away."""
        return values[self.padding : self.padding + self.count]

    def force(self, table: LearnedForce) -> Floats:
        """Learned force (n, n_a), with the padding."""
        rows = []
        for time in self.time:
            place, weight = along(self.execution, Scope.PERIOD, time)
            rows.append(weight * table.at(place))
        return np.array(rows)

    def effect(self, force: Floats) -> Floats:
        """What a force (n, n_a), with the padding, takes off the error; without the padding."""
        faded = np.array(force)
        fade = 0.5 * (1.0 + np.cos(np.pi * np.arange(1, self.padding + 1) / self.padding))
        faded[len(faded) - self.padding :] *= fade[:, None]
        return self.cropped(self.loop.effect(faded))


def lead_in_grid(
    model: ClosedChainModel,
    feedforward: Feedforward,
    servo: ServoTiming,
    execution: Execution,
    interval: float,
) -> LeadInGrid:
    """Return the grid of a motion's way from rest to the end of its first period."""
    duration = execution.ramp_time + execution.trajectory.duration
    count, padding = int(duration / interval) + 1, int(np.ceil(PADDING / interval))
    begin = execution.ramp_start
    time = begin + interval * np.arange(-padding, count + padding)
    motion = execution.motion(np.clip(time, begin, execution.duration), model)
    loop = loop_inverse(model, feedforward, servo, motion, interval * len(time))
    return LeadInGrid(execution, interval, count, padding, loop)
