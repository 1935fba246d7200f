"""Covariance from blocks of rows: right for residuals that are coloured or uneven.

Of rows in time whose noise no spread over periods shows. What the residuals of each block, and of
each recording, make of the estimate tells how far the estimate scatters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pkm_identification.arrays import Array, Mask
from pkm_identification.covariance.blocks import blocks_of, effect_of_rows
from pkm_identification.regression.numerics import determined_directions
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.weighted_least_squares import (
    Estimate,
    rows_for,
    sandwich,
    weights_of,
)

# Correlation of neighbouring blocks: more would leave no degrees of freedom
LARGEST_CORRELATION = 0.9
LEAST_FREEDOM = 2.0  # of a variance: with fewer an interval holds everything
# Standard deviations of the mean spread between recordings, beyond which it is more than that
# within them
SPREAD_SIGNIFICANCE = 4.0


@dataclass(frozen=True)
class BlockCovariance:
    """Covariance of an estimate, and how well its variances are known."""

    covariance: Array  # (f, f)
    freedom: Array  # (f,) degrees of freedom of the variances; inf where noise is known
    is_between_recordings: bool  # whether recordings differ by more than their blocks


@dataclass(frozen=True)
class _Variances:
    values: Array  # (f,)
    freedom: Array  # (f,)


def block_covariance(
    problem: Problem, estimate: Estimate, covariance: Array, noise: Sequence[Array]
) -> BlockCovariance | None:
    """Covariance whose variances follow the blocks of the runs in time.

    `covariance` (f, f) is for rows with this `noise` without correlation in time: directions whose
    errors are independent for such rows stay so. Variances are found along them, not of single
    parameters: where the data hardly tell these apart, their errors cancel in the forces, and
    factors of their own would end that. The variance along one is the sum of squared influences
    (a cluster-robust sandwich with the correction CR2 for what the fit takes), times
    (1 + r) / (1 - r) with r the correlation of neighbouring blocks where it stands out, corrected
    for its bias [Kendall 1954], as blocks may be shorter than the noise remembers [Andrews and
    Monahan 1992]. Where recordings differ by more than that, the spread between them is added.
    None where the estimate is no weighted least squares, or no run is in time.
    """
    if estimate.weights is None or estimate.bread is None:
        return None
    in_time = [k for k, run in enumerate(problem.runs) if not run.is_periodic]
    if not in_time:
        return None
    nothing = [each * float(k not in in_time) for k, each in enumerate(noise)]
    plain = sandwich(problem, estimate.weights, estimate.bread, nothing, estimate.undetermined)
    known = np.isfinite(np.diag(covariance)) & (np.diag(covariance) > 0)
    rest = np.where(known, np.diag(plain), 0.0)
    each_alone = np.eye(problem.size)
    within = [_variances(problem, estimate, number, each_alone) for number in in_time]
    values = rest + sum(each.values for each in within)
    precision = sum(each.values**2 / each.freedom for each in within)
    excess = _between(problem, estimate, values)
    if excess is not None:
        values = values + excess.values
        precision = precision + excess.values**2 / excess.freedom
    known &= values > 0
    scaled = np.array(covariance)
    if known.any():
        root = determined_directions(covariance[np.ix_(known, known)])
        size = np.sqrt(np.diag(covariance)[known])
        along = np.zeros((root.shape[1], problem.size))
        along[:, known] = np.linalg.pinv(root / size[:, None]) / size
        power = np.diag(along[:, known] @ plain[np.ix_(known, known)] @ along[:, known].T)
        power = power + sum(_variances(problem, estimate, k, along).values for k in in_time)
        if excess is not None:
            power = np.maximum(power, variance_between_runs(problem, estimate, along))
        scaled[np.ix_(known, known)] = (root * power) @ root.T
    with np.errstate(divide='ignore', invalid='ignore'):  # Satterthwaite 1946
        freedom = np.where(known & (precision > 0), values**2 / precision, np.inf)
    return BlockCovariance(scaled, freedom, excess is not None)


def _variances(problem: Problem, estimate: Estimate, number: int, along: Array) -> _Variances:
    """Variances (d,) that the blocks of a run make of `along` (d, f) times the estimate.

    Of all rows where these are evenly spread ones.
    """
    blocks = blocks_of(problem, estimate, number)
    influence = np.array([each.influence for each in blocks]) @ along.T
    growth = _growth(influence, np.array([each.follows for each in blocks]))
    share = sum(len(each.rows) for each in blocks) / problem.runs[number].count
    count = len(blocks)
    values = np.sum(influence**2, axis=0) * growth / share
    return _Variances(values, np.maximum((count - 1) / growth, min(LEAST_FREEDOM, count)))


def _growth(influence: Array, follows: Mask) -> Array:
    """Growth (f,) of a variance by the correlation of neighbouring blocks (b, f), at least 1."""
    pairs = np.flatnonzero(follows)
    count = len(pairs) + 1
    if count < 3:
        return np.ones(influence.shape[1])
    centred = influence - influence.mean(axis=0)
    power = np.sum(centred**2, axis=0)
    product = np.sum(centred[pairs] * centred[pairs - 1], axis=0)
    correlation = product / np.maximum(power, 1e-300)
    stands_out = correlation > 1 / np.sqrt(count) - 1 / count
    unbiased = np.clip(correlation + (1 + 3 * correlation) / count, 0.0, LARGEST_CORRELATION)
    chosen = np.where(stands_out, unbiased, 0.0)
    return np.asarray((1 + chosen) / (1 - chosen))


def _between(problem: Problem, estimate: Estimate, within: Array) -> _Variances | None:
    """What the spread between runs adds to the variances (f,) within them; None if nothing."""
    count = len(problem.runs)
    if count < 2:
        return None
    assert estimate.bread is not None
    values = variance_between_runs(problem, estimate, np.eye(problem.size))
    known = within > 0
    size = np.where(known, within, np.inf)
    mean = float(np.sum(values / size)) / max(int(known.sum()), 1)
    directions = determined_directions(estimate.bread).shape[1]
    if mean <= 1 + SPREAD_SIGNIFICANCE * np.sqrt(2 / max(directions * (count - 1), 1)):
        return None
    return _Variances(np.maximum(values - within, 0.0), np.full(len(values), count - 1.0))


def variance_between_runs(problem: Problem, estimate: Estimate, along: Array) -> Array:
    """Variances (d,) of `along` (d, f) times the estimate by the spread between runs.

    Each run is one block: the influence of a run that tells most of a direction is corrected for
    the residuals that the fit takes from it, see `blocks_of`. Of n runs that tell alike this is
    the factor n / (n - 1).
    """
    assert estimate.bread is not None
    root = determined_directions(estimate.bread)
    influences = []
    for run, weight in zip(problem.runs, weights_of(problem, estimate), strict=True):
        design, forces, _ = rows_for(run, weight).weighted(weight)
        influences.append(effect_of_rows(design, forces - design @ estimate.values, root)[0])
    return np.asarray(np.sum((np.array(influences) @ along.T) ** 2, axis=0))
