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
PATIENCE = 1.0  # [s] for the reference to rest after a goal: a controller may brake first
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
        self._waited = 0.0  # [s] since when there is no hold though there should be
        self._asked: tuple[bytes, float] | None = None  # hold without an answer, and since when
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
        now = time.monotonic()
        if self._asked is not None and now - self._asked[1] > ANSWER:
            self._failed(f'a hold was not answered within {ANSWER:g} s')
        if self.guard.state is not Guard.WAITING:
            return
        if now - self._stated > STALE:
            self._lose('no states of the controller come')
        elif now - self._waited > PATIENCE:
            self._lose(f'its reference does not rest within {PATIENCE:g} s')

    def _hear_state(self, message: Any) -> None:
        reference, names = message.reference, self.guard.model.actuated_joints
        states = [
            [
                dict(zip(message.joint_names, values, strict=False)).get(name, np.nan)
                for name in names
            ]
            for values in (reference.positions, reference.velocities)
        ]
        if not np.isfinite(states).all():
            return
        self._stated = time.monotonic()
        try:
            hold = self.guard.reference(*states)
        except PkmError as error:
            self._lose(str(error))
            return
        if hold is not None:
            self._send(hold)

    def _hear_status(self, message: GoalStatusArray) -> None:
        listed = sorted(
            message.status_list,
            key=lambda each: (each.goal_info.stamp.sec, each.goal_info.stamp.nanosec),
        )
        self._tell(
            self._goals.heard,
            {bytes(each.goal_info.goal_id.uuid): int(each.status) for each in listed},
        )

    def _tell(self, tell: Callable[[Any], None], what: Any) -> None:
        """Tell the guard something, and say what became of it."""
        before = self.guard.state
        tell(what)
        now = self.guard.state
        if now is before:
            return
        if now is Guard.WAITING and before is Guard.MOVING:
            self._waited = time.monotonic()
        elif now is Guard.MOVING:
            self._asked = None
            self._say('a goal is under way', False)
        elif now is Guard.LOST:
            self._lose(f'{self.guard.failures} holds failed')

    def _lose(self, why: str) -> None:
        self._asked = None
        self.guard.lost()
        self._say(f'nothing holds the robot but the PID: {why}', True)

    def _failed(self, why: str) -> None:
        assert self._asked is not None
        (goal, _), self._asked = self._asked, None
        self._say(why, True)
        self._tell(self._goals.unanswered, goal)

    def _send(self, hold: EffortTrajectory) -> None:
        goal = uuid4().bytes
        self._goals.sent(goal)
        self._asked = goal, time.monotonic()
        message = self._kind.Goal(trajectory=trajectory_message(hold))
        sent = self._action.send_goal_async(message, goal_uuid=UUID(uuid=list(goal)))
        sent.add_done_callback(lambda done: self._answered(goal, done))

    def _answered(self, goal: bytes, done: Future) -> None:
        if self._asked is None or self._asked[0] != goal:
            return
        if not done.result().accepted:
            self._failed('a hold was refused')
            return
        self._asked = None
        self.holds += 1
        late = 1e3 * (time.monotonic() - self._waited)
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
