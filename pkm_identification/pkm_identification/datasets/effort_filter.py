"""The low pass that a drive puts on the efforts that it reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from pkm_description.errors import DatasetError
from pkm_identification.arrays import Array, ComplexArray

KEYS = ('order', 'cutoff', 'time_constant')
MEMORY = 7.0  # times the slowest time constant: 0.1 % is left
LEAST_GAIN = 0.05  # of a frequency that is restored: below, noise alone would be


@dataclass(frozen=True)
class EffortFilter:
    """A Butterworth low pass; of first order that of one time constant."""

    order: int
    cutoff: float  # [Hz]

    @classmethod
    def of(cls, given: Any, where: str) -> EffortFilter:
        """Read {order, cutoff [Hz]} or {time_constant [s]}; `where` begins the DatasetError."""
        wanted = 'a mapping {order: 1 ... 8, cutoff: [Hz]} or {time_constant: [s]}'
        if not isinstance(given, Mapping) or not set(given) <= set(KEYS):
            raise DatasetError(f'{where}: effort_filter must be {wanted}, not {given!r}')
        numbers = {key: given[key] for key in given}
        positive = all(
            isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < np.inf
            for value in numbers.values()
        )
        order = numbers.pop('order', 1)
        if not positive or len(numbers) != 1 or order not in range(1, 9):
            raise DatasetError(f'{where}: effort_filter must be {wanted}, not {dict(given)!r}')
        if 'time_constant' in numbers and order != 1:
            raise DatasetError(f'{where}: an effort_filter with a time_constant is of order 1')
        cutoff = numbers.get('cutoff') or 1 / (2 * np.pi * numbers['time_constant'])
        return cls(int(order), float(cutoff))

    @cached_property
    def poles(self) -> ComplexArray:
        """Poles (order,) [rad/s]."""
        angles = np.pi * (2 * np.arange(self.order) + self.order + 1) / (2 * self.order)
        return np.asarray(2 * np.pi * self.cutoff * np.exp(1j * angles))

    @property
    def memory(self) -> float:
        """Time after which a sample is forgotten [s]."""
        return float(MEMORY / np.min(-self.poles.real))

    @property
    def delay(self) -> float:
        """Delay of slow signals [s]."""
        return float(np.sum(-1 / self.poles).real)

    def response(self, frequency: Array) -> ComplexArray:
        """Gain and phase (k,) at frequencies (k,) [Hz]."""
        s = 2j * np.pi * frequency[:, None]
        return np.asarray(np.prod(-self.poles / (s - self.poles), axis=1))

    def applied(self, samples: Array, rate: float) -> Array:
        """Filter samples (n, c) at a rate [Hz]; they are continued at either end."""
        count = len(samples)
        margin = min(count - 1, int(np.ceil(self.memory * rate)))
        before = 2 * samples[:1] - samples[margin:0:-1]
        behind = 2 * samples[-1:] - samples[-2 : -margin - 2 : -1]
        extended = np.concatenate([before, samples, behind])
        # the end leads into the beginning: both are far from the samples
        frequency = np.fft.rfftfreq(len(extended), 1 / rate)
        gain: ComplexArray = self.response(np.asarray(frequency, dtype=np.float64))[:, None]
        spectrum: ComplexArray = np.asarray(np.fft.rfft(extended, axis=0), dtype=np.complex128)
        filtered = np.fft.irfft(spectrum * gain, len(extended), axis=0)
        return np.asarray(filtered[margin : margin + count])

    def undone(self, periods: Array, period: float) -> Array:
        """Return filtered periods (..., n, c) of a motion [s] as they were before the filter."""
        count = periods.shape[-2]
        response = self.response(np.arange(count // 2 + 1) / period)
        restored = np.where(np.abs(response) >= LEAST_GAIN, 1 / response, 1.0)
        spectrum = np.fft.rfft(periods, axis=-2) * restored[:, None]
        return np.asarray(np.fft.irfft(spectrum, count, axis=-2))
