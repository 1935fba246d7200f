"""Joint PD whose derivative comes from positions through a low pass."""

from __future__ import annotations

import math

import numpy as np

from pkm_control.gains import GainError, ServoGains
from pkm_dynamics.array_types import Floats

VELOCITY_CUTOFF = 150.0  # [Hz]


class FilteredDerivative:
    """Derivative of sampled signals behind a second-order Butterworth low pass.

    Transfer function s w^2 / (s^2 + sqrt(2) w s + w^2), discretised by the trapezoidal
    rule for the interval at hand, so that it stays stable and unbiased when samples
    come late or are lost. `cutoff` in Hz.
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
        w, h = self._w, interval
        # (I - h/2 A) x+ = (I + h/2 A) x + h/2 b (u + u+), A = [0 1; -w^2 -sqrt(2) w], b = [0, w^2]
        a, b = 0.5 * h * w * w, 0.5 * h * math.sqrt(2.0) * w
        position = filtered + 0.5 * h * rate
        forward = (1.0 - b) * rate + a * (latest + values - filtered)
        rate = (forward - a * position) / (1.0 + b + 0.5 * h * a)
        self._state = position + 0.5 * h * rate, rate, values.copy()
        return rate


class JointServo:
    """PD on the position error of each actuator.

    The low pass acts on the derivative of the error, not of the position: its delay
    then costs phase margin only and adds no error of its own along a fast motion.
    """

    def __init__(self, gains: ServoGains, velocity_cutoff: float = VELOCITY_CUTOFF) -> None:
        self.gains = gains
        self._derivative = FilteredDerivative(velocity_cutoff)
        self.rate = np.zeros_like(gains.proportional)  # (n_a,) of the error, filtered

    def reset(self) -> None:
        """Forget the past errors."""
        self._derivative.reset()
        self.rate = np.zeros_like(self.rate)

    def feedback(self, interval: float, error: Floats) -> Floats:
        """Force (n_a,) [N, N m] for the error (n_a,), `interval` [s] after the last one."""
        self.rate = self._derivative.update(interval, error)
        return self.gains.proportional * error + self.gains.derivative * self.rate
