"""Estimator `recursive`: least squares sample by sample, with forgetting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array
from pkm_identification.estimators.filters.kalman import History
from pkm_identification.estimators.filters.recursive_least_squares import RecursiveLeastSquares
from pkm_identification.estimators.linear import gauss_markov
from pkm_identification.regression.numerics import (
    hardly_determined,
    rounding_variance,
    with_variance,
)
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.residual_noise import correlation_time, residual_covariances
from pkm_identification.regression.run import Run
from pkm_identification.regression.weighted_least_squares import (
    Estimate,
    inverse_root,
    size_over_runs,
)

KEPT = 20_000  # rows whose residuals show how they follow each other: some seconds of them


@dataclass(frozen=True)
class HistoryWithDeviations(History):
    """Estimates on the way, and how certain they were."""

    standard_deviation: Array  # (h, f)


@dataclass(frozen=True)
class RecursiveDiagnostics:
    """How the recursion went through the data."""

    updates: int
    memory: float  # updates that the estimate rests on
    noise: tuple[Array, ...]  # standard deviations (n_a,) of each run [N, N m]
    limited: int  # forces whose residuals are beyond `huber`
    history: HistoryWithDeviations


def recursive(
    problem: Problem,
    forgetting: float = 1.0,
    huber: float | None = None,
    initial_deviation: float = 10.0,
    history: int = 200,
) -> Estimate:
    """Recursive least squares through the samples in their order, run after run.

    Periodic data are taken as one averaged period in time, others as filtered. With
    `forgetting=1` the estimate is that of the whole data at once. The noise is that of the
    residuals of a Gauss-Markov fit; online (`RecursiveEstimator`) it is given. Options are declared
    in `estimator_options`; `initial_deviation` is as of `ukf`.
    """
    first = gauss_markov(problem)
    start, spread, change = _start(problem, initial_deviation)
    is_held = bool(problem.selection.covariance.any())
    state: RecursiveLeastSquares | None = None
    total = sum(len(run.signals) if run.is_periodic else run.count for run in problem.runs)
    every = max(total // history, 1)
    kept: list[tuple[int, Array, Array]] = []
    pieces: list[Array] = []
    noises: list[Array] = []
    outliers = 0
    for run, residuals in zip(
        problem.runs, residual_covariances(problem, first.values), strict=True
    ):
        noise = _in_time(run, first.values) if run.is_periodic else residuals
        noises.append(noise)
        whitening = inverse_root(noise)
        if state is None:
            state = RecursiveLeastSquares(start, spread, noise, forgetting, huber, change)
        state.noise = noise
        for rows in [run.in_time()] if run.is_periodic else run.blocks():  # in time order
            for regressor, forces, fixed in zip(
                rows.regressor, rows.forces, rows.fixed, strict=True
            ):
                state.update(regressor, forces, fixed if is_held else None)
                if state.updates % every == 0 or state.updates == total:
                    deviation = np.sqrt(np.diag(state.covariance()))
                    kept.append((state.updates, state.values, deviation))
            whitened = rows.residuals(first.values) @ whitening.T
            outliers += 0 if huber is None else int(np.sum(np.abs(whitened) > huber))
            if sum(len(piece) for piece in pieces) < KEPT:
                pieces.append(whitened)
    if state is None or not np.isfinite(state.values).all():
        raise EstimationError('the recursion diverged')
    lost = hardly_determined(state.covariance(), np.sqrt(np.diag(spread)))
    if len(problem.prior_target):
        lost = np.intersect1d(lost, first.undetermined)
    correlated = correlation_time(pieces)
    return Estimate(
        values=state.values,
        covariance=with_variance(state.covariance() * correlated, lost),
        undetermined=lost,
        condition_number=first.condition_number,
        sensitivity=state.change,
        covariance_rests_on='residuals in time',
        diagnostics=RecursiveDiagnostics(
            updates=state.updates,
            memory=float('inf') if forgetting == 1 else 1 / (1 - forgetting),
            noise=tuple(np.sqrt(np.diag(each)) for each in noises),
            limited=outliers,
            history=HistoryWithDeviations(*map(np.array, zip(*kept, strict=True))),
        ),
    )


def _start(problem: Problem, initial_deviation: float) -> tuple[Array, Array, Array]:
    """Nominal values and a wide covariance, with the prior taken in.

    Third, the change (f, g) of the start with the fixed parameters, which comes by the prior.
    """
    size = initial_deviation * size_over_runs(problem)
    prior = problem.prior_rows
    if not len(prior):
        unmoved = np.zeros((problem.size, len(problem.selection.fixed)))
        return problem.nominal, np.diag(size**2), unmoved
    stacked = np.concatenate([np.diag(1 / size), prior])
    right = np.concatenate([problem.nominal / size, problem.prior_target])
    inverse = np.linalg.inv(np.linalg.qr(stacked * size, mode='r')) * size[:, None]
    covariance = inverse @ inverse.T
    change = -covariance @ (prior.T @ problem.prior_fixed)
    return covariance @ (stacked.T @ right), covariance, change


def _in_time(run: Run, values: Array) -> Array:
    """Covariance (n_a, n_a) of the samples of a period, from the residuals of an estimate."""
    residuals = run.in_time().residuals(values)
    floor = rounding_variance(run.force_size)
    return residuals.T @ residuals / len(residuals) + np.diag(floor)
