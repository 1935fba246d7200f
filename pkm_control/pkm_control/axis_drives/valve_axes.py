"""Axes whose drives are valves of cylinders: loops of position with feedforward [H]."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pkm_control.axis_drives.axes import Axes, AxisCommand
from pkm_control.command_shaping import CommandLimits
from pkm_control.control_types import ControlFault, ControllerOptions, ErrorCode
from pkm_control.desired_motion import DesiredState
from pkm_control.feedforward import Feedforward
from pkm_control.hydraulic_axes import AxisControl, AxisReference
from pkm_control.servo import FilteredDerivative
from pkm_control.stops import StopEvent
from pkm_control.supervision import Finding
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.joint_servo.gains import effective_inertia

# Of its largest speed, what a valve must be told, and its piston move the other way, to count as
# one that opposes: several times the noise of speeds, and more than leaks
LEAST_SPEED = 0.05
# [s] that it must do so: spools, and the filter of speeds, come late by 10 ms
OPPOSES = 0.03


class _Moment(NamedTuple):
    time: float  # [s]
    desired: DesiredState
    feedforward: Feedforward


class ValveAxes(Axes):
    """An `AxisControl` whose loads are those of the feedforward's model, or measured without one.

    Late states cost no bandwidth here: its gain is a small one, by the swing on the oil, and held
    signals do not excite that.
    """

    def __init__(
        self, model: ClosedChainModel, control: AxisControl, options: ControllerOptions
    ) -> None:
        self.inertia = effective_inertia(model)
        self._measured = replace(control, mechanism=False)
        self._modelled = replace(control, mechanism=True)
        self._limits = CommandLimits(np.ones(model.n_a), options.force_rise_time)
        self._derivative = FilteredDerivative(options.velocity_cutoff)
        self._still = np.zeros(model.n_a)
        self._joints = model.actuated_joints
        self._forget()

    def begin(self, feedforward: Feedforward) -> None:
        """Forget the past: commands begin."""
        self._limits.reset()
        self._forget()

    def _forget(self) -> None:
        self._sent = self._held = self._still  # last command, and the one before
        self._obeyed: Floats | None = None  # (n_a,) [s] when each valve did last
        self._pressures = self._still
        self.leap(self._still)

    def leap(self, error: Floats) -> None:
        """Go on with another desired motion."""
        self._before: _Moment | None = None
        self._derivative.reset(error)
        self.slip, self._error = self._still, error

    def command(
        self,
        time: float,
        interval: float,
        desired: DesiredState,
        feedforward: Feedforward,
        measured: Floats,
        efforts: Floats | None,
    ) -> AxisCommand:
        """Answer positions and efforts, those that pressures give."""
        if efforts is None or not np.isfinite(efforts).all():
            message = 'joint_states: finite efforts, from pressures, are needed for valves'
            raise ControlFault(ErrorCode.BAD_STATE, message)
        self._error = desired.position - measured
        self.slip = self._derivative.update(interval, self._error)
        self._pressures = efforts / self._measured.drives.piston_area
        return self._signals(time, interval, desired, feedforward)

    def bridge(
        self, time: float, interval: float, desired: DesiredState, feedforward: Feedforward
    ) -> Floats:
        """Go on as if error and pressures stayed."""
        return self._signals(time, interval, desired, feedforward).command

    def check(self, time: float, measured: Floats, velocity: Floats) -> Finding | None:
        """Say whether a piston moves against its signal: its valve, or its encoder, is turned."""
        speed = velocity / self._measured.drives.largest_speed
        least = np.minimum(np.abs(speed), np.abs(self._held))
        opposes = (speed * self._held < 0.0) & (least > LEAST_SPEED)
        before = np.full_like(speed, time) if self._obeyed is None else self._obeyed
        self._obeyed = np.where(opposes, before, time)
        axis = int(np.argmin(self._obeyed))
        if time - self._obeyed[axis] < OPPOSES:
            return None
        message = f'{self._joints[axis]}: the cylinder moves against the signal of its valve'
        return Finding(
            StopEvent.DRIVE_OPPOSES, f'{message}: check its sign and that of its encoder'
        )

    def _signals(
        self, time: float, interval: float, desired: DesiredState, feedforward: Feedforward
    ) -> AxisCommand:
        wanted = self._reference(time, desired, feedforward)
        control = self._measured if feedforward.parameters is None else self._modelled
        fed, whole = (
            control.signals(wanted, wanted.positions - error, self._pressures)
            for error in (self._still, self._error)
        )
        command = self._limits.command(interval, whole)
        self._held, self._sent = self._sent, command
        saturated = (command != whole) | (np.abs(whole) >= 1.0)
        return AxisCommand(fed, whole - fed, command, saturated)

    def _reference(
        self, time: float, desired: DesiredState, feedforward: Feedforward
    ) -> AxisReference:
        """What the axes shall do now; jerks and rates of forces are those since the last time."""
        before, jerks, rates = self._before, self._still, self._still
        self._before = _Moment(time, desired, feedforward)
        if before is not None and time > before.time:
            interval = time - before.time
            jerks = (desired.acceleration - before.desired.acceleration) / interval
            if feedforward is before.feedforward:  # what another model says is no change of a load
                rates = (desired.force - before.desired.force) / interval
        states = desired.position, desired.velocity, desired.acceleration
        return AxisReference(*states, jerks, desired.force, rates)
