"""Rows of the energy balance between samples [O 2.56], with the variance of their noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.errors import EstimationError
from pkm_dynamics.equations.energy import actuator_work, energy_balance
from pkm_identification.arrays import Array
from pkm_identification.covariance.residual_scaling import correlation_time
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Run

STANDSTILL = 0.01  # of the mean variance: what a row at standstill has at least


@dataclass(frozen=True)
class EnergyRows:
    """Energy and heat = work, one row an interval between samples.

    Attributes
    ----------
    regressor, fixed
        Of the free (k, f) and of the fixed parameters (k, g).
    work
        Of the actuators (k,) [J], less the part of the fixed parameters.
    variance
        Of the noise of the work (k,) [J^2].
    correlated
        Rows (at least 1) that carry the information of one: neighbours share a sample.
    """

    regressor: Array
    fixed: Array
    work: Array
    variance: Array
    correlated: float


def energy_rows(problem: Problem) -> EnergyRows:
    """Return the energy balance of all runs; the noise is scaled to the residuals.

    The work of a noisy force has the variance qd^T Sigma qd dt^2: rows of slow motion
    are exact, but for what the model lacks.

    Raises
    ------
    EstimationError
        A recording is too long for memory, or there are fewer intervals than parameters.
    """
    parts = [_rows_of(run, problem) for run in problem.runs]
    regressor, fixed, work, variance = (np.concatenate(each) for each in zip(*parts, strict=True))
    freedom = len(work) - problem.size
    if freedom <= 0:
        raise EstimationError(
            f'{len(work)} intervals cannot determine {problem.size} parameters by their energy'
        )
    root = np.sqrt(variance)
    design = regressor / root[:, None]
    scale = np.maximum(np.linalg.norm(design, axis=0), 1e-300)
    fit = np.linalg.lstsq(design / scale, work / root, rcond=1e-9)[0] / scale
    residuals = work / root - design @ fit
    size = max(float(residuals @ residuals) / freedom, 1e-18 * float(np.mean((work / root) ** 2)))
    ends = np.cumsum([len(part[2]) for part in parts])[:-1]
    pieces = [piece[:, None] for piece in np.split(residuals, ends)]
    return EnergyRows(
        regressor, fixed, work, variance * max(size, 1e-300), correlation_time(pieces)
    )


def _rows_of(run: Run, problem: Problem) -> tuple[Array, Array, Array, Array]:
    """Regressor, fixed part, work and unscaled variance of one run."""
    signals, model = run.signals, run.model
    if run.is_long:
        raise EstimationError(
            "measurement='energy' takes recordings that fit into memory; give a part of it or "
            "take measurement='force'"
        )
    motion = signals.motion(model)
    rows = energy_balance(model, motion, signals.time) @ run.base.columns
    selection = problem.selection
    work = actuator_work(model, motion, signals.time, signals.forces)
    work = work - rows[:, selection.fixed] @ selection.values
    noise = signals.force_noise
    covariance = np.eye(run.axes)
    if noise is not None and np.trace(noise.covariance) > 0:
        covariance = noise.covariance * (run.axes / np.trace(noise.covariance))
    power = np.einsum('na,ab,nb->n', signals.velocities, covariance, signals.velocities)
    power = np.maximum(power, STANDSTILL * max(float(power.mean()), 1e-300))
    interval = np.diff(signals.time)
    variance = (interval / 2) ** 2 * (power[1:] + power[:-1])
    return rows[:, selection.free], rows[:, selection.fixed], work, variance
