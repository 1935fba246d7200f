"""Collisions and faults: forces that the identified model does not explain.

The residual between measured and predicted forces, over its own standard deviation: by the
covariance of the identified parameters, and by what a recording without any disturbance shows of
noise and of what the model lacks. The levels of an alarm follow from a false alarm rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording
from pkm_identification.monitoring.residual_stream import Residuals, ResidualStream
from pkm_identification.monitoring.residual_variance import ResidualVariance
from pkm_identification.monitoring.score_levels import Judged, ScoreStatistics
from pkm_identification.quality.cycles import sample_noise
from pkm_identification.result.result import IdentificationResult

WINDOW = 0.05  # [s] of residuals that are averaged: with it a push is seen within 60 ms
FALSE_ALARMS = 1.0  # a day
LEAST_REFERENCE = 10.0  # [s] of residuals: rarer extremes are not seen in less
BLOCK = 1024  # samples in one pass
NOISE_ROWS = 100_000  # that tell the noise of positions


@dataclass(frozen=True)
class MonitorLevels:
    """What the size of residuals is compared with, found in a recording without disturbance."""

    variance: ResidualVariance  # of its residuals
    typical: Array  # median deviation (n_a,) of its residuals [N, N m]
    statistics: ScoreStatistics  # of its residuals over their deviations
    false_alarms: float  # a day, of all levels together
    levels: Array  # (n_a + 1,) of alarms

    @classmethod
    def of(
        cls, result: IdentificationResult, parts: Residuals, rate: float, false_alarms: float
    ) -> MonitorLevels:
        """Levels of residuals like these, sampled at `rate` [Hz]."""
        variance = ResidualVariance.fitted(result, parts)
        expected = variance(parts)
        own = variance.held(parts) / expected
        statistics = ScoreStatistics.of(parts.forces / np.sqrt(expected), rate, own)
        levels = statistics.levels(false_alarms)
        typical = np.sqrt(np.median(expected, axis=0))
        return cls(variance, typical, statistics, false_alarms, levels)

    def at(self, false_alarms: float) -> MonitorLevels:
        """Return the levels of another number of false alarms a day."""
        levels = self.statistics.levels(false_alarms)
        return replace(self, false_alarms=false_alarms, levels=levels)


@dataclass(frozen=True)
class Verdict(Judged):
    """Residuals of k samples over what is expected of them."""

    residuals: Residuals
    deviation: Array  # (k, n_a) standard deviations of the residuals [N, N m]


class ForceMonitor:
    """Watches stamped positions and forces of a robot by its identified model.

    `result` has the covariance of its parameters. `levels` are from `calibrated`, of the same
    rate and window.
    """

    def __init__(self, stream: ResidualStream, levels: MonitorLevels) -> None:
        self.stream = stream
        self.levels = levels

    @classmethod
    def calibrated(
        cls,
        result: IdentificationResult,
        references: list[Recording],
        window: float = WINDOW,
        false_alarms: float = FALSE_ALARMS,
    ) -> ForceMonitor:
        """Return a monitor with the levels that recordings without any disturbance show.

        `references` are recordings (`for_model`) of motions like those that will be watched, best
        not those of the identification. `false_alarms` a day. Raises EstimationError where they
        are too short or too uneven to tell.
        """
        rates = [1.0 / each.interval for each in references]
        noise = np.median([_noise(each) for each in references], axis=0)
        stream = ResidualStream(result, float(np.median(rates)), window, noise)
        parts = [part for each in references for part in _residuals(stream, each)]
        duration = sum(len(part) for part in parts) / stream.rate
        if duration < LEAST_REFERENCE:
            raise EstimationError(
                f'the recordings without disturbance hold {duration:.3g} s of residuals between '
                f'gaps; {LEAST_REFERENCE:g} s are needed'
            )
        levels = MonitorLevels.of(result, Residuals.joined(parts), stream.rate, false_alarms)
        return cls(stream, levels)

    def reset(self) -> None:
        """Forget all samples."""
        self.stream.reset()

    def add(self, time: Array, positions: Array, forces: Array) -> Iterator[Verdict]:
        """Take in samples (k,), (k, n_a), and yield what they show."""
        for part in self.stream.add(time, positions, forces):
            yield self.judged(part)

    def judged(self, part: Residuals) -> Verdict:
        """Compare residuals with what is expected of them."""
        variance = self.levels.variance(part)
        deviation, own = np.sqrt(variance), self.levels.variance.held(part) / variance
        sizes = self.levels.statistics.sizes(part.forces / deviation, own)
        return Verdict(sizes / self.levels.levels, part, deviation)

    def watched(self, recording: Recording) -> Verdict | None:
        """Return what a recording (`for_model`) shows; None where it is too short to tell."""
        self.reset()
        parts = list(_residuals(self.stream, recording))
        return self.judged(Residuals.joined(parts)) if parts else None

    def least_seen(self, direction: Array) -> float:
        """Size of a steady force on the actuators along `direction` (n_a,) that is at a level.

        With the forces (n_a,) [N, N m] that one newton on the platform makes it is in newtons, for
        the deviation that every second moment of the reference shows: of such forces one in two is
        seen then.
        """
        scores = np.asarray(direction) / self.levels.typical
        sizes = self.levels.statistics.sizes(scores[None])[0]
        return float(1.0 / np.max(sizes / self.levels.levels))


def _noise(recording: Recording) -> Array:
    """Standard deviations (n_a,) of the noise of positions [m, rad]."""
    block = recording[:NOISE_ROWS]
    cycles = np.round((block.time - block.time[0]) / recording.interval).astype(int)
    return sample_noise(cycles, block.positions, np.zeros(block.positions.shape[1]))


def _residuals(stream: ResidualStream, recording: Recording) -> Iterator[Residuals]:
    """Yield the residuals of a recording, with the forces at the time of the positions."""
    stream.reset()
    delay = recording.effort_delay
    # rows beyond a block that the forces of its own instants lie between
    reach = int(np.ceil(abs(delay) / recording.interval)) + 1
    for first in range(0, len(recording), BLOCK):
        before = min(first, reach)
        rows = recording[first - before : first + BLOCK + reach]
        if rows.efforts is None:
            raise EstimationError(f'{recording.name}: there are no forces')
        own = slice(before, before + BLOCK)
        time, positions = rows.time[own], rows.positions[own]
        stamps = rows.time + delay
        forces = np.column_stack([np.interp(time, stamps, each) for each in rows.efforts.T])
        good = np.isfinite(forces).all(axis=1) & np.isfinite(positions).all(axis=1)
        good &= (time >= stamps[0]) & (time <= stamps[-1])
        yield from stream.add(time[good], positions[good], forces[good])
