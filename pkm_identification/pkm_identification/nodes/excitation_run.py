"""One run of the excitation server: preflight, record, run, verify."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from action_msgs.msg import GoalStatus
from rclpy.action.server import ServerGoalHandle
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from pkm_description.errors import DatasetError, PkmError
from pkm_dynamics.nodes.trajectory_messages import from_message
from pkm_dynamics.trajectories import Trajectory
from pkm_identification.nodes.recorder import Recorder
from pkm_identification.recording import (
    PreflightReport,
    RecordingQuality,
    SystemFacts,
    dump_metadata,
    finished_metadata,
    recording_metadata,
    run_preflight,
    verify_recording,
)
from pkm_identification.recording.metadata import ABORTED, COMPLETE
from pkm_msgs.action import Excite, FollowPlatformTrajectory
from pkm_msgs.msg import RecordingQuality as QualityMessage

if TYPE_CHECKING:
    from pkm_identification.nodes.excitation_server import ExcitationServer

POLL = 0.05  # [s] between looks at cancel requests and the state of the robot
SETTLE = 0.2  # [s] for the last messages after the motion
METADATA = 'pkm/metadata'
FOLLOW = FollowPlatformTrajectory.Result
REJECTIONS = {
    'INFEASIBLE': 'INFEASIBLE',
    'BAD_TRAJECTORY': 'BAD_TRAJECTORY',
    'NOT_ACTIVE': 'CONTROLLER_NOT_ACTIVE',
    'WRONG_ROBOT': 'NO_DESCRIPTION',
}


class RunEnded(Exception):
    """The run ends here; `code` is the name of an error code of the action."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ExcitationRun:
    """Coroutines of one goal; the bag is closed or absent however it ends.

    Parameters
    ----------
    server : ExcitationServer
    handle : ServerGoalHandle
        Of the goal.
    recorder : Recorder
        Already listening.
    """

    def __init__(
        self, server: ExcitationServer, handle: ServerGoalHandle, recorder: Recorder
    ) -> None:
        self._server = server
        self._handle = handle
        self._request: Excite.Goal = handle.request
        self._recorder = recorder
        self._metadata: dict[str, Any] = {}
        self._follow: Any = None
        self._progress: tuple[float, float] = (0.0, 0.0)
        self._moved = False

    @property
    def bag(self) -> Path:
        """The bag to be written."""
        return Path(self._request.bag).expanduser()

    async def run(self) -> RecordingQuality:
        """Run the goal; RunEnded when it does not end with a usable recording."""
        trajectory = self._trajectory()
        report = await self._preflight(trajectory)
        try:
            await self._begin(trajectory)
            await self._move(report)
            await self._server.background.sleep(SETTLE)
            self._close(COMPLETE, 0, '')
        except RunEnded as end:
            await self._stop_robot()
            self._leave(end)
            raise
        except BaseException as error:
            self._leave(RunEnded('MOTION_FAILED', f'{type(error).__name__}: {error}'))
            raise
        return await self._verify(trajectory)

    def interrupt(self, reason: str) -> None:
        """End the run from outside of its coroutine: stop the robot, close the bag."""
        if self._follow is not None:
            self._follow.cancel_goal_async()
        self._leave(RunEnded('CANCELED', reason))

    # -- steps --------------------------------------------------------------------

    def _trajectory(self) -> Trajectory:
        try:
            return from_message(self._request.trajectory)
        except PkmError as error:
            raise RunEnded('BAD_TRAJECTORY', str(error)) from error

    async def _preflight(self, trajectory: Trajectory) -> PreflightReport:
        server, recorder, request = self._server, self._recorder, self._request
        self._feedback('preflight', 0.0, float('nan'), 'listening')
        waited = 0.0
        while None in recorder.ages().values() and waited < server.topic_timeout:
            self._raise_if_canceled()
            await server.background.sleep(POLL)
            waited += POLL
        facts = SystemFacts(
            controller_state=await server.controller_state(),
            topic_ages=recorder.ages(),
            positions=self._positions(),
            rate=server.rate,
            digest=server.published_digest,
            max_age=server.topic_timeout,
        )
        self._feedback('preflight', 0.5, float('nan'), 'checking limits')
        report: PreflightReport = await server.background.run(
            lambda: run_preflight(
                server.model,
                trajectory,
                request.periods,
                request.ramp_time,
                self.bag,
                facts,
                server.approach_speed,
            )
        )
        self._raise_if_canceled()
        if not report.ok:
            raise RunEnded(report.code, report.message)
        return report

    async def _begin(self, trajectory: Trajectory) -> None:
        server, request = self._server, self._request
        self._feedback('recording', 0.0, float('nan'), f"creating '{self.bag}'")
        description = server.model.description

        def begin() -> None:
            self._metadata = recording_metadata(
                server.model, trajectory, request.periods, request.ramp_time, payload=server.payload
            )
            texts = {
                'robot_description': description.urdf,
                'robot_description_yaml': description.yaml_text,
                METADATA: dump_metadata(self._metadata),
            }
            self._recorder.begin(self.bag, texts)

        try:
            await server.background.run(begin)
        except (DatasetError, OSError) as error:
            raise RunEnded('CANNOT_WRITE', str(error)) from error

    async def _move(self, report: PreflightReport) -> None:
        server, request = self._server, self._request
        self._feedback('running', 0.0, report.duration, 'sending the trajectory')
        self._raise_if_canceled()
        goal = FollowPlatformTrajectory.Goal()
        goal.trajectory = request.trajectory
        goal.periods, goal.ramp_time = request.periods, request.ramp_time
        goal.approach_speed = server.approach_speed
        server.last_rejection = None
        self._follow = await server.background.within(
            server.follow.send_goal_async(goal, feedback_callback=self._on_feedback),
            server.controller_timeout,
        )
        if self._follow is None:
            raise RunEnded(
                'MOTION_FAILED',
                f'the controller did not answer within {server.controller_timeout:g} s',
            )
        if not self._follow.accepted:
            self._follow = None
            raise await self._rejected()
        self._moved = True
        answer = self._follow.get_result_async()
        self._progress = (0.0, report.duration)
        while not answer.done():
            self._raise_if_canceled()
            self._raise_if_lost()
            self._feedback('running', *self._progress, 'following the trajectory')
            await server.background.within(answer, POLL)
        self._follow = None
        result, status = answer.result().result, answer.result().status
        if status != GoalStatus.STATUS_SUCCEEDED or result.error_code != FOLLOW.NONE:
            raise RunEnded(
                'MOTION_FAILED',
                f'the controller ended the motion with code {result.error_code}: '
                f'{result.error_msg}',
            )

    async def _rejected(self) -> RunEnded:
        """Return why the controller rejected the goal, as it tells by its diagnostics."""
        server, waited = self._server, 0.0
        while server.last_rejection is None and waited < 1.0:
            await server.background.sleep(POLL)
            waited += POLL
        reason = server.last_rejection or 'see its log'
        code = REJECTIONS.get(reason.partition(' ')[0], 'MOTION_FAILED')
        return RunEnded(code, f'the controller rejected the trajectory: {reason}')

    async def _verify(self, trajectory: Trajectory) -> RecordingQuality:
        self._feedback('verifying', 0.0, float('nan'), 'reading the bag')
        server = self._server
        periodic = trajectory.period is not None
        periods = self._request.periods if periodic else None
        duration = None if periodic else trajectory.duration
        quality: RecordingQuality = await server.background.run(
            lambda: verify_recording(self.bag, server.model, periods, duration)
        )
        self._feedback('verifying', 1.0, 0.0, 'done')
        return quality

    async def _stop_robot(self) -> None:
        """Cancel the motion and wait until the robot rests."""
        server, follow = self._server, self._follow
        if follow is None:
            return
        self._feedback('running', self._progress[0], server.stop_timeout, 'stopping')
        result = follow.get_result_async()
        await server.background.within(follow.cancel_goal_async(), server.stop_timeout)
        await server.background.within(result, server.stop_timeout)
        self._follow = None
        await server.background.sleep(SETTLE)

    # -- the bag ------------------------------------------------------------------

    def _leave(self, end: RunEnded) -> None:
        """Close the bag as aborted; without a motion leave none."""
        if not self._recorder.recording:
            return
        if not self._moved or self._recorder.error:
            self._recorder.discard()
            return
        try:
            self._close(ABORTED, int(getattr(Excite.Result, end.code)), str(end))
        except RunEnded as failure:
            self._server.get_logger().error(str(failure))

    def _close(self, outcome: str, code: int, message: str) -> None:
        text = dump_metadata(finished_metadata(self._metadata, outcome, code, message))
        try:
            self._recorder.finish({METADATA: text})
        except (DatasetError, OSError) as error:
            raise RunEnded('CANNOT_WRITE', str(error)) from error

    # -- facts --------------------------------------------------------------------

    def _positions(self) -> Any:
        data = self._recorder.latest('joint_states')
        if not data:
            return None
        message = deserialize_message(data, JointState)
        found = dict(zip(message.name, message.position, strict=False))
        joints = self._server.model.actuated_joints
        values = np.array([found.get(name, np.nan) for name in joints])
        return values if np.all(np.isfinite(values)) else None

    def _on_feedback(self, message: Any) -> None:
        self._progress = (message.feedback.fraction, message.feedback.time_left)

    def _raise_if_canceled(self) -> None:
        if self._handle.is_cancel_requested:
            raise RunEnded('CANCELED', 'canceled by the client')

    def _raise_if_lost(self) -> None:
        if self._recorder.error:
            raise RunEnded('CANNOT_WRITE', self._recorder.error)
        for topic in ('joint_states', 'trajectory_controller/state'):
            age = self._recorder.age(self._server.renamed(topic))
            if age is not None and age > self._server.silence_timeout:
                raise RunEnded('TOPIC_SILENT', f"'{topic}' fell silent {age:.1f} s ago")

    def _feedback(self, phase: str, fraction: float, time_left: float, detail: str) -> None:
        if self._handle.is_active:
            feedback = Excite.Feedback(phase=phase, detail=detail)
            feedback.fraction, feedback.time_left = float(fraction), float(time_left)
            self._handle.publish_feedback(feedback)


def quality_message(quality: RecordingQuality) -> QualityMessage:
    """Return the message of a quality."""
    message = QualityMessage()
    for name in (
        'duration',
        'periods',
        'samples',
        'rate',
        'gaps',
        'longest_gap',
        'saturated_fraction',
        'usable',
    ):
        setattr(message, name, getattr(quality, name))
    message.tracking_rms = quality.tracking_rms.tolist()
    message.tracking_max = quality.tracking_max.tolist()
    message.warnings = list(quality.warnings)
    return message
