"""Robust estimation: Huber's M-estimate by Winsorised residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array, Indices, Mask
from pkm_identification.estimators.linear import noise_of_rows
from pkm_identification.quality.prediction import MAD_TO_SIGMA
from pkm_identification.quality.report import LEFT_OUT
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Run
from pkm_identification.regression.weighted_least_squares import (
    Estimate,
    inverse_root,
    weighted_least_squares,
)

ROBUST_STEP = 1e-3  # of a standard deviation: a smaller last step is the end
LEAST_INSIDE = 0.1  # share of residuals; with fewer the model does not fit
OUTLIER = 4.0  # standard deviations: one normal sample in 16,000
SETTLED = 5  # rounds after which limits and shares stay: single samples that come and go at a
# limit would change them for ever


@dataclass(frozen=True)
class RobustDiagnostics:
    """What `irls` found in the forces."""

    iterations: int
    limited_share: Array  # (n_a,) of the samples that were limited
    outliers: int  # samples beyond four robust deviations, those left out before included
    outliers_per_axis: Indices  # (n_a,)
    outliers_left_out_before: Indices  # (n_a,) by the examination of the data


def irls(problem: Problem, tuning: float = 1.345, max_iterations: int = 500) -> Estimate:
    """Huber's M-estimate: outliers among the measured forces count no more than their sign.

    The residuals of every sample of every period are limited to `tuning` standard
    deviations (from the median absolute deviation, axis by axis) around the model, then
    averaged over the periods and solved as Gauss-Markov, again and again. That is
    iteratively reweighted least squares in the form that keeps whole periods. A `tuning` of 1.345
    has 95 % efficiency for normal noise. Of filtered recordings the rows are limited: that serves
    against stretches of wrong forces, such as contacts; what a low pass makes of a single wrong
    sample is spread over good ones. Where the model lacks something a round may make the step only
    6 % smaller: hence so many. EstimationError where the rounds did not converge.
    """
    samples = [_Samples(run) for run in problem.runs]
    noise = noise_of_rows(problem)
    roots = [inverse_root(each) for each in noise]
    start = _with_forces(problem, [each.medians() for each in samples])
    values, rounds = weighted_least_squares(start, roots, noise).values, 0
    limits = [each.limits(values, tuning) for each in samples]
    while True:
        rounds += 1
        if 1 < rounds <= SETTLED:
            limits = [each.limits(values, tuning) for each in samples]
        pairs = zip(samples, limits, strict=True)
        forces, spreads = zip(*(each.limited(values, limit) for each, limit in pairs), strict=True)
        estimate = weighted_least_squares(_with_forces(problem, forces), roots, spreads)
        step = np.abs(estimate.values - values)
        values = estimate.values
        known = np.isfinite(np.diag(estimate.covariance))
        deviation = np.sqrt(np.diag(estimate.covariance)[known])
        if (step[known] <= ROBUST_STEP * deviation).all():
            break
        if rounds == max_iterations:
            raise EstimationError(
                f"estimator 'irls' did not converge in {rounds} rounds: raise max_iterations="
            )
    outliers = [each.outliers(values) for each in samples]
    before = np.sum([each.left_out_before() for each in samples], axis=0)
    sizes = [len(each.forces) * each.forces.shape[1] for each in samples]
    return replace(
        estimate,
        diagnostics=RobustDiagnostics(
            iterations=rounds,
            limited_share=1 - np.average([limit.inside for limit in limits], 0, sizes),
            outliers=int(before.sum()) + sum(int(found.any(axis=-1).sum()) for found in outliers),
            outliers_per_axis=sum((found.sum(axis=(0, 1)) for found in outliers), before),
            outliers_left_out_before=before,
        ),
    )


@dataclass(frozen=True)
class _Limits:
    """Largest residuals that count in full, and the share of residuals below (n_a,) each."""

    limit: Array
    inside: Array


class _Samples:
    """Every measured force (P, n, n_a) of one run, with the regressor (n, n_a, f) in time.

    Of a filtered run they are its rows, as one period.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        folded, valid = run.signals.folded_forces, None
        if folded is None:
            rows = run.rows
            self.forces = rows.forces[None]
        else:
            rows = run.in_time()
            # in_time gives the mean over the periods less the part of the fixed parameters
            self.forces = folded.samples + (rows.forces - run.signals.forces)
            valid = folded.valid
        self.regressor = rows.regressor
        self.valid = np.ones(self.forces.shape, dtype=bool) if valid is None else valid

    def rows(self, samples: Array) -> Array:
        """Turn samples (n, n_a) into rows."""
        return self.run.signals.band.rows(samples) if self.run.is_periodic else samples

    def residuals(self, values: Array) -> Array:
        return self.forces - self.regressor @ values

    def limits(self, values: Array, tuning: float) -> _Limits:
        """Limits of `tuning` robust standard deviations around the model."""
        residual = self.residuals(values)
        limit = tuning * _scale(residual, self.valid)
        inside = np.sum(self.valid & (np.abs(residual) < limit), axis=(0, 1))
        share = inside / self.valid.sum(axis=(0, 1))
        if (share < LEAST_INSIDE).any():
            raise EstimationError(
                "estimator 'irls': nearly all residuals are outliers; the model does not fit"
            )
        return _Limits(limit, share)

    def limited(self, values: Array, limits: _Limits) -> tuple[Array, Array]:
        """Rows of the Winsorised forces, and their noise (n_a, n_a).

        Covariance E[psi psi^T] / (E[psi'] E[psi']^T): what one sample adds to the estimate.
        """
        limit, inside = limits.limit, limits.inside
        limited = np.where(self.valid, np.clip(self.residuals(values), -limit, limit), 0.0)
        mean = limited.sum(axis=0) / np.maximum(self.valid.sum(axis=0), 1)
        count = self.valid.sum(axis=(0, 1))
        flat = limited.reshape(-1, len(count))
        spread = flat.T @ flat / np.sqrt(np.outer(count, count)) / np.outer(inside, inside)
        pseudo = self.regressor @ values + mean / inside
        return self.rows(pseudo), spread / len(self.forces)

    def outliers(self, values: Array) -> Mask:
        residual = self.residuals(values)
        return self.valid & (np.abs(residual) > OUTLIER * _scale(residual, self.valid))

    def left_out_before(self) -> Indices:
        """Number of forces (n_a,) that the examination of the data took for outliers."""
        quality = self.run.signals.quality
        names = list(self.run.model.actuated_joints)
        count = np.zeros(len(names), dtype=np.int64)
        for defect in () if quality is None else quality.defects:
            if (defect.kind, defect.signal, defect.treatment) == ('outlier', 'effort', LEFT_OUT):
                count[names.index(defect.joint)] += defect.count
        return count

    def medians(self) -> Array:
        """Rows of the medians over the periods, where there are enough."""
        middle = np.median if len(self.forces) > 2 else np.mean
        return self.rows(middle(self.forces, axis=0))


def _with_forces(problem: Problem, forces: Sequence[Array]) -> Problem:
    """Return the problem with other forces (m, n_a) in its runs."""
    pairs = zip(problem.runs, forces, strict=True)
    runs = tuple(run.with_rows(replace(run.rows, forces=each)) for run, each in pairs)
    return replace(problem, runs=runs)


def _scale(residual: Array, valid: Mask) -> Array:
    """Robust standard deviation (n_a,) of the valid residuals (P, n, n_a)."""
    sizes = np.where(valid, np.abs(residual), np.nan)
    median = np.median(sizes, axis=(0, 1)) if valid.all() else np.nanmedian(sizes, axis=(0, 1))
    return np.maximum(MAD_TO_SIGMA * median, 1e-12)
