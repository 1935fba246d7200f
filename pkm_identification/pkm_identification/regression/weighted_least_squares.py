"""Weighted least squares by QR, with a covariance that follows the noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pkm_dynamics.friction_laws import DriveFriction
from pkm_identification.arrays import Array, Indices
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.row_noise import LEAST_NOISE
from pkm_identification.regression.run import Rows, Run

PerRun = Sequence[Array]

RANK_TOLERANCE = 1e-9  # of the largest singular value: forces are not known that well
SINGULAR_GRAM = 1e-14  # of its largest eigenvalue: below it is rounding
LEAST_SHOWN = 1e-9  # of the forces: a parameter that makes less of them is not shown by them
HIDDEN = 1e-6  # part of a direction without information that makes a parameter undetermined


@dataclass(frozen=True)
class Estimate:
    """What an estimator hands back, of the free parameters.

    Attributes
    ----------
    values
        Parameters (f,).
    covariance
        (f, f); infinite on the diagonal for what the data do not determine.
    undetermined
        Indices of the parameters that stay at their nominal value.
    unidentifiable_directions
        Changes (k, f) of the values that the data do not show, each with one or more of the
        undetermined parameters; None where they are not told.
    condition_number
        Of the weighted, column-scaled regressor.
    noise
        Noise that the covariance rests on, one array a run: (m, n_a, n_a), or (n_a, n_a)
        where it is the same for all rows. None: that of the problem, else of the residuals.
    weights, bread
        Weights L, one array a run as `noise`, and (Psi^T L^T L Psi + B^T B)^-1, where the
        estimate is weighted least squares: `sandwich` then gives its covariance for any noise.
    sensitivity
        Change (f, g) of the values with the fixed parameters; None: that of weighted
        least squares with the weights, else with the inverse noise.
    covariance_rests_on
        What the covariance rests on, where it is final: it is then not compared with the
        residuals nor widened.
    guaranteed_root
        Root R (f, f) of a guaranteed set |R (p - values)| <= 1, where the estimator gives one.
    standard_parameters
        Physical standard parameters (n_p,) that have these values, where the estimator
        finds them itself.
    drive_friction
        Friction beyond the base parameters; its parameters then follow those of the problem
        in `values` and `covariance`.
    friction_index
        Which of those (k,) each parameter of `drive_friction` is.
    linearised
        The problem with those parameters too, linear about the solution.
    diagnostics
        Of the estimator itself: its dataclass, or figures by name.
    warnings
        For the user.
    """

    values: Array
    covariance: Array
    undetermined: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    unidentifiable_directions: Array | None = None
    condition_number: float = float('nan')
    noise: tuple[Array, ...] | None = None
    weights: tuple[Array, ...] | None = None
    bread: Array | None = None
    sensitivity: Array | None = None
    covariance_rests_on: str = ''
    guaranteed_root: Array | None = None
    standard_parameters: Array | None = None
    drive_friction: DriveFriction | None = None
    friction_index: Indices | None = None
    linearised: Problem | None = None
    diagnostics: Any = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def inverse_root(covariance: Array) -> Array:
    """Return L (..., n, n) with L^T L = covariance^-1: whitens noise by multiplication."""
    return np.linalg.inv(np.linalg.cholesky(covariance))


def rows_for(run: Run, *matrices: Array) -> Rows:
    """Rows that these weights and noises apply to: the few compact ones where all are constant."""
    return run.compact if all(matrix.ndim == 2 for matrix in matrices) else run.rows


def whitened_rows(problem: Problem, noise: PerRun) -> tuple[Array, Array]:
    """Return rows (k, f) and target (k,) with unit noise: all runs and the prior.

    Parameters
    ----------
    problem
        Any; long runs enter by their factor.
    noise
        Covariance of the rows, one array a run (see `linear.noise_of_rows`).
    """
    designs, targets = [problem.prior_rows], [problem.prior_target]
    for run, covariance in zip(problem.runs, noise, strict=True):
        root, rows = inverse_root(covariance), rows_for(run, covariance)
        designs.append((root @ rows.regressor).reshape(-1, problem.size))
        targets.append((root @ rows.forces[..., None]).ravel())
    return np.concatenate(designs), np.concatenate(targets)


def weighted_least_squares(problem: Problem, weights: PerRun, noise: PerRun) -> Estimate:
    """Minimise sum |L_k (Gamma_k - Psi_k p)|^2 + |B p - b|^2 with the prior's B and b.

    Parameters
    ----------
    problem
        Psi (m, n_a, f), Gamma (m, n_a) in each run.
    weights
        L, one array a run: (m, n_a, n_a), or (n_a, n_a) for all rows.
    noise
        Covariance of the rows, in the same form. The covariance of the estimate is
        H (sum Psi^T L^T L noise L^T L Psi + B^T B) H with
        H = (Psi^T L^T L Psi + B^T B)^-1: right also where the weights are not the inverse
        of the noise.

    Returns
    -------
    Estimate
        Directions that the data do not determine keep their nominal value.
    """
    prior = problem.prior_rows
    designs, targets, force_power = [], [], 0.0
    for run, weight, covariance in zip(problem.runs, weights, noise, strict=True):
        rows = rows_for(run, weight, covariance)
        designs.append((weight @ rows.regressor).reshape(-1, problem.size))
        targets.append((weight @ rows.residuals(problem.nominal)[..., None]).ravel())
        force_power += float(np.sum((weight @ rows.forces[..., None]) ** 2))
    norm = np.sqrt(sum(np.sum(design**2, axis=0) for design in designs))
    shown = norm * typical_sizes(problem.nominal) > LEAST_SHOWN * np.sqrt(force_power)
    shown |= np.abs(prior).max(axis=0, initial=0.0) > 0
    norm = np.hypot(norm, np.linalg.norm(prior, axis=0))
    scale = np.where(shown, norm, 1.0)
    design = np.concatenate([*designs, prior])
    target = np.concatenate([*targets, problem.prior_target - prior @ problem.nominal])
    stacked = np.column_stack([design * (shown / scale), target])
    triangle = np.asarray(np.linalg.qr(stacked, mode='r'))
    left, singular, right = np.linalg.svd(triangle[: problem.size, : problem.size])
    known = singular > RANK_TOLERANCE * max(float(singular[0]), 1e-300)
    inverse = np.where(known, 1 / np.where(known, singular, 1.0), 0.0)
    step = right.T @ (inverse * (left.T @ triangle[: problem.size, -1]))
    bread = (right.T * inverse**2) @ right / np.outer(scale, scale)
    hidden = np.abs(right[~known]).max(axis=0, initial=0.0) if (~known).any() else np.zeros(0)
    undetermined = np.flatnonzero(hidden > HIDDEN)
    return Estimate(
        values=problem.nominal + step / scale,
        covariance=sandwich(problem, weights, bread, noise, undetermined),
        undetermined=undetermined,
        unidentifiable_directions=right[~known] / scale,
        condition_number=float(singular[0] / max(singular[-1], 1e-300)),
        noise=tuple(noise),
        weights=tuple(weights),
        bread=bread,
    )


def sandwich(
    problem: Problem,
    weights: PerRun,
    bread: Array,
    noise: PerRun,
    undetermined: Indices,
    shared: Array | None = None,
) -> Array:
    """Covariance (f, f) of weighted least squares for rows with this noise.

    `shared` (f, f) is what noise that runs have in common adds to the covariance of the
    gradient Psi^T L^T L eta.
    """
    meat = problem.prior_rows.T @ problem.prior_rows
    if shared is not None:
        meat = meat + shared
    for run, weight, covariance in zip(problem.runs, weights, noise, strict=True):
        rows = weight @ rows_for(run, weight, covariance).regressor
        weighted = weight @ covariance @ np.swapaxes(weight, -1, -2) @ rows
        meat = meat + rows.reshape(-1, problem.size).T @ weighted.reshape(-1, problem.size)
    covariance = bread @ meat @ bread
    covariance = (covariance + covariance.T) / 2
    covariance[undetermined] = 0.0
    covariance[:, undetermined] = 0.0
    covariance[undetermined, undetermined] = np.inf
    return covariance


def weights_of(problem: Problem, estimate: Estimate) -> PerRun:
    """Weights of an estimate; others are taken for efficient ones, of the inverse noise."""
    if estimate.weights is not None:
        return estimate.weights
    if estimate.noise is None:
        raise ValueError('an estimate without weights needs the noise of the rows')
    return [inverse_root(each) for each in estimate.noise]


def inverse_square(square: Array) -> Array:
    """Inverse (f, f) of a Gram matrix, by columns of unit length; zero in its null space."""
    scale = np.sqrt(np.maximum(np.diag(square), 1e-300))
    outer = np.outer(scale, scale)
    return np.linalg.pinv(square / outer, rcond=SINGULAR_GRAM, hermitian=True) / outer


def typical_sizes(nominal: Array) -> Array:
    """Size of each parameter, for what its column amounts to in forces."""
    size = np.abs(nominal)
    typical = float(np.median(size[size > 0])) if (size > 0).any() else 1.0
    return np.where(size > 0, size, typical)


def residual_covariance(problem: Problem, run: Run, values: Array) -> Array:
    """Covariance (n_a, n_a), the same for all rows of a run, from the residuals of a solution."""
    residuals = run.compact.residuals(values)
    used = problem.size * run.count / problem.equations  # the runs share the parameters
    covariance = residuals.T @ residuals / max(run.count - used, 1.0)
    floor = (LEAST_NOISE * np.maximum(run.force_size, 1e-12)) ** 2
    return covariance + np.diag(np.maximum(floor, 1e-300))
