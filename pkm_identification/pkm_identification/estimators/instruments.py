"""Instrumental variables: no bias from position noise in the regressor."""

from __future__ import annotations

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.estimators.linear import noise_of_rows
from pkm_identification.estimators.problem import Problem
from pkm_identification.estimators.solve import Estimate, inverse_root

CONDITION_LIMIT = 1e12


def iv(problem: Problem) -> Estimate:
    """Instrumental variables between periods.

    The regressor of each period is multiplied by that of the mean of the other periods:
    the noise of the two is independent, so noise in the measured motion, also where a
    servo turned it into forces, makes no bias. Weights are those of Gauss-Markov.

    Raises
    ------
    EstimationError
        Fewer than two periods, or the data do not determine all parameters.
    """
    signals = problem.signals
    count = signals.averaged
    if signals.folded_forces is None or count < 2:
        raise EstimationError("estimator 'iv' needs at least two periods")
    noise = noise_of_rows(problem) * count
    roots = inverse_root(noise)
    size = problem.size
    scale = np.maximum(np.linalg.norm(problem.regressor, axis=(0, 1)), 1e-300)
    product = np.zeros((size, size))
    right = np.zeros(size)
    meat = np.zeros((size, size))
    for period in range(count):
        chosen = np.arange(count) == period
        own, others = (_regressor(problem, mask) / scale for mask in (chosen, ~chosen))
        forces = signals.band.rows(signals.folded_forces.samples[period])
        instrument, design = roots @ others, roots @ own
        flat = instrument.reshape(-1, size)
        product += flat.T @ design.reshape(-1, size)
        right += flat.T @ np.einsum('kab,kb->ka', roots, forces).ravel()
        meat += flat.T @ flat
    condition = float(np.linalg.cond(product))
    if condition > CONDITION_LIMIT:
        raise EstimationError("estimator 'iv': the data do not determine all parameters")
    inverse = np.linalg.inv(product) / scale[:, None]
    covariance = inverse @ meat @ inverse.T
    return Estimate(
        values=inverse @ right,
        covariance=(covariance + covariance.T) / 2,
        row_covariance=noise / count,
        undetermined=np.zeros(0, dtype=np.int64),
        condition_number=float(np.sqrt(condition)),
        diagnostics={'instruments': 'mean of the other periods'},
    )


def _regressor(problem: Problem, chosen: np.ndarray) -> np.ndarray:
    signals = problem.signals.with_periods(chosen)
    regressor = problem.base.regressor(signals.motion(problem.model))
    return signals.band.rows(np.asarray(regressor))
