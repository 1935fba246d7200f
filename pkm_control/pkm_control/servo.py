"""Joint PD whose derivative comes from positions through a low pass."""

from __future__ import annotations

import math

import numpy as np

from pkm_control.gains import GainError, ServoGains
from pkm_dynamics.array_types import Floats

VELOCITY_CUTOFF = 150.0  # [Hz]
# Of an axis' speed, what a held damping force takes until the next sample: at 1 all. The light
# modes of the library's robots lose up to 1.64 times as much; from 2 on they would gain speed.
HELD_DAMPING = 1.0
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

    def reset(self) -> None:
        """Forget the past; the next sample counts as at rest."""
        self._state = None

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

    A force stays until the next sample: at full bandwidth each of several late samples would let
    the axes overshoot more. So the bandwidth shrinks to what the longest interval of late allows;
    the damping ratio stays.
    """

    def __init__(self, gains: ServoGains, velocity_cutoff: float = VELOCITY_CUTOFF) -> None:
        self.gains = gains
        self._derivative = FilteredDerivative(velocity_cutoff)
        # [1/s] by which the damping alone brings each axis to rest
        self._damping_rate = gains.derivative / gains.inertia
        self._held = 0.0  # [s] longest interval of late
        self.bandwidth_share = 1.0  # of the slowest axis
        self.rate = np.zeros_like(gains.proportional)  # (n_a,) of the error, filtered

    def reset(self) -> None:
        """Forget the past errors."""
        self._derivative.reset()
        self._held, self.bandwidth_share = 0.0, 1.0
        self.rate = np.zeros_like(self.rate)

    def feedback(self, interval: float, error: Floats) -> Floats:
        """Force (n_a,) [N, N m] for the error (n_a,), `interval` [s] after the last one."""
        self.rate = self._derivative.update(interval, error)
        self._held = max(interval, self._held * math.exp(-interval / MEMORY))
        share = HELD_DAMPING / np.maximum(self._damping_rate * self._held, HELD_DAMPING)
        self.bandwidth_share = float(share.min())
        stiffness = share**2 * self.gains.proportional
        return stiffness * error + share * self.gains.derivative * self.rate
