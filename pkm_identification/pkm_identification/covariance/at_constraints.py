"""Uncertainty of an estimate that physical limits hold back."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from pkm_identification.arrays import Array
from pkm_identification.covariance.residual_scaling import residual_scaled_covariance
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.weighted_least_squares import (
    Estimate,
    sensitivity,
    weighted_rows,
    weights_of,
)

FAR = 30.0  # standard deviations from which the series of the tail is exact enough


def covariance_at_constraints(
    problem: Problem, free: Estimate, values: Array
) -> tuple[Array, str, float]:
    """Covariance of an estimate `values` (f,) on the boundary of what is possible.

    Without limits the estimate is `free`, weighted least squares with covariance C (widened where
    the residuals demand it). The limits make of it `values`, a distance d away in the metric of
    the weights. The set of possible parameters is convex, so it lies on one side of the plane
    through `values` with the normal g, the gradient of the squared residuals. Along g the
    truth is the distance s >= 0 further inside; with nothing else known before (flat prior
    on that side), s is normal about -z standard deviations, cut off at 0, z = d where the
    noise is as expected. The variance along g becomes E[s^2], all others stay:

        z = 0 (limits do not matter): C itself;  z -> inf: none is left along g.

    It never is too small for limits that hold (every other limit only takes more away), and
    the mean squared error is never above that of `free`: projection on a convex set
    brings no closer pair of points apart.

    Returns the covariance (f, f), what it rests on, and d in standard deviations.
    """
    assert free.bread is not None
    covariance, fit = residual_scaled_covariance(problem, free)
    design, _ = weighted_rows(problem, weights_of(problem, free))
    known = np.isfinite(np.diag(covariance))
    moved = design @ (free.values - values)
    gradient = design.T @ moved
    distance = float(np.linalg.norm(moved))
    block = covariance[np.ix_(known, known)]
    direction = (free.bread @ gradient)[known]
    normal = gradient[known]
    reach = float(normal @ direction)
    variance = float(normal @ block @ normal)
    fixed = problem.selection.covariance
    if fixed.any():  # a wrong fixed value may be what lies outside
        change = normal @ sensitivity(problem, free)[known]
        variance += float(change @ fixed @ change)
    if reach > 0 and variance > 0:
        outside = reach / np.sqrt(variance)
        shrink = 1 - np.sqrt(inward_variance(outside))
        turn = np.eye(len(normal)) - shrink * np.outer(direction / reach, normal)
        covariance = covariance.copy()
        covariance[np.ix_(known, known)] = turn @ block @ turn.T
    return covariance, fit.covariance_rests_on, distance


def inward_variance(outside: float) -> float:
    """E[s^2] of s >= 0 with density ~ exp(-(s + outside)^2 / 2): 1 at 0, falling to 0."""
    if outside > FAR:
        return 2 / outside**2
    hazard = float(np.exp(-(outside**2) / 2 - np.log(2 * np.pi) / 2 - log_ndtr(-outside)))
    return 1 - outside * (hazard - outside)
