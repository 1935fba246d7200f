"""Choices of how velocities, accelerations and forces are made of a recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pkm_identification.option import check_values
from pkm_identification.options import SIGNALS

IN_TIME = ('filter', 'local_cubic')
ESTIMATE = 'estimate'
OF_FILTER = ('cutoff',), 'the motion has a period, whose Fourier series is taken'
OF_PERIODS = ('harmonics', 'skip_periods'), 'the motion is filtered, no Fourier series is taken'


@dataclass(frozen=True)
class SignalOptions:
    """How velocities and accelerations are found; `options.SIGNALS` says what each means."""

    method: str = 'auto'
    period: float | None = None  # [s]
    harmonics: int | None = None
    cutoff: float | None = None  # [Hz]
    skip_periods: int | None = None
    bad_samples: str = 'leave_out'
    standstill: str = 'leave_out'
    clock: str = 'auto'
    velocities: str = 'auto'
    effort_filter: Mapping[str, float] | None = None  # see `EffortFilter`
    delay: float | str | None = None  # [s]

    def __post_init__(self) -> None:
        """Check the values."""
        check_values(SIGNALS, vars(self))

    def unused(self, names: Sequence[str], why: str) -> list[str]:
        """Say which of the given options mean nothing for the signals."""
        given = [name for name in names if getattr(self, name) is not None]
        return [f'{name}= is not used: {why}' for name in given]
