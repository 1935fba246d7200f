"""Choices of how velocities, accelerations and forces are made of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from pkm_description.errors import EstimationError

METHODS = ('auto', 'fourier', 'filter', 'local_cubic')
IN_TIME = ('filter', 'local_cubic')
ESTIMATE = 'estimate'
OF_FILTER = ('cutoff',), 'the motion has a period, whose Fourier series is taken'
OF_PERIODS = ('harmonics', 'skip_periods'), 'the motion is filtered, no Fourier series is taken'
BAD_SAMPLES = ('leave_out', 'keep')


@dataclass(frozen=True)
class SignalOptions:
    """How velocities and accelerations are found.

    Attributes
    ----------
    method
        `fourier` (periodic motion), `filter` (zero-phase Butterworth and central
        differences), `local_cubic` (local weighted cubic regression [M 5.1.3], at the stamps
        as they are), or `auto`: Fourier where a period is known or found, else the filter.
    period
        [s]; None: from the recording, else from the data.
    harmonics
        Harmonics of the refit; None: from the noise.
    cutoff
        Cutoff of the filter [Hz]; None: from the noise.
    skip_periods
        Periods left out at the beginning; None: those in which the motion still settles.
    bad_samples
        `leave_out`: outliers, stuck and saturated samples have no weight; `keep`: they are
        not looked for.
    delay
        From a position to the effort of the same sample [s]; None: as recorded; `estimate`
        (of `identify`): with the parameters.
    """

    method: str = 'auto'
    period: float | None = None
    harmonics: int | None = None
    cutoff: float | None = None
    skip_periods: int | None = None
    bad_samples: str = 'leave_out'
    delay: float | str | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        if self.method not in METHODS:
            raise EstimationError(
                f"unknown signal method '{self.method}'; valid are {', '.join(METHODS)}"
            )
        if self.bad_samples not in BAD_SAMPLES:
            raise EstimationError(
                f"unknown treatment of bad_samples '{self.bad_samples}'; valid are "
                f'{", ".join(BAD_SAMPLES)}'
            )
        if self.delay is not None and self.delay != ESTIMATE:
            if isinstance(self.delay, str) or not np.isfinite(self.delay):
                raise EstimationError(
                    f"delay must be a number of seconds or '{ESTIMATE}', got {self.delay!r}"
                )
        for name, kind in (
            ('period', Real),
            ('cutoff', Real),
            ('harmonics', Integral),
            ('skip_periods', Integral),
        ):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
                what = 'whole number' if kind is Integral else 'number'
                raise EstimationError(f'{name} must be a {what}, got {value!r}')
        for name, least in (('period', 0.0), ('cutoff', 0.0), ('harmonics', 1)):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value >= least and value > 0):
                raise EstimationError(f'{name} must be positive, got {value}')
        if self.skip_periods is not None and self.skip_periods < 0:
            raise EstimationError(f'skip_periods must not be negative, got {self.skip_periods}')

    def unused(self, names: Sequence[str], why: str) -> list[str]:
        """Say which of the given options mean nothing for the signals."""
        given = [name for name in names if getattr(self, name) is not None]
        return [f'{name}= is not used: {why}' for name in given]
