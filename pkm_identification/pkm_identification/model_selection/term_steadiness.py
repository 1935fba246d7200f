"""Whether a term is a property of a drive: its value rests on no part of the data alone.

A model lacks more than one term, and what it lacks differs with the motion. A term that makes up
for it predicts other parts of the same motion better, and the residuals beside it are no noise that
an F test counts with. Its value tells: of a property of the drive it is the same in all parts, and
in all recordings.
"""

from __future__ import annotations

import numpy as np
from scipy.special import fdtrc

from pkm_identification.arrays import Array, Indices
from pkm_identification.model_selection.candidate_terms import TimeRows
from pkm_identification.model_selection.term_equations import Eliminated, Equations
from pkm_identification.regression.held_out import solved

# Of the test that a value is not zero, by its spread over the parts: the usual one, as the F test
# of all data has a strict one
LEVEL = 0.05
# Of what tells the value of a term: with less a recording hardly knows its own. The F test passes
# from an F of 16 or so on, four standard deviations: with a tenth of it these are 1.3
SAY = 0.1


def is_steady(equations: Equations, candidate: int) -> bool:
    """Whether the value of a candidate is sure by its spread, and there in each recording.

    Of a single recording in either half.
    """
    square, mixed, size = equations.beside_model(candidate)
    chance = chance_of_value(square, mixed, size)
    return chance < LEVEL and is_everywhere(square, mixed, size, recordings_of(equations.rows))


def chance_of_value(square: Array, mixed: Array, size: int) -> float:
    """Chance of such values of a candidate if they were zero, by the jackknife over the parts.

    From normal equations (k, p + w, p + w), (k, p + w) of parts of the data, the first p = `size`
    parameters those of the model. Estimates without one part each show how uncertain the value is,
    whatever the residuals are, and where a single part tells it [Tukey 1958; Hotelling 1931 for
    several values]. 0 where there are too few parts to say.
    """
    count, width = len(square), square.shape[1] - size
    if count <= width + 1:
        return 0.0
    whole, product = square.sum(axis=0), mixed.sum(axis=0)
    value = _value(whole, product, size)
    without = np.array(
        [_value(whole - a, product - b, size) for a, b in zip(square, mixed, strict=True)]
    )
    apart = without - without.mean(axis=0)
    variance = (count - 1) / count * apart.T @ apart
    ratio = float(value @ solved(variance, value))
    freedom = count - width
    return float(fdtrc(width, freedom, ratio * freedom / (width * (count - 1))))


def is_everywhere(square: Array, mixed: Array, size: int, groups: Indices) -> bool:
    """Whether a candidate takes squared residuals in all groups (k,) of the parts.

    As `chance_of_value`. With one value, that of all data, and the other parameters as they are
    then. Of two groups neither may get worse; of more the sum must be surely positive.
    Groups that hardly tell the value say nothing.
    """
    found = Eliminated.of(square.sum(axis=0), mixed.sum(axis=0), size)
    value = found.step(np.arange(square.shape[1] - size))
    change = found.directions @ value
    slopes = (mixed - square @ found.start) @ change
    curvatures = np.einsum('i,kij,j->k', change, square, change)
    number = int(groups.max()) + 1
    slope, told = (np.bincount(groups, each, number) for each in (slopes, curvatures))
    falls = (2 * slope - told)[told > SAY * told.sum()]
    if len(falls) < 2:
        return True
    deviation = float(np.sqrt(len(falls)) * falls.std(ddof=1))
    return bool(falls.sum() > deviation)


def recordings_of(rows: TimeRows) -> Indices:
    """Recording (k,) that each part of the rows in time is of; of a single one its halves."""
    count = int(rows.parts.max()) + 1
    if rows.runs.max() == rows.runs.min():
        return np.arange(count) * 2 // count
    found = np.zeros(count, dtype=np.int64)
    found[rows.parts] = rows.runs
    return found


def _value(square: Array, mixed: Array, size: int) -> Array:
    """Value (w,) of a candidate beside the model."""
    return Eliminated.of(square, mixed, size).step(np.arange(square.shape[0] - size))
