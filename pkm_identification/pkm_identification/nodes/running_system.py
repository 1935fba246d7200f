"""What an excitation needs of the running graph: its controller, its description, its topics."""

from __future__ import annotations

from functools import partial
from typing import Any

from lifecycle_msgs.srv import GetState
from rclpy.action import ActionClient
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from unique_identifier_msgs.msg import UUID

from pkm_description import Description
from pkm_description.nodes.background import Background
from pkm_description.nodes.client_watch import HEARTBEAT
from pkm_description.nodes.qos import LATCHED
from pkm_description.transmissions.calibration import published_text
from pkm_identification.datasets.force_messages import (
    CURRENT,
    CURRENTS,
    MOTOR_CURRENTS,
    ForceMessages,
)
from pkm_identification.nodes.force_topic import MESSAGES, ForceTopic
from pkm_identification.nodes.recorder import RecordedTopic
from pkm_identification.requests.refusal import Code, refusing
from pkm_msgs.action import FollowPlatformTrajectory
from pkm_msgs.msg import ControllerState

POLL = 0.05  # [s] between looks at the graph
# [s] in which joint states have efforts and nobody publishes currents, until the efforts are taken:
# a publisher that has just come may not be known yet
NOBODY_ELSE = 0.5
HEARD = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
STATE_CALLS = 5  # an answer is lost where its way back is not yet known


class RunningSystem:
    """The controller, by the name of its node, and what the graph publishes about the robot."""

    def __init__(
        self, node: Node, background: Background, controller: str, forces: ForceTopic
    ) -> None:
        self._node = node
        self._forces = forces
        self._background = background
        self._texts: dict[str, str] = {}
        group = ReentrantCallbackGroup()
        name = f'{controller}/follow_platform_trajectory'
        self.follow = ActionClient(node, FollowPlatformTrajectory, name, callback_group=group)
        self._state = node.create_client(GetState, f'{controller}/get_state', callback_group=group)
        self.state_topic = f'{controller}/state'
        self._beats = node.create_publisher(UUID, f'{controller}/{HEARTBEAT}', 10)
        for topic in ('robot_description', 'robot_description_yaml'):
            node.create_subscription(String, topic, partial(self._take, topic), LATCHED)

    def topics(self, forces: ForceMessages) -> list[RecordedTopic]:
        """Return the topics of a recording whose currents or forces are in such messages."""
        topics = [RecordedTopic('joint_states', JointState)]
        if forces.topic == CURRENTS:
            topics.append(RecordedTopic(CURRENTS, MESSAGES[forces.message_type]))
        return [
            *topics,
            RecordedTopic(self.state_topic, ControllerState),
            RecordedTopic('ground_truth', JointState, required=False),
        ]

    async def forces(self, timeout: float) -> ForceMessages:
        """Return which messages hold the currents or forces; at most after `timeout` [s].

        Refused where that cannot be told. Where there is nothing, `MotorCurrents` are what is
        missed.
        """
        states: Any = None
        waited = efforts_for = 0.0
        try:
            while waited < timeout:
                with refusing(Code.TOPIC_SILENT):
                    found = self._forces.chosen()
                if found is not None and found.topic == CURRENTS:
                    return found
                efforts_for += POLL if found is not None else 0.0
                if found is not None and efforts_for >= NOBODY_ELSE:
                    return found
                if states is None:
                    states = self._node.create_subscription(
                        JointState, 'joint_states', self._forces.hear_state, HEARD
                    )
                await self._background.sleep(POLL)
                waited += POLL
        finally:
            if states is not None:
                self._node.destroy_subscription(states)
        return ForceMessages(CURRENTS, MOTOR_CURRENTS, CURRENT, tuple(self._forces.names))

    def beat(self, goal: UUID) -> None:
        """Tell the controller that the client of this goal lives."""
        self._beats.publish(goal)

    def published_digest(self, own: Description) -> str:
        """Digest of the description that the graph publishes, empty while it is unknown."""
        if len(self._texts) < 2:
            return ''
        same = self._texts['robot_description'] == own.urdf
        same = same and self._texts['robot_description_yaml'] == published_text(own)
        return own.digest if same else 'another description'

    async def controller_state(self, timeout: float) -> str:
        """Return the controller's lifecycle state, empty when it does not answer in time [s]."""
        waited = 0.0
        while not self._is_ready():
            if waited >= timeout:
                return ''
            await self._background.sleep(POLL)
            waited += POLL
        calls: list[Future] = []
        try:
            for _ in range(STATE_CALLS):
                calls.append(self._state.call_async(GetState.Request()))
                await self._background.within(calls[-1], timeout / STATE_CALLS)
                for call in calls:  # a late answer is one, too
                    if call.done():
                        return str(call.result().current_state.label)
        finally:
            for call in calls:
                self._state.remove_pending_request(call)
        return ''

    def _is_ready(self) -> bool:
        return bool(self._state.service_is_ready() and self.follow.server_is_ready())

    def _take(self, topic: str, message: String) -> None:
        self._texts[topic] = message.data
