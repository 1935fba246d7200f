"""Who keeps a robot's weight on its drives while a joint_trajectory_controller moves it.

That controller drops the effort of its trajectory on a cancel, an abort and a violated tolerance.
The guard follows goals and states, and answers each such end by a trajectory that holds the robot
where the controller holds it, with the effort for it. It knows no ROS: what it is told comes from
the status of the action and from the controller's state, what it returns is sent as a new goal.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

from pkm_control.effort_trajectory import EffortTrajectory, hold_points
from pkm_control.feedforward import Feedforward
from pkm_description.errors import TrajectoryError
from pkm_dynamics import ClosedChainModel


class GoalEnd(Enum):
    """How a goal ended, as `action_msgs/msg/GoalStatus` says it."""

    SUCCEEDED = 4
    CANCELED = 5
    ABORTED = 6


UNDER_WAY = (1, 2)  # accepted, executing
# One that is canceling has lost its effort already; the controller says that it is canceled up to
# 50 ms later.
ENDS = {3: GoalEnd.CANCELED, **{each.value: each for each in GoalEnd}}
KEPT = 100  # identifiers of holds: the status lists goals for some time after their end
STILL = 1e-6  # [m/s, rad/s] of a reference that rests


class Guard(Enum):
    """What bears the weight."""

    RESTING = 'the last point of a goal, with its effort, or nothing yet'
    MOVING = 'the efforts of a goal under way'
    WAITING = 'the PID of the controller alone, until its reference rests and a hold is sent'
    HOLDING = 'a hold of the guard'
    LOST = 'the PID of the controller alone: no hold was possible, somebody must act'


class TrajectoryGuard:
    """Follows the goals of one controller.

    Parameters
    ----------
    model, feedforward
        Robot and forces of the hold.
    attempts
        How often in a row a hold may be refused, aborted or canceled before the guard gives up.
    """

    def __init__(
        self, model: ClosedChainModel, feedforward: Feedforward, attempts: int = 3
    ) -> None:
        self.model = model
        self.feedforward = feedforward
        self.attempts = attempts
        self.state = Guard.RESTING
        self.failures = 0

    def reference(self, positions: ArrayLike, velocities: ArrayLike) -> EffortTrajectory | None:
        """Tell where the controller wants the actuated joints; return the hold to send at once.

        Positions and velocities (n_a,) [m, rad, /s] are `reference` of each
        `control_msgs/msg/JointTrajectoryControllerState`. A hold is sent where the reference rests:
        after a goal has lost its effort the controller wants the joints where they were measured
        then, or brakes first, and a state from before that would pull the robot back. Raises
        TrajectoryError where they are not finite or not as many as there are joints.
        """
        q, rate = (np.array(each, dtype=float) for each in (positions, velocities))
        for found in (q, rate):
            if found.shape != (self.model.n_a,) or not np.isfinite(found).all():
                raise TrajectoryError(
                    f'the reference must be {self.model.n_a} finite positions and velocities'
                )
        if self.state is not Guard.WAITING or np.abs(rate).max() > STILL:
            return None
        hold = hold_points(self.model, self.feedforward, q)
        self.state = Guard.HOLDING
        return hold

    def lost(self) -> None:
        """Tell that nobody knows where to hold: no states come, or the reference does not rest."""
        self.state = Guard.LOST

    def accepted(self) -> None:
        """Tell that the controller took a goal of somebody: its efforts bear the weight."""
        self.state, self.failures = Guard.MOVING, 0

    def ended(self, end: GoalEnd) -> None:
        """Tell how a goal of somebody ended.

        A goal that another one replaces ends as aborted, too: tell `accepted` of the new one after
        it, and what was sent in between is replaced in turn.
        """
        self.state = Guard.RESTING if end is GoalEnd.SUCCEEDED else Guard.WAITING

    def hold_ended(self, end: GoalEnd | None) -> None:
        """Tell how a hold of the guard ended; None: it was refused.

        A hold that succeeded keeps its effort. One that failed is sent again, until the guard
        gives up and is `LOST`.
        """
        if self.state is not Guard.HOLDING:
            return  # a goal of somebody has taken its place
        if end is GoalEnd.SUCCEEDED:
            self.failures = 0
            return
        self.failures += 1
        self.state = Guard.LOST if self.failures >= self.attempts else Guard.WAITING


class FollowedGoals:
    """Reads the goals of an action for a guard, from their status as it is published.

    A goal of somebody that takes the place of another one ends that as canceled or aborted, in any
    order of the messages: only the newest goal counts. What had ended before the first status is
    left alone: the PID has borne the weight since, and an effort on top of it would lift the robot.
    """

    def __init__(self, guard: TrajectoryGuard) -> None:
        self._guard = guard
        self._known: Mapping[bytes, int] | None = None
        self._holds: list[bytes] = []  # identifiers, the newest last

    def sent(self, goal: bytes) -> None:
        """Tell the identifier of a hold, before it is sent."""
        self._holds = [*self._holds[-KEPT:], goal]

    def unanswered(self, goal: bytes) -> None:
        """Tell that a hold was refused, or not answered in time."""
        if goal == self._holds[-1]:
            self._guard.hold_ended(None)

    def heard(self, goals: Mapping[bytes, int]) -> None:
        """Take the status of all goals, the newest last.

        Numbers are those of `action_msgs/msg/GoalStatus`.
        """
        before, self._known = self._known, dict(goals)
        newest = [goal for goal in goals if goal not in self._holds][-1:]
        if any(goals[goal] in UNDER_WAY for goal in newest):
            if self._guard.state is not Guard.MOVING:
                self._guard.accepted()
            return
        if before is None:
            return
        for goal in newest + self._holds[-1:]:
            end = ENDS.get(goals.get(goal, 0))
            if end is not None and before.get(goal, 0) not in ENDS:
                told = self._guard.hold_ended if goal in self._holds else self._guard.ended
                told(end)
