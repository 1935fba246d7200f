"""Choices of how velocities, accelerations and forces are made of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pkm_identification.option import check_values
from pkm_identification.options import SIGNALS

IN_TIME = ('filter', 'local_cubic')
ESTIMATE = 'estimate'
OF_FILTER = ('cutoff',), 'the motion has a period, whose Fourier series is taken'
OF_PERIODS = ('harmonics', 'skip_periods'), 'the motion is filtered, no Fourier series is taken'


@dataclass(frozen=True)
class SignalOptions:
    """How velocities and accelerations are found."""

    # `fourier` (periodic motion), `filter` (zero-phase Butterworth and central
    # differences), `local_cubic` (local weighted cubic regression [M 5.1.3], at the stamps
    # as they are), or `auto`: Fourier where a period is known or found, else the filter
    method: str = 'auto'
    period: float | None = None  # [s]; None: from the recording, else from the data
    harmonics: int | None = None  # harmonics of the refit; None: from the noise
    cutoff: float | None = None  # cutoff of the filter [Hz]; None: from the noise
    # periods left out at the beginning; None: those in which the motion still settles
    skip_periods: int | None = None
    # `leave_out`: outliers, stuck and saturated samples have no weight; `keep`: they are
    # not looked for
    bad_samples: str = 'leave_out'
    # from a position to the effort of the same sample [s]; None: as recorded; `estimate`
    # (of `identify`): with the parameters
    delay: float | str | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        check_values(SIGNALS, vars(self))

    def unused(self, names: Sequence[str], why: str) -> list[str]:
        """Say which of the given options mean nothing for the signals."""
        given = [name for name in names if getattr(self, name) is not None]
        return [f'{name}= is not used: {why}' for name in given]
