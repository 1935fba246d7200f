"""Robust estimation: Huber's M-estimate by Winsorised residuals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.estimators.linear import noise_of_rows
from pkm_identification.estimators.problem import Problem
from pkm_identification.estimators.solve import (
    Array,
    Estimate,
    inverse_root,
    weighted_least_squares,
)

MAD_TO_SIGMA = 1.4826
CONVERGED = 1e-3  # of a standard deviation


def irls(problem: Problem, tuning: float = 1.345, max_iterations: int = 50) -> Estimate:
    """Huber's M-estimate: outliers among the measured forces count no more than their sign.

    The residuals of every sample of every period are limited to `tuning` standard
    deviations (from the median absolute deviation, axis by axis) around the model, then
    averaged over the periods and solved as Gauss-Markov, again and again. That is
    iteratively reweighted least squares in the form that keeps whole periods.

    Parameters
    ----------
    problem
        From periodic data.
    tuning
        Limit in standard deviations; 1.345 has 95 % efficiency for normal noise.
    max_iterations
        At most so many rounds.

    Raises
    ------
    EstimationError
        The data are not periodic, or the rounds did not converge.
    """
    if tuning <= 0 or max_iterations < 1:
        raise EstimationError(
            f'tuning and max_iterations must be positive, got {tuning} and {max_iterations}'
        )
    signals = problem.signals
    if signals.folded_forces is None:
        raise EstimationError(
            "estimator 'irls' needs periodic data: a low pass spreads outliers over good samples"
        )
    samples = signals.folded_forces.samples
    regressor = np.asarray(problem.base.regressor(signals.motion(problem.model)))
    roots = inverse_root(noise_of_rows(problem))
    values = _start(problem, samples, regressor, roots)
    rounds = 0
    while True:
        rounds += 1
        limited, spread, inside = _limited(samples - regressor @ values, tuning)
        pseudo = regressor @ values + limited.mean(axis=0) / inside
        rows = replace(problem, forces=signals.band.rows(pseudo))
        noise = np.broadcast_to(spread / len(samples), (len(rows.forces), *spread.shape))
        estimate = weighted_least_squares(rows, roots, noise)
        step = np.abs(estimate.values - values)
        values = estimate.values
        known = np.isfinite(np.diag(estimate.covariance))
        deviation = np.sqrt(np.diag(estimate.covariance)[known])
        if (step[known] <= CONVERGED * deviation).all():
            break
        if rounds == max_iterations:
            raise EstimationError(f"estimator 'irls' did not converge in {rounds} rounds")
    residual = samples - regressor @ values
    outliers = np.abs(residual) > 4 * _scale(residual)
    return replace(
        estimate,
        diagnostics={
            'iterations': rounds,
            'limited_share': 1 - inside,
            'outliers': outliers.any(axis=-1).sum(),
            'outliers_per_axis': outliers.sum(axis=(0, 1)),
        },
    )


def _start(problem: Problem, samples: Array, regressor: Array, roots: Array) -> Array:
    """Begin from the medians over the periods, where there are enough."""
    forces = np.median(samples, axis=0) if len(samples) > 2 else samples.mean(axis=0)
    rows = replace(problem, forces=problem.signals.band.rows(forces))
    return weighted_least_squares(rows, roots, noise_of_rows(problem)).values


def _scale(residual: Array) -> Array:
    """Robust standard deviation (n_a,) of residuals (P, n, n_a)."""
    return np.maximum(MAD_TO_SIGMA * np.median(np.abs(residual), axis=(0, 1)), 1e-12)


def _limited(residual: Array, tuning: float) -> tuple[Array, Array, Array]:
    """Winsorise; return limited residuals, their covariance for one sample, share inside.

    Covariance E[psi psi^T] / (E[psi'] E[psi']^T): what one sample adds to the estimate.
    """
    limit = tuning * _scale(residual)
    limited = np.clip(residual, -limit, limit)
    inside = np.mean(np.abs(residual) < limit, axis=(0, 1))
    if (inside < 0.1).any():
        raise EstimationError(
            "estimator 'irls': nearly all residuals are outliers; the model does not fit"
        )
    flat = limited.reshape(-1, residual.shape[-1])
    return limited, flat.T @ flat / len(flat) / np.outer(inside, inside), inside
