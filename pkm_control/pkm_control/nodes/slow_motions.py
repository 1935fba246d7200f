"""Motions by hand: the action `~/jog` and the service `~/recover`."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import Trigger

from pkm_control.control_types import ControlFault, ErrorCode, Outcome
from pkm_control.interlocks import Interlocks
from pkm_control.nodes.control_loop import ControlLoop
from pkm_control.nodes.follow_server import CANCELED, FollowServer
from pkm_control.recovery.jog_motion import Jog, checked_speed, jog_motion, moved
from pkm_control.recovery.recovery_motion import recovery_motion
from pkm_control.stops import StopEvent
from pkm_description.errors import PkmError
from pkm_dynamics.trajectories import PointToPoint
from pkm_msgs.action import Jog as JogAction


class SlowMotions:
    """Checks slow motions, starts them, reports them; one motion of any kind at a time.

    They are stopped as every motion is. Where an enabling device is used they need it, and no
    platform goes faster than `reduced_speed`, with or without it.
    """

    def __init__(
        self,
        node: Node,
        loop: Callable[[], ControlLoop | None],  # None while the node is not configured
        follow: FollowServer,  # whose process checks them, and whose goals exclude them
        interlocks: Interlocks,
        reduced_speed: float,  # [m/s] of the platform
    ) -> None:
        self._node = node
        self._loop = loop
        self._follow = follow
        self._interlocks = interlocks
        self._reduced_speed = reduced_speed
        self._done: Future | None = None  # while a slow motion is under way
        self._jog: ServerGoalHandle | None = None  # from the check of a jog to its end
        group = ReentrantCallbackGroup()
        node.create_service(Trigger, '~/recover', self._on_recover, callback_group=group)
        self._server = ActionServer(
            *(node, JogAction, '~/jog'),
            execute_callback=self._on_jog,
            cancel_callback=self._on_cancel,
            callback_group=group,
        )

    def finish(self, outcome: Outcome) -> bool:
        """Take the end of a motion, from whatever thread; whether it was a slow one."""
        done, self._done = self._done, None
        if done is None:
            return False
        done.set_result(outcome)
        if self._node.executor is not None:
            self._node.executor.wake()
        return True

    def publish_feedback(self) -> None:
        """Tell the client of a jog where it is."""
        handle, loop = self._jog, self._loop()
        result = None if loop is None else loop.last_result
        if handle is None or self._done is None or result is None or not handle.is_active:
            return
        told = float(result.fraction), float(result.time_left)
        handle.publish_feedback(JogAction.Feedback(fraction=told[0], time_left=told[1]))

    # -- jog ------------------------------------------------------------------------

    async def _on_jog(self, handle: ServerGoalHandle) -> JogAction.Result:
        result = JogAction.Result(moved=float('nan'))
        try:
            outcome = await self._jogged(handle, result)
            code, message = outcome.code, outcome.message
        except ControlFault as refusal:
            code, message = refusal.code, str(refusal)
        except PkmError as refusal:
            code, message = ErrorCode.INFEASIBLE, str(refusal)
        except Exception as error:
            self._node.get_logger().error(''.join(traceback.format_exception(error)))
            code, message = ErrorCode.KINEMATICS, f'{type(error).__name__}: {error}'
        finally:
            if self._jog is handle:
                self._jog = None
        result.error_code, result.error_msg = int(code), message
        if code is ErrorCode.NONE:
            handle.succeed()
        elif code is ErrorCode.CANCELED and handle.is_cancel_requested:
            handle.canceled()
        else:
            self._node.get_logger().warning(f'jog: {code.name}: {message}')
            handle.abort()
        return result

    async def _jogged(self, handle: ServerGoalHandle, result: JogAction.Result) -> Outcome:
        asked = handle.request
        loop = self._active_loop()
        with self._follow.only(handle):
            self._jog = handle
            await self._follow.require_open_brakes()
            model, controller = loop.controller.model, loop.controller
            jog = Jog(asked.coordinate, asked.distance, asked.speed)
            with loop.lock:
                way = jog_motion(model, jog, controller.resting_coordinates)
            speed = await self._follow.check(model.description, checked_speed, way)
            before = _measured(loop)
            rate = min(1.0, self._reduced_speed / max(speed, self._reduced_speed))
            outcome: Outcome = await self._start(loop, way, rate)
            after = _measured(loop)
            result.name, result.position = list(model.actuated_joints), after.tolist()
            with suppress(PkmError):  # where the loops do not close it stays nan
                result.moved = moved(model, jog, before, after)
            return outcome

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        if handle is self._jog:
            self._follow.revoke(StopEvent.CANCEL, CANCELED)
        return CancelResponse.ACCEPT

    # -- recovery -------------------------------------------------------------------

    async def _on_recover(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Move slowly back into the strokes; answer when the robot rests."""
        try:
            self._active_loop()
            with self._follow.only():
                await self._follow.require_open_brakes()
                loop = self._active_loop()
                controller = loop.controller
                way = recovery_motion(controller.model, controller.resting_coordinates('actuators'))
                done = self._start(loop, way, 1.0)
                text = f'moving back into the strokes within {way.duration:.1f} s'
                self._node.get_logger().warning(text)
                outcome: Outcome = await done
        except PkmError as refusal:
            response.message = str(refusal)
            return response
        response.success = outcome.succeeded
        response.message = outcome.message or 'the robot rests within its strokes'
        return response

    # -- both -----------------------------------------------------------------------

    def _active_loop(self) -> ControlLoop:
        """Return the loop of a robot that may move; raises ControlFault."""
        loop = self._loop()
        if loop is None or not loop.commanding:
            raise ControlFault(ErrorCode.NOT_ACTIVE, 'the controller is not active')
        self._interlocks.check_motion(time.monotonic())
        return loop

    def _start(self, loop: ControlLoop, way: PointToPoint, rate: float) -> Future:
        self._interlocks.check_motion(time.monotonic())
        done: Any = Future()
        with loop.lock:
            self._follow.require_unrevoked()
            loop.controller.start(loop.controller.plan(way), rate)
            self._done = done
        return done


def _measured(loop: ControlLoop) -> np.ndarray:
    """Return the positions (n_a,) [m, rad] measured last."""
    result = loop.last_result
    if result is None:
        raise ControlFault(ErrorCode.NOT_ACTIVE, 'no cycle has run yet')
    return np.array(result.position)
