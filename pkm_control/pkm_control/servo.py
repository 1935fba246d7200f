"""Joint PD whose derivative comes from positions through a low pass."""

from __future__ import annotations

import math

import numpy as np

from pkm_dynamics.array_types import Floats
from pkm_dynamics.joint_servo.gains import VELOCITY_CUTOFF, GainError, ServoGains

# Of an axis' speed, what a held damping force takes until the next sample: at 1 all. The light
# modes of the library's robots lose up to 1.64 times as much; from 2 on they would gain speed.
HELD_DAMPING = 1.0
BORNE_TIME = 0.1  # [s] in which a force counts as one that the robot needs: weight, friction
MEMORY = 0.5  # [s] in which a late sample counts for e times less: late ones seldom come alone


class FilteredDerivative:
    """Derivative of sampled signals behind a second-order Butterworth low pass.

    Transfer function s w^2 / (s^2 + sqrt(2) w s + w^2), solved exactly for the interval at hand
    with the signal on a line between its samples. After a long interval the rate is the slope of
    that line: rules like the trapezoidal one would swing about it. `cutoff` in Hz.
    """

    def __init__(self, cutoff: float) -> None:
        if not math.isfinite(cutoff) or cutoff <= 0.0:
            raise GainError(f'velocity_cutoff: a positive number is needed, got {cutoff}')
        self.cutoff = float(cutoff)
        self._w = 2.0 * math.pi * self.cutoff
        # Filtered signal, its rate, and the sample that they belong to.
        self._state: tuple[Floats, Floats, Floats] | None = None

    def reset(self, values: Floats | None = None) -> None:
        """Forget the past: the latest `values` (n,), or else the next ones, count as at rest."""
        self._state = None if values is None else (values, np.zeros_like(values), values)

    def update(self, interval: float, values: Floats) -> Floats:
        """Return the filtered derivative after `values` (n,), `interval` [s] after the last.

        An interval of zero returns the derivative unchanged.
        """
        if self._state is None:
            self._state = values.copy(), np.zeros_like(values), values.copy()
        filtered, rate, latest = self._state
        if interval <= 0.0:
            return rate
        # Behind a line of this slope the filtered signal lags by sqrt(2) / w; what differs from
        # that swings with w / sqrt(2) and fades as fast.
        damping = self._w / math.sqrt(2.0)
        slope = (values - latest) / interval
        offset = filtered - latest + slope / damping
        excess = rate - slope
        fade, angle = math.exp(-damping * interval), damping * interval
        cos, sin = fade * math.cos(angle), fade * math.sin(angle)
        position = values - slope / damping + offset * cos + (excess / damping + offset) * sin
        rate = slope + excess * cos - (excess + 2.0 * damping * offset) * sin
        self._state = position, rate, values.copy()
        return rate


class JointServo:
    """PD on the position error of each actuator.

    The low pass acts on the derivative of the error, not of the position: its delay
    then costs phase margin only and adds no error of its own along a fast motion.

    A force stays until the next one: at full bandwidth each of several late samples would let
    the axes overshoot more. So the bandwidth shrinks to what the longest interval of late allows
    in which a force was held; the damping ratio stays. Intervals that `coast` bridges hold none.
    """

    def __init__(self, gains: ServoGains, velocity_cutoff: float = VELOCITY_CUTOFF) -> None:
        self.gains = gains
        self._derivative = FilteredDerivative(velocity_cutoff)
        # [1/s] by which the damping alone brings each axis to rest
        self._damping_rate = gains.derivative / gains.inertia
        self._held = 0.0  # [s] longest interval of late in which a force was held
        self._coasted = 0.0  # [s] since the last sample, by `coast`
        self.bandwidth_share = 1.0  # of the slowest axis
        self.longest_hold = 0.0  # [s] of a force, lately
        self.rate = np.zeros_like(gains.proportional)  # (n_a,) of the error, filtered
        self._stiffness, self._damping = gains.proportional, gains.derivative  # with that bandwidth
        self._mean = self._borne = (
            self.rate
        )  # (n_a,) [N, N m] force of late, and when measured last
        self._expected = self.rate, self.rate  # error beyond that of `borne`, and its rate

    def reset(self, error: Floats | None = None) -> None:
        """Forget the past: the latest `error` (n_a,), or else the next one, counts as at rest."""
        self._derivative.reset(error)
        self._held, self._coasted, self.bandwidth_share = 0.0, 0.0, 1.0
        self.longest_hold = 0.0
        self.rate = self._mean = self._borne = np.zeros_like(self.rate)
        self._expected = self.rate, self.rate

    def feedback(self, interval: float, error: Floats) -> Floats:
        """Force (n_a,) [N, N m] for the error (n_a,), `interval` [s] after the last one."""
        self.rate = self._derivative.update(interval, error)
        held, self._coasted = max(interval - self._coasted, 0.0), 0.0
        self._held *= math.exp(-interval / MEMORY)
        if held > self._held:
            self._held = self.longest_hold = held
        share = HELD_DAMPING / np.maximum(self._damping_rate * self._held, HELD_DAMPING)
        self.bandwidth_share = float(share.min())
        self._stiffness = share**2 * self.gains.proportional
        self._damping = share * self.gains.derivative
        force = self._stiffness * error + self._damping * self.rate
        self._average(held, force)
        self._borne = self._mean
        self._expected = error - self._borne / self._stiffness, self.rate
        return force

    def coast(self, interval: float) -> Floats:
        """Force (n_a,) for an error that nobody measures, `interval` [s] after the last force.

        The mean force of late stays; what the error has beyond it goes to rest as this servo lets
        it on an axis of its own. Implicit steps: they do not swing up however long they are.
        """
        self._coasted += interval
        error, rate = self._expected
        mass = self.gains.inertia + interval * (self._damping + interval * self._stiffness)
        rate = (self.gains.inertia * rate - interval * self._stiffness * error) / mass
        error = error + interval * rate
        self._expected = error, rate
        force = self._borne + self._stiffness * error + self._damping * rate
        self._average(interval, force)
        return force

    def _average(self, interval: float, force: Floats) -> None:
        self._mean = self._mean - math.expm1(-interval / BORNE_TIME) * (force - self._mean)
