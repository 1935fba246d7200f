"""A guard beside a joint_trajectory_controller: its goals and states in, holds out."""

from __future__ import annotations

import time
from collections.abc import Callable
from uuid import uuid4

import numpy as np
from action_msgs.msg import GoalStatusArray
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.duration import Duration
from rclpy.qos import QoSProfile, ReliabilityPolicy, qos_profile_action_status_default
from rclpy.serialization import deserialize_message
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
LAST_STATUS = 1.0  # [s] for it to come, which a controller without goals does not have
ANSWER = 0.2  # [s] for a hold to be accepted: in it a robot without its effort has fallen far
RETRY = 0.1  # [s] from a hold that failed to the next one: a controller may be switching
# [s] without states, which come at the controller's rate, and looks in a row that find none: after
# a pause of this process the first ones come before the messages that have waited
STALE, LOOKS = 0.25, 3
PATIENCE = 1.0  # [s] for the reference to rest: later the PID has taken the weight over
LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
MOVES = Guard.MOVING, Guard.WAITING
UNHELD = Guard.WAITING, Guard.LOST


class GuardClient(GraphClient):
    """Answers each end of a goal that drops its effort by a hold, at once.

    `say` is called with what happens, and whether it is bad. `is_first`: the process has had no
    node before, and takes the transport for which no controller waits. GraphError where
    control_msgs is missing, or the controller is.
    """

    def __init__(
        self,
        model: ClosedChainModel,
        feedforward: Feedforward,
        controller: str,
        say: Callable[[str, bool], None],
        is_first: bool = False,
    ) -> None:
        try:
            from control_msgs.action import FollowJointTrajectory
            from control_msgs.msg import JointTrajectoryControllerState
        except ImportError as error:
            raise GraphError(
                f'the goals of a joint_trajectory_controller need control_msgs: {error}; install '
                'ros-jazzy-control-msgs'
            ) from error
        if is_first:
            avoid_shared_memory()
        super().__init__('pkm_guard')
        self.guard = TrajectoryGuard(model, feedforward)
        self.holds = 0  # that were accepted
        self._goals, self._say = FollowedGoals(self.guard), say
        self._controller = controller
        self._goal_type, self._state_type = FollowJointTrajectory, JointTrajectoryControllerState
        self._action = self.action(FollowJointTrajectory, f'{controller}/{ACTION}')
        self._state = b''  # the newest
        self._stated = -np.inf  # [s] of the steady clock, when it came
        self._silent = 0  # looks in a row that found no states
        self._waiting = 0.0  # [s] since when a hold is due
        self._asked: tuple[bytes, float] | None = None  # hold without an answer, and since when
        status, state = f'{controller}/{ACTION}/_action/status', f'{controller}/controller_state'
        told = qos_profile_action_status_default
        self.node.create_subscription(GoalStatusArray, status, self._hear_status, told)
        self.node.create_subscription(
            JointTrajectoryControllerState, state, self._hear_state, LATEST, raw=True
        )
        publish_diagnostics(self.node, model.description.name, self._report)

    def begin(self) -> None:
        """Wait for the controller and its first state, ready to answer at once.

        The first hold that is computed loads the kernels, which takes a third of a second.
        """
        model = self.guard.model
        hold_points(model, self.guard.feedforward, model.home_actuators)
        topic = f'{self._controller}/controller_state'
        if not self.wait(self._action.server_is_ready, FIRST):
            raise GraphError(
                f"no controller serves '{self._controller}/{ACTION}' after {FIRST:g} s"
            )
        if not self.wait(lambda: bool(self._state), FIRST):
            raise GraphError(f"no states on '{topic}' after {FIRST:g} s: is it active?")
        message = deserialize_message(self._state, self._state_type)
        if set(message.joint_names) != set(model.actuated_joints):
            raise GraphError(
                f"'{topic}' has the joints {', '.join(message.joint_names)}, not the actuated ones "
                f'of {model.description.name}: {", ".join(model.actuated_joints)}'
            )
        commands = message.output
        if not commands.effort and (commands.positions or commands.velocities):
            raise GraphError(f"'{self._controller}' commands no efforts: it has none to lose")
        if not self.wait(lambda: self._goals.is_known, LAST_STATUS):
            self._goals.heard({})  # no goal yet: whatever ends from now on has begun since

    def watch(self) -> None:
        """Listen for a moment."""
        self.spin()
        now = time.monotonic()
        if self._asked is not None and now - self._asked[1] > ANSWER:
            self._failed(f'a hold was not answered within {ANSWER:g} s')
        since = max(self._stated, self._waiting)
        self._silent = self._silent + 1 if now - since > STALE else 0
        if self.guard.state is Guard.LOST:
            return
        if self._silent > LOOKS:
            self._lose('no states of the controller come')
        elif self.guard.state is Guard.WAITING and now - self._waiting > PATIENCE:
            self._lose(f'its reference does not rest within {PATIENCE:g} s')

    def linger(self) -> None:
        """Answer the end of a goal that the same Ctrl-C has canceled."""
        end = time.monotonic() + PATIENCE
        while self.guard.state in MOVES and time.monotonic() < end:
            self.watch()

    def _hear_state(self, data: bytes) -> None:
        """Note that a state came, hundreds of times a second; read it where a hold is due."""
        self._state, self._stated = data, time.monotonic()
        if self.guard.state is not Guard.WAITING or self._stated < self._waiting:
            return
        message = deserialize_message(data, self._state_type)
        index = {name: k for k, name in enumerate(message.joint_names)}
        q, rate = (np.array(x) for x in (message.reference.positions, message.reference.velocities))
        try:
            order = [index[name] for name in self.guard.model.actuated_joints]
            hold = self.guard.reference(q[order], rate[order])
        except (PkmError, LookupError) as error:
            self._lose(str(error))
            return
        if hold is not None:
            self._send(hold)

    def _hear_status(self, message: GoalStatusArray) -> None:
        listed = sorted(
            message.status_list,
            key=lambda each: (each.goal_info.stamp.sec, each.goal_info.stamp.nanosec),
        )
        goals = {bytes(each.goal_info.goal_id.uuid): int(each.status) for each in listed}
        self._tell(lambda: self._goals.heard(goals))

    def _tell(self, tell: Callable[[], None]) -> None:
        """Tell the guard something, and say what became of it."""
        before, failures = self.guard.state, self.guard.failures
        tell()
        state, now = self.guard.state, time.monotonic()
        if state is Guard.WAITING and self.guard.failures > failures:
            self._waiting = now + RETRY
        elif state is Guard.WAITING and before is not state:
            self._waiting = now
        elif state is Guard.MOVING and before is not state:
            self._asked = None
            self._say('a goal is under way', False)
        elif state is Guard.LOST and before is not state:
            self._lose(f'{self.guard.failures} holds failed')

    def _lose(self, why: str) -> None:
        self._asked = None
        self.guard.lost()
        self._say(f'nothing holds the robot but the PID, if that: {why}', True)

    def _failed(self, why: str) -> None:
        self._asked = None
        self._say(why, True)
        self._tell(self.guard.hold_failed)

    def _send(self, hold: EffortTrajectory) -> None:
        goal = uuid4().bytes
        self._goals.sent(goal)
        self._asked = goal, time.monotonic()
        message = self._goal_type.Goal(trajectory=trajectory_message(hold))
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
        late = 1e3 * (time.monotonic() - self._waiting)
        self._say(f'a goal has ended without effort; held again {late:.0f} ms later', False)

    def _report(self) -> tuple[str, dict[str, str], bytes]:
        state, age = self.guard.state, time.monotonic() - self._stated
        level = DiagnosticStatus.WARN if state is Guard.WAITING else DiagnosticStatus.OK
        level = DiagnosticStatus.ERROR if state is Guard.LOST else level
        values = {'state': state.name, 'holds': str(self.holds)}
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
