"""Forces as a function of the Fourier coefficients of the actuators' motion.

A force at one instant depends on the motion through positions, velocities and accelerations
at that instant alone. Its local derivatives, 3 n_a directions however many harmonics there
are, give all derivatives between Fourier coefficients exactly: multiplying by a sine shifts
a spectrum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array, ComplexArray, Indices, Mask
from pkm_identification.estimators.maximum_likelihood.motion_noise import MotionNoise
from pkm_identification.regression.run import PeriodicRun, in_blocks
from pkm_identification.signals import Signals
from pkm_identification.signals.fourier import FourierFit

Function = Callable[[Any], Array]

POSITION_STEP = 1e-5  # [m, rad]
VELOCITY_STEP = 1e-5  # [m/s, rad/s]
ACCELERATION_STEP = 1.0  # [m/s^2, rad/s^2], exact at any size
CHUNK = 500  # samples, with all their neighbours


@dataclass(frozen=True)
class MotionModel(PeriodicRun):
    """One periodic run whose motion is a Fourier series.

    Coefficients are complex and orthonormal, see `motion_noise`. Those of the motion are
    (L, n_a), for the measured harmonics only; elsewhere there is no motion.
    """

    @cached_property
    def harmonics(self) -> Indices:
        """Measured harmonics (L,) of the motion."""
        measured = self.signals.measured_harmonics
        if measured is None:
            return np.arange(self.band.harmonics + 1)
        return np.flatnonzero(measured | (np.arange(len(measured)) == 0))

    @cached_property
    def is_real(self) -> Mask:
        """Which (2 L,) of the real and imaginary parts of the coefficients exist."""
        parts = np.ones((len(self.harmonics), 2), dtype=bool)
        parts[self.harmonics == 0, 1] = False
        return parts.ravel()

    @cached_property
    def frequencies(self) -> Array:
        """Of the measured harmonics (L,) [rad/s]."""
        return np.asarray(2 * np.pi / self.band.period * self.harmonics, dtype=float)

    @cached_property
    def measured(self) -> ComplexArray:
        """Measured coefficients (L, n_a) of the averaged motion, at the stamps of positions."""
        count = len(self.signals)
        spectrum = np.fft.rfft(self.signals.positions, axis=0)[self.harmonics]
        spectrum *= np.exp(-1j * self.frequencies * self.signals.delay)[:, None]
        return spectrum * self._scale[:, None] * np.sqrt(2 / count)

    def moved(self, coefficients: ComplexArray) -> Signals:
        """Return the signals with another motion."""
        count = len(self.signals)
        amplitudes = np.zeros((self.band.harmonics + 1, coefficients.shape[1]), dtype=complex)
        amplitudes[self.harmonics] = coefficients * self._scale[:, None] * np.sqrt(2 / count)
        series = FourierFit(amplitudes, self.band.period)
        q, qd, qdd = (series.sampled(count, self.signals.delay, order) for order in range(3))
        return self.signals.with_samples(positions=q, velocities=qd, accelerations=qdd)

    def force_jacobian(self, coefficients: ComplexArray, parameters: Array) -> ForceJacobian:
        """Linearise the forces of base parameters (r,) around a motion."""
        standard = self.run.base.columns @ parameters

        def forces(motion: Any) -> Array:
            return self.run.model.inverse_dynamics(motion, standard)

        return ForceJacobian(self, self._local(coefficients, forces, VELOCITY_STEP))

    def regressor_jacobian(self, coefficients: ComplexArray, noise: MotionNoise) -> ForceJacobian:
        """Linearise the base regressor around a motion.

        Over the standard deviation of the velocities: Coulomb friction changes within
        millimetres a second, and what noise makes of it is bounded.
        """
        count = len(self.signals)
        roots = noise.position_root[self.harmonics]
        power = np.sum(np.abs(roots) ** 2, axis=2) * (self.frequencies**2)[:, None]
        deviation = np.sqrt(2 / count * power.sum(axis=0))
        step = np.maximum(deviation, VELOCITY_STEP)
        return ForceJacobian(self, self._local(coefficients, self.run.base.regressor, step))

    @property
    def _scale(self) -> Array:
        """Weight (L,) of the mean against harmonics in orthonormal coefficients."""
        return np.where(self.harmonics == 0, np.sqrt(0.5), 1.0)

    def _local(
        self, coefficients: ComplexArray, function: Function, velocity_step: Array | float
    ) -> Array:
        """Derivatives (n, 3, n_a, ...) with positions, velocities and accelerations."""
        signals = self.moved(coefficients)
        step = self.band.stride(len(signals))
        motion = signals.positions, signals.velocities, signals.accelerations
        states = np.stack(motion, axis=1)[::step]

        def local(part: slice) -> Array:
            return local_derivatives(self.run.model, states[part], function, velocity_step)

        return in_blocks(len(states), local, CHUNK)


class ForceJacobian:
    """Derivatives of Fourier coefficients of forces with those of the motion.

    From the local ones (n, 3, n_a, n_a, ...) with positions, velocities and accelerations of
    each actuator (third index) of the force of each (fourth).
    """

    def __init__(self, model: MotionModel, local: Array) -> None:
        self.model = model
        reach = model.band.harmonics + int(model.harmonics[-1])  # of harmonics that meet
        self._offset = reach
        wanted = np.arange(-reach, reach + 1)
        self._spectra = np.fft.fft(local, axis=0)[wanted % len(local)] / len(local)

    def column(self, index: int, directions: ComplexArray) -> ComplexArray:
        """Change (K + 1, n_a, d, 2, ...) of all force coefficients with one of the motion.

        For changes (n_a, d) of its real part, and of its imaginary one, of the measured
        harmonic with this index.
        """
        model = self.model
        harmonic, frequency = model.harmonics[index], model.frequencies[index]
        order = (1j * frequency) ** np.arange(3) * np.exp(1j * frequency * model.signals.delay)
        outputs = np.arange(model.band.harmonics + 1)

        def shifted(rows: Indices) -> ComplexArray:
            local = np.einsum('d,kdja...->kja...', order, self._spectra[rows + self._offset])
            return np.einsum('kja...,jd->kad...', local, directions)

        ahead, behind = shifted(outputs - harmonic), shifted(-outputs - harmonic).conj()
        change = np.stack([ahead + behind, -1j * (ahead - behind)], axis=3)
        if harmonic == 0:
            change = change * np.sqrt(0.5)
        change[0] *= np.sqrt(0.5)
        change[0] = change[0].real
        return np.asarray(change)

    def noise_gain(self, noise: MotionNoise) -> Array:
        """Change (m, n_a, unknowns) of Gamma - Psi p with noise of unit variance of the motion.

        Larger measured positions are less true motion for the same measurement, and more of
        the force noise that goes with them: the derivatives with the motion less the gain of
        the noise. For each measured harmonic real, then imaginary parts of all actuators.
        """
        columns = []
        for index, harmonic in enumerate(self.model.harmonics):
            root = noise.position_root[harmonic]
            change = self.column(index, root)
            forced = noise.gain[harmonic] @ root
            change[harmonic, :, :, 0] -= forced
            change[harmonic, :, :, 1] += 1j * forced
            parts = np.swapaxes(real_rows(change), 2, 3)[:, :, : 2 if harmonic else 1]
            columns.append(parts.reshape(*parts.shape[:2], -1))
        return np.concatenate(columns, axis=2)


def local_derivatives(
    model: ClosedChainModel, states: Array, function: Function, velocity_step: Array | float
) -> Array:
    """Differentiate a function (N, ...) of the motion with every sample's state: (n, 3, n_a, ...).

    States are positions, velocities and accelerations (n, 3, n_a) of the actuators. Exact in
    accelerations, in which forces are affine; central differences in velocities, in which all
    but Coulomb friction is quadratic (by a step, scalar or (n_a,)), and in positions.
    """
    count, _, axes = states.shape
    here = model.motion_from_actuators(*np.moveaxis(states, 1, 0))
    steps = [
        np.broadcast_to(step, (axes,)) for step in (POSITION_STEP, velocity_step, ACCELERATION_STEP)
    ]
    sides = np.zeros((6, axes, 3, axes))
    for order, step in enumerate(steps):
        for sign, side in ((1.0, 0), (-1.0, 3)):
            sides[side + order, :, order] = sign * np.diag(step)
    shifts = sides[:5].reshape(-1, 3, axes)  # one side suffices for accelerations
    batch = (states[:, None] + shifts).reshape(-1, 3, axes)
    # neighbours in time stay neighbours in the batch: each pose starts the search for the next
    motion = model.motion_from_actuators(*np.moveaxis(batch, 1, 0))
    values = function(motion)
    values = values.reshape(count, 5, axes, *values.shape[1:])
    values[:, 2] -= function(here)[:, None]
    values[:, :2] = (values[:, :2] - values[:, 3:]) / 2
    widths = np.stack(steps).reshape(3, axes, *[1] * (values.ndim - 3))
    return np.asarray(values[:, :3] / widths)


def complex_rows(rows: Array) -> ComplexArray:
    """Coefficients (K + 1, ...) of rows (2 K + 1, ...) of a `HarmonicBand`."""
    coefficients = np.zeros(((len(rows) + 1) // 2, *rows.shape[1:]), dtype=complex)
    coefficients[0] = rows[0]
    coefficients[1:] = rows[1::2] - 1j * rows[2::2]
    return coefficients


def real_rows(coefficients: ComplexArray) -> Array:
    """Rows (2 K + 1, ...) of coefficients (K + 1, ...)."""
    rows = np.empty((2 * len(coefficients) - 1, *coefficients.shape[1:]))
    rows[0] = coefficients[0].real
    rows[1::2] = coefficients[1:].real
    rows[2::2] = -coefficients[1:].imag
    return rows
