"""Whether a learned force does harm while it acts: then the robot is not the one it is of.

Page's test [Page 1954; Lorden 1971] of what an error has that was not expected. Each cycle adds the
logarithm of how much likelier the error is on a robot that no longer needs the learned force than
on the one that was learned; the sum never falls below zero. It is also a bound: the square of the
unexpected error, integrated, never exceeds that without the force by more than twice the limit
times the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import signal

from pkm_control.learning.learned_force import LearnedForce, Scope
from pkm_description.description import frozen
from pkm_dynamics.array_types import Floats

# Error over that of the model alone, at the same place, that is taken for harm
WORSE = 1.1
CHANCE = 1e-8  # of a false alarm in a cycle: one in a day of motion
LIMIT = -math.log(CHANCE)  # of the sums: by Wald's inequality
# Sum of squares over four times the noise: its exponential has the mean 1 with this taken off
CHI_SQUARE = 0.5 * math.log(2.0)
BLOCK = 0.02  # [s] shorter than what a servo makes of a force, and long over most of the noise
SEGMENTS = 8  # of a repetition, whose spectra are averaged
# Of the cutoff: where errors are the noise of sensors, and the means of the grid let it pass
ABOVE = (1.5, 3.0)
# Of the error: a servo with a sensible margin amplifies noise by two at most at any frequency
AMPLIFIED = 4.0
LEAST_NOISE = 1e-24  # [m^2 s, rad^2 s] of a simulated robot without noise: far below any sensor
UNKNOWN = 1.0 / 3.0  # of the effect of a new force, by the model: that of a third of the inertia


@dataclass(frozen=True)
class Expectation:
    """What errors are expected along a grid; each array is (n, n_a) [m, rad]."""

    error: Floats  # with the learned force
    effect: Floats  # what the learned force takes off
    alone: Floats  # with the model alone

    def __post_init__(self) -> None:
        """Copy and freeze the arrays."""
        for name in ('error', 'effect', 'alone'):
            object.__setattr__(self, name, frozen(getattr(self, name)))


@dataclass(frozen=True)
class LeadIn:
    """What is expected from rest to the end of the first period, with ramps of one duration."""

    ramp_time: float  # [s]
    force: Floats  # (n, n_a) [N, N m] learned, with its weights
    expected: Expectation

    def __post_init__(self) -> None:
        """Copy and freeze the forces."""
        object.__setattr__(self, 'force', frozen(self.force))


class LearningWatch:
    """Compares errors with those expected, cycle by cycle.

    Two sums, in each axis over the noise there: of |d|^2 - |d + p|^2 with the unexpected error d
    and what the force takes off, p; and of |e|^2 - `WORSE`^2 (|a|^2 + |x|^2) with the error e, that
    of the model alone a and the expected one x, less what chance adds.
    """

    def __init__(
        self,
        scope: Scope,
        interval: float,  # [s] of the grids
        expected: Expectation,
        noise: Floats,  # (n_a,) [m^2 s, rad^2 s] spectral density of the unexpected error
        lead_in: LeadIn | None = None,  # of the motion's ramps, where a period is learned
    ) -> None:
        self._scale = 1.0 / np.sqrt(noise)
        self._axes = len(noise)
        self._tables = self._scaled(scope, interval, expected)
        self._last = math.inf  # [s] of the table
        if scope is Scope.MOTION:
            self._last = interval * (len(expected.error) - 1)
        self._lead_in, self._end = self._tables, -math.inf
        if lead_in is not None:
            self._lead_in = self._scaled(Scope.MOTION, interval, lead_in.expected)
            self._end = interval * (len(lead_in.expected.error) - 1)
        self._less = self._more = 0.0
        self._block = np.zeros((3, self._axes))  # e, x and a over the time of a block so far
        self._time = 0.0  # [s] of it

    def _scaled(self, scope: Scope, interval: float, expected: Expectation) -> LearnedForce:
        columns = expected.error, expected.effect, expected.alone
        return LearnedForce(scope, interval, np.hstack([self._scale * each for each in columns]))

    def does_harm(
        self, interval: float, since: float, place: float, weight: float, error: Floats
    ) -> bool:
        """Take the error (n_a,) of a cycle; whether the force does harm.

        `since` [s] is the time since the motion left rest, `place` [s] that of the table, `weight`
        that of the table there.
        """
        axes, in_lead = self._axes, since <= self._end
        if not in_lead and (weight <= 0.0 or place > self._last):
            return False
        row = self._lead_in.at(since) if in_lead else self._tables.at(place)
        x, p, a = row[:axes], row[axes : 2 * axes], row[2 * axes :]
        if not in_lead and weight < 1.0:
            x, p = x + (1.0 - weight) * p, weight * p
        e = self._scale * error
        less = interval * float((e - x + 0.5 * p) @ p)
        self._less = max(self._less - less, 0.0)
        block = self._block
        block[0] += interval * e
        block[1] += interval * x
        block[2] += interval * a
        self._time += interval
        if self._time >= BLOCK:
            now, *before = np.einsum('ka,ka->k', block, block).tolist()
            more = 0.25 * (now - WORSE**2 * sum(before)) / self._time - CHI_SQUARE * axes
            self._more = max(self._more + more, 0.0)
            block[:] = self._time = 0.0
        return max(self._less, self._more) > LIMIT


def noise_density(values: Floats, interval: float) -> Floats:
    """Largest spectral density (n_a,) [m^2 s, rad^2 s] of values (n, n_a) on an even grid."""
    return np.asarray(_spectrum(values, interval)[1].max(axis=0))


def sensor_density(error: Floats, interval: float, cutoff: float) -> Floats:
    """Spectral density (n_a,) [m^2 s, rad^2 s] of the sensors' noise in an error (n, n_a).

    It is what the error has above a cutoff [Hz]: no servo follows there.
    """
    frequency, density = _spectrum(error, interval)
    low, high = ABOVE
    above = (np.abs(frequency) >= low * cutoff) & (np.abs(frequency) <= high * cutoff)
    return np.asarray(np.median(density[above], axis=0))


def _spectrum(values: Floats, interval: float) -> tuple[Floats, Floats]:
    """Frequencies (n_f,) [Hz] and two-sided spectral densities (n_f, n_a)."""
    length = min(max(2 * len(values) // (SEGMENTS + 1), 8), len(values))
    given = {'nperseg': length, 'detrend': False, 'return_onesided': False, 'axis': 0}
    frequency, density = signal.welch(values, 1.0 / interval, **given)
    return np.asarray(frequency), np.asarray(density)


def least_noise(expected: Floats, new: Floats, interval: float) -> Floats:
    """Noise (n_a,) that the watch reckons with at least, of errors (n, n_a) expected in the band.

    Below it harm does not matter: the limit of a sum is reached when half of what `WORSE` allows is
    used up, with an error as small as that expected. The other half is for the time in which the
    force fades. A `new` effect (n, n_a) adds to it so that the share of it that is `UNKNOWN` never
    reaches the limit.
    """
    allowed = 0.5 * (WORSE**2 - 1.0) * np.mean(np.square(expected), axis=0)
    unknown = UNKNOWN**2 * np.mean(np.square(new), axis=0)
    return np.asarray(interval * len(new) * (allowed + unknown) / (2.0 * LIMIT))
