"""Action server `~/follow_platform_trajectory` of the trajectory controller."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future

from pkm_control.control_types import ControlFault, ErrorCode, Outcome, TrackingStatistics
from pkm_control.interlocks import Interlocks
from pkm_control.learning.repetition import Repetition
from pkm_control.nodes.brakes import Brakes
from pkm_control.nodes.control_loop import ControlLoop
from pkm_control.nodes.motion_learning import LearnedRun, MotionLearnings
from pkm_control.stops import StopEvent
from pkm_description.description import Description
from pkm_description.errors import PkmError, TrajectoryError
from pkm_description.nodes.background import Background
from pkm_description.nodes.client_watch import ClientWatch
from pkm_dynamics.limits.goal_check import LONGEST_CHECK, GoalPlan, checked_execution, fastest
from pkm_dynamics.nodes.trajectory_messages import trajectory_arguments
from pkm_dynamics.trajectories import Execution
from pkm_dynamics.worker_process import WorkerProcess
from pkm_msgs.action import FollowPlatformTrajectory

CANCELED = 'canceled by the client'
# A function of a model and its arguments, which returns a checked motion in another process
Check = tuple[Callable[..., Execution], tuple[Any, ...]]


class FollowServer:
    """Checks goals, starts them, reports them.

    Every goal is accepted, since only a result can carry a reason: one that cannot be
    followed is aborted with code and reason before anything moves. It is bounded in size, then
    built and checked as a whole in a process of its own: the loop goes on meanwhile, and a
    check that takes longer than `LONGEST_CHECK` refuses the goal; a cancel ends it, and so does the
    loss of the client. One motion of any kind at a time.
    """

    def __init__(
        self,
        node: Node,
        loop: Callable[[], ControlLoop | None],  # None while the node is not configured
        feasibility_rate: float,  # [Hz] of the samples of the check
        on_rejected: Callable[
            [ErrorCode, str], None
        ],  # gets code and reason of every rejected goal
        client: ClientWatch,  # watches who sent the goal that is checked or moves the robot
        interlocks: Interlocks,
        reduced_speed: float,  # [m/s] of the platform where an enabling device is used
        brakes: Callable[[], Brakes | None],
        opening_time: float,  # [s] in which brakes open
        learning: tuple[Path | None, float],  # folder of what is learned, and share of force limits
    ) -> None:
        self._node = node
        self._loop = loop
        self._rate = feasibility_rate
        self._on_rejected = on_rejected
        self.busy = False  # whether something is checked or moves the robot
        self._handle: ServerGoalHandle | None = None  # from the check of a goal to its end
        self._done: Future | None = None  # from the begin of the motion on
        self._revoked: ControlFault | None = None  # why what is under way shall not begin
        self._background = Background(node, 'feasibility')
        self._worker: WorkerProcess | None = None
        self._client = client
        self._interlocks = interlocks
        self._reduced_speed = reduced_speed
        self._brakes = brakes
        self._opening_time = opening_time
        self._learnings = MotionLearnings(*learning, self.compute)
        self._server = ActionServer(
            node,
            FollowPlatformTrajectory,
            '~/follow_platform_trajectory',
            execute_callback=self._execute,
            cancel_callback=self._on_cancel,
            callback_group=ReentrantCallbackGroup(),
        )

    def close(self) -> None:
        """End thread and process of the feasibility check."""
        self._background.close()
        if self._worker is not None:
            self._worker.close()

    def prepare(self, description: Description) -> WorkerProcess:
        """Begin to start the process of the check, where it is not that of `description` yet."""
        if self._worker is None or self._worker.description is not description:
            if self._worker is not None:
                self._worker.close()
            self._worker = WorkerProcess(description)
            self._worker.start()
        return self._worker

    async def compute(
        self, description: Description, function: Callable[..., Any], *arguments: Any
    ) -> Any:
        """Return function(model, *arguments), computed in the process of the check."""
        worker = self.prepare(description)
        return await self._background.run(lambda: worker.call(LONGEST_CHECK, function, *arguments))

    def finish(self, outcome: Outcome) -> None:
        """Take the end of the motion, from whatever thread."""
        done = self._done
        if done is not None and not done.done():
            done.set_result(outcome)
            if self._node.executor is not None:
                self._node.executor.wake()

    def publish_feedback(self) -> None:
        """Tell the client where the motion is."""
        handle, done, loop = self._handle, self._done, self._loop()
        result = None if loop is None else loop.last_result
        if handle is None or done is None or done.done() or result is None or not handle.is_active:
            return
        feedback = FollowPlatformTrajectory.Feedback(
            phase=int(result.phase),
            fraction=float(result.fraction),
            time_left=float(result.time_left),
            position_error=(result.desired_position - result.position).tolist(),
        )
        handle.publish_feedback(feedback)

    async def require_open_brakes(self) -> None:
        """Wait for brakes that are opening; ControlFault where they stay closed."""
        brakes = self._brakes()
        if brakes is not None:
            await brakes.require_open(self._background.sleep, self._opening_time)

    @contextmanager
    def only(self, handle: ServerGoalHandle | None = None) -> Iterator[None]:
        """Let nothing else move the robot meanwhile, and watch the client of a goal.

        ControlFault where something moves it, or the goal is canceled already.
        """
        if self.busy:
            reason = (
                'a motion is under way, and none takes its place: stop it, then send this again'
            )
            raise ControlFault(ErrorCode.BUSY, reason)
        self.busy, self._revoked = True, None
        try:
            if handle is not None:
                try:
                    self._client.begin(bytes(handle.goal_id.uuid), handle.request.heartbeat_timeout)
                except PkmError as error:
                    raise _refusal(error) from error
                if handle.is_cancel_requested:
                    raise ControlFault(ErrorCode.CANCELED, CANCELED)
            yield
        finally:
            self._client.end()
            self.busy, self._done = False, None

    def revoke(self, event: StopEvent, reason: str) -> None:
        """Stop what moves the robot; what is still checked will not begin. From any thread."""
        loop = self._loop()
        if loop is None:
            return
        with loop.lock:
            if not loop.controller.stop(event, reason) and self._done is None:
                self._revoked = ControlFault(event.code, reason)
                if self._worker is not None:
                    self._worker.abandon()

    def require_unrevoked(self) -> None:
        """Raise why what is under way shall not begin; the loop's lock keeps others from it."""
        if self._revoked is not None:
            raise self._revoked

    async def check(
        self, description: Description, function: Callable[..., Any], *arguments: Any
    ) -> Any:
        """Return what `compute` does; ControlFault as soon as what is checked is revoked."""
        self.require_unrevoked()
        try:
            return await self.compute(description, function, *arguments)
        finally:
            self.require_unrevoked()

    async def run(self, asked: Callable[[ControlLoop], Check]) -> Outcome:
        """Follow a motion that no client of the action has sent, checked like a goal."""
        try:
            with self.only():
                self._interlocks.check_motion(time.monotonic())
                self._active_loop()
                await self.require_open_brakes()
                loop = self._active_loop()
                with loop.lock:
                    check = asked(loop)
                return await self._moved(*await self._checked_by(loop, check))
        except ControlFault as rejection:
            return self.reject(rejection.code, str(rejection))
        except Exception as error:
            self._node.get_logger().error(''.join(traceback.format_exception(error)))
            return self.reject(ErrorCode.BAD_TRAJECTORY, f'{type(error).__name__}: {error}')

    async def _checked(self, goal: FollowPlatformTrajectory.Goal) -> tuple[Execution, float]:
        """Return the execution of a goal and its largest rate; ControlFault where it cannot be."""
        self._interlocks.check_motion(time.monotonic())
        self._active_loop()
        await self.require_open_brakes()
        loop = self._active_loop()
        robot, own = goal.trajectory.robot, loop.controller.model.description.name
        if robot not in ('', own):
            message = f"the trajectory is for robot '{robot}', this is '{own}'"
            raise ControlFault(ErrorCode.WRONG_ROBOT, message)
        try:
            kind, arguments = trajectory_arguments(goal.trajectory)
            with loop.lock:
                start = loop.controller.resting_coordinates(arguments['coordinates'])
        except PkmError as error:
            raise _refusal(error) from error
        how = int(goal.periods), goal.ramp_time, start, goal.approach_speed
        check = checked_execution, (GoalPlan(kind, arguments, *how), self._rate)
        return await self._checked_by(loop, check)

    async def _checked_by(self, loop: ControlLoop, check: Check) -> tuple[Execution, float]:
        """Return a motion and its largest rate, checked in the other process."""
        function, arguments = check
        description = loop.controller.model.description
        try:
            execution: Execution = await self.check(description, function, *arguments)
            rate = 1.0
            if self._interlocks.has_enabling_device:
                speed = await self.check(description, fastest, execution)
                rate = min(1.0, self._reduced_speed / max(speed, self._reduced_speed))
        except PkmError as error:
            raise _refusal(error) from error
        return execution, rate

    def _active_loop(self) -> ControlLoop:
        loop = self._loop()
        if loop is None or not loop.commanding:
            raise ControlFault(ErrorCode.NOT_ACTIVE, 'the controller is not active')
        return loop

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        if handle is self._handle:
            self.revoke(StopEvent.CANCEL, CANCELED)
        return CancelResponse.ACCEPT

    async def _execute(self, handle: ServerGoalHandle) -> FollowPlatformTrajectory.Result:
        outcome, learned = await self._outcome(handle)
        if outcome.succeeded:
            handle.succeed()
        elif outcome.code is ErrorCode.CANCELED and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        result = self._result(outcome)
        if learned is not None:
            learned.report(result)
        return result

    async def _outcome(self, handle: ServerGoalHandle) -> tuple[Outcome, LearnedRun | None]:
        """Check a goal, follow it, and say how that ended, and what it has taught."""
        try:
            with self.only(handle):
                self._handle = handle
                try:
                    return await self._follow(handle, *await self._checked(handle.request))
                finally:
                    self._handle = None
        except ControlFault as rejection:
            return self.reject(rejection.code, str(rejection)), None
        except Exception as error:
            self._node.get_logger().error(''.join(traceback.format_exception(error)))
            reason = f'{type(error).__name__}: {error}'
            return self.reject(ErrorCode.BAD_TRAJECTORY, reason), None

    def reject(self, code: ErrorCode, reason: str) -> Outcome:
        """Say why something that was asked for is not followed."""
        self._on_rejected(code, reason)
        return Outcome(code, reason, TrackingStatistics.empty(0))

    async def _follow(
        self, handle: ServerGoalHandle, execution: Execution, rate: float
    ) -> tuple[Outcome, LearnedRun | None]:
        if handle.request.learning == FollowPlatformTrajectory.Goal.NO_LEARNING:
            return await self._moved(execution, rate), None
        controller = self._active_loop().controller
        learned = await self._learnings.begin(controller, execution, handle.request)
        outcome = await self._moved(execution, rate, learned.repetition)
        await self._learnings.finish(controller, learned, outcome)
        self._node.get_logger().info(f'learning: {learned.message}')
        return outcome, learned

    async def _moved(
        self, execution: Execution, rate: float, repetition: Repetition | None = None
    ) -> Outcome:
        """Follow a checked motion to its end."""
        self._interlocks.check_motion(time.monotonic())
        loop = self._loop()
        if loop is not None and loop.fault is not None:  # it came while the goal was checked
            raise ControlFault(loop.fault.code, str(loop.fault))
        loop = self._active_loop()
        with loop.lock:
            self.require_unrevoked()
            done = self._done = Future()
            loop.controller.start(execution, rate, repetition)
        logger = self._node.get_logger()
        logger.info(
            f'following {execution.trajectory!r}, {execution.periods} periods, '
            f'{execution.duration:.2f} s in all, at {rate:.0%} of its speed'
        )
        outcome: Outcome = await done
        self._client.end()
        if outcome.succeeded:
            logger.info('motion ended at its goal')
        else:
            logger.warning(f'motion ended: {outcome.code.name}: {outcome.message}')
        return outcome

    def _result(self, outcome: Outcome) -> FollowPlatformTrajectory.Result:
        loop = self._loop()
        result = FollowPlatformTrajectory.Result()
        result.error_code, result.error_msg = int(outcome.code), outcome.message
        statistics = outcome.statistics
        if loop is not None and len(statistics.largest) == loop.controller.model.n_a:
            result.name = list(loop.controller.model.actuated_joints)
            result.tracking_rms = statistics.rms.tolist()
            result.tracking_max = statistics.largest.tolist()
            result.saturated_fraction = statistics.saturated_fraction
        return result


def _refusal(error: PkmError) -> ControlFault:
    """Return why a motion is not followed that is malformed, or leaves a limit."""
    if isinstance(error, ControlFault):
        return error
    malformed = type(error) is TrajectoryError
    code = ErrorCode.BAD_TRAJECTORY if malformed else ErrorCode.INFEASIBLE
    return ControlFault(code, str(error))
