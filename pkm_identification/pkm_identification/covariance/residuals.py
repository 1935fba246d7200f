"""What a fit leaves of the measured forces, at the samples and in the rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkm_dynamics.friction_laws import DriveFriction
from pkm_identification.arrays import Array
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Run
from pkm_identification.signals import Signals
from pkm_identification.signals.bands import BLOCK


def residuals_in_time(
    problem: Problem, values: Array, friction: DriveFriction | None
) -> list[Array | None]:
    """Measured minus predicted forces (n, n_a) of each run; None where one is too long."""
    found: list[Array | None] = []
    for run in problem.runs:
        if run.signals.is_long:
            found.append(None)
            continue
        residual = run.signals.forces - _predicted(run, run.signals, values)
        if friction is not None:
            residual = residual - friction.forces(run.signals.velocities)
        found.append(residual)
    return found


def together(parts: Sequence[Array | None]) -> Array | None:
    """One after the other; None where one is missing."""
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def residual_rms(problem: Problem, values: Array) -> Array:
    """Root mean square (n_a,) of the residuals of the rows of all runs."""
    power = sum(np.sum(run.compact.residuals(values) ** 2, axis=0) for run in problem.runs)
    return np.sqrt(power / sum(run.count for run in problem.runs))


def _predicted(run: Run, signals: Signals, values: Array) -> Array:
    """Forces (n, n_a) at the samples, block by block."""
    standard = run.base.columns @ values
    blocks = [slice(i, i + BLOCK) for i in range(0, len(signals), BLOCK)]
    parts = [
        run.model.inverse_dynamics(signals.motion(run.model, rows), standard) for rows in blocks
    ]
    return np.concatenate(parts)
