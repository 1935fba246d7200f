"""The nominal bodies as a prior: how far they count, and what they bring.

The prior's density is exp(-sum_b D(S_b) / s^2) with the log-determinant divergence D of the bodies'
pseudo-inertias from the nominal ones [Lee, Wensing, Park 2020]; s is the relative standard
deviation of a body.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import null_space

from pkm_identification.arrays import Array
from pkm_identification.physical.bodies import PhysicalBodies
from pkm_identification.physical.nearest import CLOSENESS
from pkm_identification.physical.programme import Solution
from pkm_identification.regression.numerics import whitening_rows
from pkm_identification.regression.prior import LEAST_CORRELATION
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.weighted_least_squares import Estimate, sensitivity

SPREADS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # tried: the evidence is flat between them


class Tried(NamedTuple):
    """A spread, the estimate with it, and the logarithm of its evidence."""

    spread: float
    found: Solution
    log_evidence: float


def combinations(problem: Problem) -> Array:
    """Base parameters (r, n_g) from the free standard ones."""
    return np.asarray(problem.base.matrix @ problem.base.space.expand)


def posterior(
    problem: Problem, bodies: PhysicalBodies, free: Estimate, covariance: Array, forms: list[Array]
) -> tuple[Array, Array]:
    """Covariance (f, f) and sensitivity (f, g) with the prior's curvature (Laplace).

    From an estimate without prior and its covariance. The divergence has the Hessian trace(S^-1
    B_i S^-1 B_j) in the parameters with S = sum B_i p_i: the square of L^-1 B_i L^-T, S = L L^T,
    which are the `forms` (k, k, n_g) of each body over the relative standard deviation. What is
    fixed stays: the parameters are those of a point plus the null space of the fixed combinations.
    """
    whole = combinations(problem) * bodies.sizes
    matrix = whole[problem.free]
    known = np.isfinite(np.diag(covariance))
    root = whitening_rows(covariance[np.ix_(known, known)], LEAST_CORRELATION)
    rows = [root @ matrix[known], np.sqrt(CLOSENESS) * np.eye(matrix.shape[1])]
    stacked = np.concatenate([*rows, *(each.reshape(-1, each.shape[-1]) for each in forms)])
    fixed = whole[problem.selection.fixed]
    size = np.linalg.norm(fixed, axis=1)
    along = np.linalg.pinv(fixed / size[:, None]) / size  # (n_g, g)
    unfixed = null_space(fixed / size[:, None]) if len(fixed) else np.eye(matrix.shape[1])
    left, singular, right = np.linalg.svd(stacked @ unfixed, full_matrices=False)
    inward = unfixed @ (right.T / singular)
    target = np.zeros((len(stacked), len(fixed)))
    target[: len(root)] = root @ sensitivity(problem, free)[known]
    moved = along + inward @ (left.T @ (target - stacked @ along))
    factor = matrix @ inward
    return np.asarray(factor @ factor.T), np.asarray(matrix @ moved)


def by_evidence(
    problem: Problem, bodies: PhysicalBodies, design: Array, solve: Callable[[float], Solution]
) -> list[Tried]:
    """Return the tried spreads with their evidence: the probability of the data with each.

    In Laplace's approximation, about the estimate with the spread and about the nominal bodies
    [MacKay 1992]: -cost / 2 + ln det(prior) / 2 - ln det(posterior) / 2, with the precisions of
    prior and posterior in the directions that no fixed parameter determines. `design` (m, n_g) is
    whitened.
    """
    fixed = combinations(problem)[problem.selection.fixed] * bodies.sizes
    unfixed = null_space(fixed) if len(fixed) else np.eye(design.shape[1])
    data = design * bodies.sizes @ unfixed
    weak = CLOSENESS * np.eye(unfixed.shape[1])

    def curvature(x: Array, spread: float) -> Array:
        rows = [each.reshape(-1, each.shape[-1]) / spread for each in bodies.relative_forms(x)]
        stacked = np.concatenate(rows) @ unfixed
        return np.asarray(stacked.T @ stacked + weak)

    tried = []
    for spread in SPREADS:
        found = solve(spread)
        before, after = curvature(bodies.nominal, spread), curvature(found.x, spread)
        known = np.linalg.slogdet(after + data.T @ data)[1] - np.linalg.slogdet(before)[1]
        tried.append(Tried(spread, found, -0.5 * (found.cost + float(known))))
    return tried


def prior_share(before: Array, after: Array) -> float:
    """Share of the precision after the prior that it brought, from covariances (f, f).

    One less the effective number of parameters that the data determine, over all.
    """
    known = np.isfinite(np.diag(before))
    root = whitening_rows(before[np.ix_(known, known)], LEAST_CORRELATION)
    kept = np.sum((root @ after[np.ix_(known, known)]) * root)
    return float(np.clip(1.0 - kept / len(before), 0.0, 1.0))
