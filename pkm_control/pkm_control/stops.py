"""Which event stops the robot how: the stop categories of IEC 60204-1.

Software alone is no safety function: a category says what the controller commands, not what a
certified device guarantees. Power and brakes belong to the drives.
"""

from __future__ import annotations

from enum import Enum, IntEnum

from pkm_control.control_types import ErrorCode


class StopCategory(IntEnum):
    """Stop categories of IEC 60204-1 (9.2.2), as far as a controller can do them."""

    POWER_OFF = 0  # zero force and brakes at once
    STOP_THEN_POWER_OFF = 1  # to rest under control, then brakes, then zero force
    STOP_AND_HOLD = 2  # to rest under control, then hold with gravity compensation


class StopEvent(Enum):
    """What ends a motion or the commands: its error code, its category, when it happens."""

    CANCEL = ErrorCode.CANCELED, 2, 'the client cancels its goal'
    SUPERSEDED = ErrorCode.SUPERSEDED, 2, 'another goal takes the place of this one'
    CLIENT_LOST = (
        ErrorCode.CLIENT_LOST,
        2,
        'the client of a goal is gone, or its heartbeat has stopped',
    )
    ENABLING_DEVICE = (
        ErrorCode.ENABLING_DEVICE,
        2,
        'the enabling device is released, or silent, in a motion',
    )
    STATES_LOST = (
        ErrorCode.STATE_TIMEOUT,
        2,
        'joint states are missing in a motion for more than `bridged_cycles` cycles',
    )
    TRACKING_BOUND = (
        ErrorCode.TRACKING_ERROR,
        2,
        'a position error exceeds `max_position_error` in a motion or at its end',
    )
    STROKE_LEFT = ErrorCode.LIMIT_VIOLATED, 2, 'a measured position leaves the stroke in a motion'
    WORKSPACE_LEFT = (
        ErrorCode.LIMIT_VIOLATED,
        2,
        'the platform, off its path, is measured outside of its workspace in a motion',
    )
    WORKSPACE_AHEAD = (
        ErrorCode.LIMIT_VIOLATED,
        1,
        'farther off its path than `max_position_error`, full braking would leave the workspace',
    )
    SINGULARITY_AHEAD = (
        ErrorCode.LIMIT_VIOLATED,
        1,
        'off its path, full braking would hardly keep the robot off a singularity',
    )
    LIMIT_AHEAD = (
        ErrorCode.LIMIT_VIOLATED,
        1,
        'full braking would hardly keep a joint within its stroke',
    )
    OVERSPEED = ErrorCode.LIMIT_VIOLATED, 1, 'a joint is faster than `overspeed` times its limit'
    TRACKING_FAULT = (
        ErrorCode.TRACKING_ERROR,
        1,
        'a position error exceeds `fault_position_error`, or `max_position_error` at rest',
    )
    MODEL_FAILED = ErrorCode.KINEMATICS, 1, 'the desired motion or its forces cannot be computed'
    FOREIGN_COMMANDS = ErrorCode.FOREIGN_COMMANDS, 1, 'another node publishes commands, too'
    FOREIGN_STATES = (
        ErrorCode.FOREIGN_STATES,
        1,
        "a second source sends states of the robot's joints",
    )
    DRIVES_NOT_READY = ErrorCode.DRIVES_NOT_READY, 1, 'the drives say that they are not ready'
    NOT_HOMED = ErrorCode.DRIVES_NOT_READY, 1, 'the drives say that they are not homed'
    PROTECTIVE_STOP = ErrorCode.PROTECTIVE_STOP, 1, 'a protective stop is asked for'
    DEACTIVATION = (
        ErrorCode.DEACTIVATED,
        1,
        'deactivation, clean-up or shut-down of the node; SIGINT and SIGTERM',
    )
    RUNAWAY = (
        ErrorCode.TRACKING_ERROR,
        0,
        'the error exceeds `fault_position_error` while the robot brakes to rest',
    )
    DRIVE_OPPOSES = (
        ErrorCode.TRACKING_ERROR,
        0,
        'a drive answers its commands with the opposite force',
    )
    STATE_TIMEOUT = ErrorCode.STATE_TIMEOUT, 0, 'no joint state with a new stamp in time'
    BAD_STATE = (
        ErrorCode.BAD_STATE,
        0,
        'a joint state without valid positions, with a leap of positions or stamps, or stuck',
    )

    def __init__(self, code: ErrorCode, category: int, when: str) -> None:
        self.code = code
        self.category = StopCategory(category)
        self.when = when
