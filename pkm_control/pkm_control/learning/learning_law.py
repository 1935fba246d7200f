"""From one repetition to the next: u_{k+1} = u_k + gain (Q (u_k + L s e_k) - u_k), bounded.

L is the inverse of the servo loop by the model (`loop_inverse`), Q a low pass without phase below
the frequencies at which L may be wrong [Bristow, Tharayil, Alleyne 2006; Longman 2000], s the share
of an error that is no noise. The gain falls from one repetition to the next as that of a mean does,
since each error has noise of its own [Saab 2001], until the robot changes. It moves no fixed point:
that is Q times the force that lacks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from pkm_control.feedforward import Feedforward
from pkm_control.learning.lead_in import LeadInGrid, lead_in_grid
from pkm_control.learning.learned_force import LearnedForce, LearningError, MotionKey, Scope
from pkm_control.learning.learning_grid import LearningGrid, learning_grid
from pkm_control.learning.loop_inverse import ServoTiming
from pkm_control.learning.repetition import RecordedRepetition, Repetition
from pkm_control.learning.watch import (
    AMPLIFIED,
    LEAST_NOISE,
    WORSE,
    Expectation,
    LeadIn,
    LearningWatch,
    least_noise,
    noise_density,
    sensor_density,
)
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories import Execution

# Of a force limit: cogging, friction and payloads that a model lacks take less; a table that is
# wrong leaves the servo the rest
SHARE = 0.2
LEAST_GAIN = 0.25  # what is left of it after many repetitions, so that slow changes are followed
GIVEN_UP = 1.0 / 8.0  # caution at which nothing more is learned
TRIED = 2  # repetitions from which on a change of errors is their noise, not what was learned
KEPT = 1000  # repetitions in the history
# Unexpected error over what was learned and what was there before, from which on the robot is
# another one. Noise alone makes 1.4.
CHANGED = 2.0
PROVEN = 0.5  # new part of a force, by what it does, up to which the best repetition speaks for it


class Verdict(Enum):
    """What a repetition has led to."""

    FIRST = 'the model alone'
    LEARNED = 'learned'
    CHANGED = 'the robot has changed: learned anew'
    WORSE = 'worse than the best repetition: back to that, learning more cautiously'
    GIVEN_UP = 'it does not converge: the best repetition is kept, nothing more is learned'


@dataclass(frozen=True)
class RepetitionRecord:
    """One repetition in the history of a motion."""

    rms: float  # [m, rad] error in the band that is learned, of all drives together
    largest_force: float  # of the share of the force limits that a learned force may have
    verdict: Verdict
    harmful: bool


@dataclass(frozen=True)
class LearningOptions:
    """How much is learned."""

    share: float = SHARE  # of a drive's force limit: what is learned at most
    cutoff: float | None = None  # [Hz] of Q; None for what the model's uncertainty allows


@dataclass(frozen=True)
class MotionLearning:
    """What has been learned of a motion; each array (n, n_a) is on the grid of the table."""

    key: MotionKey
    joints: tuple[str, ...]
    interval: float  # [s] of the grid
    cutoff: float  # [Hz] of Q
    limit: Floats  # (n_a,) [N, N m] that a learned force stays within
    force: Floats  # to be added to the next repetition
    expected: Expectation  # of the next repetition
    error: Floats  # of the latest repetition
    applied: Floats  # learned force of the latest repetition
    best_force: Floats
    best_error: float  # weighted, infinite where there is none
    weight: Floats  # (n_a,) of errors, where they are summed
    positions: Floats  # (n, n_a) of the drives along the motion [m, rad]
    velocities: Floats  # (n, n_a) [m/s, rad/s]
    noise: Floats  # (n_a,) [m^2 s, rad^2 s] density of the change of errors between repetitions
    floor: Floats  # (n_a,) [m^2 s, rad^2 s] of that noise, for the watch; see `least_noise`
    noisy: int = 0  # repetitions that the noise is the mean of; 0 where it is estimated from one
    lead_in: LeadIn | None = None  # of the latest repetition's ramps, where a period is learned
    count: int = 0  # repetitions since the robot has changed
    caution: float = 1.0  # factor on the gain
    history: tuple[RepetitionRecord, ...] = ()

    @property
    def table(self) -> LearnedForce:
        """Force of the next repetition."""
        return self._table(self.force)

    def _table(self, values: Floats) -> LearnedForce:
        return LearnedForce(self.key.scope, self.interval, values)

    @property
    def watched_noise(self) -> Floats:
        """Noise (n_a,) [m^2 s, rad^2 s] that the watch reckons with."""
        return np.maximum(np.maximum(self.noise, self.floor), LEAST_NOISE)

    def repetition(self, execution: Execution) -> Repetition:
        """Return the next repetition, with what has been learned so far."""
        scope, lead_in = self.key.scope, self.lead_in
        if lead_in is not None and lead_in.ramp_time != execution.ramp_time:
            lead_in = None
        noise = self.watched_noise
        watch = LearningWatch(scope, self.interval, self.expected, noise, lead_in)
        known = scope is Scope.MOTION or lead_in is not None
        return Repetition(execution, scope, len(self.joints), self.table, watch, known)


def learned_from(
    model: ClosedChainModel,
    feedforward: Feedforward,
    servo: ServoTiming,
    execution: Execution,
    key: MotionKey,
    before: MotionLearning | None,
    recorded: RecordedRepetition,
    options: LearningOptions | None = None,
) -> MotionLearning:
    """Return what is known after a repetition.

    Raises LearningError where too little was recorded, `before` has another grid, or no frequency
    of the servo can be trusted.
    """
    options = options or LearningOptions()
    cutoff = options.cutoff if before is None else before.cutoff
    grid = learning_grid(model, feedforward, servo, execution, key.scope, cutoff)
    if before is not None and len(before.force) != grid.count:
        rows = f'{len(before.force)} rows, the motion has {grid.count}'
        raise LearningError(f'what was learned does not fit the motion: {rows}')
    error = grid.of(recorded.time, recorded.error)
    applied = grid.of(recorded.time, recorded.applied)
    state = before or _nothing(model, servo, key, grid, error, options)
    after = _next(state, grid, error, applied, recorded.harmful)
    if key.scope is Scope.PERIOD:
        lead_in = lead_in_grid(model, feedforward, servo, execution, grid.interval)
        after = replace(after, lead_in=_lead_in(lead_in, after.table, recorded))
    return after


def _lead_in(grid: LeadInGrid, table: LearnedForce, recorded: RecordedRepetition) -> LeadIn:
    """Return what is expected of the next repetition on its way into the motion."""
    error = grid.cropped(grid.of(recorded.time, recorded.error))
    alone = error + grid.effect(grid.of(recorded.time, recorded.applied))
    force = grid.force(table)
    effect = grid.effect(force)
    expected = Expectation(alone - effect, effect, alone)
    return LeadIn(grid.execution.ramp_time, grid.cropped(force), expected)


def _nothing(
    model: ClosedChainModel,
    servo: ServoTiming,
    key: MotionKey,
    grid: LearningGrid,
    error: Floats,
    options: LearningOptions,
) -> MotionLearning:
    limit = np.asarray(model.force_limit, dtype=float)
    limit = np.where(np.isfinite(limit), limit, grid.largest_force)
    zero, above = np.zeros_like(error), error - grid.smooth(error)
    return MotionLearning(
        key=key,
        joints=tuple(model.actuated_joints),
        interval=grid.interval,
        cutoff=grid.cutoff,
        limit=options.share * limit,
        force=zero,
        expected=Expectation(error, zero, error),
        error=error,
        applied=zero,
        best_force=zero,
        best_error=np.inf,
        weight=servo.gains.proportional / limit,
        positions=grid.positions,
        velocities=grid.velocities,
        # noise is what is left above the band, and that of the repetition it is compared with
        noise=2.0 * AMPLIFIED * grid.rounds * noise_density(above, grid.interval),
        floor=np.zeros_like(limit),
    )


def _next(
    state: MotionLearning, grid: LearningGrid, error: Floats, applied: Floats, harmful: bool
) -> MotionLearning:
    """Judge a repetition and learn from it."""

    def size(values: Floats) -> float:
        return float(np.sqrt(np.mean((state.weight * grid.smooth(values)) ** 2)))

    # Of the error, what is no noise: learned in full, that would be made in the next repetition
    noise = 2.0 * grid.cutoff * sensor_density(error, grid.interval, grid.cutoff)
    power = np.mean(np.square(grid.inner(grid.smooth(error))), axis=0)
    told = 1.0 - np.minimum(noise / np.maximum(power, np.finfo(float).tiny), 1.0)
    now, step = size(error), grid.effect(applied - state.applied)
    change = error - (state.error - step)
    unexpected = size(change)
    # A force that an earlier repetition has shown to be good does no harm to the same robot.
    new = size(grid.effect(state.force - state.best_force))
    worse = harmful or now > WORSE * state.best_error
    proven = new <= PROVEN * size(grid.effect(state.best_force)) if harmful else new == 0.0
    if not state.history:
        verdict = Verdict.FIRST
    elif (worse and proven) or unexpected > CHANGED * max(size(step), size(state.error)):
        verdict = Verdict.CHANGED
        alone = error + grid.effect(applied)
        anew = replace(state.expected, alone=alone)
        state = replace(state, count=0, caution=1.0, best_error=np.inf, expected=anew)
    elif state.caution <= GIVEN_UP:
        verdict = Verdict.GIVEN_UP
    elif worse:
        verdict = Verdict.WORSE
        state = replace(state, caution=0.5 * state.caution)
    else:
        verdict = Verdict.LEARNED
    if verdict in (Verdict.WORSE, Verdict.GIVEN_UP):
        force = state.best_force
    else:
        if now < state.best_error:
            state = replace(state, best_force=applied, best_error=now)
        gain = state.caution * max(1.0 / (1.0 + state.count), LEAST_GAIN)
        wanted = grid.ended(grid.smooth(applied + grid.force(told * grid.smooth(error))))
        if harmful:  # a robot that has changed answers otherwise to what was taken away
            wanted = grid.after(applied) * wanted
        force = np.clip(applied + gain * (wanted - applied), -state.limit, state.limit)
        state = replace(state, count=state.count + 1)
    if verdict is Verdict.LEARNED and state.count > TRIED:
        noisy = state.noisy + 1
        found = grid.rounds * noise_density(change, grid.interval)
        share = max(1.0 / noisy, LEAST_GAIN)
        state = replace(state, noise=state.noise + share * (found - state.noise), noisy=noisy)
    effect = grid.effect(force)
    new_effect = effect - grid.effect(applied)
    expected = error - new_effect
    used = float(np.max(np.abs(applied) / state.limit, initial=0.0))
    rms = float(np.sqrt(np.mean(grid.smooth(error) ** 2)))
    record = RepetitionRecord(rms, used, verdict, harmful)
    return replace(
        state,
        force=force,
        expected=Expectation(expected, effect, state.expected.alone),
        floor=least_noise(grid.inner(grid.smooth(expected)), new_effect, grid.interval),
        error=error,
        applied=applied,
        history=(*state.history, record)[-KEPT:],
    )
