"""Fixed parameters that the data contradict: score test of each, the others free ones kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkm_identification.regression.numerics import column_sizes
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.weighted_least_squares import Estimate, inverse_root, rows_for
from pkm_identification.result.diagnostics import FixedContradiction

CONTRADICTED = 4.0  # standard deviations: chance in 6 of 100,000
SHOWN = 1e-6  # of a column that the free parameters do not explain: less shows nothing


def contradicted_values(
    problem: Problem, estimate: Estimate, scale: float, any_value: Sequence[int]
) -> tuple[FixedContradiction, ...]:
    """Find fixed parameters that the residuals want elsewhere.

    With F the whitened column of a fixed parameter less what the free ones explain of it, and r
    the residuals, it would move by F^T r / F^T F, with the variance `scale` / F^T F. `scale` is
    what the variances of the estimate are widened by. One parameter at a time, but for those with
    the indices `any_value`, which the model does without.
    """
    selection = problem.selection
    if not selection.fixed.size:
        return ()
    pieces = []
    for run, noise in zip(problem.runs, estimate.row_noise, strict=True):
        design, forces, fixed = rows_for(run, noise).weighted(inverse_root(noise))
        pieces.append((design, forces - design @ estimate.values, fixed))
    prior = problem.prior_rows
    left = problem.prior_target - prior @ estimate.values
    pieces.append((prior, left, problem.prior_fixed))
    design, residuals, fixed = (np.concatenate([each[k] for each in pieces]) for k in range(3))
    basis = np.linalg.qr(design / column_sizes(design))[0]
    rest = fixed - basis @ (basis.T @ fixed)
    size, whole = np.sum(rest**2, axis=0), np.sum(fixed**2, axis=0)
    is_shown = size > SHOWN**2 * np.maximum(whole, 1e-300)
    size = np.where(is_shown, size, np.inf)
    change = rest.T @ residuals / size
    variance = max(scale, 1.0) / size + np.diag(selection.covariance)
    judged = set(range(len(problem.base.names))) - set(any_value)
    off = np.abs(change) / np.sqrt(np.maximum(variance, 1e-300))
    return tuple(
        FixedContradiction(
            problem.base.names[selection.fixed[k]],
            float(selection.values[k]),
            float(selection.values[k] + change[k]),
            float(off[k]),
        )
        for k in np.argsort(-off).tolist()
        if is_shown[k] and off[k] > CONTRADICTED and selection.fixed[k] in judged
    )
