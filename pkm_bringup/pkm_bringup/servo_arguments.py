"""The servo that the arguments of a verb ask for, and what it will leave of a motion."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from pkm_bringup.arguments import FEEDFORWARD
from pkm_bringup.offline import feedforward_of
from pkm_bringup.views.console import print_note
from pkm_control.control_types import ControllerOptions
from pkm_control.safeguards.allowed_errors import error_bounds
from pkm_description.errors import SimulationError, UnderactuatedError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.joint_servo.expected_tracking import ErrorResponse, under_servo
from pkm_dynamics.joint_servo.gains import ServoGains, servo_gains
from pkm_dynamics.limits.margins import FeasibilityReport
from pkm_dynamics.trajectories import Execution
from pkm_identification.excitation import ExcitationDesign
from pkm_identification.excitation_options import SERVO
from pkm_identification.requests.check_request import CheckRequest, check_motion, planned_motion

USUAL = SimpleNamespace(**{option.name: option.default for option in (FEEDFORWARD, *SERVO)})


def take_servo_of(design: ExcitationDesign | None, arguments: Any) -> None:
    """Fill what the arguments `SERVO_OF_DESIGN` leave open by the servo that a design was made for.

    By the usual one where there is no design, or it was made without a servo.
    """
    limits = {} if design is None else design.origin.get('limits', {})
    made_for_one = np.isfinite(limits.get('bandwidth', np.inf))
    for option in SERVO:
        if getattr(arguments, option.name) is None:
            known = limits.get(option.name) if made_for_one else None
            setattr(arguments, option.name, option.default if known is None else known)


def servo_of(model: ClosedChainModel, arguments: Any) -> ServoGains:
    """Return the gains that the arguments `SERVO` ask for."""
    return servo_gains(model, arguments.bandwidth, arguments.damping, arguments.gain_scale)


def options_of(max_error: float | None) -> ControllerOptions:
    """Return the usual options with this error [m, rad] as the bound of a motion's."""
    return ControllerOptions(max_position_error=max_error or 0.0)


def check_followed(
    request: CheckRequest, model: ClosedChainModel, arguments: Any
) -> FeasibilityReport:
    """Return the margins of a motion and of the robot that follows it under its servo."""
    return with_tracking(
        check_motion(request, model), planned_motion(request, model), model, arguments
    )


def with_tracking(
    report: FeasibilityReport, motion: Execution, model: ClosedChainModel, arguments: Any
) -> FeasibilityReport:
    """Add what the robot is expected to do under its servo to the margins of a motion.

    Where the robot has no servo a note says so, and the margins are as they were.
    """
    try:
        response = ErrorResponse(model, servo_of(model, arguments))
        feedforward = feedforward_of(model, arguments.feedforward)
        bounds = error_bounds(model, options_of(arguments.max_error)).largest
        return under_servo(report, model, motion, response, bounds, feedforward.forces)
    except (UnderactuatedError, SimulationError) as error:
        print_note(f'errors under a servo are not known: {error}')
        return report
