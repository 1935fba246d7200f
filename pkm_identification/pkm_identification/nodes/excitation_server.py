"""Node `excitation_server`: excite a robot and record what identification needs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import fields
from functools import partial

from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from unique_identifier_msgs.msg import UUID

import pkm_description
from pkm_description.nodes.background import Background
from pkm_description.nodes.client_watch import HEARTBEAT, ClientWatch
from pkm_description.nodes.node_parameters import NodeParameter, declare_parameters
from pkm_description.nodes.node_status import publish_diagnostics
from pkm_description.nodes.running import run_node
from pkm_description.untrusted.named_files import resolved_folder
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.model import require_drives
from pkm_dynamics.worker_process import WorkerProcess
from pkm_identification.nodes.excitation_run import ExcitationRun, RunSettings, quality_message
from pkm_identification.nodes.force_topic import FORCE_UNIT, ForceTopic
from pkm_identification.nodes.recorder import Recorder
from pkm_identification.nodes.running_system import RunningSystem
from pkm_identification.recording import RecordingQuality
from pkm_identification.requests.refusal import Code, Refused, refusing
from pkm_msgs.action import Excite

WATCH_PERIOD = 0.1  # [s] between looks for the client, and signs of life for it
_wait = partial(NodeParameter, unit='s', lower=0.1, upper=600.0)
PARAMETERS = (
    NodeParameter('robot', 'palida', 'library name of the robot, or path of a description'),
    NodeParameter('controller', 'trajectory_controller', 'node that moves the robot'),
    FORCE_UNIT,
    NodeParameter('data_folder', '.', 'bags are written below it alone; ~ is the home folder'),
    NodeParameter('rate', 1000.0, 'expected rate of the measurements', 'Hz', 1.0, 1e5),
    NodeParameter(
        'approach_speed', 0.25, 'peak speed of the way to the start', 'm/s, rad/s', 1e-3, 10.0
    ),
    _wait('topic_timeout', 5.0, 'longest wait for a message on each topic'),
    _wait('controller_timeout', 30.0, 'longest wait for the controller to answer'),
    _wait('silence_timeout', 5.0, 'silence of robot or controller that ends a run'),
    _wait('stop_timeout', 20.0, 'longest wait for the robot to rest after a cancel'),
    NodeParameter(
        'payload', 'none', 'body fixed to the platform, none or YAML text; written into every bag'
    ),
)


class ExcitationServer(Node):
    """Serves `~/excite`: checks everything, records, moves the robot, verifies the bag.

    A run that cannot begin is aborted with the reason before anything moves or is
    written. A canceled or failed motion leaves a closed bag marked as aborted, and none
    where the robot has not moved. One run at a time.
    """

    def __init__(self) -> None:
        super().__init__('excitation_server')
        values = declare_parameters(self, PARAMETERS)
        self._model = ClosedChainModel(pkm_description.load(values['robot']))
        require_drives(self._model, 'an excitation')
        given = {item.name: values[item.name] for item in fields(RunSettings)}
        given['data_folder'] = resolved_folder(values['data_folder'])
        given['payload'] = pkm_description.payload_of(values['payload'])
        self._settings = RunSettings(**given)
        self._background = Background(self, 'excitation')
        self._checks = WorkerProcess(self._model.description)
        self._checks.start()
        self._forces = ForceTopic(self, self._model, values['force_unit'])
        self._system = RunningSystem(self, self._background, values['controller'], self._forces)
        self._run: ExcitationRun | None = None
        self._recorder: Recorder | None = None
        self._handle: ServerGoalHandle | None = None  # of the goal that is under way
        self._last = 'nothing asked yet'
        self._client = ClientWatch(self._on_client_lost)
        self.create_subscription(UUID, f'~/{HEARTBEAT}', self._client.hear, 10)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(WATCH_PERIOD, self._watch, clock=steady)
        publish_diagnostics(self, self._model.description.name, self._report)
        self._server = ActionServer(
            self,
            Excite,
            '~/excite',
            execute_callback=self._on_goal,
            cancel_callback=self._on_cancel,
            callback_group=ReentrantCallbackGroup(),
        )
        self.get_logger().info(f"ready to excite '{self._model.description.name}'")

    def wind_down(self) -> bool:
        """Begin or go on to end a run before the process ends; whether there is none."""
        if self._run is not None:
            self._run.end(Code.CANCELED, 'the excitation server is shut down')
        return self._handle is None

    def close(self) -> None:
        """Stop a run under way and close its bag before the node goes."""
        if self._run is not None:
            self._run.interrupt('the excitation server was shut down')
        if self._recorder is not None:
            self._recorder.close()
        self._background.close()
        self._checks.close()

    def _watch(self) -> None:
        self._client.look()
        if self._handle is not None and self._handle.is_active:
            waiting = Excite.Feedback(phase='preflight')
            feedback = waiting if self._run is None else self._run.feedback
            self._handle.publish_feedback(feedback)

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        if handle is self._handle:
            self._checks.abandon()
        return CancelResponse.ACCEPT

    def _on_client_lost(self, reason: str) -> None:
        if self._run is not None:
            self._run.end(Code.CLIENT_LOST, reason)

    async def _on_goal(self, handle: ServerGoalHandle) -> Excite.Result:
        result = Excite.Result(bag=handle.request.bag)
        if self._handle is not None:
            return self._failed(handle, result, Refused(Code.BUSY, 'another run is under way'))
        self._handle = handle
        quality: RecordingQuality | None = None
        try:
            with refusing(Code.BAD_TRAJECTORY):
                self._client.begin(bytes(handle.goal_id.uuid), handle.request.heartbeat_timeout)
            forces = await self._system.forces(self._settings.topic_timeout)
            self._recorder = Recorder(self, self._system.topics(forces), self._forces.names[0])
            beside = self._background, self._checks
            graph = (self._system, *beside, handle, self._recorder, self.get_logger())
            self._run = ExcitationRun(self._model, self._settings, forces, *graph)
            if self._client.lost:
                raise Refused(Code.CLIENT_LOST, self._client.lost)
            quality = await self._run.run()
            result.bag, result.quality = str(self._run.bag), quality_message(quality)
            if not quality.usable:
                raise Refused(Code.BAD_RECORDING, '; '.join(quality.warnings))
        except Refused as end:
            return self._failed(handle, result, end)
        except Exception as error:  # an action without a result would tell nobody why
            reason = f'{type(error).__name__}: {error}'
            return self._failed(handle, result, Refused(Code.MOTION_FAILED, reason))
        finally:
            self._client.end()
            recorder, self._recorder, self._run = self._recorder, None, None
            if recorder is not None:
                recorder.close()
            self._handle = None
        self._finish(
            f"'{result.bag}': {quality.periods} periods, {quality.samples} samples", failed=False
        )
        handle.succeed()
        return result

    def _failed(
        self, handle: ServerGoalHandle, result: Excite.Result, end: Refused
    ) -> Excite.Result:
        """End a goal with the reason."""
        self._finish(f'{end.code.name}: {end}', failed=True)
        if end.code is Code.CANCELED and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return end.fill(result)

    def _finish(self, text: str, failed: bool) -> None:
        self._last = text
        if failed:  # the logger keeps one severity for each line that calls it
            self.get_logger().error(text)
        else:
            self.get_logger().info(text)

    def _report(self) -> tuple[str, dict[str, str]]:
        return 'idle' if self._handle is None else 'exciting', {'last run': self._last}


def main(args: Sequence[str] | None = None) -> None:
    """Run the node until it is interrupted."""
    sys.exit(run_node(ExcitationServer, args))


if __name__ == '__main__':
    main()
