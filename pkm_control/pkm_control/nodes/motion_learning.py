"""What the motions of goals have taught: in memory, and in a folder that outlives the node."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pkm_control.control_types import ControlFault, ErrorCode, Outcome
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import Feedforward
from pkm_control.learning.learned_force import LearningError, MotionKey, Scope, motion_key
from pkm_control.learning.learning_file import learn_into, learning_at
from pkm_control.learning.learning_law import LearningOptions, MotionLearning
from pkm_control.learning.loop_inverse import ServoTiming
from pkm_control.learning.repetition import Repetition
from pkm_description.errors import PkmError
from pkm_description.untrusted.named_files import resolved_folder
from pkm_dynamics.joint_servo.gains import ServoGains
from pkm_dynamics.trajectories import Execution
from pkm_msgs.action import FollowPlatformTrajectory

MODES = (
    FollowPlatformTrajectory.Goal.LEARN,
    FollowPlatformTrajectory.Goal.APPLY_LEARNED,
    FollowPlatformTrajectory.Goal.LEARN_ANEW,
)
# Calls function(model, *arguments) in the process of the check
Compute = Callable[..., Awaitable[Any]]


@dataclass
class LearnedRun:
    """One goal that uses or adds to what its motion has taught."""

    key: MotionKey
    before: MotionLearning | None
    repetition: Repetition
    feedforward: Feedforward
    teaches: bool
    message: str = ''
    after: MotionLearning | None = None

    def report(self, result: FollowPlatformTrajectory.Result) -> None:
        """Write into the result of the goal."""
        known = self.after or self.before
        result.learning_msg = self.message
        if known is not None:
            result.learning_repetitions = len(known.history)
            result.learning_rms = [each.rms for each in known.history]


class MotionLearnings:
    """Finds what a motion has taught, and adds to it.

    A table is that of robot, description, motion, model and scope: another motion or model has
    another one. Files are read and written in the process of the check.
    """

    def __init__(self, folder: Path | None, share: float, compute: Compute) -> None:
        self._folder = folder
        self._options = LearningOptions(share)
        self._compute = compute
        self._known: dict[MotionKey, MotionLearning] = {}

    async def begin(
        self,
        controller: TrajectoryController,
        execution: Execution,
        goal: FollowPlatformTrajectory.Goal,
    ) -> LearnedRun:
        """Return the run of a goal that asks for learning.

        Raises ControlFault where what it asks for cannot be.
        """
        if goal.learning not in MODES:
            valid = ', '.join(map(str, MODES))
            message = f'learning: {goal.learning} is unknown; valid are {valid}'
            raise ControlFault(ErrorCode.BAD_TRAJECTORY, message)
        if not isinstance(controller.gains, ServoGains):
            raise ControlFault(
                ErrorCode.LEARNING, 'learning corrects forces, which valves do not take'
            )
        model, feedforward = controller.model, controller.feedforward
        scope = Scope.PERIOD if goal.learn_period else Scope.MOTION
        try:
            key = motion_key(model, execution, feedforward, scope)
            anew = goal.learning == goal.LEARN_ANEW
            before = None if anew else await self._find(controller, key)
        except LearningError as error:
            raise ControlFault(ErrorCode.LEARNING, str(error)) from error
        if before is None:
            repetition = Repetition(execution, scope, model.n_a)
        else:
            repetition = before.repetition(execution)
        teaches = goal.learning != goal.APPLY_LEARNED
        return LearnedRun(key, before, repetition, feedforward, teaches)

    async def finish(
        self, controller: TrajectoryController, run: LearnedRun, outcome: Outcome
    ) -> None:
        """Learn from a goal that has run to its end."""
        if not run.teaches:
            run.message = '' if run.before else 'nothing has been learned of this motion yet'
            return
        if not outcome.succeeded or run.repetition.spoiled:
            reason = run.repetition.spoiled or outcome.message
            run.message = f'nothing learned from this repetition: {reason}'
            return
        recorded = run.repetition.recorded()
        cutoff = controller.options.velocity_cutoff
        assert isinstance(controller.gains, ServoGains)  # as `begin` has seen
        servo = ServoTiming(controller.gains, recorded.interval, cutoff)
        # what the loop along the motion follows from
        known = Feedforward(
            run.feedforward.name, run.feedforward.parameters, rotors=run.feedforward.rotors
        )
        of_motion = servo, run.repetition.execution, run.key, run.before, recorded
        try:
            run.after, error = await self._compute(
                controller.model.description,
                learn_into,
                self._path(run.key),
                (known, *of_motion, self._options),
            )
        except (PkmError, RuntimeError) as failure:  # the motion has ended well in any case
            run.message = f'nothing learned from this repetition: {failure}'
            return
        assert run.after is not None
        self._known[run.key] = run.after
        verdict = run.after.history[-1].verdict.value
        run.message = f'{verdict}; not kept: {error}' if error else verdict

    async def _find(
        self, controller: TrajectoryController, key: MotionKey
    ) -> MotionLearning | None:
        if key not in self._known and (path := self._path(key)) is not None and path.exists():
            description = controller.model.description
            self._known[key] = await self._compute(description, learning_at, path, key)
        return self._known.get(key)

    def _path(self, key: MotionKey) -> Path | None:
        if self._folder is None:
            return None
        robot = ''.join(letter if letter.isalnum() else '_' for letter in key.robot)
        digest = f'{key.motion[:12]}_{key.model[:8]}_{key.description[:8]}'
        return self._folder / f'{robot}_{digest}_{key.scope.value}.json'


def learning_folder(name: str) -> Path | None:
    """Folder by its name, None for an empty one; PkmError where it is none."""
    return resolved_folder(name) if name else None
