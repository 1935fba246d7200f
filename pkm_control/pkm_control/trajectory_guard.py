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
    LOST = 'the PID of the controller alone, if that: somebody must act'


class TrajectoryGuard:
    """Follows the goals of one controller, all of which carry the efforts of a model.

    The PID bears the weight under a goal without efforts: a hold after it would lift the robot.

    Parameters
    ----------
    model, feedforward
        Robot and forces of the hold.
    attempts
        How often in a row a hold may be refused, aborted or canceled before the guard gives up.
    """

    def __init__(
        self, model: ClosedChainModel, feedforward: Feedforward, attempts: int = 10
    ) -> None:
        self.model = model
        self.feedforward = feedforward
        self.attempts = attempts
        self.state = Guard.RESTING
        self.failures = 0
        self._wanted: Floats | None = None  # reference of the state before, since it waits

    def reference(self, positions: ArrayLike, velocities: ArrayLike) -> EffortTrajectory | None:
        """Tell where the controller wants the actuated joints; return the hold to send at once.

        Positions and velocities (n_a,) [m, rad, /s] are `reference` of each
        `control_msgs/msg/JointTrajectoryControllerState`. A hold is sent where two references in a
        row are the same and rest: after a goal has lost its effort the controller wants the joints
        where they were measured then, or brakes first, and a state from before would pull the robot
        back. Raises TrajectoryError where they are not finite or not as many as there are joints,
        or the hold takes more than a drive gives.
        """
        q, rate = (np.array(each, dtype=float) for each in (positions, velocities))
        for found in (q, rate):
            if found.shape != (self.model.n_a,) or not np.isfinite(found).all():
                raise TrajectoryError(
                    f'the reference must be {self.model.n_a} finite positions and velocities'
                )
        if self.state is not Guard.WAITING:
            return None
        before, self._wanted = self._wanted, q
        if np.abs(rate).max() > STILL or before is None or not np.array_equal(before, q):
            return None
        hold = self._within_limits(hold_points(self.model, self.feedforward, q))
        self.state = Guard.HOLDING
        return hold

    def lost(self) -> None:
        """Tell that the robot cannot be held: no states come, or the reference does not rest."""
        self.state = Guard.LOST

    def accepted(self) -> None:
        """Tell that the controller took a goal of somebody: its efforts bear the weight."""
        self.state, self.failures = Guard.MOVING, 0

    def ended(self, end: GoalEnd) -> None:
        """Tell how a goal of somebody ended.

        A goal that another one replaces ends as aborted, too: tell `accepted` of the new one after
        it, and what was sent in between is replaced in turn.
        """
        if end is GoalEnd.SUCCEEDED:
            self.state = Guard.RESTING
        else:
            self._wait()

    def held(self, is_reached: bool) -> None:
        """Tell that the controller took a hold, or has reached it."""
        if self.state is not Guard.MOVING:
            self.state = Guard.HOLDING
            self.failures = 0 if is_reached else self.failures

    def hold_failed(self) -> None:
        """Tell that a hold was refused, not answered in time, canceled or aborted."""
        if self.state is not Guard.HOLDING:
            return  # a goal of somebody has taken its place
        self.failures += 1
        self._wait()
        if self.failures >= self.attempts:
            self.lost()

    def _wait(self) -> None:
        self.state, self._wanted = Guard.WAITING, None

    def _within_limits(self, hold: EffortTrajectory) -> EffortTrajectory:
        share = np.abs(hold.efforts[-1]) / self.model.force_limit
        worst = int(np.argmax(share))
        if not np.isfinite(hold.efforts).all() or share[worst] > 1.0:
            joint = self.model.actuated_joints[worst]
            raise TrajectoryError(
                f'a hold here takes {hold.efforts[-1, worst]:.3g} N, N m of {joint}, whose limit '
                f'is {self.model.force_limit[worst]:.3g}'
            )
        return hold


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

    @property
    def is_known(self) -> bool:
        """Whether a status was heard."""
        return self._known is not None

    def sent(self, goal: bytes) -> None:
        """Tell the identifier of a hold, before it is sent."""
        self._holds = [*self._holds[-KEPT:], goal]

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
        for goal in newest:
            if goals[goal] in ENDS and before.get(goal) not in ENDS:
                self._guard.ended(ENDS[goals[goal]])
        for hold in self._holds:
            status = goals.get(hold)
            if status is None or status == before.get(hold):
                continue
            if status in UNDER_WAY or status == GoalEnd.SUCCEEDED.value:
                self._guard.held(status not in UNDER_WAY)
            elif hold == self._holds[-1] and before.get(hold) not in ENDS:
                self._guard.hold_failed()
