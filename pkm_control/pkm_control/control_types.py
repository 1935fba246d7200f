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
    """Bounds and times of the controller."""

    velocity_cutoff: float = VELOCITY_CUTOFF  # [Hz] low pass of the derivative part
    # [m, rad] a larger error of any actuator ends the motion by a smooth stop
    max_position_error: float = 0.05
    # [m, rad] a larger error of any actuator stops commanding at once
    fault_position_error: float = 0.1
    # [m, rad] a measured position this far beyond the stroke ends the motion by a smooth stop
    stroke_tolerance: float = 1e-3
    stop_time: float = 0.5  # [s] from full speed to rest; shortened to one period of the trajectory
    # [s] a longer time between the stamps of two cycles stops commanding at once: the desired
    # motion would jump
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
    """One cycle: arrays (n_a,) in the order of the actuated joints."""

    time: float
    phase: Phase
    trajectory_time: float  # [s] path parameter, 0 where the first recorded period begins
    period_index: int
    fraction: float
    time_left: float
    desired_position: Array  # [m, rad]
    desired_velocity: Array  # [m/s, rad/s]
    position: Array  # [m, rad]
    feedforward: Array  # [N, N m]
    feedback: Array  # [N, N m]
    command: Array  # [N, N m] clamped to the force limits
    saturated: NDArray[np.bool_]
    model: str
    outcome: Outcome | None = None  # set in the cycle in which a motion ends
