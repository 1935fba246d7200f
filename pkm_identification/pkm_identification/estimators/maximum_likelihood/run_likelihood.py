"""Whitened rows of one periodic run along any motion, and their derivatives with it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array, ComplexArray
from pkm_identification.estimators.maximum_likelihood.motion_model import (
    MotionModel,
    complex_rows,
    real_rows,
)
from pkm_identification.estimators.maximum_likelihood.motion_noise import MotionNoise, motion_noise
from pkm_identification.regression.run import PeriodicRun, Run

MOST_UNKNOWNS = 8000  # of the motion of one run: their matrix takes 0.5 GB


class RunLikelihood:
    """Whitened rows of one run along any motion.

    The unknowns u are the deviations of the measured coefficients z from the true ones in
    units of their noise, xi = z - R u: their own part of the cost is |u|^2.
    """

    def __init__(self, run: Run, noise: MotionNoise) -> None:
        self.run, self.noise = run, noise
        self.model = MotionModel(run)
        self._whitener = noise.whitener
        self.unknowns = int(self.model.is_real.sum()) * run.axes
        if self.unknowns > MOST_UNKNOWNS:
            raise EstimationError(
                f"estimator 'maximum_likelihood' would have {self.unknowns} unknowns of the "
                f'motion, more than {MOST_UNKNOWNS}: lower harmonics='
            )

    def coefficients(self, motion: Array) -> ComplexArray:
        """True motion (L, n_a) at whitened deviations."""
        return self.model.measured - self._deviations(motion)

    def rows(self, motion: Array) -> tuple[Array, Array, Array]:
        """Whitened design (k, f), target (k,) and design (k, g) of the fixed parameters."""
        rows = self.run.rows_of(self.model.moved(self.coefficients(motion)))
        forces = complex_rows(rows.forces)
        harmonics = self.model.harmonics
        deviations = self._deviations(motion)[..., None]
        forces[harmonics] -= (self.noise.gain[harmonics] @ deviations)[..., 0]
        return (
            self._white(complex_rows(rows.regressor)),
            self._white(forces[..., None])[:, 0],
            self._white(complex_rows(rows.fixed)),
        )

    def gain(self, motion: Array, parameters: Array) -> Array:
        """Derivative (k, unknowns) of the whitened residuals with the unknowns."""
        jacobian = self.model.force_jacobian(self.coefficients(motion), parameters)
        return self._white(complex_rows(jacobian.noise_gain(self.noise)))

    def row_noise(self, gain: Array) -> Array:
        """Covariance (m, n_a, n_a) of the residuals of each row along the measured motion."""
        through = complex_rows(gain.reshape(-1, self.run.axes, gain.shape[1]))
        rows = real_rows(np.linalg.inv(self._whitener) @ through)
        own = self.noise.force_covariance.real[self.model.band.indices]
        return np.asarray(own + rows @ np.swapaxes(rows, 1, 2))

    def _deviations(self, motion: Array) -> ComplexArray:
        parts = np.zeros((len(self.model.is_real), self.run.axes))
        parts[self.model.is_real] = motion.reshape(-1, self.run.axes)
        whitened = parts[::2] - 1j * parts[1::2]
        roots = self.noise.position_root[self.model.harmonics]
        return np.asarray((roots @ whitened[..., None])[..., 0])

    def _white(self, coefficients: ComplexArray) -> Array:
        rows = real_rows(self._whitener @ coefficients)
        return np.asarray(rows.reshape(len(rows) * self.run.axes, coefficients.shape[-1]))


def noise_of(run: Run, rows: Array, position_noise: float | Sequence[float] | None) -> MotionNoise:
    """Noise of a run, from the noise (n_a, n_a) of its rows where there is no spread."""
    constant = rows if run.covariance is None else None
    return motion_noise(PeriodicRun(run).signals, constant, position_noise)
