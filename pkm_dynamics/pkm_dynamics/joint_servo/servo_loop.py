"""What a joint servo answers to position errors, by frequency."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm

from pkm_description.description import frozen
from pkm_description.errors import SimulationError
from pkm_dynamics.array_types import Complex, Floats


@dataclass(frozen=True)
class ServoLoop:
    """PD on the position error of each actuator, sampled, with a low-passed derivative."""

    proportional: Floats  # (n_a,) [N/m, N m/rad]
    derivative: Floats  # (n_a,) [N s/m, N m s/rad]
    velocity_cutoff: float  # [Hz] of the second-order Butterworth low pass on the derivative
    interval: float  # [s] between two samples; the signal lies on lines between them
    # [s] from a measured position to the centre of the force that answers to it; half an interval
    # where the command is held for one
    delay: float

    def __post_init__(self) -> None:
        """Check, copy and freeze the gains."""
        for name in ('proportional', 'derivative'):
            gains = np.atleast_1d(np.array(getattr(self, name), dtype=float))
            if gains.ndim != 1 or not (np.isfinite(gains) & (gains >= 0)).all():
                raise SimulationError(f'{name} gains must be finite and not negative, got {gains}')
            object.__setattr__(self, name, frozen(gains))
        if len(self.proportional) != len(self.derivative) or not (self.proportional > 0).all():
            raise SimulationError(
                'a servo needs one positive proportional gain and one derivative gain an actuator'
            )
        for name in ('velocity_cutoff', 'interval'):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0.0):
                raise SimulationError(f'{name} must be positive, got {value}')
        if not (np.isfinite(self.delay) and self.delay >= 0):
            raise SimulationError(f'delay must not be negative, got {self.delay}')

    def wait(self, frequency: ArrayLike) -> Complex:
        """Return the delay (n_f,) as a factor at frequencies [Hz]."""
        return np.exp(-2j * np.pi * np.asarray(frequency, dtype=float) * self.delay)

    def transfer(self, frequency: ArrayLike) -> Complex:
        """Return force over position error (n_f, n_a) at frequencies [Hz], delay included."""
        force = self.proportional + self.derivative * self._rate(frequency)[:, None]
        return np.asarray(force * self.wait(frequency)[:, None])

    def _rate(self, frequency: ArrayLike) -> Complex:
        """Filtered derivative over signal (n_f,), which lies on lines between its samples."""
        w = 2 * np.pi * self.velocity_cutoff
        system = np.zeros((4, 4))  # of the filtered signal, its rate, the signal and its slope
        system[:2] = [[0.0, 1.0, 0.0, 0.0], [-(w**2), -np.sqrt(2) * w, w**2, 0.0]]
        system[2, 3] = 1.0
        step = expm(self.interval * system)[:2]
        after = step[:, 3] / self.interval  # of the sample at the end
        before = step[:, 2] - after
        z = np.exp(2j * np.pi * self.interval * np.asarray(frequency, dtype=float))[:, None]
        driven = (before + z * after)[..., None]
        return np.asarray(np.linalg.solve(z[..., None] * np.eye(2) - step[:, :2], driven)[:, 1, 0])
