"""Service `~/set_model`: the feedforward of the running controller."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from rclpy.node import Node

from pkm_control.feedforward import (
    Feedforward,
    NotPhysicalError,
    identified_feedforward,
    no_feedforward,
    nominal_feedforward,
)
from pkm_control.model_difference import model_difference
from pkm_control.nodes.control_loop import ControlLoop
from pkm_control.safeguards.feedforward_bound import FeedforwardBound
from pkm_description.errors import DescriptionError, ModelFileError
from pkm_dynamics import ClosedChainModel
from pkm_msgs.srv import SetModel

# Of `max_model_difference`: two forces that the drives can do are never farther apart.
NEVER = 2.0


class ModelRefused(ModelFileError):
    """A model that the controller does not take; `code` as in the service."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class ModelService:
    """Gives the controller of a loop another feedforward, or says why not.

    `most` is the parameter `max_model_difference`, see `requested_feedforward`.
    """

    def __init__(self, node: Node, loop: Callable[[], ControlLoop | None], most: float) -> None:
        self._node, self._loop, self._most = node, loop, most
        node.create_service(SetModel, '~/set_model', self.set_model)

    def set_model(
        self, request: SetModel.Request, response: SetModel.Response
    ) -> SetModel.Response:
        """Answer a request."""
        loop = self._loop()
        try:
            if loop is None:
                raise ModelRefused(response.WRONG_STATE, 'the controller is not configured')
            controller = loop.controller
            controller.feedforward = requested_feedforward(controller.model, request, self._most)
            self._node.get_logger().info(f'feedforward: {controller.feedforward.name}')
            response.success = True
        except ModelRefused as refusal:
            self._node.get_logger().error(f'model refused: {refusal}')
            response.success = False
            response.error_code, response.error_msg = refusal.code, str(refusal)
        return response


def requested_feedforward(
    model: ClosedChainModel, request: SetModel.Request, most: float = math.inf
) -> Feedforward:
    """Return the feedforward that a request asks for.

    Raises ModelRefused when the source is unknown, the model is another robot's, a parameter is
    missing, unknown, not finite or of friction that the robot cannot have, the parameters
    are not physical, or the forces differ from those of the description by more than `most`
    times the force limit of a drive. In the motions to come they are kept within that.
    """
    feedforward = _asked_for(model, request)
    if request.source == SetModel.Request.IDENTIFIED and feedforward.parameters is not None:
        parts = (request.rigid_body, request.friction, request.rotor)
        worst = model_difference(model, feedforward, nominal_feedforward(model, *parts))
        if not worst.share <= most:
            raise ModelRefused(
                SetModel.Response.TOO_DIFFERENT,
                f'{worst.joint}: a force of {worst.force:.4g} where the description has '
                f'{worst.expected:.4g}: {worst.share:.2g} of the force limit apart, '
                f'max_model_difference is {most:g}',
            )
        if most < NEVER:
            width = most * np.asarray(model.force_limit, dtype=float)
            nominal = nominal_feedforward(model, *parts).parameters
            assert nominal is not None  # the same parts as those of the feedforward
            feedforward = replace(feedforward, bound=FeedforwardBound(nominal, width))
    return feedforward


def _asked_for(model: ClosedChainModel, request: SetModel.Request) -> Feedforward:
    parts = (request.rigid_body, request.friction, request.rotor)
    if request.source == SetModel.Request.NONE:
        return no_feedforward()
    if request.source == SetModel.Request.NOMINAL:
        return nominal_feedforward(model, *parts)
    if request.source != SetModel.Request.IDENTIFIED:
        sources = (SetModel.Request.NONE, SetModel.Request.NOMINAL, SetModel.Request.IDENTIFIED)
        raise ModelRefused(
            SetModel.Response.UNKNOWN_SOURCE,
            f"source '{request.source}' is unknown; valid are {', '.join(sources)}",
        )
    parameters, description = request.parameters, model.description
    if parameters.robot != description.name:
        message = f"the model is of robot '{parameters.robot}', this is '{description.name}'"
        raise ModelRefused(SetModel.Response.WRONG_ROBOT, message)
    if parameters.description_digest != description.digest:
        raise ModelRefused(
            SetModel.Response.WRONG_ROBOT,
            f"the model was identified with another description of '{description.name}' "
            f'(digest {parameters.description_digest[:12] or "missing"}, '
            f'here {description.digest[:12]})',
        )
    name = parameters.estimator or SetModel.Request.IDENTIFIED
    try:
        return identified_feedforward(
            model, name, parameters.standard_name, parameters.standard_value, *parts
        )
    except NotPhysicalError as error:
        raise ModelRefused(SetModel.Response.NOT_PHYSICAL, str(error)) from error
    except (ModelFileError, DescriptionError) as error:
        raise ModelRefused(SetModel.Response.WRONG_PARAMETERS, str(error)) from error
