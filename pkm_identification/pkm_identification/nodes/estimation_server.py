"""Node `estimation_server`: identification, validation and hand-over to the controller."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

import pkm_description
from pkm_description.errors import PkmError
from pkm_description.nodes.background import Background
from pkm_description.nodes.node_parameters import NodeParameter, declare_parameters
from pkm_description.nodes.node_status import publish_diagnostics
from pkm_description.nodes.running import run_node
from pkm_description.untrusted.named_files import only_below, resolved_folder
from pkm_dynamics import ClosedChainModel
from pkm_identification.model_selection.model_comparison import Candidate
from pkm_identification.nodes.estimation_messages import (
    fill_comparison,
    fill_identified,
    fill_validation,
    identification_report,
    read_apply,
    read_compare,
    read_identify,
    read_validate,
    to_message,
)
from pkm_identification.nodes.goal_progress import Canceled, GoalProgress
from pkm_identification.requests.apply_request import Applicable, applicable_model
from pkm_identification.requests.compare_request import compare_on_recordings
from pkm_identification.requests.identify_request import Progress, identify_recordings
from pkm_identification.requests.refusal import Code, Refused
from pkm_identification.requests.validate_request import validate_on_recording
from pkm_identification.result.result import IdentificationResult
from pkm_identification.validation.validation import Validation
from pkm_msgs.action import Compare, IdentifyWithProgress
from pkm_msgs.srv import ApplyModel, Identify, SetModel, Validate

PARAMETERS = (
    NodeParameter('robot', 'palida', 'library name of the robot, or path of a description'),
    NodeParameter('controller', 'trajectory_controller', 'node that models are applied to'),
    NodeParameter(
        'data_folder', '.', 'files are read and written below it alone; ~ is the home folder'
    ),
    NodeParameter(
        'controller_timeout', 5.0, 'longest wait for the controller to answer', 's', 0.1, 600.0
    ),
    NodeParameter('feedback_rate', 5.0, 'rate of the feedback of actions', 'Hz', 0.1, 100.0),
)


class EstimationServer(Node):
    """Serves identifications, validations, comparisons and the hand-over of models.

    The library does the work in one thread, request after request; the executor stays
    free. Paths are those of the machine the node runs on, relative to its working folder; they
    stay below the parameter `data_folder`.
    """

    def __init__(self) -> None:
        super().__init__('estimation_server')
        values = declare_parameters(self, PARAMETERS)
        self._description = pkm_description.load(values['robot'])
        self._model: ClosedChainModel | None = None
        self._timeout = values['controller_timeout']
        self._folder = resolved_folder(values['data_folder'])
        self._feedback_period = 1.0 / values['feedback_rate']
        self._waiting = 0
        self._last = 'nothing asked yet'
        self._background = Background(self, 'estimation')
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        group = ReentrantCallbackGroup()
        self._controller = self.create_client(
            SetModel, f'{values["controller"]}/set_model', callback_group=group
        )
        for service, name, callback in (
            (Identify, '~/identify', self._on_identify),
            (Validate, '~/validate', self._on_validate),
            (ApplyModel, '~/apply_model', self._on_apply),
        ):
            self.create_service(service, name, callback, callback_group=group)
        self._servers = [
            ActionServer(
                self,
                action,
                name,
                execute_callback=callback,
                cancel_callback=lambda _: CancelResponse.ACCEPT,
                callback_group=group,
            )
            for action, name, callback in (
                (IdentifyWithProgress, '~/identify_with_progress', self._on_identify_goal),
                (Compare, '~/compare', self._on_compare_goal),
            )
        ]
        publish_diagnostics(self, self._description.name, self._report)
        self.get_logger().info(f"ready for recordings of '{self._description.name}'")

    def close(self) -> None:
        """End the thread before the node goes."""
        self._background.close()

    def _ready_model(self) -> ClosedChainModel:
        """Build the mechanism once, in the worker thread."""
        if self._model is None:
            try:
                self._model = ClosedChainModel(self._description)
            except PkmError as error:
                raise Refused(Code.NO_DESCRIPTION, str(error)) from error
        return self._model

    async def _work(self, what: str, work: Callable[[], Any], failure: Code) -> Any:
        """Run work in the background; log how it ends.

        What nobody has foreseen is refused with the code `failure`: the node goes on.
        """
        self._waiting += 1
        begun = time.monotonic()
        try:
            result = await self._background.run(partial(self._below_folder, work))
        except Refused as refusal:
            self._last = f'{what}: {refusal.code.name}: {refusal}'
            self.get_logger().error(self._last)
            raise
        except Canceled:
            self._last = f'{what}: canceled'
            raise
        except Exception as error:
            self._last = f'{what}: defect: {type(error).__name__}: {error}'
            self.get_logger().error(''.join(traceback.format_exception(error)))
            raise Refused(failure, f'defect: {type(error).__name__}: {error}') from error
        finally:
            self._waiting -= 1
        self._last = f'{what}: done in {time.monotonic() - begun:.2f} s'
        self.get_logger().info(self._last)
        return result

    def _below_folder(self, work: Callable[[], Any]) -> Any:
        """Do work that opens no other files than those below the data folder, or shipped ones."""
        with only_below(self._folder):
            return work()

    async def _on_identify(
        self, request: Identify.Request, response: Identify.Response
    ) -> Identify.Response:
        async def answer() -> None:
            what = f"identify '{request.data}' by {request.estimator}"
            work = partial(self._identified, request)
            self._fill(response, await self._work(what, work, Code.ESTIMATION_FAILED))

        return await _answered(response, answer())

    async def _on_validate(
        self, request: Validate.Request, response: Validate.Response
    ) -> Validate.Response:
        def work() -> Validation:
            return validate_on_recording(read_validate(request), self._ready_model())

        async def answer() -> None:
            what = f"validate '{request.model}' on '{request.data}'"
            fill_validation(response, await self._work(what, work, Code.BAD_DATA))

        return await _answered(response, answer())

    async def _on_apply(
        self, request: ApplyModel.Request, response: ApplyModel.Response
    ) -> ApplyModel.Response:
        def work() -> Applicable:
            return applicable_model(read_apply(request), self._ready_model())

        async def answer() -> None:
            found = await self._work(f"check '{request.model}'", work, Code.BAD_MODEL)
            await self._send(found.result, request)
            response.error_msg = '; '.join(found.remarks)
            for remark in found.remarks:
                self.get_logger().warn(remark)

        return await _answered(response, answer())

    async def _send(self, result: IdentificationResult, request: ApplyModel.Request) -> None:
        """Hand a model to the controller, or raise `Refused`."""
        name = self._controller.srv_name
        message = SetModel.Request(
            source=SetModel.Request.IDENTIFIED,
            parameters=to_message(result),
            **{part: getattr(request, part) for part in ('rigid_body', 'friction', 'rotor')},
        )
        message.parameters.header.stamp = self.get_clock().now().to_msg()
        found = await self._background.run(
            lambda: self._controller.wait_for_service(timeout_sec=self._timeout)
        )
        if not found:
            raise Refused(Code.CONTROLLER_UNAVAILABLE, f"nobody serves '{name}'")
        call = self._controller.call_async(message)
        answer = await self._background.within(call, self._timeout)
        if answer is None:
            self._controller.remove_pending_request(call)
            why = f"'{name}' did not answer within {self._timeout:g} s"
            raise Refused(Code.CONTROLLER_UNAVAILABLE, why)
        if not answer.success:
            raise Refused(Code.REFUSED_BY_CONTROLLER, answer.error_msg)

    async def _on_identify_goal(self, handle: ServerGoalHandle) -> IdentifyWithProgress.Result:
        request = handle.request
        what = f"identify '{request.data}' by {request.estimator}"
        work = partial(self._identified, request)
        return await self._on_goal(handle, IdentifyWithProgress, what, work, self._fill)

    async def _on_compare_goal(self, handle: ServerGoalHandle) -> Compare.Result:
        request = handle.request
        what = f"compare on '{request.data}'"

        def work(step: Progress) -> list[Candidate]:
            return compare_on_recordings(read_compare(request), self._ready_model(), step)

        return await self._on_goal(handle, Compare, what, work, fill_comparison)

    async def _on_goal(
        self,
        handle: ServerGoalHandle,
        action: Any,
        what: str,
        work: Callable[[Progress], Any],
        fill: Callable[[Any, Any], None],
    ) -> Any:
        """Do the work of a goal, with feedback, until it ends or is cancelled."""
        result, progress = action.Result(), GoalProgress(handle, action.Feedback)

        def worked() -> Any:
            progress.begin('building the model')
            return work(progress.step)

        timer = self.create_timer(self._feedback_period, progress.publish, clock=self._steady)
        try:
            fill(result, await self._work(what, worked, Code.ESTIMATION_FAILED))
        except Refused as refusal:
            handle.abort()
            return refusal.fill(result)
        except Canceled:
            handle.canceled()
            return Refused(Code.CANCELED, 'canceled by the client').fill(result)
        finally:
            self.destroy_timer(timer)
        progress.publish()
        handle.succeed()
        return result

    def _identified(
        self, request: Any, step: Progress | None = None
    ) -> tuple[IdentificationResult, str]:
        asked, level = read_identify(request)
        found = identify_recordings(asked, self._ready_model(), step)
        return found.result, identification_report(found, level)

    def _fill(self, answer: Any, found: tuple[IdentificationResult, str]) -> None:
        fill_identified(answer, *found)
        answer.parameters.header.stamp = self.get_clock().now().to_msg()

    def _report(self) -> tuple[str, dict[str, str]]:
        values = {'requests under way': str(self._waiting), 'last request': self._last}
        return 'working' if self._waiting else 'idle', values


async def _answered(response: Any, answer: Coroutine[Any, Any, None]) -> Any:
    """Return the response that a coroutine fills; where it refuses, the reason."""
    try:
        await answer
    except Refused as refusal:
        return refusal.fill(response)
    response.success = True
    return response


def main(args: Sequence[str] | None = None) -> None:
    """Run the node until it is interrupted."""
    sys.exit(run_node(EstimationServer, args))


if __name__ == '__main__':
    main()
