"""Blocks of consecutive rows: what each does to the estimate, and the estimate without it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.regression.numerics import determined_directions
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Rows, concatenated
from pkm_identification.regression.weighted_least_squares import Estimate, weights_of

# A recording: enough for a variance with 19 degrees of freedom (Student's t is 7 % wider than
# the normal), few enough that a block is longer than most correlations
BLOCKS = 20
LEAST_ROWS = 4  # of a block
# Of the information about a direction that is in the other blocks: with less, the estimate
# without the block says nothing
LEAST_OUTSIDE = 0.1


@dataclass(frozen=True)
class Block:
    """Consecutive rows of one run, and the estimate with and without them."""

    first: int  # number of the first row in the run
    rows: Rows
    follows: bool  # whether the rows continue those of the block before
    influence: Array  # (f,) part of the estimate's error that the residuals show, see `blocks_of`
    change: Array  # (f,) estimate of all rows less that of all others
    root: Array  # T (1 - G_b)^-1/2 (f, k): T of the estimate without the block, see `blocks_of`
    alone: int  # directions of the parameters that hardly anything but the block tells


def blocks_of(
    problem: Problem, estimate: Estimate, number: int, count: int = BLOCKS
) -> tuple[Block, ...]:
    """About so many blocks of one run of a weighted least-squares estimate.

    Of all rows, or of evenly spread ones of a long recording.

    With H = T T^T = (Psi^T W Psi + B^T B)^-1, and G_b = T^T Psi_b^T W Psi_b T the share of the
    information in block b, its residuals r_b make the influence
    T (1 - G_b)^-1/2 T^T Psi_b^T W r_b, in which they are as large as the errors (Bell and
    McCaffrey 2002), and T (1 - G_b)^-1 T^T Psi_b^T W r_b is what the estimate changes with the
    block: no fit is repeated.
    """
    assert estimate.bread is not None
    root = determined_directions(estimate.bread)
    weight = np.asarray(weights_of(problem, estimate)[number])
    found: list[Block] = []
    for first, rows, weights, follows in _cut(problem, number, weight, count):
        design, forces, _ = rows.weighted(weights)
        effect = effect_of_rows(design, forces - design @ estimate.values, root)
        found.append(Block(first, rows, follows, *effect))
    return tuple(found)


def effect_of_rows(design: Array, residuals: Array, root: Array) -> tuple[Array, Array, Array, int]:
    """Influence and change (f,) of weighted rows (k, f) with residuals (k,), and the root without.

    Then the number of directions of which less than `LEAST_OUTSIDE` is in other rows.

    See `blocks_of`.
    """
    share = design @ root
    outside, axes = np.linalg.eigh(np.eye(root.shape[1]) - share.T @ share)
    alone = int(np.count_nonzero(outside < LEAST_OUTSIDE))
    outside = np.maximum(outside, LEAST_OUTSIDE)
    gradient = axes.T @ (share.T @ residuals)
    turned = root @ axes
    without = turned / np.sqrt(outside)
    return without @ gradient, turned @ (gradient / outside), without @ axes.T, alone


def _cut(
    problem: Problem, number: int, weight: Array, blocks: int
) -> Iterator[tuple[int, Rows, Array, bool]]:
    """Yield first row, rows, their weights, and whether they continue the ones before."""
    run = problem.runs[number]
    pieces, starts = [run.rows] if weight.ndim > 2 else list(run.folded.sample), run.folded.starts
    if len(pieces) > 1 and sum(map(len, pieces)) == run.count:
        pieces = [concatenated(pieces)]
    length = max(LEAST_ROWS, -(-sum(map(len, pieces)) // blocks))
    for start, rows in zip(starts, pieces, strict=False):
        count = max(1, round(len(rows) / length))
        edges = np.linspace(0, len(rows), count + 1).astype(int)
        for place, (low, high) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
            part = Rows(rows.regressor[low:high], rows.forces[low:high], rows.fixed[low:high])
            own = weight if weight.ndim == 2 else weight[low:high]
            yield start + int(low), part, own, place > 0
