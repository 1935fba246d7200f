"""What an excitation needs of the running graph: its controller, its description, its topics."""

from __future__ import annotations

from functools import partial

from lifecycle_msgs.srv import GetState
from rclpy.action import ActionClient
from rclpy.action.client import ClientGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from unique_identifier_msgs.msg import UUID

from pkm_description import Description
from pkm_description.nodes.background import Background
from pkm_description.nodes.qos import LATCHED
from pkm_identification.nodes.recorder import RecordedTopic
from pkm_msgs.action import FollowPlatformTrajectory
from pkm_msgs.msg import ControllerState, MotorCurrents

STATE_CALLS = 5  # an answer is lost where its way back is not yet known


class RunningSystem:
    """The controller, by the name of its node, and what the graph publishes about the robot."""

    def __init__(self, node: Node, background: Background, controller: str) -> None:
        self._background = background
        self._texts: dict[str, str] = {}
        group = ReentrantCallbackGroup()
        name = f'{controller}/follow_platform_trajectory'
        self.follow = ActionClient(node, FollowPlatformTrajectory, name, callback_group=group)
        self._state = node.create_client(GetState, f'{controller}/get_state', callback_group=group)
        self.state_topic = f'{controller}/state'
        self._beats = node.create_publisher(UUID, f'{controller}/heartbeat', 10)
        for topic in ('robot_description', 'robot_description_yaml'):
            node.create_subscription(String, topic, partial(self._take, topic), LATCHED)

    @property
    def topics(self) -> list[RecordedTopic]:
        """The topics that a recording holds."""
        return [
            RecordedTopic('joint_states', JointState),
            RecordedTopic('motor_currents', MotorCurrents),
            RecordedTopic(self.state_topic, ControllerState),
            RecordedTopic('ground_truth', JointState, required=False),
        ]

    def beat(self, goal: ClientGoalHandle) -> None:
        """Tell the controller that the client of this goal lives."""
        self._beats.publish(goal.goal_id)

    async def answers(self, timeout: float) -> bool:
        """Whether the controller says anything within `timeout` [s]."""
        return bool(await self.controller_state(timeout))

    def published_digest(self, own: Description) -> str:
        """Digest of the description that the graph publishes, empty while it is unknown."""
        if len(self._texts) < 2:
            return ''
        same = self._texts['robot_description'] == own.urdf
        same = same and self._texts['robot_description_yaml'] == own.yaml_text
        return own.digest if same else 'another description'

    async def controller_state(self, timeout: float) -> str:
        """Return the controller's lifecycle state, empty when it does not answer in time [s]."""
        if not self._is_ready():
            await self._background.run(lambda: self._state.wait_for_service(timeout_sec=timeout))
            await self._background.run(lambda: self.follow.wait_for_server(timeout_sec=timeout))
        if not self._is_ready():
            return ''
        for _ in range(STATE_CALLS):
            call = self._state.call_async(GetState.Request())
            answer = await self._background.within(call, timeout / STATE_CALLS)
            if answer is not None:
                return str(answer.current_state.label)
            self._state.remove_pending_request(call)
        return ''

    def _is_ready(self) -> bool:
        return bool(self._state.service_is_ready() and self.follow.server_is_ready())

    def _take(self, topic: str, message: String) -> None:
        self._texts[topic] = message.data
