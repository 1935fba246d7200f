"""Instrumental variables: no bias from position noise in the regressor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array
from pkm_identification.estimators.linear import noise_of_rows
from pkm_identification.regression.numerics import column_sizes
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Rows, Run
from pkm_identification.regression.weighted_least_squares import Estimate, inverse_root

MOST_CONDITION = 1e12  # of the scaled products, which are squares: beyond it no digit is left


@dataclass(frozen=True)
class InstrumentDiagnostics:
    """What `iv` multiplied the rows by."""

    instruments: str = 'mean of the other periods'


def iv(problem: Problem) -> Estimate:
    """Instrumental variables between periods.

    The regressor of each period is multiplied by that of the mean of the other periods:
    the noise of the two is independent, so noise in the measured motion, also where a
    servo turned it into forces, makes no bias. Weights are those of Gauss-Markov. A prior
    adds its information. EstimationError where there are fewer than two periods, or the data do
    not determine all parameters.
    """
    for run in problem.runs:
        if run.signals.folded_forces is None or run.signals.averaged < 2:
            raise EstimationError("estimator 'iv' needs at least two periods")
    size = problem.size
    rows = np.concatenate([run.regressor.reshape(-1, size) for run in problem.runs])
    scale = column_sizes(rows)
    prior = problem.prior_rows / scale
    product, meat = prior.T @ prior, prior.T @ prior
    right, fixed = prior.T @ problem.prior_target, prior.T @ problem.prior_fixed
    averaged = noise_of_rows(problem)
    for run, noise in zip(problem.runs, averaged, strict=True):
        roots = inverse_root(noise * run.signals.averaged)
        for period in range(run.signals.averaged):
            own, others = _halves(run, period)
            instrument = (roots @ (others / scale)).reshape(-1, size)
            design, forces, held = own.weighted(roots)
            product += instrument.T @ (design / scale)
            right += instrument.T @ forces
            fixed += instrument.T @ held
            meat += instrument.T @ instrument
    condition = float(np.linalg.cond(product))
    if condition > MOST_CONDITION:
        raise EstimationError("estimator 'iv': the data do not determine all parameters")
    inverse = np.linalg.inv(product) / scale[:, None]
    covariance = inverse @ meat @ inverse.T
    return Estimate(
        values=inverse @ right,
        covariance=(covariance + covariance.T) / 2,
        noise=averaged,
        sensitivity=-inverse @ fixed,
        condition_number=float(np.sqrt(condition)),
        diagnostics=InstrumentDiagnostics(),
    )


def _halves(run: Run, period: int) -> tuple[Rows, Array]:
    """Rows of one period, and the regressor of the mean of the others."""
    signals = run.signals
    assert signals.folded_forces is not None
    chosen = np.arange(signals.averaged) == period
    own, others = (run.rows_of(signals.with_periods(each)) for each in (chosen, ~chosen))
    return own, others.regressor
