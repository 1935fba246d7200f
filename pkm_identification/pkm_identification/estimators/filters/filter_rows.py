"""Rows that a filter takes in: forces, or the energy balance between samples [O 2.56]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.errors import EstimationError
from pkm_dynamics.equations.energy import actuator_work, energy_balance
from pkm_identification.arrays import Array
from pkm_identification.regression.numerics import scaled_least_squares
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.residual_noise import correlation_time
from pkm_identification.regression.run import Run

LEAST_POWER = 0.01  # of the mean variance: what a row at standstill has at least
EXACT_ENERGY = 1e-18  # of the squared work: residuals below are rounding


@dataclass(frozen=True)
class FilterRows:
    """Rows y = A p + noise, one an update."""

    regressor: Array  # A (N, m, f) of the free parameters
    measured: Array  # y (N, m), less the part of the fixed parameters
    noise: Array  # covariance (N, m, m)
    fixed: Array  # (N, m, g) of the fixed parameters
    correlated: float = 1.0  # rows (at least 1) that carry the information of one
    runs_noise: tuple[Array, ...] | None = None  # of rows of forces, one array a run

    def predicted(self, points: Array, k: int) -> Array:
        """Expected measurement (s, m) of row k for parameters (s, f)."""
        return points @ self.regressor[k].T

    def slope(self, values: Array, k: int) -> Array:
        """Derivative (m, f) of `predicted`."""
        return self.regressor[k]


def force_rows(problem: Problem, noise: tuple[Array, ...]) -> FilterRows:
    """Return the rows of all runs, each run with its noise (n_a, n_a) or (m, n_a, n_a)."""
    parts = [
        np.broadcast_to(each, (run.count, run.axes, run.axes))
        for run, each in zip(problem.runs, noise, strict=True)
    ]
    return FilterRows(
        problem.regressor,
        problem.forces,
        np.concatenate(parts),
        np.concatenate([run.rows.fixed for run in problem.runs]),
        runs_noise=noise,
    )


def energy_rows(problem: Problem) -> FilterRows:
    """Return energy and heat = work of all runs [J], one row an interval between samples.

    The work of a noisy force has the variance qd^T Sigma qd dt^2, scaled to the residuals:
    rows of slow motion are exact, but for what the model lacks. Neighbours share a sample,
    and so are correlated. EstimationError where a recording is too long for memory, or there are
    fewer intervals than parameters.
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
    residuals = work / root - design @ scaled_least_squares(design, work / root, rcond=1e-9)
    least = EXACT_ENERGY * float(np.mean((work / root) ** 2))
    size = max(float(residuals @ residuals) / freedom, least, 1e-300)
    ends = np.cumsum([len(part[2]) for part in parts])[:-1]
    pieces = [piece[:, None] for piece in np.split(residuals, ends)]
    return FilterRows(
        regressor[:, None],
        work[:, None],
        (variance * size)[:, None, None],
        fixed[:, None],
        correlation_time(pieces),
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
    power = np.maximum(power, LEAST_POWER * max(float(power.mean()), 1e-300))
    interval = np.diff(signals.time)
    variance = (interval / 2) ** 2 * (power[1:] + power[:-1])
    return rows[:, selection.free], rows[:, selection.fixed], work, variance
