"""Drives that do not give the force that they are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording
from pkm_identification.monitoring.residual_stream import RESIDUALS, MovingAverage
from pkm_identification.monitoring.score_levels import Judged, ScoreStatistics

LEAST_REFERENCE = 10.0  # [s] of samples: rarer extremes are not seen in less
LEAST_SHARE = 1e-6  # of the RMS command: a smaller deviation is rounding
TERMS = 3  # what a drive does to a command: offset, gain, delay


@dataclass(frozen=True)
class DriveVerdict(Judged):
    """What k instants show of each drive."""

    time: Array  # (k,) [s] of the latest sample of each
    forces: Array  # (k, n_a) measured minus told ones [N, N m], means over the window


@dataclass(frozen=True)
class DriveResponse:
    """What the drives make of their commands while nothing is wrong with them.

    The measured force is `offset` + `gain` times the command, late by `delay`; means over the
    window of what is left deviate by `deviation`.
    """

    offset: Array  # (n_a,) [N, N m]
    gain: Array  # (n_a,) [1]
    delay: Array  # (n_a,) [s]
    deviation: Array  # (n_a,) [N, N m]
    statistics: ScoreStatistics  # of these means over the deviation

    def expected(self, command: Array, rate: Array) -> Array:
        """Force (k, n_a) that is measured for commands [N, N m] and their rates [N/s]."""
        return np.asarray(self.offset + self.gain * (command - self.delay * rate))

    def given(self, command: Array) -> Array:
        """Force (..., n_a) that the drives give for commands, `lag` later [N, N m]."""
        return np.asarray(self.offset + self.gain * command)

    @property
    def lag(self) -> float:
        """Delay [s] of all drives, the median of theirs."""
        return float(np.median(self.delay))

    def recorded(self, commanded: Recording) -> Recording:
        """Return a recording with the forces that the drives give for its commands."""
        efforts = None if commanded.efforts is None else self.given(commanded.efforts)
        delay = commanded.effort_delay + self.lag
        return commanded.changed(efforts=efforts, currents=None, effort_delay=delay)


class DriveMonitor:
    """Compares measured with commanded forces (n_a,) at the same instants.

    `response` and `levels` are from `calibrated`, of the same rate and window.
    """

    def __init__(
        self, response: DriveResponse, rate: float, window: float, false_alarms: float
    ) -> None:
        self.response = response
        self.levels = response.statistics.levels(false_alarms)
        self._stream = _DriveStream(rate, window)

    @classmethod
    def calibrated(
        cls, pairs: Sequence[tuple[Recording, Recording]], window: float, false_alarms: float
    ) -> DriveMonitor:
        """Return a monitor of what recordings without any disturbance show.

        `pairs` are recordings (`for_model`) with commanded and with measured forces, of the same
        motions. `false_alarms` a day. Raises EstimationError where they are too short to tell, or
        show no noise.
        """
        rate = 1.0 / float(np.median([told.interval for told, _ in pairs]))
        stream, parts = _DriveStream(rate, window), []
        for told, measured in pairs:
            stream.reset()
            parts.append(stream.add(*_at_one_time(told, measured)))
        command, slope, force = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ('command', 'slope', 'measured')
        )
        if len(force) < LEAST_REFERENCE * stream.rate:
            raise EstimationError(
                f'the recordings without disturbance hold {len(force) / stream.rate:.3g} s of '
                f'commanded and measured forces; {LEAST_REFERENCE:g} s are needed'
            )
        response = _response(command, slope, force, stream.rate)
        return cls(response, rate, window, false_alarms)

    def reset(self) -> None:
        """Forget all samples."""
        self._stream.reset()

    def add(self, time: Array, commands: Array, forces: Array) -> DriveVerdict | None:
        """Take in commands and measured forces (k, n_a) at times (k,); None: too few yet."""
        part = self._stream.add(time, commands, forces)
        if not len(part.time):
            return None
        response = self.response
        left = part.measured - response.expected(part.command, part.slope)
        sizes = response.statistics.sizes(left / response.deviation)
        return DriveVerdict(sizes / self.levels, part.time, left)

    def watched(self, told: Recording, measured: Recording) -> DriveVerdict | None:
        """Return what recordings of one motion show; None where they are too short to tell."""
        self.reset()
        return self.add(*_at_one_time(told, measured))


@dataclass(frozen=True)
class _Means:
    time: Array
    command: Array
    slope: Array
    measured: Array


class _DriveStream:
    """Means over a window of commands, their rates, and measured forces, as samples come."""

    def __init__(self, rate: float, window: float) -> None:
        self.every = max(int(window * rate / RESIDUALS), 1)
        self.rate = rate / self.every
        self._count = max(round(window * rate), 2)
        self._window = window
        self.reset()

    def reset(self) -> None:
        self._average = MovingAverage(self._count)
        self._first: Array | None = None  # commands at the window's begin, of those to come
        self._seen = 0

    def add(self, time: Array, commands: Array, forces: Array) -> _Means:
        size = commands.shape[1]
        means = self._average.filtered(np.concatenate([commands, forces], axis=1))
        past = commands if self._first is None else np.concatenate([self._first, commands])
        self._first = past[max(len(past) - self._count + 1, 0) :]
        if not len(means):
            return _Means(time[:0], *np.zeros((3, 0, size)))
        windows = sliding_window_view(past, self._count, axis=0)
        slopes = (windows[..., -1] - windows[..., 0]) / self._window
        keep = np.arange(-self._seen % self.every, len(means), self.every)
        self._seen += len(means)
        last = slice(len(time) - len(means), None)
        chosen = time[last][keep], means[keep, :size], slopes[keep], means[keep, size:]
        return _Means(*chosen)


def _at_one_time(told: Recording, measured: Recording) -> tuple[Array, Array, Array]:
    """Times of the commands, the commands, and measured forces at these times."""
    if told.efforts is None or measured.efforts is None:
        raise EstimationError(f'{measured.name}: there are no forces')
    time = told.time + told.effort_delay
    stamps = measured.time + measured.effort_delay
    inside = (time >= stamps[0]) & (time <= stamps[-1])
    forces = np.column_stack([np.interp(time, stamps, each) for each in measured.efforts.T])
    good = inside & np.isfinite(forces).all(axis=1) & np.isfinite(told.efforts).all(axis=1)
    return time[good], told.efforts[good], forces[good]


def _response(command: Array, slope: Array, force: Array, rate: float) -> DriveResponse:
    """Fit what each drive makes of its commands."""
    count = force.shape[1]
    found = np.zeros((TERMS, count))
    left = np.zeros_like(force)
    for axis in range(count):
        columns = np.column_stack([np.ones(len(force)), command[:, axis], slope[:, axis]])
        # a constant command tells an offset alone: the least norm is taken of what is open
        scale = np.maximum(np.sqrt(np.mean(columns**2, axis=0)), np.finfo(float).tiny)
        solution = np.linalg.lstsq(columns / scale, force[:, axis], rcond=1e-6)[0] / scale
        found[:, axis] = solution
        left[:, axis] = force[:, axis] - columns @ solution
    offset, gain, lag = found
    deviation = np.sqrt(np.mean(left**2, axis=0))
    least = LEAST_SHARE * np.sqrt(np.mean(command**2, axis=0))
    if (deviation <= least).any():
        axis = int(np.argmax(deviation <= least))
        raise EstimationError(
            f'drive {axis + 1}: its measured forces are its commands to the last digit: nothing '
            'measures them'
        )
    delay = -lag / np.where(gain == 0.0, 1.0, gain)
    statistics = ScoreStatistics.of(left / deviation, rate)
    return DriveResponse(offset, gain, delay, deviation, statistics)
