"""A guard beside a joint_trajectory_controller: its goals and states in, holds out."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import numpy as np
from action_msgs.msg import GoalStatusArray
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.duration import Duration
from rclpy.qos import QoSProfile, ReliabilityPolicy, qos_profile_action_status_default
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from unique_identifier_msgs.msg import UUID

from pkm_bringup.nodes.graph_client import GraphClient, GraphError
from pkm_control.effort_trajectory import EffortTrajectory, hold_points
from pkm_control.feedforward import Feedforward
from pkm_control.trajectory_guard import FollowedGoals, Guard, TrajectoryGuard
from pkm_description.errors import PkmError
from pkm_description.nodes.node_status import publish_diagnostics
from pkm_description.nodes.transport import avoid_shared_memory
from pkm_dynamics import ClosedChainModel

ACTION = 'follow_joint_trajectory'
FIRST = 30.0  # [s] until the controller must be there
ANSWER = 0.2  # [s] for a hold to be accepted: in it a robot without its effort has fallen far
STALE = 0.25  # [s] a dozen states at the controller's 50 Hz: older ones do not tell where it is
LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


class GuardClient(GraphClient):
    """Answers each end of a goal that drops its effort by a hold, at once.

    `say` is called with what happens, and whether it is bad. GraphError where control_msgs is
    missing, or the controller is.
    """

    def __init__(
        self,
        model: ClosedChainModel,
        feedforward: Feedforward,
        controller: str,
        say: Callable[[str, bool], None],
    ) -> None:
        try:
            from control_msgs.action import FollowJointTrajectory
            from control_msgs.msg import JointTrajectoryControllerState
        except ImportError as error:
            raise GraphError(
                f'the goals of a joint_trajectory_controller need control_msgs: {error}; install '
                'ros-jazzy-control-msgs'
            ) from error
        avoid_shared_memory()
        super().__init__('pkm_guard')
        self.guard = TrajectoryGuard(model, feedforward)
        self.holds = 0  # that were accepted
        self._goals, self._say = FollowedGoals(self.guard), say
        self._controller, self._kind = controller, FollowJointTrajectory
        self._action = self.action(FollowJointTrajectory, f'{controller}/{ACTION}')
        self._stated = -np.inf  # [s] of the steady clock, when the last state came
        # hold that waits for its answer: its goal, when it was sent, when the one before has ended
        self._asked: tuple[bytes, float, float] | None = None
        status = f'{controller}/{ACTION}/_action/status'
        state = f'{controller}/controller_state'
        self.node.create_subscription(
            GoalStatusArray, status, self._hear_status, qos_profile_action_status_default
        )
        self.node.create_subscription(
            JointTrajectoryControllerState, state, self._hear_state, LATEST
        )
        publish_diagnostics(self.node, model.description.name, self._report)

    def begin(self) -> None:
        """Wait for the controller and its first state, ready to answer at once.

        The first hold that is computed loads the kernels, which takes a third of a second.
        """
        hold_points(self.guard.model, self.guard.feedforward, self.guard.model.home_actuators)
        if not self.wait(self._action.server_is_ready, FIRST):
            raise GraphError(
                f"no controller serves '{self._controller}/{ACTION}' after {FIRST:g} s"
            )
        if not self.wait(lambda: self._stated > 0.0, FIRST):
            raise GraphError(
                f'no states with positions of {", ".join(self.guard.model.actuated_joints)} on '
                f"'{self._controller}/controller_state' after {FIRST:g} s"
            )

    def watch(self) -> None:
        """Listen for a moment."""
        self.spin()
        if self._asked is not None and time.monotonic() - self._asked[1] > ANSWER:
            goal, _, ended = self._asked
            self._say(f'a hold was not answered within {ANSWER:g} s', True)
            self._next(lambda: self._goals.unanswered(goal), ended)

    def _hear_state(self, message: Any) -> None:
        given = dict(zip(message.joint_names, message.reference.positions, strict=False))
        names = self.guard.model.actuated_joints
        positions = [given.get(name, np.nan) for name in names]
        if np.isfinite(positions).all():
            self.guard.reference(positions)
            self._stated = time.monotonic()

    def _hear_status(self, message: GoalStatusArray) -> None:
        now = time.monotonic()
        if now - self._stated > STALE:
            self.guard.silent()
        listed = sorted(
            message.status_list,
            key=lambda each: (each.goal_info.stamp.sec, each.goal_info.stamp.nanosec),
        )
        goals = {bytes(each.goal_info.goal_id.uuid): int(each.status) for each in listed}
        before = self.guard.state
        self._next(lambda: self._goals.heard(goals), now)
        if before is not Guard.MOVING and self.guard.state is Guard.MOVING:
            self._asked = None
            self._say('a goal is under way', False)

    def _next(self, tell: Callable[[], EffortTrajectory | None], ended: float) -> None:
        """Send the hold that the guard asks for, if any; `ended` [s] is when a goal has ended."""
        before = self.guard.state
        try:
            hold = tell()
        except PkmError as error:
            self._asked = None
            self._say(f'nothing holds the robot but the PID: {error}', True)
            return
        if hold is not None:
            self._send(hold, ended)
        elif before is not Guard.LOST and self.guard.state is Guard.LOST:
            self._asked = None
            failures = self.guard.failures
            self._say(f'nothing holds the robot but the PID: {failures} holds failed', True)

    def _send(self, hold: EffortTrajectory, ended: float) -> None:
        goal = uuid4().bytes
        self._goals.sent(goal)
        self._asked = goal, time.monotonic(), ended
        message = self._kind.Goal(trajectory=trajectory_message(hold))
        sent = self._action.send_goal_async(message, goal_uuid=UUID(uuid=list(goal)))
        sent.add_done_callback(lambda done: self._answered(goal, done))

    def _answered(self, goal: bytes, done: Future) -> None:
        if self._asked is None or self._asked[0] != goal:
            return
        ended = self._asked[2]
        if not done.result().accepted:
            self._say('a hold was refused', True)
            self._next(lambda: self._goals.unanswered(goal), ended)
            return
        self._asked = None
        self.holds += 1
        late = 1e3 * (time.monotonic() - ended)
        self._say(f'a goal has ended without effort; held again {late:.0f} ms later', False)

    def _report(self) -> tuple[str, dict[str, str], bytes]:
        state = self.guard.state
        level = DiagnosticStatus.ERROR if state is Guard.LOST else DiagnosticStatus.OK
        if level == DiagnosticStatus.OK and time.monotonic() - self._stated > STALE:
            level = DiagnosticStatus.WARN
        values = {'state': state.name, 'holds': str(self.holds)}
        age = time.monotonic() - self._stated
        return state.value, {**values, 'age of the state [s]': f'{age:.3f}'}, level


def trajectory_message(trajectory: EffortTrajectory) -> JointTrajectory:
    """Points with efforts as a message, which begins when it is taken."""
    points = [
        JointTrajectoryPoint(
            positions=trajectory.positions[k].tolist(),
            velocities=trajectory.velocities[k].tolist(),
            accelerations=trajectory.accelerations[k].tolist(),
            effort=trajectory.efforts[k].tolist(),
            time_from_start=Duration(nanoseconds=round(time * 1e9)).to_msg(),
        )
        for k, time in enumerate(trajectory.time.tolist())
    ]
    return JointTrajectory(joint_names=list(trajectory.joint_names), points=points)
