"""Where the robot shall be: at rest, on a path, or coming to rest off any path."""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

import numpy as np

from pkm_control.feedforward import Feedforward
from pkm_control.joint_stop import JointStop
from pkm_control.learning.repetition import Repetition
from pkm_description.errors import PkmError
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.array_types import Floats
from pkm_dynamics.kinematics.roll_pitch_yaw import rotation_to_rpy
from pkm_dynamics.trajectories import Execution, PacedExecution, Phase


class Progress(NamedTuple):
    """How far a motion has come, as in `ExecutionState`."""

    s: float = 0.0
    period_index: int = 0
    fraction: float = 1.0
    time_left: float = 0.0


class LearnedShare(NamedTuple):
    """What a repetition has added to a cycle's force."""

    time: float  # [s] of the execution
    rate: float  # of its clock
    force: Floats  # (n_a,) [N, N m], within the bound of the feedforward


class DesiredState(NamedTuple):
    """Desired state of one cycle, arrays (n_a,), with the feedforward that belongs to it."""

    position: Floats  # [m, rad]
    velocity: Floats  # [m/s, rad/s]
    acceleration: Floats  # [m/s^2, rad/s^2]
    force: Floats  # [N, N m]
    phase: Phase = Phase.HOLD
    progress: Progress = Progress()
    rate: float = 1.0  # of the clock of the motion
    learned: LearnedShare | None = None  # where the motion is one that is learned


class DesiredMotion:
    """The desired motion of the actuators, from where they are measured at the beginning.

    Its times [s] are those of the cycles. At rest the force is computed in every cycle, with the
    model then in use.
    """

    def __init__(
        self,
        model: ClosedChainModel,
        positions: Floats,  # (n_a,) [m, rad] measured
        feedforward: Feedforward,
        rate: float,  # of motions along their paths
    ) -> None:
        zero = np.zeros((1, len(positions)))
        self._model = model
        self._actuated = [model.joint_names.index(name) for name in model.actuated_joints]
        self._states = feedforward.states  # drives whose states the motions have
        # of the latest cycle of a motion; None after the model has failed
        self._motion: PlatformMotion | None = model.motion_from_actuators(
            positions[None], zero, zero
        )
        self._evaluated: float | None = None  # its time [s]
        self._rest: PlatformMotion | None = self._motion
        self._rate = rate
        self._origin: float | None = None  # [s] of the first cycle of the motion
        self._now: float | None = None  # [s] of the latest cycle of the motion, from its first
        self._execution: PacedExecution | None = None
        self._repetition: Repetition | None = None
        self._braking: JointStop | None = None
        self.bounded = np.zeros(len(positions), dtype=bool)  # whose forces were in the latest cycle
        still = positions, zero[0], zero[0]
        self._last = DesiredState(*still, self._at_rest(feedforward), rate=rate)

    @property
    def moving(self) -> bool:
        """Whether a motion is under way."""
        return self._execution is not None or self._braking is not None

    @property
    def motion(self) -> PlatformMotion | None:
        """Of the latest cycle of a motion; None where the model has failed."""
        return self._motion

    @property
    def last(self) -> DesiredState:
        """Desired state of the latest cycle."""
        return self._last

    def resting_coordinates(self, coordinates: str) -> Floats:
        """Coordinates at rest: pose (6,) or actuator positions (n_a,)."""
        if coordinates == 'actuators':
            return self._last.position.copy()
        motion = self._rest
        assert motion is not None  # where the model has failed nothing is planned
        return np.concatenate([motion.position[0], rotation_to_rpy(motion.rotation[0])])

    def start(self, execution: Execution, repetition: Repetition | None = None) -> None:
        """Begin a motion with the next cycle, with what its repetitions have learned."""
        self._repetition = repetition
        self._execution = PacedExecution(execution, self._rate)
        self._origin = self._now = None

    def set_rate(self, rate: float, duration: float) -> None:
        """Go along the paths at this rate in [0, 1], reached within `duration` [s]."""
        self._rate = rate
        if self._execution is None:
            return
        if self._now is None:
            self._execution = PacedExecution(self._execution.execution, rate)
        else:
            self._execution.pace(self._now, rate, duration)

    def stop(self, duration: float, time: float | None = None) -> None:
        """Come to rest on the path within `duration` [s], or one period if that is less.

        From the latest cycle on, or from a later `time` [s].
        """
        if self._execution is None:
            return
        duration = min(duration, self._execution.trajectory.period or np.inf)
        now = self._now or 0.0
        if time is not None and self._origin is not None:
            now = max(now, time - self._origin)
        self._execution.stop(now, duration)

    def brake(self, time: float, stop: JointStop) -> None:
        """Follow `stop` from now on, off the path."""
        self._execution, self._braking, self._origin = None, stop, time

    def end(self) -> None:
        """Rest where the latest cycle was."""
        self._execution = self._braking = None
        self._rest = self._motion

    def at(self, time: float, feedforward: Feedforward) -> DesiredState:
        """Desired state of the cycle at `time` [s].

        Raises PkmError where the motion or its force cannot be computed, but not while braking
        off the path: then the force of before bears the robot.
        """
        self._follow_states(feedforward)
        if self._braking is not None:
            self._last = self._off_path(self._braking, time, feedforward)
        elif self._execution is not None:
            self._last = self._on_path(self._execution, time, feedforward)
        else:
            position, zero = self._last.position, np.zeros_like(self._last.velocity)
            force = self._last.force if self._rest is None else self._at_rest(feedforward)
            self._last = DesiredState(position, zero, zero, force, rate=self._rate)
        return self._last

    def ahead(self, time: float, feedforward: Feedforward) -> DesiredState:
        """Desired state at `time` [s], of which nothing is measured: the motion does not go there.

        Raises PkmError as `at` does.
        """
        if self._execution is not None and self._origin is None:
            return self._last  # its first cycle is to come
        self._follow_states(feedforward)
        return copy(self).at(time, feedforward)

    def _at_rest(self, feedforward: Feedforward) -> Floats:
        assert self._rest is not None
        force = feedforward.forces(self._model, self._rest)[0]
        return self._usable(force, feedforward, self._rest)

    def _on_path(
        self, execution: PacedExecution, time: float, feedforward: Feedforward
    ) -> DesiredState:
        if self._origin is None:
            self._origin = time
        now = self._now = time - self._origin
        inner, rate, _ = execution.clock.at(now)
        learned = None if self._repetition is None else self._repetition.force(inner, rate)
        try:
            motion = execution.motion([now], self._model, initial=self._motion)
            (q, qd, qdd), force, added = self._evaluated_at(motion, time, feedforward, learned)
        except PkmError as error:
            raise PkmError(f'at t = {now:.4f} s: {error}') from error
        where = execution.state(now)
        progress = Progress(where.s, where.period_index, where.fraction, where.time_left)
        share = None if learned is None else LearnedShare(inner, rate, added)
        return DesiredState(q, qd, qdd, force, where.phase, progress, rate, share)

    def _off_path(self, braking: JointStop, time: float, feedforward: Feedforward) -> DesiredState:
        assert self._origin is not None
        now = time - self._origin
        q, qd, qdd = braking.evaluate(now)
        left = max(braking.duration - now, 0.0)
        phase = Phase.STOPPING if left > 0.0 else Phase.HOLD
        try:
            motion = self._model.motion_from_actuators(
                q[None], qd[None], qdd[None], initial=self._motion
            )
            force = self._evaluated_at(motion, time, feedforward)[1]
        except Exception:  # whatever has failed: it must not keep the robot from resting
            self._motion, force = None, self._last.force
        return DesiredState(q, qd, qdd, force, phase, Progress(time_left=left))

    def _evaluated_at(
        self,
        motion: PlatformMotion,
        time: float,
        feedforward: Feedforward,
        learned: Floats | None = None,
    ) -> tuple[list[Floats], Floats, Floats]:
        """Positions, velocities, accelerations; forces, and what was learned of these, (n_a,)."""
        # from the motion before: drives cool down while the robot rests
        interval = 0.0 if self._evaluated is None else time - self._evaluated
        joints, forces = feedforward.along(self._model, motion, self._motion, interval)
        # Found once: the next cycle starts from them.
        motion.joint_positions, motion.joint_velocities, motion.joint_accelerations = joints
        wanted = forces[0] if learned is None else forces[0] + learned
        force = self._usable(wanted, feedforward, motion)
        self._motion, self._evaluated = motion, time
        return [array[0, self._actuated] for array in joints], force, force - forces[0]

    def _usable(self, force: Floats, feedforward: Feedforward, motion: PlatformMotion) -> Floats:
        """Forces (n_a,) within the bound of the feedforward; PkmError where one is not finite."""
        finite = np.isfinite(force)
        if not finite.all():
            joint = self._model.actuated_joints[int(np.argmin(finite))]
            raise PkmError(f'{joint}: the force is not finite')
        if feedforward.bound is not None:
            force, self.bounded = feedforward.bound.apply(self._model, motion, force)
        elif self.bounded.any():
            self.bounded = np.zeros_like(self.bounded)
        return force

    def _follow_states(self, feedforward: Feedforward) -> None:
        """Let the states of the drives go on where another feedforward has others."""
        before, self._states = self._states, feedforward.states
        if self._states == before:
            return
        for motion in {id(each): each for each in (self._motion, self._rest)}.values():
            if motion is None:
                continue
            past, motion.drive_states = motion.drive_states, None
            if self._states is not None:
                velocities = self._model.joint_states(motion).velocities[0, self._actuated]
                last = None if past is None else past[-1]
                motion.drive_states = self._states.taken_over(before, last, velocities)[None]
