"""Extended and unscented Kalman filter of the dynamic parameters [O 2.3.2]."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pkm_identification.arrays import Array, Indices
from pkm_identification.estimators.filters.filter_rows import FilterRows, energy_rows, force_rows
from pkm_identification.estimators.filters.nonlinear_filters import (
    Extended,
    FilterOptions,
    Measurement,
    Unscented,
    run_filter,
)
from pkm_identification.estimators.filters.parameter_filter import Linearisation, ParameterFilter
from pkm_identification.estimators.linear import noise_of_rows
from pkm_identification.regression.numerics import hardly_determined, parameter_size, with_variance
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.weighted_least_squares import Estimate, inverse_root

INITIAL_DEVIATION = 10.0  # sizes of a parameter: so wide that the start counts for nothing


@dataclass(frozen=True)
class History:
    """Estimates on the way."""

    updates: Indices  # (h,) after which they were kept
    values: Array  # (h, f)


@dataclass(frozen=True)
class KalmanDiagnostics:
    """How a filter went through the data."""

    measurement: str  # 'force' or 'energy'
    updates: int
    passes: int
    innovation: float  # mean square, normalised: 1 where all is as assumed
    walk: Array  # (f,) standard deviation of a step at the end
    history: History  # of the last pass


def ekf(
    problem: Problem,
    measurement: str = 'force',
    process: str | float = 'none',
    walk_gain: float = 1e-3,
    order: str = 'original',
    passes: int = 1,
    initial_deviation: float = INITIAL_DEVIATION,
    seed: int = 0,
    history: int = 200,
) -> Estimate:
    """Extended Kalman filter; options as in `ukf`, without those of the sigma points."""
    options = FilterOptions(None, walk_gain, order, seed, passes, history=history)
    rows = _rows(problem, measurement)
    seen = Extended(rows.predicted, rows.slope)
    return _filtered(problem, rows, seen, process, initial_deviation, options)


def ukf(
    problem: Problem,
    measurement: str = 'force',
    alpha: float = 1e-3,
    beta: float = 2.0,
    kappa: float | None = None,
    process: str | float = 'none',
    walk_gain: float = 1e-3,
    order: str = 'original',
    passes: int = 1,
    initial_deviation: float = INITIAL_DEVIATION,
    seed: int = 0,
    history: int = 200,
) -> Estimate:
    """Unscented Kalman filter of the parameters, from forces or from energy.

    The dynamics are linear in the parameters, so that both filters are the Kalman filter
    and, without a walk and prior, weighted least squares; `nonlinear_filters` has both for
    parameters that enter otherwise. The start is at the nominal values, the prior is the first
    measurement. The covariance is that of the error for constant parameters, also with a walk.

    Options are declared in `estimator_options`. `measurement`: `force`, the rows of the other
    estimators, one an update, or `energy`, the work of the actuators between two samples
    [O 2.56]. `alpha`, `beta`, `kappa`: see `Unscented`. `process`: `robbins_monro` is a walk from
    the filter's own steps [O 2.75]. `order`: see `data_order`. `passes`: each from the last
    estimate and the first uncertainty. `initial_deviation`: over the size of a parameter, of its
    nominal value, or of what alone would make all forces, whichever is larger.
    """
    options = FilterOptions(None, walk_gain, order, seed, passes, history=history)
    rows = _rows(problem, measurement)
    seen = Unscented(rows.predicted, alpha, beta, kappa)
    return _filtered(problem, rows, seen, process, initial_deviation, options)


def filtered_rows(rows: FilterRows, start: Array, prior: tuple[Array, Array]) -> Array:
    """Parameters (f,) from rows by one pass of the unscented filter, from a start (f,).

    The prior are rows (k, f) and a target (k,) with unit noise.
    """
    size = parameter_size(start, rows.regressor, rows.measured)
    return run_filter(
        Unscented(rows.predicted),
        rows.measured,
        start,
        INITIAL_DEVIATION * size,
        rows.noise,
        before=lambda state: _take_rows(state, *prior),
    ).values


def _rows(problem: Problem, measurement: str) -> FilterRows:
    if measurement == 'energy':
        return energy_rows(problem)
    return force_rows(problem, noise_of_rows(problem))


def _filtered(
    problem: Problem,
    rows: FilterRows,
    seen: Measurement,
    process: str | float,
    initial_deviation: float,
    options: FilterOptions,
) -> Estimate:
    """Run a filter over the rows of the problem and judge what it found."""
    size = parameter_size(problem.nominal, rows.regressor, rows.measured)
    start = initial_deviation * size
    walk = _walk(process, size)
    walks = walk is None or bool(walk.any())
    prior = problem.prior_rows, problem.prior_target, problem.prior_fixed if walks else None
    found = run_filter(
        seen,
        rows.measured,
        problem.nominal,
        start,
        rows.noise,
        replace(options, walk=walk),
        before=lambda state: _take_rows(state, *prior),
        fixed=rows.fixed if walks else None,
    )
    lost = hardly_determined(found.covariance, start)
    covariance = found.covariance * rows.correlated
    bread = with_variance(covariance, lost, 0.0)
    noise = rows.runs_noise
    linear = noise is not None and not walks
    sensitivity = None if linear else _sensitivity(problem, rows, bread)
    return Estimate(
        values=found.values,
        covariance=with_variance(covariance, lost),
        undetermined=lost,
        condition_number=_condition(found.covariance),
        noise=noise,
        weights=tuple(inverse_root(each) for each in noise) if linear and noise else None,
        bread=bread if linear else None,
        sensitivity=found.change if walks else sensitivity,
        covariance_rests_on='' if noise is not None else 'residuals of the energy',
        diagnostics=KalmanDiagnostics(
            measurement='energy' if noise is None else 'force',
            updates=len(rows.measured) * found.passes,
            passes=found.passes,
            innovation=found.innovation,
            walk=np.sqrt(found.walk),
            history=History(found.steps, found.history),
        ),
    )


def _walk(process: str | float, size: Array) -> Array | None:
    """Standard deviation of a step; None for Robbins and Monro's method."""
    if process == 'none':
        return np.zeros(len(size))
    return None if process == 'robbins_monro' else float(process) * size


def _take_rows(
    state: ParameterFilter, rows: Array, target: Array, fixed: Array | None = None
) -> None:
    """Let a prior, rows (k, f) with unit noise, be the first measurement."""
    if len(rows):
        slope = rows @ state.root
        at = Linearisation(rows @ state.values, slope, slope[:, :0])
        state.update(target, at, np.eye(len(rows)), fixed)


def _condition(covariance: Array) -> float:
    """Condition number of the weighted, column-scaled regressor behind a covariance."""
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    information = np.linalg.pinv(covariance / np.outer(scale, scale), hermitian=True)
    size = np.sqrt(np.maximum(np.diag(information), 1e-300))
    return float(np.sqrt(np.linalg.cond(information / np.outer(size, size))))


def _sensitivity(problem: Problem, rows: FilterRows, bread: Array) -> Array:
    """Change (f, g) of the estimate with the fixed parameters."""
    weighted = np.swapaxes(rows.regressor, 1, 2) @ np.linalg.inv(rows.noise)
    mixed = np.einsum('nfm,nmg->fg', weighted, rows.fixed)
    mixed = mixed + problem.prior_rows.T @ problem.prior_fixed * rows.correlated
    return -bread / rows.correlated @ mixed
