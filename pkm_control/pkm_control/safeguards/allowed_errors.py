"""Which position errors of the actuators are allowed, joint by joint."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pkm_control.control_types import ControllerOptions, OptionsError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.joint_servo.gains import largest_errors

FAULT = 2.0  # times the error of a smooth stop: after it, the robot is not on its path any more


class ErrorBounds(NamedTuple):
    """Of each actuator (n_a,) [m, rad]."""

    largest: Floats  # beyond it a motion ends by a smooth stop
    fault: Floats  # beyond it the commands end, after a stop from where the robot is


def error_bounds(model: ClosedChainModel, options: ControllerOptions) -> ErrorBounds:
    """Return the bounds that the options ask for.

    Raises OptionsError where a joint's own bound lies beyond the fault's.
    """
    given, fault = options.max_position_error, options.fault_position_error
    own = largest_errors(model)
    largest = np.full(model.n_a, given) if given > 0.0 else own
    # a tighter bound of a smooth stop is none for the end of the commands
    faults = np.full(model.n_a, fault) if fault > 0.0 else FAULT * np.maximum(largest, own)
    beyond = largest > faults
    if beyond.any():
        axis = int(np.argmax(beyond))
        raise OptionsError(
            f'fault_position_error: {fault:g} is less than the {largest[axis]:g} at which a motion '
            f'of {model.actuated_joints[axis]} ends: set max_position_error, too'
        )
    return ErrorBounds(largest, faults)
