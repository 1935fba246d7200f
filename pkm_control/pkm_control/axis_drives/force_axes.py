"""Axes whose drives make forces: the feedforward's, and those of a servo."""

from __future__ import annotations

from pkm_control.axis_drives.axes import Axes, AxisCommand
from pkm_control.command_shaping import CommandLimits, ModelChange
from pkm_control.control_types import ControllerOptions
from pkm_control.desired_motion import DesiredState
from pkm_control.feedforward import Feedforward
from pkm_control.safeguards.drive_response import DriveResponse
from pkm_control.servo import JointServo
from pkm_control.supervision import Finding
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.joint_servo.gains import ServoGains


class ForceAxes(Axes):
    """A `JointServo` beside the feedforward, within the force limits of the drives."""

    def __init__(
        self,
        model: ClosedChainModel,
        gains: ServoGains,
        feedforward: Feedforward,
        options: ControllerOptions,
    ) -> None:
        self.inertia = gains.inertia
        self._servo = JointServo(gains, options.velocity_cutoff)
        self._limits = CommandLimits(model.force_limit, options.force_rise_time)
        self._change = ModelChange(feedforward, options.model_change_time)
        self._response = DriveResponse(model)

    @property
    def slip(self) -> Floats:  # type: ignore[override]
        """Of the servo's derivative part."""
        return self._servo.rate

    @property
    def bandwidth_share(self) -> float:  # type: ignore[override]
        """Of the servo."""
        return self._servo.bandwidth_share

    @property
    def longest_hold(self) -> float:  # type: ignore[override]
        """Of a force."""
        return self._servo.longest_hold

    def begin(self, feedforward: Feedforward) -> None:
        """Forget the past: commands begin."""
        self._servo.reset()
        self._limits.reset()
        self._change.reset(feedforward)
        self._response.begin()

    def leap(self, error: Floats) -> None:
        """Go on with another desired motion."""
        self._response.slip_ends(self._servo.rate)
        self._servo.reset(error)

    def command(
        self,
        time: float,
        interval: float,
        desired: DesiredState,
        feedforward: Feedforward,
        measured: Floats,
        efforts: Floats | None,
    ) -> AxisCommand:
        """Answer positions; efforts are not looked at."""
        force = self._change.smooth(time, feedforward, desired.force)
        feedback = self._servo.feedback(interval, desired.position - measured)
        command = self._limits.command(interval, force + feedback)
        self._commanded = force, command
        return AxisCommand(force, feedback, command, command != force + feedback)

    def bridge(
        self, time: float, interval: float, desired: DesiredState, feedforward: Feedforward
    ) -> Floats:
        """Go on as if the error did what it should."""
        force = self._change.smooth(time, feedforward, desired.force)
        return self._limits.command(interval, force + self._servo.coast(interval))

    def check(self, time: float, measured: Floats, velocity: Floats) -> Finding | None:
        """Say whether a drive answers its commands with the opposite force."""
        return self._response.check(time, self.slip, measured, velocity, *self._commanded)
