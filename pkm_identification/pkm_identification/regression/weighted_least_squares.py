"""Weighted least squares by QR, with a covariance that follows the noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pkm_dynamics.friction_laws import DriveFriction
from pkm_identification.arrays import Array, Indices
from pkm_identification.regression.numerics import (
    determined_directions,
    inverse_square,
    parameter_size,
    typical_sizes,
    with_variance,
)
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Rows, Run

PerRun = Sequence[Array]

RANK_TOLERANCE = 1e-9  # of the largest singular value: forces are not known that well
LEAST_SHOWN = 1e-9  # of the forces: a parameter that makes less of them is not shown by them
HIDDEN = 1e-6  # part of a direction without information that makes a parameter undetermined


@dataclass(frozen=True)
class Estimate:
    """What an estimator hands back, of the free parameters."""

    values: Array  # (f,)
    covariance: Array  # (f, f); infinite on the diagonal for what the data do not determine
    # Indices of the parameters that stay at their nominal value
    undetermined: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    # Changes (k, f) of the values that the data do not show, each with one or more of the
    # undetermined parameters; None where they are not told
    unidentifiable_directions: Array | None = None
    condition_number: float = float('nan')  # of the weighted, column-scaled regressor
    # Noise that the covariance rests on, one array a run: (m, n_a, n_a), or (n_a, n_a) where it is
    # the same for all rows. None: that of the problem, else of the residuals
    noise: tuple[Array, ...] | None = None
    # Weights L, one array a run as `noise`, and (Psi^T L^T L Psi + B^T B)^-1, where the estimate is
    # weighted least squares: `sandwich` then gives its covariance for any noise
    weights: tuple[Array, ...] | None = None
    bread: Array | None = None
    # Change (f, g) of the values with the fixed parameters; None: that of weighted least squares
    # with the weights, else with the inverse noise
    sensitivity: Array | None = None
    # What the covariance rests on, where it is final: not compared with the residuals nor widened
    covariance_rests_on: str = ''
    guaranteed_root: Array | None = None  # R (f, f) of a guaranteed set |R (p - values)| <= 1
    standard_parameters: Array | None = None  # physical ones (n_p,) with these values, if found
    # Friction beyond the base parameters, which follows those of the problem in `values` and
    # `covariance`; which of those (k,) each of its parameters is; the problem with these
    # parameters too, linear about the solution
    drive_friction: DriveFriction | None = None
    friction_index: Indices | None = None
    linearised: Problem | None = None
    diagnostics: Any = field(default_factory=dict)  # the estimator's dataclass, or figures by name
    warnings: tuple[str, ...] = ()  # for the user

    @property
    def row_noise(self) -> tuple[Array, ...]:
        """The noise, once `residual_scaling.with_noise` has given it."""
        assert self.noise is not None
        return self.noise


def inverse_root(covariance: Array) -> Array:
    """Return L (..., n, n) with L^T L = covariance^-1: whitens noise by multiplication."""
    return np.linalg.inv(np.linalg.cholesky(covariance))


def rows_for(run: Run, *matrices: Array) -> Rows:
    """Rows that these weights and noises apply to: the few compact ones where all are constant."""
    return run.compact if all(matrix.ndim == 2 for matrix in matrices) else run.rows


def whitened_rows(problem: Problem, noise: PerRun) -> tuple[Array, Array]:
    """Return rows (k, f) and target (k,) with unit noise: all runs and the prior.

    Long runs enter by their factor. `noise` is that of the rows, see `linear.noise_of_rows`.
    """
    return weighted_rows(problem, [inverse_root(each) for each in noise])


def weighted_rows(problem: Problem, weights: PerRun) -> tuple[Array, Array]:
    """Return rows (k, f) and target (k,) times weights: all runs and the prior."""
    designs, targets = [problem.prior_rows], [problem.prior_target]
    for run, weight in zip(problem.runs, weights, strict=True):
        design, target, _ = rows_for(run, weight).weighted(weight)
        designs.append(design)
        targets.append(target)
    return np.concatenate(designs), np.concatenate(targets)


def weighted_least_squares(problem: Problem, weights: PerRun, noise: PerRun) -> Estimate:
    """Minimise sum |L_k (Gamma_k - Psi_k p)|^2 + |B p - b|^2 with the prior's B and b.

    With weights L, one array a run, (m, n_a, n_a) or (n_a, n_a) for all rows, and the noise of
    the rows in the same form. The covariance of the estimate is
    H (sum Psi^T L^T L noise L^T L Psi + B^T B) H with H = (Psi^T L^T L Psi + B^T B)^-1: right
    also where the weights are not the inverse of the noise. Directions that the data do not
    determine keep their nominal value.
    """
    prior = problem.prior_rows
    designs, targets, force_power = [], [], 0.0
    for run, weight, covariance in zip(problem.runs, weights, noise, strict=True):
        design, forces, _ = rows_for(run, weight, covariance).weighted(weight)
        designs.append(design)
        targets.append(forces - design @ problem.nominal)
        force_power += float(forces @ forces)
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
    shared: Array | float = 0.0,
) -> Array:
    """Covariance (f, f) of weighted least squares for rows with this noise.

    `shared` (f, f) is what noise that runs have in common adds to the covariance of the
    gradient Psi^T L^T L eta.
    """
    # in its directions the meat is about one, however large the bread is: no cancellation
    root = determined_directions(bread)
    count = root.shape[1]
    prior = problem.prior_rows @ root
    meat = prior.T @ prior + root.T @ (np.zeros_like(bread) + shared) @ root
    for run, weight, covariance in zip(problem.runs, weights, noise, strict=True):
        rows = weight @ (rows_for(run, weight, covariance).regressor @ root)
        weighted = weight @ covariance @ np.swapaxes(weight, -1, -2) @ rows
        meat = meat + rows.reshape(-1, count).T @ weighted.reshape(-1, count)
    return with_variance(root @ ((meat + meat.T) / 2) @ root.T, undetermined)


def weights_of(problem: Problem, estimate: Estimate) -> PerRun:
    """Weights of an estimate; others are taken for efficient ones, of the inverse noise."""
    if estimate.weights is not None:
        return estimate.weights
    if estimate.noise is None:
        raise ValueError('an estimate without weights needs the noise of the rows')
    return [inverse_root(each) for each in estimate.noise]


def size_over_runs(problem: Problem) -> Array:
    """Size (f,) of each parameter by all runs together: one may not show it at all."""
    rows = [run.compact for run in problem.runs]
    return parameter_size(
        problem.nominal,
        np.concatenate([each.regressor for each in rows]),
        np.concatenate([each.forces for each in rows]),
    )


def sensitivity(problem: Problem, estimate: Estimate) -> Array:
    """Change (f, g) of the free parameters with the fixed ones."""
    if estimate.sensitivity is not None:
        return np.array(estimate.sensitivity, dtype=float)
    return -change_with(problem, estimate, lambda _, rows: rows.fixed, problem.prior_fixed)


def change_with(
    problem: Problem, estimate: Estimate, columns: Callable[[int, Rows], Array], prior_part: Array
) -> Array:
    """Change (f, k) of the free parameters with what adds columns to the measurements.

    (Psi^T W Psi + B^T B)^-1 (Psi^T W Z + B^T B_z) with `columns` Z (m, n_a, k) of some rows of a
    run, `prior_part` B_z, and the weights W of the estimate, else with the inverse noise.
    """
    prior = problem.prior_rows
    mixed, square = prior.T @ prior_part, prior.T @ prior
    weights = weights_of(problem, estimate)
    for number, (run, weight) in enumerate(zip(problem.runs, weights, strict=True)):
        rows = rows_for(run, weight)
        own = rows.weighted(weight)[0]
        mixed = mixed + own.T @ (weight @ columns(number, rows)).reshape(len(own), -1)
        square = square + own.T @ own
    if estimate.weights is None or estimate.bread is None:
        return inverse_square(square) @ mixed
    return estimate.bread @ mixed
