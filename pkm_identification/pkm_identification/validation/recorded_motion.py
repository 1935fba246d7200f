"""States and forces of a recording as functions of time, for open-loop rollouts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording
from pkm_identification.signals import Signals
from pkm_identification.signals.bands import FilterBand, HarmonicBand
from pkm_identification.validation.reference import interpolated

Signal = Callable[[Array], Array]

STARTS = 8


@dataclass(frozen=True)
class Recorded:
    """States and forces of a recording as functions of time."""

    positions: Signal  # functions of times (M,) [s] that return (M, n_a)
    velocities: Signal
    forces: Signal
    starts: Array  # (M,) [s]
    source: str  # of the forces


def recorded_motion(
    data: Recording, signals: Signals, longest: float, starts: int = STARTS
) -> Recorded:
    """States and forces of a recording: noise-free ones where it has them.

    Averaged periods go on for ever; other recordings must be longer than the horizon, and fit into
    memory.
    """
    if signals.is_long:
        raise EstimationError(
            'a rollout needs a recording that fits into memory: give a part of it'
        )
    truth = None if data.is_long else data.truth  # of a long one, the averaged period is taken
    if truth is not None and truth.time[-1] - truth.time[0] > longest:
        series = (truth.positions, truth.velocities, truth.forces)
        positions, velocities, forces = (_between(truth.time, values) for values in series)
        first, last, source = float(truth.time[0]), float(truth.time[-1]) - longest, 'noise-free'
    else:
        series = (signals.positions, signals.velocities, signals.forces)
        source = 'measured'
        if isinstance(signals.band, HarmonicBand):
            period = signals.band.period
            positions, velocities, forces = (
                _periodic(signals.time, values, period) for values in series
            )
            first = float(signals.time[0])
            last = first + period * (starts - 1) / starts
        else:
            positions, velocities, forces = (_between(signals.time, values) for values in series)
            edge = signals.band.trim if isinstance(signals.band, FilterBand) else 0
            first, last = float(signals.time[edge]), float(signals.time[-1 - edge]) - longest
    if last < first:
        raise EstimationError(
            f'the recording is shorter than the rollout of {longest:g} s: give shorter horizons'
        )
    return Recorded(positions, velocities, forces, np.linspace(first, last, starts), source)


def _between(time: Array, values: Array) -> Signal:
    return lambda at: interpolated(at, time, values)


def _periodic(time: Array, values: Array, period: float) -> Signal:
    closed_time = np.append(time, time[0] + period)
    closed = np.concatenate([values, values[:1]])
    return lambda at: interpolated(time[0] + np.mod(at - time[0], period), closed_time, closed)
