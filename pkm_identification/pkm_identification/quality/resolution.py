"""Steps of numbers that a sensor or converter quantised."""

from __future__ import annotations

import numpy as np

from pkm_identification.arrays import Array

MOST = 20_000  # samples that are looked at
SMALLEST = 1e-10  # of the range: finer steps are those of floating-point numbers
EXACT = 0.05  # of a step
SHARE = 0.99  # of the values that must lie on multiples of it
LEAST = 3  # different values
LEAST_STEPS = 8  # between them, that show whether they are multiples of one
MOST_STEPS = 1e7


def resolution(values: Array) -> Array:
    """Return the step (c,) between the values (N, c) of each column; 0 where there is none."""
    return np.array([_step(values[:MOST, k]) for k in range(values.shape[1])])


def _step(values: Array) -> float:
    levels = np.unique(values)
    if len(levels) < LEAST:
        return 0.0
    size = float(levels[-1] - levels[0])
    apart = np.diff(levels)
    apart = apart[apart > SMALLEST * max(size, float(np.abs(levels).max()))]
    if not len(apart):
        return 0.0
    guess = float(apart.min())
    if size > MOST_STEPS * guess or len(apart) < LEAST_STEPS:
        return 0.0
    refined = float(np.median(apart[apart < 1.5 * guess]))  # one difference is rounded
    counts = apart / refined
    near = np.abs(counts - np.round(counts)) <= EXACT
    return refined if near.mean() >= SHARE else 0.0
