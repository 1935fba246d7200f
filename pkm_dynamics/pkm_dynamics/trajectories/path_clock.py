"""The clock of a motion: how fast the robot goes along its path, changed smoothly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pkm_dynamics.array_types import Floats

SHORTER = 0.7  # factor on the time of a stop that would run backwards
ROUNDING = 1e-9
BISECTIONS = 60  # a day to the rounding of numbers
# Points at which a change is looked at: a polynomial of fifth order has few extrema.
LOOKED_AT = np.linspace(0.0, 1.0, 41)
POWERS = np.arange(6)


class _Change(NamedTuple):
    """One change of the rate."""

    begin: float  # [s]
    time: float  # [s] that it takes
    origin: float  # [s] time along the path at its beginning
    rate: Floats  # (6,) coefficients over its time
    path: float  # [s] time along the path at its end
    target: float  # rate at its end

    def at(self, t: float) -> tuple[float, float, float, float]:
        """Time along the path at `t` [s] and its first three derivatives."""
        u = (t - self.begin) / self.time
        if u >= 1.0:
            return self.path + self.target * (t - self.begin - self.time), self.target, 0.0, 0.0
        powers, rate = u**POWERS, self.rate
        along = self.origin + self.time * u * float((rate / (POWERS + 1.0)) @ powers)
        slope = float((POWERS[1:] * rate[1:]) @ powers[:-1])
        bend = float((POWERS[2:] * POWERS[1:-1] * rate[2:]) @ powers[:-2])
        return along, float(rate @ powers), slope / self.time, bend / self.time**2


class PathClock:
    """Time along a path whose rate, at first `rate`, is changed by polynomials of fifth order.

    Rate, its first and its second derivative are continuous, so that the robot's acceleration
    and jerk are bounded. The rate stays within [0, 1]: a stop never runs backwards.
    """

    def __init__(self, rate: float = 1.0) -> None:
        self._first = rate
        self._changes: list[_Change] = []

    @property
    def end(self) -> float:
        """Time [s] at which the last change is over; 0 before any."""
        return self._changes[-1].begin + self._changes[-1].time if self._changes else 0.0

    @property
    def changes(self) -> tuple[tuple[float, float], ...]:
        """Begin and end [s] of each change."""
        return tuple((change.begin, change.begin + change.time) for change in self._changes)

    @property
    def target(self) -> float:
        """Rate after the last change."""
        return self._changes[-1].target if self._changes else self._first

    def at(self, t: float) -> tuple[float, float, float]:
        """Time along the path [s] and its first and second derivative [1, 1/s] at `t` [s]."""
        return self._at(t)[:3]

    def _at(self, t: float) -> tuple[float, float, float, float]:
        change = next((each for each in reversed(self._changes) if each.begin < t), None)
        return (self._first * t, self._first, 0.0, 0.0) if change is None else change.at(t)

    def times_of(self, path: Floats) -> Floats:
        """Return when (N,) [s] the clock reaches the times `path` (N,) along the path.

        By bisection, since that never falls; the last change is taken where it stands still.
        """
        early, late = np.zeros(len(path)), np.full(len(path), max(self.end, 1e-9))
        while self.target > 0.0 and np.any(short := self._along(late) < path):
            late[short] *= 2.0
        for _ in range(BISECTIONS):
            middle = 0.5 * (early + late)
            below = self._along(middle) < path
            early, late = np.where(below, middle, early), np.where(below, late, middle)
        return late

    def _along(self, times: Floats) -> Floats:
        return np.array([self.at(time)[0] for time in times.tolist()])

    def change(self, t: float, rate: float, duration: float) -> None:
        """Go on at `rate` in [0, 1] from `t` [s] on, reached within `duration` [s].

        A stop is reached sooner where the rate falls already and would swing below zero; any
        other rate that would swing out of [0, 1] is begun when the last change is over.
        """
        origin, now, slope, bend = self._at(t)
        time = duration
        coefficients = _blend(now, slope * time, bend * time**2, rate)
        if _swings(coefficients) and rate > 0.0:
            t, time = self.end, duration
            origin, now, _, _ = self._at(t)
            coefficients = _blend(now, 0.0, 0.0, rate)
        while _swings(coefficients):
            time *= SHORTER
            coefficients = _blend(now, slope * time, 0.0, rate)
        path = origin + time * float(coefficients @ (1.0 / (POWERS + 1.0)))
        self._changes.append(_Change(t, time, origin, coefficients, path, float(rate)))


def _blend(start: float, slope: float, bend: float, end: float) -> Floats:
    """Coefficients of a quintic in u from value, slope and bend at 0 to rest at `end` at 1."""
    half = 0.5 * bend
    gap, turn = end - start - slope - half, -(slope + bend)
    third = 10.0 * gap - 4.0 * turn - half
    fourth = -15.0 * gap + 7.0 * turn + bend
    fifth = 6.0 * gap - 3.0 * turn - half
    return np.array([start, slope, half, third, fourth, fifth])


def _swings(coefficients: Floats) -> bool:
    """Whether the rate leaves [0, 1]."""
    values = np.polynomial.polynomial.polyval(LOOKED_AT, coefficients)
    return bool(values.min() < -ROUNDING or values.max() > 1.0 + ROUNDING)
