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
from pkm_dynamics.array_types import Floats


class GoalEnd(Enum):
    """How a goal ended, as `action_msgs/msg/GoalStatus` says it."""

    SUCCEEDED = 4
    CANCELED = 5
    ABORTED = 6


UNDER_WAY = (1, 2, 3)  # accepted, executing, canceling
ENDED = tuple(each.value for each in GoalEnd)
KEPT = 100  # identifiers of holds: the status lists goals for some time after their end


class Guard(Enum):
    """What bears the weight."""

    RESTING = 'the last point of a goal, with its effort, or nothing yet'
    MOVING = 'the efforts of a goal under way'
    HOLDING = 'a hold of the guard'
    LOST = 'the PID of the controller alone: holds were refused, somebody must act'


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
        self._held: Floats | None = None

    def reference(self, positions: ArrayLike) -> None:
        """Tell where the controller wants the actuated joints (n_a,) [m, rad], at each state.

        `reference.positions` of `control_msgs/msg/JointTrajectoryControllerState`: after a cancel
        these are the positions that were measured then. Raises TrajectoryError where they are not
        finite or not as many as there are joints.
        """
        found = np.array(positions, dtype=float)
        if found.shape != (self.model.n_a,) or not np.isfinite(found).all():
            raise TrajectoryError(f'the reference must be {self.model.n_a} finite positions')
        self._held = found

    def silent(self) -> None:
        """Tell that no states come: where the controller wants the joints is not known any more."""
        self._held = None

    def accepted(self) -> None:
        """Tell that the controller took a goal of somebody: its efforts bear the weight."""
        self.state, self.failures = Guard.MOVING, 0

    def ended(self, end: GoalEnd) -> EffortTrajectory | None:
        """Tell how a goal of somebody ended; return the hold to send at once, None: none is needed.

        A goal that another one replaces ends as aborted, too: tell `accepted` of the new one after
        it, and what was sent in between is replaced in turn.
        """
        if end is GoalEnd.SUCCEEDED:
            self.state = Guard.RESTING
            return None
        return self._hold()

    def hold_ended(self, end: GoalEnd | None) -> EffortTrajectory | None:
        """Tell how a hold of the guard ended (None: it was refused); return the next attempt.

        A hold that succeeded keeps its effort. One that failed is sent again, until the guard
        gives up and is `LOST`.
        """
        if self.state is not Guard.HOLDING:
            return None  # a goal of somebody has taken its place
        if end is GoalEnd.SUCCEEDED:
            self.failures = 0
            return None
        self.failures += 1
        if self.failures >= self.attempts:
            self.state = Guard.LOST
            return None
        return self._hold()

    def _hold(self) -> EffortTrajectory:
        if self._held is None:
            self.state = Guard.LOST
            raise TrajectoryError('no state of the controller comes: where it holds is unknown')
        self.state = Guard.HOLDING
        return hold_points(self.model, self.feedforward, self._held)


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

    def unanswered(self, goal: bytes) -> EffortTrajectory | None:
        """Tell that a hold was refused, or not answered in time; return the next attempt."""
        return self._guard.hold_ended(None) if goal == self._holds[-1] else None

    def heard(self, goals: Mapping[bytes, int]) -> EffortTrajectory | None:
        """Take the status of all goals, the newest last; return the hold to send at once.

        Numbers are those of `action_msgs/msg/GoalStatus`. TrajectoryError as of the guard.
        """
        before, self._known = self._known, dict(goals)
        newest = [goal for goal in goals if goal not in self._holds][-1:]
        if any(goals[goal] in UNDER_WAY for goal in newest):
            if self._guard.state is not Guard.MOVING:
                self._guard.accepted()
            return None
        if before is None:
            return None
        for goal in newest + self._holds[-1:]:
            if goals.get(goal) in ENDED and before.get(goal) not in ENDED:
                end = GoalEnd(goals[goal])
                told = self._guard.hold_ended if goal in self._holds else self._guard.ended
                if (hold := told(end)) is not None:
                    return hold
        return None
