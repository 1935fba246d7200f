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
from pkm_identification.arrays import Array, Mask
from pkm_identification.covariance.error_variances import variance_coefficients
from pkm_identification.datasets import Recording
from pkm_identification.monitoring.alarm_rates import AlarmRate, alarm_levels, whitening_of
from pkm_identification.monitoring.residual_stream import Residuals, ResidualStream
from pkm_identification.result.force_errors import TERMS, Domain, ForceErrors, error_terms
from pkm_identification.result.result import IdentificationResult

WINDOW = 0.05  # [s] of residuals that are averaged: with it a push is seen within 60 ms
FALSE_ALARMS = 1.0  # a day
LEAST_REFERENCE = 10.0  # [s] of residuals: rarer extremes are not seen in less
BLOCK = 1024  # samples in one pass
LEAST_VARIANCE = 1e-3  # of the mean variance, as what a drive at rest or none of the noise leaves


@dataclass(frozen=True)
class MonitorLevels:
    """What the size of residuals is compared with, found in a recording without disturbance."""

    coefficients: Array  # (n_a, TERMS) of the variance beyond that of the parameters
    speed: Array  # RMS (n_a,) that velocities are relative to
    quickness: Array  # likewise of accelerations
    domain: Domain  # motion that the recording shows
    typical: Array  # RMS deviation (n_a,) of its residuals [N, N m]
    whitening: Array  # (n_a, n_a) that makes scores independent
    rates: tuple[AlarmRate, ...]  # of the axes, then of all together
    false_alarms: float  # a day, of all levels together
    levels: Array  # (n_a + 1,) of alarms

    def at(self, false_alarms: float) -> MonitorLevels:
        """Return the levels of another number of false alarms a day."""
        levels = alarm_levels(self.rates, false_alarms)
        return replace(self, false_alarms=false_alarms, levels=levels)


@dataclass(frozen=True)
class Verdict:
    """Residuals of k samples over what is expected of them."""

    residuals: Residuals
    deviation: Array  # (k, n_a) standard deviations of the residuals [N, N m]
    ratios: Array  # (k, n_a + 1) of the axes' scores, and of all together, to their alarm levels

    @property
    def alarms(self) -> Mask:
        """Which samples (k,) are beyond a level."""
        return np.asarray((self.ratios > 1.0).any(axis=1))


class ForceMonitor:
    """Watches stamped positions and forces of a robot by its identified model.

    `result` has the covariance of its parameters. `levels` are from `calibrated`, of the same
    rate and window.
    """

    def __init__(self, stream: ResidualStream, levels: MonitorLevels) -> None:
        self.stream = stream
        self.levels = levels
        self._errors = stream.result.diagnostics.force_errors

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
        stream = ResidualStream(result, float(np.median(rates)), window)
        parts = [part for each in references for part in _residuals(stream, each)]
        duration = sum(len(part) for part in parts) / stream.rate
        if duration < LEAST_REFERENCE:
            raise EstimationError(
                f'the recordings without disturbance hold {duration:.3g} s of residuals between '
                f'gaps; {LEAST_REFERENCE:g} s are needed'
            )
        levels = _levels(result, Residuals.joined(parts), stream.rate, false_alarms)
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
        deviation = np.sqrt(_variance(part, self.levels, self._errors))
        scores = part.forces / deviation
        together = np.linalg.norm(scores @ self.levels.whitening.T, axis=1)
        sizes = np.column_stack([np.abs(scores), together])
        return Verdict(part, deviation, sizes / self.levels.levels)

    def watched(self, recording: Recording) -> Verdict | None:
        """Return what a recording (`for_model`) shows; None where it is too short to tell."""
        self.reset()
        parts = list(_residuals(self.stream, recording))
        return self.judged(Residuals.joined(parts)) if parts else None

    def least_seen(self, direction: Array) -> float:
        """Size of a steady force on the actuators along `direction` (n_a,) that is at a level.

        With the forces (n_a,) [N, N m] that one newton on the platform makes it is in newtons, for
        the deviation that the reference shows on average: of such forces one in two is seen.
        """
        scores = np.asarray(direction) / self.levels.typical
        together = np.linalg.norm(self.levels.whitening @ scores)
        return float(1.0 / np.max(np.append(np.abs(scores), together) / self.levels.levels))


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


def _variance(part: Residuals, levels: MonitorLevels, errors: ForceErrors | None) -> Array:
    """Variances (k, n_a) of residuals."""
    terms = error_terms(part.velocities / levels.speed, part.accelerations / levels.quickness)
    beyond = np.einsum('nat,at->na', terms, levels.coefficients)
    beyond = np.maximum(beyond, LEAST_VARIANCE * levels.coefficients.sum(axis=1))
    farthest = levels.domain.distance(part.positions, part.velocities).max(axis=1, keepdims=True)
    return beyond * (1 + farthest) ** 2 + _known(part, errors)


def _known(part: Residuals, errors: ForceErrors | None) -> Array:
    """Variances (k, n_a) by the parameters, and by friction of drives at rest."""
    known = part.deviation**2
    if errors is None:
        return known
    rest = errors.at_rest(part.velocities, part.accelerations)
    return known + rest * errors.holding**2 / 3


def _levels(
    result: IdentificationResult, parts: Residuals, rate: float, false_alarms: float
) -> MonitorLevels:
    errors = result.diagnostics.force_errors
    speed, quickness = (
        np.maximum(np.sqrt(np.mean(each**2, axis=0)), np.finfo(float).tiny)
        for each in (parts.velocities, parts.accelerations)
    )
    terms = error_terms(parts.velocities / speed, parts.accelerations / quickness)
    squares, known = parts.forces**2, _known(parts, errors)
    exact = ~squares.any(axis=0)
    if exact.any():
        joint = result.model.actuated_joints[int(np.argmax(exact))]
        raise EstimationError(f'{joint}: its residuals show no noise, and so no level of an alarm')
    open_ones = ~np.isfinite(known).all(axis=0)
    if open_ones.any():
        joint = result.model.actuated_joints[int(np.argmax(open_ones))]
        raise EstimationError(
            f'{joint}: the forces of the recording without disturbance depend on parameters that '
            'the identification left open'
        )
    # all terms: a slow start fills a small part of a recording, and must not alarm in the next one
    coefficients = np.zeros((squares.shape[1], TERMS))
    for axis in range(squares.shape[1]):
        own = squares[:, axis], known[:, axis], terms[:, axis]
        coefficients[axis] = variance_coefficients(*own)
        lacking = LEAST_VARIANCE * squares[:, axis].mean() - (own[2] @ coefficients[axis]).mean()
        coefficients[axis, 0] += max(float(lacking), 0.0)
    fastest = np.abs(parts.velocities).max(axis=0)
    domain = Domain(parts.positions.min(axis=0), parts.positions.max(axis=0), fastest)
    count = squares.shape[1]
    nothing = np.ones(count)
    found = MonitorLevels(
        *(coefficients, speed, quickness, domain, nothing, np.eye(count), ()),
        false_alarms=false_alarms,
        levels=np.ones(count + 1),
    )
    variance = _variance(parts, found, errors)
    scores = parts.forces / np.sqrt(variance)
    whitening = whitening_of(scores)
    rates = [AlarmRate.of(scores[:, [axis]], rate) for axis in range(count)]
    rates.append(AlarmRate.of(scores @ whitening.T, rate))
    typical = np.sqrt(variance.mean(axis=0))
    found = replace(found, typical=typical, whitening=whitening, rates=tuple(rates))
    return found.at(false_alarms)
