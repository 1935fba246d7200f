"""What is watched in every cycle of the controller, on what is measured."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pkm_control.control_types import ControllerOptions, OptionsError
from pkm_control.joint_stop import JointStop
from pkm_control.safeguards.allowed_errors import error_bounds
from pkm_control.stops import StopEvent
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats

SMALLER = 'a feedforward model, higher gains or a slower motion make it smaller'


class Finding(NamedTuple):
    """Why the robot must stop."""

    event: StopEvent
    message: str


# What the drives can brake with, of their force over the inertia: the rest carries the weight
# and is lost to the coupling of the axes.
BRAKING_SHARE = 0.5
# A measured speed is that of the motion, whose limits were checked, where it differs from the
# desired one by less than this share of it and of the joint's limit.
SAME_SPEED = 0.2
# Of the largest error: a way that no sensor sleeps through, and no drive sticks for.
STUCK = 0.1
SMOOTH_PEAK = 1.875  # peak over mean of the acceleration of a smooth step of fifth order


class Supervisor:
    """Bounds of position errors, strokes and speeds of the actuators."""

    def __init__(
        self,
        model: ClosedChainModel,
        options: ControllerOptions,
        inertia: Floats,  # (n_a,) [kg, kg m^2] that each actuator moves
    ) -> None:
        self._joints = list(model.actuated_joints)
        self._model, self._options = model, options
        self._bounds = error_bounds(model, options)
        self._lower, self._upper = np.asarray(model.lower), np.asarray(model.upper)
        self._speed = np.asarray(model.velocity_limit, dtype=float)
        self.deceleration = BRAKING_SHARE * np.asarray(model.force_limit, dtype=float) / inertia
        self._allowed = np.full(len(self._joints), options.stroke_tolerance)
        self._fast_for = 0.0  # [s] how long a speed has been wrong
        self._seen: tuple[Floats, Floats] | None = None  # measured, and desired when it changed

    def begin(self, measured: Floats) -> None:
        """Allow what already lies beyond a stroke (n_a,): the way back begins there."""
        self._allowed = self._beyond(measured) + self._options.stroke_tolerance
        self._fast_for, self._seen = 0.0, None

    def check_change(self, options: ControllerOptions, measured: Floats, velocity: Floats) -> None:
        """Raise OptionsError where positions or speeds (n_a,) lie beyond other bounds now."""
        outside = self._beyond(measured) > self._with(options)
        if outside.any():
            joint = self._joints[int(np.argmax(outside))]
            what = f'{options.stroke_tolerance:g} is less than {joint} is beyond its stroke now'
            raise OptionsError(f'stroke_tolerance: {what}')
        fast = np.abs(velocity) > options.overspeed * self._speed
        if fast.any():
            joint = self._joints[int(np.argmax(fast))]
            what = f'{options.overspeed:g} is less than the speed of {joint} over its limit now'
            raise OptionsError(f'overspeed: {what}')

    def change(self, options: ControllerOptions) -> None:
        """Take other bounds."""
        self._allowed = self._with(options)
        self._options, self._bounds = options, error_bounds(self._model, options)

    def _with(self, options: ControllerOptions) -> Floats:
        """How far beyond the strokes (n_a,) positions may be under other options."""
        return self._allowed - self._options.stroke_tolerance + options.stroke_tolerance

    def stop(self, positions: Floats, velocities: Floats) -> JointStop:
        """Return a stop without a path from this state (n_a,), as the drives can do it.

        Desired positions may leap to where it begins: that is no way that a sensor should show.
        """
        self._seen = None
        velocities = np.clip(velocities, -self._speed, self._speed)
        needed = float((SMOOTH_PEAK * np.abs(velocities) / self.deceleration).max())
        options = self._options
        duration = min(max(needed, options.reaction_time), options.stop_time)
        return JointStop(positions, velocities, duration)

    def check(
        self,
        interval: float,
        moving: bool,
        measured: Floats,
        error: Floats,
        velocity: Floats,
        slip: Floats,
    ) -> Finding | None:
        """Return the most severe of what is wrong, `interval` [s] after the last check.

        Arrays (n_a,) [m, rad, and a second]: position errors, measured velocities, and `slip`, by
        which the desired ones are larger. A speed must be wrong for the reaction time: one wrong
        sample is none.
        """
        worst = int(np.argmax(np.abs(error) / self._bounds.largest))
        size, found = abs(error[worst]), f'{self._joints[worst]}: position error {error[worst]:.4g}'
        largest = self._bounds.largest[worst]
        bound = self._bounds.fault[worst] if moving else largest
        if size > bound:
            kind = 'fault bound' if moving else 'bound at rest'
            message = f'{found} exceeds the {kind} {bound:g}; {SMALLER}'
            return Finding(StopEvent.TRACKING_FAULT, message)
        if (finding := self._of_standstill(measured, measured + error)) is not None:
            return finding
        finding = self._of_speed(measured, velocity, slip)
        self._fast_for = 0.0 if finding is None else self._fast_for + interval
        if finding is not None and self._fast_for >= self._options.reaction_time:
            return finding
        if not moving:
            return None
        if size > largest:
            message = f'{found} exceeds the bound {largest:g}; {SMALLER}'
            return Finding(StopEvent.TRACKING_BOUND, message)
        return self._of_stroke(measured)

    def _of_standstill(self, measured: Floats, desired: Floats) -> Finding | None:
        """Sensors that show the same digits while the drive should have moved."""
        if self._seen is None:
            self._seen = measured, desired
            return None
        before, since = self._seen
        since = np.where(measured == before, since, desired)
        self._seen = measured, since
        way = np.abs(desired - since)
        axis = int(np.argmax(way / self._bounds.largest))
        if way[axis] <= STUCK * self._bounds.largest[axis]:
            return None
        what = f'the measured position stays at {measured[axis]:.9g}, to the last digit,'
        message = f'{self._joints[axis]}: {what} while {way[axis]:.3g} were to be gone'
        return Finding(StopEvent.BAD_STATE, message)

    def _of_stroke(self, measured: Floats) -> Finding | None:
        outside = self._beyond(measured) > self._allowed
        if not outside.any():
            return None
        axis = int(np.argmax(outside))
        where = f'measured position {measured[axis]:.5g} left the stroke {self._stroke(axis)}'
        return Finding(StopEvent.STROKE_LEFT, f'{self._joints[axis]}: {where}')

    def _of_speed(self, measured: Floats, velocity: Floats, slip: Floats) -> Finding | None:
        speed, overspeed = np.abs(velocity), self._options.overspeed
        axis = int(np.argmax(speed / self._speed))
        if speed[axis] > overspeed * self._speed[axis]:
            what = f'measured speed {velocity[axis]:.4g} exceeds {overspeed:g} times'
            message = f'{self._joints[axis]}: {what} its limit {self._speed[axis]:g}'
            return Finding(StopEvent.OVERSPEED, message)
        unforeseen = np.abs(slip) > SAME_SPEED * np.maximum(speed, self._speed)
        if not unforeseen.any():
            return None
        way = self._options.reaction_time * speed + 0.5 * speed**2 / self.deceleration
        ahead = measured + np.sign(velocity) * way
        beyond = unforeseen & (self._beyond(ahead) > self._allowed)
        if not beyond.any():
            return None
        axis = int(np.argmax(beyond))
        what = f'at {measured[axis]:.5g} with the speed {velocity[axis]:.4g}'
        stroke = f'full braking ends beyond the stroke {self._stroke(axis)}'
        return Finding(StopEvent.LIMIT_AHEAD, f'{self._joints[axis]}: {what}, {stroke}')

    def _beyond(self, positions: Floats) -> Floats:
        """How far positions (n_a,) lie outside of the strokes."""
        return np.maximum(np.maximum(self._lower - positions, positions - self._upper), 0.0)

    def _stroke(self, axis: int) -> str:
        return f'{self._lower[axis]:g} to {self._upper[axis]:g}'
