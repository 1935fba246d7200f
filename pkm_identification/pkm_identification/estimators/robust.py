"""Robust estimation: Huber's M-estimate by Winsorised residuals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import EstimationError
from pkm_identification.estimators.linear import noise_of_rows
from pkm_identification.estimators.problem import Problem
from pkm_identification.estimators.run import Run
from pkm_identification.estimators.solve import (
    Array,
    Estimate,
    inverse_root,
    weighted_least_squares,
)

MAD_TO_SIGMA = 1.4826
CONVERGED = 1e-3  # of a standard deviation
OUTLIER = 4.0  # standard deviations


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
    for run in problem.runs:
        if run.signals.folded_forces is None:
            raise EstimationError(
                "estimator 'irls' needs periodic data: a low pass spreads outliers over good "
                'samples'
            )
    samples = [_Samples(run) for run in problem.runs]
    roots = [inverse_root(noise) for noise in noise_of_rows(problem)]
    estimate = _start(problem, samples, roots)
    values, rounds = estimate.values, 0
    while True:
        rounds += 1
        limited = [each.limited(values, tuning) for each in samples]
        estimate = weighted_least_squares(
            _with_forces(problem, [forces for forces, _, _ in limited]),
            roots,
            [noise for _, noise, _ in limited],
        )
        step = np.abs(estimate.values - values)
        values = estimate.values
        known = np.isfinite(np.diag(estimate.covariance))
        deviation = np.sqrt(np.diag(estimate.covariance)[known])
        if (step[known] <= CONVERGED * deviation).all():
            break
        if rounds == max_iterations:
            raise EstimationError(f"estimator 'irls' did not converge in {rounds} rounds")
    outliers = [each.outliers(values) for each in samples]
    sizes = [len(each.forces) * each.forces.shape[1] for each in samples]
    return replace(
        estimate,
        diagnostics={
            'iterations': rounds,
            'limited_share': 1 - np.average([inside for _, _, inside in limited], 0, sizes),
            'outliers': sum(int(found.any(axis=-1).sum()) for found in outliers),
            'outliers_per_axis': sum(found.sum(axis=(0, 1)) for found in outliers),
        },
    )


class _Samples:
    """Every measured force (P, n, n_a) of one run, with the regressor (n, n_a, f) in time."""

    def __init__(self, run: Run) -> None:
        assert run.signals.folded_forces is not None
        rows = run.in_time()
        self.run = run
        self.regressor = rows.regressor
        # in_time gives the mean over the periods less the part of the fixed parameters
        self.forces = run.signals.folded_forces.samples + (rows.forces - run.signals.forces)

    def residuals(self, values: Array) -> Array:
        return self.forces - self.regressor @ values

    def limited(self, values: Array, tuning: float) -> tuple[Array, Array, Array]:
        """Rows of the Winsorised forces, their noise (n_a, n_a), the share inside (n_a,)."""
        limited, spread, inside = _limited(self.residuals(values), tuning)
        pseudo = self.regressor @ values + limited.mean(axis=0) / inside
        return self.run.signals.band.rows(pseudo), spread / len(self.forces), inside

    def outliers(self, values: Array) -> NDArray[np.bool_]:
        residual = self.residuals(values)
        return np.abs(residual) > OUTLIER * _scale(residual)

    def medians(self) -> Array:
        """Rows of the medians over the periods, where there are enough."""
        several = len(self.forces) > 2
        forces = np.median(self.forces, axis=0) if several else self.forces.mean(axis=0)
        return self.run.signals.band.rows(forces)


def _with_forces(problem: Problem, forces: list[Array]) -> Problem:
    """Return the problem with other forces (m, n_a) in its runs."""
    runs = []
    for run, values in zip(problem.runs, forces, strict=True):
        runs.append(run.with_rows(replace(run.rows, forces=values)))
    return replace(problem, runs=tuple(runs))


def _start(problem: Problem, samples: list[_Samples], roots: list[Array]) -> Estimate:
    rows = _with_forces(problem, [each.medians() for each in samples])
    return weighted_least_squares(rows, roots, noise_of_rows(problem))


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
