"""One run of the excitation server: preflight, record, run, verify."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, fields
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
from action_msgs.msg import GoalStatus
from rclpy.action.server import ServerGoalHandle
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from unique_identifier_msgs.msg import UUID

from pkm_description import Payload
from pkm_description.errors import DatasetError
from pkm_description.nodes.background import Background
from pkm_description.nodes.client_watch import HEARTBEAT_TIMEOUT
from pkm_description.nodes.process_line import ProcessLine
from pkm_description.transmissions.calibration import published_text
from pkm_description.transmissions.motor_side import spoken_by
from pkm_description.untrusted.named_files import allowed, only_below
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.limits.goal_check import LONGEST_CHECK
from pkm_dynamics.nodes.trajectory_messages import from_message
from pkm_dynamics.trajectories import Trajectory
from pkm_dynamics.worker_process import WorkerProcess
from pkm_identification.datasets.force_messages import ForceMessages
from pkm_identification.nodes.recorder import Recorder
from pkm_identification.nodes.running_system import RunningSystem
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
from pkm_identification.requests.refusal import Code, Refused, refusing
from pkm_identification.result.fields import plain
from pkm_msgs.action import Excite, FollowPlatformTrajectory
from pkm_msgs.msg import RecordingQuality as QualityMessage

POLL = 0.05  # [s] between looks at cancel requests and the state of the robot
SETTLE = 0.2  # [s] for the last messages after the motion
ANSWER = 5.0  # [s] for the controller to take a cancel request; one that hangs takes none
METADATA = 'pkm/metadata'
FOLLOW = FollowPlatformTrajectory.Result
REJECTIONS = {
    FOLLOW.INFEASIBLE: Code.INFEASIBLE,
    FOLLOW.BAD_TRAJECTORY: Code.BAD_TRAJECTORY,
    FOLLOW.NOT_ACTIVE: Code.CONTROLLER_NOT_ACTIVE,
    FOLLOW.WRONG_ROBOT: Code.NO_DESCRIPTION,
}  # reasons for which a controller does not begin, and what they are here


@dataclass(frozen=True)
class RunSettings:
    """Parameters of the node that a run depends on, as it declares them."""

    rate: float
    approach_speed: float
    topic_timeout: float
    controller_timeout: float
    silence_timeout: float
    stop_timeout: float
    payload: Payload | None  # written into the bag
    data_folder: Path  # bags are written below it


@dataclass
class ExcitationRun:
    """Coroutines of one goal; the recorder listens; the bag is closed or absent at the end."""

    model: ClosedChainModel
    settings: RunSettings
    forces: ForceMessages
    system: RunningSystem
    background: Background
    checks: WorkerProcess  # where the preflight computes, and holds up nobody
    handle: ServerGoalHandle
    recorder: Recorder
    logger: RcutilsLogger

    def __post_init__(self) -> None:
        """Nothing has begun."""
        self._request: Excite.Goal = self.handle.request
        self._metadata: dict[str, Any] = {}
        self._follow: Any = None
        self._goal = UUID(uuid=list(uuid.uuid4().bytes))  # of the controller
        self._line = ProcessLine(bytes(self._goal.uuid), offers=True)
        self._progress: tuple[float, float] = (0.0, 0.0)
        self._moved = False
        self._ending: Refused | None = None  # why the run is to end
        self.feedback = Excite.Feedback()  # the last one

    @property
    def bag(self) -> Path:
        """The bag to be written."""
        return Path(self._request.bag).expanduser()

    async def run(self) -> RecordingQuality:
        """Run the goal; `Refused` when it does not end with a usable recording."""
        with refusing(Code.CANNOT_WRITE), only_below(self.settings.data_folder):
            allowed(self._request.bag and self.bag)
        with refusing(Code.BAD_TRAJECTORY):
            trajectory = from_message(self._request.trajectory)
        try:
            report = await self._preflight(trajectory)
            await self._begin(trajectory)
            await self._move(report)
            await self.background.sleep(SETTLE)
            self._close(COMPLETE, 0, '')
        except Refused as end:
            await self._stop_robot()
            self._leave(end)
            raise
        except BaseException as error:
            self._leave(Refused(Code.MOTION_FAILED, f'{type(error).__name__}: {error}'))
            raise
        finally:
            self._line.close()
        return await self._verify(trajectory)

    def interrupt(self, reason: str) -> None:
        """End the run from outside of its coroutine: stop the robot, close the bag."""
        if self._follow is not None:
            self._follow.cancel_goal_async()
        self._leave(Refused(Code.CANCELED, reason))

    # -- steps --------------------------------------------------------------------

    async def _preflight(self, trajectory: Trajectory) -> PreflightReport:
        recorder, settings = self.recorder, self.settings
        self._feedback('preflight', 0.0, nan, 'listening')
        waited = 0.0
        while None in recorder.ages().values() and waited < settings.topic_timeout:
            self._raise_if_canceled()
            await self.background.sleep(POLL)
            waited += POLL
        facts = SystemFacts(
            controller_state=await self.system.controller_state(settings.topic_timeout),
            topic_ages=recorder.ages(),
            positions=self._positions(),
            rate=settings.rate,
            digest=self.system.published_digest(self.model.description),
            max_age=settings.topic_timeout,
        )
        self._feedback('preflight', 0.5, nan, 'checking limits')
        asked = (trajectory, self._request.periods, self._request.ramp_time, self.bag)
        check = run_preflight, *asked, facts, settings.approach_speed
        try:
            with refusing(Code.INFEASIBLE):
                report: PreflightReport = await self.background.run(
                    lambda: self.checks.call(LONGEST_CHECK, *check)
                )
        finally:
            self._raise_if_canceled()  # what has ended the check counts
        if report.code is not None:
            raise Refused(report.code, report.message)
        return report

    async def _begin(self, trajectory: Trajectory) -> None:
        self._feedback('recording', 0.0, nan, f"creating '{self.bag}'")
        description = self.model.description

        def begin() -> None:
            given = (self._request.periods, self._request.ramp_time)
            self._metadata = recording_metadata(
                *(self.model, trajectory, *given), payload=self.settings.payload, forces=self.forces
            )
            if self.recorder.remapped:
                self._metadata['remapped_topics'] = self.recorder.remapped
            texts = {METADATA: dump_metadata(self._metadata)}
            texts |= {'robot_description_yaml': published_text(description)}
            self.recorder.begin(self.bag, {'robot_description': description.urdf, **texts})

        try:
            await self.background.run(begin)
        except (DatasetError, OSError) as error:
            raise Refused(Code.CANNOT_WRITE, str(error)) from error

    async def _move(self, report: PreflightReport) -> None:
        settings, request = self.settings, self._request
        self._feedback('running', 0.0, report.duration, 'sending the trajectory')
        self._raise_if_canceled()
        goal = FollowPlatformTrajectory.Goal(
            trajectory=request.trajectory,
            periods=request.periods,
            ramp_time=request.ramp_time,
            approach_speed=settings.approach_speed,
            heartbeat_timeout=HEARTBEAT_TIMEOUT,
        )
        self._follow = await self.background.within(
            self.system.follow.send_goal_async(
                goal, feedback_callback=self._on_feedback, goal_uuid=self._goal
            ),
            settings.controller_timeout,
        )
        if self._follow is None:
            silent = f'the controller did not answer within {settings.controller_timeout:g} s'
            raise Refused(Code.MOTION_FAILED, silent)
        if not self._follow.accepted:
            self._follow = None
            raise Refused(Code.MOTION_FAILED, 'the controller rejected the goal: see its log')
        self._moved = True  # unless the controller says that it has not begun
        answer = self._follow.get_result_async()
        self._progress = (0.0, report.duration)
        while not answer.done():
            self._raise_if_canceled()
            self._raise_if_lost()
            self.system.beat(self._goal)
            self._feedback('running', *self._progress, 'following the trajectory')
            await self.background.within(answer, POLL)
        self._follow = None
        result, status = answer.result().result, answer.result().status
        code = result.error_code
        if code in REJECTIONS:
            self._moved = False
            why = f'the controller rejected the trajectory: {result.error_msg}'
            raise Refused(REJECTIONS[code], why)
        if status != GoalStatus.STATUS_SUCCEEDED or code != FOLLOW.NONE:
            why = f'the controller ended the motion with code {code}: {result.error_msg}'
            raise Refused(Code.MOTION_FAILED, why)

    async def _verify(self, trajectory: Trajectory) -> RecordingQuality:
        self._feedback('verifying', 0.0, nan, 'reading the bag')
        periodic = trajectory.period is not None
        periods = self._request.periods if periodic else None
        duration = None if periodic else trajectory.duration
        quality: RecordingQuality = await self.background.run(
            lambda: verify_recording(self.bag, self.model, periods, duration)
        )
        self._feedback('verifying', 1.0, 0.0, 'done')
        return quality

    async def _stop_robot(self) -> None:
        """Cancel the motion and wait until the robot rests."""
        follow, limit = self._follow, self.settings.stop_timeout
        self._follow = None
        if follow is None or self._line.is_cut():
            return
        self._feedback('running', self._progress[0], limit, 'stopping')
        result = follow.get_result_async()
        if await self.background.within(follow.cancel_goal_async(), ANSWER) is not None:
            await self.background.within(result, limit)
            await self.background.sleep(SETTLE)

    # -- the bag ------------------------------------------------------------------

    def _leave(self, end: Refused) -> None:
        """Close the bag as aborted; without a motion leave none."""
        if not self.recorder.recording:
            return
        if not self._moved or self.recorder.error:
            self.recorder.discard()
            return
        try:
            self._close(ABORTED, int(getattr(Excite.Result, end.code.name)), str(end))
        except Refused as failure:
            self.logger.error(str(failure))

    def _close(self, outcome: str, code: int, message: str) -> None:
        text = dump_metadata(finished_metadata(self._metadata, outcome, code, message))
        try:
            self.recorder.finish({METADATA: text})
        except (DatasetError, OSError) as error:
            raise Refused(Code.CANNOT_WRITE, str(error)) from error

    # -- facts --------------------------------------------------------------------

    def _positions(self) -> Any:
        found: dict[str, float] = {}
        if data := self.recorder.latest_own:
            message = deserialize_message(data, JointState)
            found = dict(zip(message.name, message.position, strict=False))
            if (motors := spoken_by(self.model.description)) is not None:
                found = motors.named_joints(found)
        values = np.array([found.get(name, np.nan) for name in self.model.actuated_joints])
        return values if np.all(np.isfinite(values)) else None

    def _on_feedback(self, message: Any) -> None:
        self._progress = (message.feedback.fraction, message.feedback.time_left)

    def end(self, code: Code, reason: str) -> None:
        """Let the run end soon, as if it were canceled."""
        self._ending = Refused(code, reason)
        self.checks.abandon()

    def _raise_if_canceled(self) -> None:
        if self._ending is not None:
            raise self._ending
        if self.handle.is_cancel_requested:
            raise Refused(Code.CANCELED, 'canceled by the client')

    def _raise_if_lost(self) -> None:
        if self.recorder.error:
            raise Refused(Code.CANNOT_WRITE, self.recorder.error)
        if self._line.is_cut():
            raise Refused(Code.TOPIC_SILENT, 'the controller is gone')
        for topic in ('joint_states', self.system.state_topic):
            age = self.recorder.age(topic)
            if age is not None and age > self.settings.silence_timeout:
                raise Refused(Code.TOPIC_SILENT, f"'{topic}' fell silent {age:.1f} s ago")

    def _feedback(self, phase: str, fraction: float, time_left: float, detail: str) -> None:
        told = self.feedback = Excite.Feedback(phase=phase, detail=detail)
        told.fraction, told.time_left = float(fraction), float(time_left)
        if self.handle.is_active:
            self.handle.publish_feedback(told)


def quality_message(quality: RecordingQuality) -> QualityMessage:
    """Return the message of a quality, whose fields have the same names."""
    values = plain({item.name: getattr(quality, item.name) for item in fields(quality)})
    return QualityMessage(**values)
