"""When a quantity began to change: at once, slowly, or for a while."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from pkm_identification.arrays import Array, Indices

# A more complicated course must explain that much more, in variances [Schwarz 1978, of a hundred
# recordings]
COST = 5.0


class Course(str, Enum):
    """How a change went on."""

    STEP = 'step'
    GROWTH = 'growth'
    PASSING = 'passing'  # a step that ended


@dataclass(frozen=True)
class ShapeInTime:
    """Course of a change over recordings 0, 1, 2, ...

    `first` is the first one that shows it, `last` the last one; `slope` what it grows by from one
    to the next, with its standard deviation.
    """

    course: Course
    first: int
    last: int
    value: float  # now: at the end of the series, or while it was there
    deviation: float
    slope: float = 0.0
    slope_deviation: float = 0.0


def shape_in_time(values: Array, deviations: Array) -> ShapeInTime:
    """Fit a step, a growth and a passing step to a series (n,) that begins unchanged.

    Values that are not finite have no weight.
    """
    count = len(values)
    known = np.isfinite(values) & np.isfinite(deviations) & (deviations > 0)
    weights = np.where(known, 1.0 / np.where(known, deviations, 1.0) ** 2, 0.0)
    y = np.where(known, values, 0.0)
    power, mixed = np.cumsum(np.append(0.0, weights)), np.cumsum(np.append(0.0, weights * y))
    best, most = ShapeInTime(Course.STEP, 0, count - 1, float('nan'), float('inf')), -np.inf

    def level(first: int, end: int) -> tuple[float, float]:
        weight = power[end] - power[first]
        return (mixed[end] - mixed[first]) / weight, weight**-0.5

    steps = _explained(power, mixed, np.arange(count), np.full(count, count))
    first = int(np.argmax(steps))
    if np.isfinite(steps[first]):
        best, most = ShapeInTime(Course.STEP, first, count - 1, *level(first, count)), steps[first]
    step = most
    for first in range(count - 2):
        ends = np.arange(first + 1, count - 1)
        passing = _explained(power, mixed, np.full(len(ends), first), ends)
        end = int(np.argmax(passing))
        if passing[end] - COST > most:
            most, end = passing[end] - COST, int(ends[end])
            best = ShapeInTime(Course.PASSING, first, end - 1, *level(first, end))
    for first in range(-1, count - 2):
        time = np.maximum(np.arange(count) - first, 0.0)
        weight = float(np.sum(weights * time**2))
        if weight <= 0:
            continue
        slope = float(np.sum(weights * time * y)) / weight
        explained = slope**2 * weight
        if explained > max(most, step + COST / 2):
            reach, most = count - 1 - first, explained
            own = weight**-0.5
            best = ShapeInTime(
                *(Course.GROWTH, first + 1, count - 1, slope * reach, own * reach, slope, own)
            )
    return best


def _explained(power: Array, mixed: Array, first: Indices, end: Indices) -> Array:
    """Variances that means of recordings `first` to `end` explain; -inf where they have none."""
    weight, sums = power[end] - power[first], mixed[end] - mixed[first]
    known = weight > 0
    return np.where(known, sums**2 / np.where(known, weight, 1.0), -np.inf)
