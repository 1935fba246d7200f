"""The even grid on which a motion is learned, and the loop along it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_control.feedforward import Feedforward, nominal_feedforward
from pkm_control.learning.learned_force import LearningError, Scope
from pkm_control.learning.loop_inverse import (
    LoopInverse,
    ServoTiming,
    contraction,
    loop_inverse,
    trusted_cutoff,
    zero_phase,
)
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.joint_servo.steady_state import filtered
from pkm_dynamics.trajectories import Execution

HIGHEST = 3.0  # cutoff over the bandwidth of the servo: where real robots begin to bend
SAMPLES = 12.0  # of the table in a period of the cutoff: lines between lose 3 % there
PADDING = 0.25  # [s] of rest before and after a motion, in which the servo settles
RAMP = 0.1  # [s] in which a table begins and ends
POSES = 5  # of a motion in which convergence is looked at


@dataclass(frozen=True)
class LearningGrid:
    """The even grid of a motion's table, padded with rest where the motion is no period."""

    execution: Execution
    scope: Scope
    interval: float  # [s]
    count: int  # of the table
    padding: int  # of samples before and after
    cutoff: float  # [Hz]
    loop: LoopInverse
    positions: Floats  # (n, n_a)
    velocities: Floats  # (n, n_a)
    largest_force: Floats  # (n_a,) [N, N m] of the model along the motion

    @property
    def rounds(self) -> int:
        """Number of rounds of a repetition that a table is the mean of."""
        return 1 if self.scope is Scope.MOTION else self.execution.periods - 1

    def of(self, time: Floats, values: Floats) -> Floats:
        """Means (n, n_a) about the points of the grid of samples (N, n_a) at execution times (N,).

        Samples lie on lines. Of a period the mean of all but the first at full speed.
        """
        edges = np.asarray((np.arange(self.count + 1) - 0.5) * self.interval, dtype=float)
        ends = [time[0] - PADDING, *time, time[-1] + PADDING]  # what is there stays a moment
        held = np.concatenate([values[:1], values, values[-1:]])
        if self.scope is Scope.MOTION:
            begin, end = self.execution.ramp_start, self.execution.duration
            if time[0] > begin + self.interval or time[-1] < end - 2.0 * self.interval:
                raise LearningError('the repetition was not recorded from its begin to its end')
            return means(np.array(ends) - begin, held, edges)
        period = self.execution.trajectory.duration
        starts = self.execution.run_start + period * np.arange(1, self.execution.periods)
        if time[0] > starts[0] or time[-1] < starts[-1] + period - 2.0 * self.interval:
            raise LearningError('the repetition was not recorded from its begin to its end')
        rounds = [means(np.array(ends) - start, held, edges) for start in starts]
        return np.mean(rounds, axis=0)

    def padded(self, values: Floats) -> Floats:
        """Values (n, n_a) with their ends held, and faded out, before and after."""
        if not self.padding:
            return values
        fade = 0.5 * (1.0 + np.cos(np.pi * np.arange(1, self.padding + 1) / self.padding))[:, None]
        return np.concatenate([fade[::-1] * values[:1], values, fade * values[-1:]])

    def cropped(self, values: Floats) -> Floats:
        """Take the padding away."""
        return values[self.padding : self.padding + self.count]

    def smooth(self, values: Floats) -> Floats:
        """Values (n, n_a) behind Q."""
        q = zero_phase(self.loop.frequency, self.cutoff)[:, None]
        return self.cropped(filtered(self.padded(values), q))

    def force(self, error: Floats) -> Floats:
        """Force (n, n_a) whose lack has made an error (n, n_a)."""
        return self.cropped(self.loop.force(self.padded(error)))

    def effect(self, force: Floats) -> Floats:
        """What a force (n, n_a) takes off the error."""
        outside = [(self.padding, self.padding), (0, 0)]
        return self.cropped(self.loop.effect(np.pad(force, outside)))

    def ended(self, force: Floats) -> Floats:
        """Let a force (n, n_a) begin and end at zero, where the motion does so at rest."""
        return force * (0.5 - 0.5 * np.cos(np.pi * self._full))[:, None]

    def after(self, applied: Floats) -> Floats:
        """Weights (n, 1) that rise from 0 to 1 when the last of a force (n, n_a) is gone.

        Of a motion; in a period a force that is taken away in one round is there in another.
        """
        acts = np.flatnonzero(np.any(applied != 0.0, axis=1))
        if self.scope is Scope.PERIOD or not len(acts):
            return np.ones((self.count, 1))
        since = self.interval * (np.arange(self.count) - acts[-1])
        return (0.5 - 0.5 * np.cos(np.pi * np.clip(since / RAMP, 0.0, 1.0)))[:, None]

    def inner(self, values: Floats) -> Floats:
        """Values (n, n_a) where a force has neither to begin nor to end."""
        return values[self._full >= 1.0]

    @property
    def _full(self) -> Floats:
        """Share (n,) of the way of a force from its begin or to its end."""
        if self.scope is Scope.PERIOD:
            return np.ones(self.count)
        left = np.arange(self.count) * self.interval
        return np.minimum(np.minimum(left, left[::-1]) / min(RAMP, 0.1 * left[-1]), 1.0)


def means(time: Floats, values: Floats, edges: Floats) -> Floats:
    """Means (n, n_a) between edges (n + 1,) of lines through samples (N, n_a) at times (N,)."""
    rows = 0.5 * (values[1:] + values[:-1]) * np.diff(time)[:, None]
    area = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(rows, axis=0)])
    place = np.clip(np.searchsorted(time, edges, side='right') - 1, 0, len(time) - 2)
    into = (edges - time[place])[:, None]
    slope = (values[place + 1] - values[place]) / (time[place + 1] - time[place])[:, None]
    at = area[place] + into * (values[place] + 0.5 * into * slope)
    return np.diff(at, axis=0) / np.diff(edges)[:, None]


def learning_grid(
    model: ClosedChainModel,
    feedforward: Feedforward,
    servo: ServoTiming,
    execution: Execution,
    scope: Scope,
    cutoff: float | None = None,
) -> LearningGrid:
    """Return the grid of a motion with Q at a cutoff [Hz], by default the `safe_cutoff`."""
    whole = scope is Scope.MOTION
    begin = execution.ramp_start if whole else execution.run_start
    duration = execution.duration - begin if whole else execution.trajectory.duration
    if cutoff is None:
        cutoff = safe_cutoff(model, feedforward, servo, execution)
    pieces = max(int(np.ceil(duration * SAMPLES * cutoff)), 8)
    interval = duration / pieces
    count = pieces + 1 if whole else pieces
    padding = int(np.ceil(PADDING / interval)) if whole else 0
    time = interval * np.arange(-padding, count + padding)
    motion = execution.motion(begin + np.clip(time, 0.0, duration), model)
    period = interval * len(time)
    loop = loop_inverse(model, feedforward, servo, motion, period)
    inside = slice(padding, padding + count)
    known = nominal_feedforward(model) if feedforward.parameters is None else feedforward
    largest = np.abs(known.forces(model, motion)).max(axis=0)
    q, qd, _ = (each[inside] for each in model.actuator_states(motion))
    return LearningGrid(execution, scope, interval, count, padding, cutoff, loop, q, qd, largest)


def safe_cutoff(
    model: ClosedChainModel, feedforward: Feedforward, servo: ServoTiming, execution: Execution
) -> float:
    """Cutoff [Hz] of Q up to which the loop's inverse is trusted along a motion.

    LearningError where there is none.
    """
    highest = HIGHEST * servo.gains.bandwidth
    times = np.linspace(execution.ramp_start, execution.run_end, POSES)
    poses = model.actuator_states(execution.motion(times, model)).positions
    frequency = np.linspace(0.02, 4.0, 80) * highest
    frequency = frequency[frequency < 0.5 / servo.interval]
    factors = contraction(model, feedforward, servo, poses, frequency)
    cutoff = trusted_cutoff(factors, frequency, highest)
    if cutoff <= 0.0:
        raise LearningError('no frequency at which the inverse of the servo loop can be trusted')
    return cutoff
