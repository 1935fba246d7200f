"""Measured minus predicted forces, averaged over a window, as samples come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array
from pkm_identification.estimators.filters.online import JITTER, LowPass
from pkm_identification.result.force_errors import STANDSTILL, TERMS, error_terms
from pkm_identification.result.result import IdentificationResult

# Cutoff of the motion times the window: wide enough to cost a seventh of it as delay, narrow enough
# to keep the noise of the accelerations out
MOTION_BAND = 3.0
RESIDUALS = 12  # in a window: at this rate nothing that the motion's filter leaves is folded down
IMPULSE = 6.0  # periods of the cutoff until an impulse has faded to 1e-6
# Widths that are tried of the speeds at which drives begin to slide, over those that transition
# velocity and noise say: Stribeck friction and joints of other legs that still rest make them wider
WIDTHS = np.array([1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
# Deviations of the noise of speeds, at which the sign of one in forty is wrong
SURE = 2.0
# Samples a period of the cutoff, which the low pass and the differences behind it need
LEAST_SAMPLES = 4.0


@dataclass(frozen=True)
class Residuals:
    """Residuals of k samples, and what their size depends on."""

    time: Array  # (k,) [s] of the latest sample of each
    forces: Array  # (k, n_a) measured minus predicted ones [N, N m], means over the window
    positions: Array  # (k, n_a), likewise
    velocities: Array
    accelerations: Array
    deviation: Array  # (k, n_a) of the predicted forces by the parameters' covariance
    rest: Array  # (k, n_a, WIDTHS) mean shares of rest, 1 where drives rested all the window
    terms: Array  # (k, n_a, TERMS) means of the terms of the variance of errors

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.time)

    @classmethod
    def joined(cls, parts: list[Residuals]) -> Residuals:
        """Return all of some parts."""
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))


class MovingAverage:
    """Mean of the latest `count` samples, of samples as they come.

    Of all filters that know no more than a window of white noise it finds a step best.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self._past: Array | None = None

    def filtered(self, samples: Array) -> Array:
        """Take in samples (k, c); means (m, c) of the windows that are full, m at most k."""
        if self._past is not None:
            samples = np.concatenate([self._past, samples])
        self._past = samples[max(len(samples) - self.count + 1, 0) :]
        if len(samples) < self.count:
            return samples[:0]
        return np.asarray(sliding_window_view(samples, self.count, axis=0).mean(axis=-1))


class ResidualStream:
    """Filters positions and forces of `rate` [Hz], predicts the forces, and compares.

    Both sides pass the same filters, so that they keep their phase. A residual is the mean over a
    `window` [s], late by `delay`. `noise` (n_a,) is the standard deviation of the positions
    [m, rad]. Raises EstimationError where the rate is too low for the window.
    """

    def __init__(
        self, result: IdentificationResult, rate: float, window: float, noise: ArrayLike = 0.0
    ) -> None:
        least = LEAST_SAMPLES * MOTION_BAND
        if not window > 0.0:
            raise EstimationError(f'window: a time above 0 s is needed, got {window}')
        if not window * rate > least:
            raise EstimationError(
                f'a window of {window:g} s needs samples at more than {least / window:g} Hz; they '
                f'come at {rate:g} Hz: take {least / rate:.2g} s or more'
            )
        self.result = result
        self.gaps = 0  # that made the filters begin anew
        self.interval = 1.0 / rate
        self.every = max(int(window * rate / RESIDUALS), 1)
        self.rate = rate / self.every  # of the residuals [Hz]
        self._motion = LowPass(rate, MOTION_BAND / window)
        # a robot that moves as the filter begins is a step of the velocity, an impulse of force
        self._settling = round(IMPULSE * window * rate / MOTION_BAND)
        self._residual = MovingAverage(max(round(window * self.rate), 1))
        of_speeds = _speed_gain(rate, MOTION_BAND / window) * np.asarray(noise)
        self._sliding = SURE * np.broadcast_to(of_speeds, len(result.model.actuated_joints))
        # [s] by which a step of a force is late, where it has half its size
        self.delay = self._motion.delay + 0.5 * window + self.interval
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self._motion.reset()
        self._residual.reset()
        self._last: float | None = None
        self._tail: tuple[Array, Array] | None = None  # times, and filtered samples
        self._count = 0

    def add(self, time: Array, positions: Array, forces: Array) -> Iterator[Residuals]:
        """Take in samples (k,), (k, n_a) and yield the residuals that they make.

        Where samples are missing, or time goes back, the filters begin anew.
        """
        steps = np.diff(time, prepend=time[0] - self.interval if self._last is None else self._last)
        broken = np.flatnonzero(np.abs(steps - self.interval) > JITTER * self.interval)
        for part in np.split(np.arange(len(time)), broken):
            if not len(part):
                continue
            if part[0] in broken:
                self.gaps += 1
                self.reset()
            self._last = float(time[part[-1]])
            found = self._added(time[part], positions[part], forces[part])
            if found is not None:
                yield found

    def _added(self, time: Array, positions: Array, forces: Array) -> Residuals | None:
        size = positions.shape[1]
        filtered = self._motion.filtered(np.concatenate([positions, forces], axis=1))
        if self._tail is not None:
            time = np.concatenate([self._tail[0], time])
            filtered = np.concatenate([self._tail[1], filtered])
        self._tail = time[-2:], filtered[-2:]
        if len(time) < 3:
            return None
        # every so many samples, counted over all blocks
        first = max(-self._count % self.every, self._settling - self._count)
        first += -(self._count + first) % self.every
        self._count += len(time) - 2
        here = np.arange(1 + first, len(time) - 1, self.every)
        if not len(here):
            return None
        before, now, after = (filtered[here + k, :size] for k in (-1, 0, 1))
        velocities = (after - before) / (2 * self.interval)
        accelerations = (after - 2 * now + before) / self.interval**2
        model = self.result.model
        motion = model.motion_from_actuators(now, velocities, accelerations)
        predicted, deviation = self.result.predict(motion, True)
        residuals = filtered[here, size:] - predicted
        rest, terms = self._variance_parts(velocities, accelerations)
        # the motion, too, so that it is that of the residuals' time, with as little noise
        given = (residuals, now, velocities, accelerations, rest, terms)
        together = [each.reshape(len(here), -1) for each in given]
        means = self._residual.filtered(np.concatenate(together, axis=1))
        if not len(means):
            return None
        last = slice(len(here) - len(means), None)
        ends = np.cumsum([each.shape[1] for each in together])[:-1]
        forces, q, qd, qdd, rest, terms = np.split(means, ends, axis=1)
        rest, terms = (each.reshape(len(means), size, -1) for each in (rest, terms))
        return Residuals(time[here][last], forces, q, qd, qdd, deviation[last], rest, terms)

    def _variance_parts(self, velocities: Array, accelerations: Array) -> tuple[Array, Array]:
        errors = self.result.diagnostics.force_errors
        if errors is None:
            terms = np.zeros((*velocities.shape, TERMS))
            terms[..., 0] = 1.0
            return np.zeros((*velocities.shape, len(WIDTHS))), terms
        slow = np.maximum(np.hypot(errors.transition_velocity, self._sliding), STANDSTILL)
        terms = error_terms(velocities / errors.velocity, accelerations / errors.acceleration)
        return rest_shares(velocities, slow), terms


def rest_shares(velocities: Array, slow: ArrayLike) -> Array:
    """Shares (k, n_a, WIDTHS) of friction at rest at velocities (k, n_a), by slow speeds (n_a,).

    They fall exponentially with the speed, as Stribeck friction does. Their mean over a window is
    that of a residual: a drive that reverses may rest in a part of it.
    """
    relative = np.abs(velocities) / np.asarray(slow)
    return np.asarray(np.exp(-relative[..., None] / WIDTHS))


def _speed_gain(rate: float, cutoff: float) -> float:
    """Standard deviation [1/s] of speeds over that of white positions, behind the filter."""
    impulse = np.zeros((round(IMPULSE * rate / cutoff) + 3, 1))
    impulse[1] = 1.0
    answer = LowPass(rate, cutoff).filtered(impulse)[:, 0]
    return float(np.linalg.norm(answer[2:] - answer[:-2]) * rate / 2)
