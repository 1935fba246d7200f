"""What goes into and comes out of the trajectory controller, and how a motion ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import PkmError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.joint_servo.gains import VELOCITY_CUTOFF
from pkm_dynamics.trajectories import Phase


class ErrorCode(IntEnum):
    """Error codes of `pkm_msgs/FollowPlatformTrajectory`, by the same names and numbers."""

    NONE = 0
    BAD_TRAJECTORY = 100
    WRONG_ROBOT = 101
    INFEASIBLE = 102
    NOT_ACTIVE = 103
    BUSY = 104
    STATE_TIMEOUT = 105
    BAD_STATE = 106
    TRACKING_ERROR = 107
    CANCELED = 108
    SUPERSEDED = 109
    DEACTIVATED = 110
    LIMIT_VIOLATED = 111
    KINEMATICS = 112
    PROTECTIVE_STOP = 113
    CLIENT_LOST = 114
    FOREIGN_COMMANDS = 115
    DRIVES_NOT_READY = 116
    ENABLING_DEVICE = 117
    FOREIGN_STATES = 118
    LEARNING = 119


@dataclass
class TrackingStatistics:
    """Position errors of the actuators over the cycles at full speed."""

    squares: Floats  # (n_a,) sums over the cycles at full speed
    largest: Floats  # (n_a,) absolute values
    count: int = 0  # of the cycles at full speed
    cycles: int = 0
    saturated_cycles: int = 0

    @classmethod
    def empty(cls, axes: int) -> TrackingStatistics:
        """Return statistics of no cycles yet."""
        return cls(np.zeros(axes), np.zeros(axes))

    def add(self, error: Floats, saturated: bool, at_full_speed: bool) -> None:
        """Count one cycle of the motion with position errors (n_a,) [m, rad]."""
        self.cycles += 1
        self.saturated_cycles += saturated
        if at_full_speed:
            self.count += 1
            self.squares += error**2
            np.maximum(self.largest, np.abs(error), out=self.largest)

    @property
    def rms(self) -> Floats:
        """Root mean square error (n_a,) [m, rad] at full speed, zero before it is reached."""
        return np.sqrt(self.squares / max(self.count, 1))

    @property
    def saturated_fraction(self) -> float:
        """Fraction of all cycles of the motion with any clamped command."""
        return self.saturated_cycles / max(self.cycles, 1)


@dataclass(frozen=True)
class Outcome:
    """The end of a commanded motion."""

    code: ErrorCode
    message: str
    statistics: TrackingStatistics

    @property
    def succeeded(self) -> bool:
        """Whether the whole motion ran as commanded."""
        return self.code is ErrorCode.NONE


class ControlFault(PkmError):
    """The controller cannot go on: zero force, and the brakes.

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
    # [m, rad] a larger error of any actuator ends the motion by a smooth stop; 0: of each joint its
    # own, by unit and stroke, see `safeguards.allowed_errors`
    max_position_error: float = 0.0
    # [m, rad] a larger error of any actuator ends the commands, after a stop from where it is; 0:
    # twice the former, or the joint's own where that is larger
    fault_position_error: float = 0.0
    # [m, rad] a measured position this far beyond the stroke ends the motion by a smooth stop
    stroke_tolerance: float = 1e-3
    stop_time: float = 0.4  # [s] from full speed to rest; shortened to one period of the trajectory
    # [s] a longer time between the stamps of two cycles stops commanding at once: the desired
    # motion would jump
    max_interval: float = 0.1
    overspeed: float = 1.2  # measured speed over the limit of a joint that ends the commands
    reaction_time: float = 0.01  # [s] until braking takes hold
    # [s] from zero to the largest force of a drive, or a valve's signal: commands change no faster
    force_rise_time: float = 0.002
    model_change_time: float = 0.5  # [s] in which another feedforward takes over

    def __post_init__(self) -> None:
        """Refuse bounds that contradict each other."""
        for name in ('max_position_error', 'fault_position_error'):
            if not getattr(self, name) >= 0.0:
                raise OptionsError(f'{name}: must not be negative, got {getattr(self, name):g}')
        if self.max_position_error > self.fault_position_error > 0.0:
            raise OptionsError(
                f'max_position_error: {self.max_position_error:g} exceeds '
                f'fault_position_error {self.fault_position_error:g}'
            )
        for name in ('max_interval', 'reaction_time', 'overspeed', 'stop_time'):
            if not getattr(self, name) > 0.0:
                raise OptionsError(f'{name}: must be positive, got {getattr(self, name):g}')


@dataclass(frozen=True)
class StepResult:
    """One cycle: arrays (n_a,) in the order of the actuated joints."""

    time: float
    phase: Phase
    trajectory_time: float  # [s] path parameter, 0 where the first recorded period begins
    period_index: int
    fraction: float
    time_left: float
    desired_position: Floats  # [m, rad]
    desired_velocity: Floats  # [m/s, rad/s]
    position: Floats  # [m, rad]
    # [N, N m], or signals of valves within -1 and 1
    feedforward: Floats
    feedback: Floats
    command: Floats  # within the limits of the drives
    saturated: NDArray[np.bool_]
    bounded: NDArray[np.bool_]  # feedforward at its bound about the description's
    model: str
    outcome: Outcome | None = None  # set in the cycle in which a motion ends
    fault: ControlFault | None = None  # why the commands must end once the robot rests
    rate: float = 1.0  # of the clock of the motion, 1 at full speed
