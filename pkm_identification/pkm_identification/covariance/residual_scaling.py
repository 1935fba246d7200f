"""Residual scaling: covariances that follow the residuals where these exceed the noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.covariance.block_covariance import block_covariance
from pkm_identification.covariance.residual_spectrum import (
    noise_by_frequency,
    residual_spectrum,
    white_residuals,
)
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.residual_noise import correlation_time, residual_covariances
from pkm_identification.regression.weighted_least_squares import (
    Estimate,
    inverse_root,
    rows_for,
    sandwich,
    sensitivity,
    weights_of,
)
from pkm_identification.result.diagnostics import FitDiagnostics, NoiseSource, RunFit
from pkm_identification.signals.bands import HarmonicBand

# Standard deviations of the residual variance ratio: with 4, right models are scaled in
# 3 of 100,000 fits
SIGNIFICANCE = 4.0


def with_noise(problem: Problem, estimate: Estimate) -> Estimate:
    """Give an estimate the noise of the rows, where it does not name it."""
    if estimate.noise is not None:
        return estimate
    sizes = residual_covariances(problem, estimate.values)
    noise = tuple(run.noise_or(each) for run, each in zip(problem.runs, sizes, strict=True))
    return replace(estimate, noise=noise)


class _RunResiduals(NamedTuple):
    """Residuals of one run against its noise."""

    fit: RunFit
    ratio: float  # of the variance over that of the noise; 1 where the noise is the residuals
    is_significant: bool  # larger than the noise explains
    freedom: float


def residual_scaled_covariance(
    problem: Problem, estimate: Estimate
) -> tuple[Array, FitDiagnostics]:
    """Covariance (f, f), wider where the residuals are larger than the noise expects; figures."""
    estimate = with_noise(problem, estimate)
    freedom = _freedom(problem, estimate)
    change = sensitivity(problem, estimate) if problem.selection.covariance.any() else None
    sizes = np.array([run.count for run in problem.runs], dtype=float)
    share = sizes / sizes.sum()
    found = [
        _compare(problem, estimate, number, freedom * share[number], change)
        for number in range(len(problem.runs))
    ]
    found_freedom: Array | None = None
    if estimate.covariance_rests_on:
        covariance, rests_on = estimate.covariance, estimate.covariance_rests_on
    else:
        covariance, rests_on, found_freedom = _scaled(problem, estimate, found, share)
    variance = np.diag(estimate.covariance)
    known = np.isfinite(variance) & (variance > 0)
    widened = np.diag(covariance)[known] / variance[known]
    runs = tuple(each.fit for each in found)
    of_noise = share * np.array([run.residual_variance_ratio is not None for run in runs])

    def mean(name: str, weights: Array) -> Array | None:
        values = [getattr(run, name) for run in runs]
        terms = [w * v for w, v in zip(weights / (weights.sum() or 1.0), values, strict=True) if w]
        return np.sum(terms, axis=0) if terms else None

    ratio = mean('residual_variance_ratio', of_noise)
    time = mean('residual_correlation_time', share)
    return covariance, FitDiagnostics(
        residual_variance_ratio=None if ratio is None else float(ratio),
        residual_variance_ratio_per_axis=mean('residual_variance_ratio_per_axis', of_noise),
        residual_correlation_time=float(np.asarray(time)),
        covariance_scale=float(np.median(widened)) if known.any() else 1.0,
        covariance_rests_on=rests_on,
        noise_from=tuple(sorted({run.noise_from for run in runs}, key=lambda each: each.value)),
        covariance_freedom=None if found_freedom is None else _of_all(problem, found_freedom),
        runs=runs if len(runs) > 1 else (),
    )


def _of_all(problem: Problem, freedom: Array) -> Array:
    """Degrees of freedom of all parameters from those of the free ones (f,)."""
    found = np.full(problem.selection.size, np.inf)
    found[problem.free] = freedom
    return found


def _scaled(
    problem: Problem, estimate: Estimate, found: list[_RunResiduals], share: Array
) -> tuple[Array, str, Array | None]:
    """Covariance (f, f) that explains the residuals of all runs, and what it rests on.

    Also the degrees of freedom (f,) of its variances, where they are few.
    """
    significant = [each.is_significant for each in found]
    ratios = [each.ratio for each in found]
    times = np.array([each.fit.residual_correlation_time for each in found])
    has_blocks = estimate.weights is not None and estimate.bread is not None
    if has_blocks:  # these follow the correlation in time
        times = np.ones(len(found))
    factors = times * np.where(significant, ratios, 1.0)
    rests_on = 'noise scaled to the residuals' if any(significant) else 'noise'
    if estimate.weights is None or estimate.bread is None:
        return estimate.covariance * float(np.dot(share, factors)), rests_on, None
    if any(significant) and any(run.is_periodic for run in problem.runs):
        rests_on = 'residuals by frequency'
    groups = alike_runs(problem, significant)
    alike = {number for group in groups for number in group}
    noise = [each * factor for each, factor in zip(estimate.row_noise, factors, strict=True)]
    for number, (run, each) in enumerate(zip(problem.runs, found, strict=True)):
        if run.is_periodic and (each.is_significant or number in alike):
            residuals = run.residuals(estimate.values)
            noise[number] = noise_by_frequency(residuals, estimate.row_noise[number], each.freedom)
    shared = _shared_meat(problem, estimate, groups, [each.freedom for each in found])
    weights, bread, lost = estimate.weights, estimate.bread, estimate.undetermined
    covariance = estimate.covariance
    if any(significant):
        covariance = sandwich(problem, weights, bread, noise, lost, shared)
    blocks = block_covariance(problem, estimate, covariance, noise)
    if blocks is None:
        return covariance, rests_on, None
    rests_on = 'residuals in blocks of time'
    if blocks.is_between_recordings:
        rests_on += ' and the spread between recordings'
    return blocks.covariance, rests_on, blocks.freedom


def full_covariance(problem: Problem, estimate: Estimate, covariance: Array) -> Array:
    """Covariance (r, r) of all base parameters, with the uncertainty of the fixed ones.

    With S = d p_free / d p_fixed and F the covariance of the fixed parameters:
    [[C + S F S^T, S F], [F S^T, F]].
    """
    selection = problem.selection
    free, fixed = selection.free, selection.fixed
    if not fixed.size:
        return covariance
    spread = selection.covariance
    change = sensitivity(problem, estimate)
    # undetermined parameters stay at their nominal values
    change[~np.isfinite(np.diag(covariance))] = 0.0
    cross = change @ spread
    back = np.argsort(np.concatenate([free, fixed]))
    full = np.block([[covariance + cross @ change.T, cross], [cross.T, spread]])
    return np.asarray(full[np.ix_(back, back)])


def _freedom(problem: Problem, estimate: Estimate) -> float:
    """Equations less what the estimate takes of them; the prior's share is not taken."""
    taken = float(problem.size)
    if estimate.bread is not None and len(problem.prior_target):
        taken -= float(np.trace(problem.prior_rows @ estimate.bread @ problem.prior_rows.T))
    return max(problem.equations - max(taken, 0.0), 1.0)


def _expected(problem: Problem, estimate: Estimate, number: int, freedom: float) -> float:
    """Mean of r^T noise^-1 r over the noise, for the residuals r of one run.

    With weights W and H = (Psi^T W Psi + B^T B)^-1 they are eta - Psi H (Psi^T W eta + ...):
    n - 2 tr(H Psi^T W Psi) + tr(C Psi^T noise^-1 Psi) with C the covariance of the estimate.
    Where W is not the inverse of the noise, as in least squares, noisy rows make residuals in
    quiet ones. Other estimates are taken for efficient ones: `freedom`.
    """
    if estimate.weights is None or estimate.bread is None:
        return max(freedom, 1.0)
    run, noise, weight = problem.runs[number], estimate.row_noise[number], estimate.weights[number]
    rows = rows_for(run, noise, weight)
    weighted, whitened = rows.weighted(weight)[0], rows.weighted(inverse_root(noise))[0]
    spread = estimate.covariance
    if not np.isfinite(spread).all():  # what is known of a sum that leaves its terms open
        nothing = np.zeros(0, dtype=np.int64)
        spread = sandwich(problem, estimate.weights, estimate.bread, estimate.row_noise, nothing)
    taken = 2 * np.sum((weighted @ estimate.bread) * weighted)
    left = run.count * run.axes - taken + np.sum((whitened @ spread) * whitened)
    return max(float(left), 1.0)


def _compare(
    problem: Problem, estimate: Estimate, number: int, share: float, change: Array | None
) -> _RunResiduals:
    """Figures of the residuals of one run against its noise; `share` of the freedom.

    Residuals are no larger than expected as long as the uncertain fixed parameters, which
    have their own part in the covariance, may have made them so.
    """
    run, noise = problem.runs[number], estimate.row_noise[number]
    freedom = _expected(problem, estimate, number, share)
    rows = rows_for(run, noise)
    residuals = rows.residuals(estimate.values)
    root = inverse_root(noise)
    ratio = float(np.sum((root @ residuals[..., None]) ** 2) / freedom)
    expected = np.diagonal(noise, axis1=-2, axis2=-1)
    correlated = 1.0
    if not run.is_periodic:
        pieces = [piece.residuals(estimate.values) for piece in run.folded.sample]
        correlated = correlation_time([(root @ piece[..., None])[..., 0] for piece in pieces])
    expected_ratio = 1 + SIGNIFICANCE * np.sqrt(2 / max(share, 1.0))
    if change is not None:  # one more of the fixed leaves -(Psi_fixed + Psi S), S the change
        left = root @ (rows.fixed + rows.regressor @ change)
        flat = left.reshape(-1, left.shape[-1])
        by_fixed = float(np.sum((flat @ problem.selection.covariance) * flat)) / freedom
        # the mean of a few numbers, which may be some times as large
        expected_ratio += (1 + SIGNIFICANCE * np.sqrt(2)) * by_fixed
    is_known = run.covariance is not None
    per_axis = np.sum(residuals**2 / expected, axis=0) / run.count
    fit = RunFit(
        rows=run.count,
        residual_correlation_time=correlated,
        noise_from=NoiseSource.SPREAD if is_known else NoiseSource.RESIDUALS,
        residual_variance_ratio=ratio if is_known else None,
        residual_variance_ratio_per_axis=per_axis if is_known else None,
    )
    return _RunResiduals(fit, ratio, ratio > expected_ratio, freedom)


def alike_runs(problem: Problem, significant: Sequence[bool]) -> list[list[int]]:
    """Numbers of the periodic runs whose rows are the same harmonics of one period.

    Where the model lacks something in one of them, it lacks the same in all that have the
    same motion: their residuals are correlated, row by row.
    """
    groups: dict[tuple[float, int], list[int]] = {}
    for number, run in enumerate(problem.runs):
        band = run.signals.band
        if isinstance(band, HarmonicBand):
            groups.setdefault((float(band.period), int(band.harmonics)), []).append(number)
    alike = [group for group in groups.values() if len(group) > 1]
    return [group for group in alike if any(significant[number] for number in group)]


def _shared_meat(
    problem: Problem, estimate: Estimate, groups: list[list[int]], freedoms: list[float]
) -> Array:
    """What the correlation of residuals between runs adds to the gradient's covariance (f, f)."""
    weights, noise = weights_of(problem, estimate), estimate.row_noise
    meat = np.zeros((problem.size, problem.size))
    for group in groups:
        parts = []
        for number in group:
            run, weight = problem.runs[number], weights[number]
            design = np.swapaxes(weight, -1, -2) @ weight @ run.regressor
            residuals = run.residuals(estimate.values)
            white, root = white_residuals(residuals, noise[number], freedoms[number])
            parts.append((white, np.swapaxes(root, -1, -2) @ design))
        for (first, left), (second, right) in combinations(parts, 2):
            spectrum = residual_spectrum(first, second)
            product = np.einsum('kaf,kab,kbg->fg', left, spectrum, right, optimize=True)
            meat += product + product.T
    return meat
