"""Who keeps a robot's weight on its drives while a joint_trajectory_controller moves it.

That controller drops the effort of its trajectory on a cancel, an abort and a violated tolerance.
The guard follows goals and states, and answers each such end by a trajectory that holds the robot
where the controller holds it, with the effort for it. It knows no ROS: what it is told comes from
the status of the action and from the controller's state, what it returns is sent as a new goal.
"""

from __future__ import annotations

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
            raise TrajectoryError('no state of the controller came yet: where it holds is unknown')
        self.state = Guard.HOLDING
        return hold_points(self.model, self.feedforward, self._held)
