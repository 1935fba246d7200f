"""What goes into and comes out of the trajectory controller."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_control.outcome import ErrorCode, Outcome
from pkm_control.servo import VELOCITY_CUTOFF
from pkm_description.errors import PkmError
from pkm_dynamics.trajectories import Phase

Array = NDArray[np.float64]


class ControlFault(PkmError):
    """The controller cannot go on: commands stop, the drives' brakes take over.

    Attributes
    ----------
    code : ErrorCode
    outcome : Outcome or None
        Of the motion that this ends, if one was under way.
    """

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.outcome: Outcome | None = None


class OptionsError(PkmError):
    """Options of the controller that contradict each other."""


@dataclass(frozen=True)
class ControllerOptions:
    """Bounds and times of the controller.

    Attributes
    ----------
    velocity_cutoff : float [Hz]
        Low pass of the derivative part.
    max_position_error : float [m, rad]
        A larger error of any actuator ends the motion by a smooth stop.
    fault_position_error : float [m, rad]
        A larger error of any actuator stops commanding at once.
    stroke_tolerance : float [m, rad]
        A measured position this far beyond the stroke ends the motion by a smooth stop.
    stop_time : float [s]
        From full speed to rest; shortened to one period of the trajectory.
    max_interval : float [s]
        A longer time between the stamps of two cycles stops commanding at once: the
        desired motion would jump.
    """

    velocity_cutoff: float = VELOCITY_CUTOFF
    max_position_error: float = 0.05
    fault_position_error: float = 0.1
    stroke_tolerance: float = 1e-3
    stop_time: float = 0.5
    max_interval: float = 0.1

    def __post_init__(self) -> None:
        """Refuse bounds that contradict each other."""
        if self.max_position_error > self.fault_position_error:
            raise OptionsError(
                f'max_position_error: {self.max_position_error:g} exceeds '
                f'fault_position_error {self.fault_position_error:g}'
            )
        if not self.max_interval > 0.0:
            raise OptionsError(f'max_interval: must be positive, got {self.max_interval:g}')


@dataclass(frozen=True)
class StepResult:
    """One cycle: arrays (n_a,) in the order of the actuated joints.

    Attributes
    ----------
    command, feedforward, feedback : [N, N m]
        The command is clamped to the force limits.
    saturated : (n_a,) bool
    desired_position, desired_velocity, position : [m, rad], [m/s, rad/s]
    trajectory_time : float [s]
        Path parameter, 0 where the first recorded period begins.
    outcome : Outcome or None
        Set in the cycle in which a motion ends.
    """

    time: float
    phase: Phase
    trajectory_time: float
    period_index: int
    fraction: float
    time_left: float
    desired_position: Array
    desired_velocity: Array
    position: Array
    feedforward: Array
    feedback: Array
    command: Array
    saturated: NDArray[np.bool_]
    model: str
    outcome: Outcome | None = None
