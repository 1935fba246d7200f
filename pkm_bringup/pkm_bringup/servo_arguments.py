"""The servo that the arguments of a verb ask for, and what it will leave of a motion."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pkm_bringup.offline import feedforward_of
from pkm_control.control_types import ControllerOptions
from pkm_control.expected_tracking import expected_tracking
from pkm_control.gains import ServoGains, servo_gains
from pkm_control.safeguards.allowed_errors import error_bounds, own_errors
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.limits.margins import ASSEMBLED, FeasibilityReport
from pkm_dynamics.trajectories import Execution


def servo_of(model: ClosedChainModel, arguments: Any) -> ServoGains:
    """Return the gains that the arguments `SERVO` ask for."""
    return servo_gains(model, arguments.bandwidth, arguments.damping, arguments.gain_scale)


def options_of(max_error: float | None) -> ControllerOptions:
    """Return the usual options with this error [m, rad] as the bound of a motion's."""
    return ControllerOptions(max_position_error=max_error or 0.0)


def with_tracking(
    report: FeasibilityReport, motion: Execution, model: ClosedChainModel, arguments: Any
) -> FeasibilityReport:
    """Add the errors that the servo is expected to leave along a motion to its margins.

    Raises UnderactuatedError and SimulationError where the robot has no servo.
    """
    if ASSEMBLED in report.margins:
        return report
    gains, feedforward = servo_of(model, arguments), feedforward_of(model, arguments.feedforward)
    bounds = error_bounds(model, options_of(arguments.max_error))
    margins = expected_tracking(model, gains, motion, feedforward).margins(bounds.largest)
    worst = min(margins, key=lambda margin: margin.relative)
    broken = [*report.broken, *(margin for margin in margins if margin.margin < 0.0)]
    broken.sort(key=lambda margin: margin.relative)
    return replace(
        report, margins={**report.margins, worst.constraint: worst}, broken=tuple(broken)
    )


def short_of_servo(model: ClosedChainModel, motion: Execution) -> str:
    """Return what the usual servo lacks to follow a motion without a feedforward; '' if nothing."""
    gains = servo_gains(model)
    margins = expected_tracking(model, gains, motion).margins(own_errors(model))
    worst = min(margins, key=lambda margin: margin.relative)
    if worst.margin >= 0.0:
        return ''
    return (
        f'a servo of {gains.bandwidth:g} Hz is expected to leave an error of {worst.value:.3g} '
        f'{worst.unit} at {worst.name}, above its bound of {worst.limit:g} {worst.unit}: keep more '
        'of the forces free (--force-margin), or give the controller more bandwidth or a wider '
        'bound (`pkm excite check --bandwidth, --max-error`)'
    )
