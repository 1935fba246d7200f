"""Node `excitation_server`: excite a robot and record what identification needs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from lifecycle_msgs.srv import GetState
from rclpy.action import ActionClient, ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String

import pkm_description
from pkm_description.nodes.background import Background
from pkm_description.nodes.node_parameters import NodeParameter, declare_parameters
from pkm_description.nodes.running import run_node
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.actuation import require_drives
from pkm_identification.nodes.excitation_run import ExcitationRun, RunEnded, quality_message
from pkm_identification.nodes.recorder import RecordedTopic, Recorder
from pkm_identification.recording import RecordingQuality
from pkm_msgs.action import Excite, FollowPlatformTrajectory
from pkm_msgs.msg import ControllerState, MotorCurrents

PARAMETERS = (
    NodeParameter('robot', 'palida', 'library name of the robot, or path of a description'),
    NodeParameter('controller', 'trajectory_controller', 'node that moves the robot'),
    NodeParameter('rate', 1000.0, 'expected rate of the measurements', 'Hz', 1.0, 1e5),
    NodeParameter(
        'approach_speed', 0.25, 'peak speed of the way to the start', 'm/s, rad/s', 1e-3, 10.0
    ),
    NodeParameter(
        'topic_timeout', 5.0, 'longest wait for a message on each topic', 's', 0.1, 600.0
    ),
    NodeParameter(
        'controller_timeout', 30.0, 'longest wait for the controller to answer', 's', 0.1, 600.0
    ),
    NodeParameter(
        'silence_timeout', 5.0, 'silence of robot or controller that ends a run', 's', 0.1, 600.0
    ),
    NodeParameter(
        'stop_timeout', 20.0, 'longest wait for the robot to rest after a cancel', 's', 0.1, 600.0
    ),
    NodeParameter(
        'payload', 'none', 'body fixed to the platform, none or YAML text; written into every bag'
    ),
)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
DIAGNOSTICS_PERIOD = 1.0
STATE_CALLS = 5


class ExcitationServer(Node):
    """Serves `~/excite`: checks everything, records, moves the robot, verifies the bag.

    A run that cannot begin is aborted with the reason before anything moves or is
    written. A canceled or failed motion leaves a closed bag marked as aborted, and none
    where the robot has not moved. One run at a time.
    """

    def __init__(self) -> None:
        super().__init__('excitation_server')
        values = declare_parameters(self, PARAMETERS)
        self.model = ClosedChainModel(pkm_description.load(values['robot']))
        require_drives(self.model, 'an excitation')
        self.payload = pkm_description.payload_of(values['payload'])
        self.rate: float = values['rate']
        self.approach_speed: float = values['approach_speed']
        self.topic_timeout: float = values['topic_timeout']
        self.controller_timeout: float = values['controller_timeout']
        self.silence_timeout: float = values['silence_timeout']
        self.stop_timeout: float = values['stop_timeout']
        self.background = Background(self, 'excitation')
        self.last_rejection: str | None = None
        self._controller: str = values['controller']
        self._texts: dict[str, str] = {}
        self._run: ExcitationRun | None = None
        self._recorder: Recorder | None = None
        self._busy = False
        self._last = 'nothing asked yet'
        group = ReentrantCallbackGroup()
        self.follow = ActionClient(
            self,
            FollowPlatformTrajectory,
            f'{self._controller}/follow_platform_trajectory',
            callback_group=group,
        )
        self._state = self.create_client(
            GetState, f'{self._controller}/get_state', callback_group=group
        )
        for topic in ('robot_description', 'robot_description_yaml'):
            self.create_subscription(String, topic, self._taker(topic), LATCHED)
        self.create_subscription(DiagnosticArray, 'diagnostics', self._on_diagnostics, 20)
        self._diagnostics = self.create_publisher(DiagnosticArray, 'diagnostics', 10)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(DIAGNOSTICS_PERIOD, self._publish_diagnostics, clock=steady)
        self._server = ActionServer(
            self,
            Excite,
            '~/excite',
            execute_callback=self._on_goal,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
            callback_group=group,
        )
        self.get_logger().info(f"ready to excite '{self.model.description.name}'")

    def close(self) -> None:
        """Stop a run under way and close its bag before the node goes."""
        if self._run is not None:
            self._run.interrupt('the excitation server was shut down')
        if self._recorder is not None:
            self._recorder.close()
        self.background.close()

    @property
    def published_digest(self) -> str:
        """Digest of the description that the graph publishes, empty while it is unknown."""
        if len(self._texts) < 2:
            return ''
        texts, own = self._texts, self.model.description
        same = texts['robot_description'] == own.urdf
        same = same and texts['robot_description_yaml'] == own.yaml_text
        return own.digest if same else 'another description'

    def renamed(self, topic: str) -> str:
        """Return a topic of the standard controller under the configured controller's name."""
        return topic.replace('trajectory_controller/', f'{self._controller}/')

    async def controller_state(self) -> str:
        """Return the controller's lifecycle state, empty when it does not answer."""
        if not self._state.service_is_ready() or not self.follow.server_is_ready():
            limit = self.topic_timeout
            await self.background.run(lambda: self._state.wait_for_service(timeout_sec=limit))
            await self.background.run(lambda: self.follow.wait_for_server(timeout_sec=limit))
        if not self._state.service_is_ready() or not self.follow.server_is_ready():
            return ''
        for _ in range(STATE_CALLS):  # an answer is lost where its way back is not yet known
            call = self._state.call_async(GetState.Request())
            answer = await self.background.within(call, self.topic_timeout / STATE_CALLS)
            if answer is not None:
                return str(answer.current_state.label)
            self._state.remove_pending_request(call)
        return ''

    def _topics(self) -> list[RecordedTopic]:
        return [
            RecordedTopic('joint_states', JointState),
            RecordedTopic('motor_currents', MotorCurrents),
            RecordedTopic(self.renamed('trajectory_controller/state'), ControllerState),
            RecordedTopic('ground_truth', JointState, required=False),
        ]

    async def _on_goal(self, handle: ServerGoalHandle) -> Excite.Result:
        result = Excite.Result(bag=handle.request.bag)
        if self._busy:
            return self._failed(handle, result, RunEnded('BUSY', 'another run is under way'))
        self._busy = True
        quality: RecordingQuality | None = None
        try:
            self._recorder = Recorder(self, self._topics())
            self._run = ExcitationRun(self, handle, self._recorder)
            quality = await self._run.run()
            result.bag, result.quality = str(self._run.bag), quality_message(quality)
            if not quality.usable:
                raise RunEnded('BAD_RECORDING', '; '.join(quality.warnings))
        except RunEnded as end:
            return self._failed(handle, result, end)
        except Exception as error:  # an action without a result would tell nobody why
            reason = f'{type(error).__name__}: {error}'
            return self._failed(handle, result, RunEnded('MOTION_FAILED', reason))
        finally:
            recorder, self._recorder, self._run = self._recorder, None, None
            if recorder is not None:
                recorder.close()
            self._busy = False
        self._finish(
            f"'{result.bag}': {quality.periods} periods, {quality.samples} samples", failed=False
        )
        handle.succeed()
        return result

    def _failed(
        self, handle: ServerGoalHandle, result: Excite.Result, end: RunEnded
    ) -> Excite.Result:
        """End a goal with the reason."""
        self._finish(f'{end.code}: {end}', failed=True)
        if end.code == 'CANCELED' and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        result.error_code = int(getattr(Excite.Result, end.code))
        result.error_msg = str(end)
        return result

    def _finish(self, text: str, failed: bool) -> None:
        self._last = text
        if failed:  # the logger keeps one severity for each line that calls it
            self.get_logger().error(text)
        else:
            self.get_logger().info(text)

    def _taker(self, topic: str) -> Any:
        def take(message: String) -> None:
            self._texts[topic] = message.data

        return take

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        """Remember why the controller rejected a goal: an action cannot tell."""
        for status in message.status:
            if status.name.rpartition('/')[2] != self._controller.rpartition('/')[2]:
                continue
            values = {entry.key: entry.value for entry in status.values}
            self.last_rejection = values.get('last rejected goal') or self.last_rejection

    def _publish_diagnostics(self) -> None:
        status = DiagnosticStatus(
            name=self.get_fully_qualified_name(),
            hardware_id=self.model.description.name,
            message='exciting' if self._busy else 'idle',
            values=[KeyValue(key='last run', value=self._last)],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)


def main(args: Sequence[str] | None = None) -> None:
    """Run the node until it is interrupted."""
    sys.exit(run_node(ExcitationServer, args))


if __name__ == '__main__':
    main()
