"""Weights of an estimate that limits hold back, where the data contradict these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np
from scipy.special import chdtrc

from pkm_identification.arrays import Array
from pkm_identification.estimators.linear import covariance_by_residuals
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.weighted_least_squares import inverse_root

# Chance of a larger distance from the estimate without limits, if the robot is physical: below it
# the model lacks something, whose residuals are no noise
CONTRADICTED = 1e-3
REWEIGHINGS = 10  # by what the limits leave of the forces
SETTLED = 0.1  # relative change of weights: deviations of residuals are hardly known better


class AtLimits(Protocol):
    """An estimate within limits."""

    @property
    def problem(self) -> Problem:
        """Linear equations of its values."""

    @property
    def values(self) -> Array:
        """Free parameters (f,)."""

    @property
    def is_contradicted(self) -> bool:
        """Whether chance alone does not move it so far from the estimate without limits."""


Found = TypeVar('Found', bound=AtLimits)


def weighed_at_limits(
    noise: Sequence[Array], solve: Callable[[Sequence[Array], Found | None], Found]
) -> Found:
    """Solve with the noise of each run; where the data contradict the limits, again and again.

    What the limits leave of the forces of an axis then counts as its noise, too. `solve` takes
    covariances of the rows, one array a run, and what it found before.
    """
    counted = list(noise)
    found = solve(counted, None)
    if not found.is_contradicted:
        return found
    for _ in range(REWEIGHINGS):
        before, counted = counted, covariance_by_residuals(found.problem, noise, found.values)
        found = solve(counted, found)
        if _settled(before, counted):
            break
    return found


def chance_of(problem: Problem, distance: float) -> float:
    """Probability of at least that distance if the robot is physical, in standard deviations.

    Chi-squared with the number of parameters: an upper bound.
    """
    return float(chdtrc(problem.size, distance**2))


def is_chance(problem: Problem, distance: float) -> bool:
    """Whether chance may move an estimate so far, in standard deviations."""
    return chance_of(problem, distance) > CONTRADICTED


def _settled(before: Sequence[Array], after: Sequence[Array]) -> bool:
    """Whether weights of all axes stay as they are."""
    pairs = zip(before, after, strict=True)
    ratios = [_mean_weights(new) / _mean_weights(old) for old, new in pairs]
    return bool((np.abs(np.log(ratios)) < SETTLED).all())


def _mean_weights(noise: Array) -> Array:
    """Weights (n_a,) of the axes of one run, in the mean of its rows."""
    diagonal = np.diagonal(inverse_root(noise), axis1=-2, axis2=-1)
    return np.asarray(diagonal.reshape(-1, diagonal.shape[-1]).mean(axis=0))
