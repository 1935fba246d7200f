"""The linear identification problem: rows of forces, rows of the base regressor, their noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import EstimationError
from pkm_identification.signals import Signals
from pkm_identification.signals.bands import HarmonicBand

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

Array = NDArray[np.float64]

NEGLIGIBLE = 1e-9  # noise below this share of the forces is rounding
POSES = 12


@dataclass(frozen=True)
class Problem:
    """Gamma = Psi p + eta with the covariance of eta, row by row.

    Attributes
    ----------
    regressor
        Psi (m, n_a, r).
    forces
        Gamma (m, n_a) [N, N m].
    covariance
        Of eta (m, n_a, n_a), from the spread over periods; None where the data are one
        period or none, and the estimator takes it from its residuals.
    nominal
        Base parameters (r,) of the description: what undetermined parameters stay at.
    signals, base, model
        What it was made from.
    """

    regressor: Array
    forces: Array
    covariance: Array | None
    nominal: Array
    signals: Signals
    base: Any
    model: Any

    @property
    def size(self) -> int:
        """Number of parameters r."""
        return int(self.regressor.shape[-1])

    @property
    def degrees_of_freedom(self) -> int:
        """Number of equations minus number of parameters."""
        return int(self.forces.size - self.size)

    def residuals(self, values: Array) -> Array:
        """Return Gamma - Psi p (m, n_a)."""
        return self.forces - self.regressor @ values


def build_problem(
    signals: Signals, model: ClosedChainModel, *, shared: bool = True, reduced: bool | str = True
) -> Problem:
    """Stack forces and base regressor over the rows of the signals' band.

    Parameters
    ----------
    signals
        Motion and forces.
    model
        The mechanism.
    shared
        Links and joints of one design share their parameters.
    reduced
        Leave parameters out that the description declares zero; a name is one of
        the description's `reduced_models`.

    Raises
    ------
    EstimationError
        Fewer equations than parameters.
    """
    base = model.base_parameters(shared=shared, reduced=reduced)
    band = signals.band

    def regressor(rows: slice) -> Array:
        return np.asarray(base.regressor(signals.motion(model, rows)))

    psi = band.evaluate(regressor, len(signals))
    gamma = band.rows(signals.forces)
    if gamma.size <= base.rank:
        raise EstimationError(
            f'{gamma.size} equations cannot determine {base.rank} parameters; record longer or '
            'raise harmonics= or cutoff='
        )
    nominal = np.asarray(base.matrix @ model.nominal_parameters)
    problem = Problem(psi, gamma, None, nominal, signals, base, model)
    covariance = row_covariance(problem)
    return Problem(psi, gamma, covariance, nominal, signals, base, model)


def row_covariance(problem: Problem) -> Array | None:
    """Noise covariance (m, n_a, n_a) of the rows, None where the spread is unknown.

    Force noise of the averaged period, plus position noise that comes in through the
    acceleration: w^2 M delta with M the inertia that the actuators see. M is that of a
    first least-squares solution.
    """
    signals = problem.signals
    band = signals.band
    if signals.force_noise is None or not isinstance(band, HarmonicBand):
        return None
    noise = signals.force_noise.by_harmonic(band.harmonics).copy()
    floor = (NEGLIGIBLE * np.maximum(signals.forces.std(axis=0), 1e-12)) ** 2
    noise += np.diag(np.maximum(floor, 1e-300))
    if signals.position_noise is not None and signals.measured_harmonics is not None:
        inertia = apparent_inertia(problem)
        position = signals.position_noise.by_harmonic(band.harmonics)
        through = inertia @ position @ inertia.T
        frequency = 2 * np.pi / band.period * np.arange(band.harmonics + 1)
        weight = np.where(signals.measured_harmonics, frequency**4, 0.0)
        noise += weight[:, None, None] * through
    return (noise / signals.averaged)[band.indices]


def apparent_inertia(problem: Problem) -> Array:
    """Mean inertia (n_a, n_a) that the actuators see, at the least-squares parameters."""
    signals, model = problem.signals, problem.model
    axes = signals.forces.shape[1]
    flat = problem.regressor.reshape(-1, problem.size)
    scale = np.maximum(np.linalg.norm(flat, axis=0), 1e-300)
    values = np.linalg.lstsq(flat / scale, problem.forces.ravel(), rcond=1e-6)[0] / scale
    rows = np.unique(np.linspace(0, len(signals) - 1, POSES).astype(int))
    poses = np.repeat(signals.positions[rows], axes + 1, axis=0)
    accelerations = np.tile(np.vstack([np.zeros(axes), np.eye(axes)]), (len(rows), 1))
    motion = model.motion_from_actuators(poses, np.zeros_like(poses), accelerations)
    forces = (problem.base.regressor(motion) @ values).reshape(len(rows), axes + 1, axes)
    return (forces[:, 1:] - forces[:, :1]).mean(axis=0).T
