"""The design problem: criterion and limits as functions of Fourier coefficients."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import KinematicsError, TrajectoryError
from pkm_dynamics.conditioning import has_singularities, reciprocal_condition
from pkm_dynamics.feasibility import FeasibilityReport, check_feasibility
from pkm_dynamics.rotations import rotation_to_rpy
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification.excitation.constraints import ConstraintTable, DesignLimits
from pkm_identification.excitation.criteria import CRITERIA
from pkm_identification.excitation.sensitivities import Samples, evaluate, linearise, motion_of

Array = NDArray[np.float64]

ROTATION_SCALE = 0.25  # [rad]
NEAR = 0.5  # constraints closer than this to their limits enter the linearised problem
SAMPLES_PER_HARMONIC = 12
FEWEST_SAMPLES = 48
SMOOTHING = 5.0  # samples over which Coulomb friction changes sign


@dataclass(frozen=True)
class Linearisation:
    """First-order model of the problem at some unknowns z.

    Attributes
    ----------
    value : float
        Criterion.
    gradient : (n_z,)
    constraints : (K,)
        The sampled constraints near their limits, feasible when not positive.
    jacobian : (K, n_z)
    """

    value: float
    gradient: Array
    constraints: Array
    jacobian: Array


class DesignProblem:
    """Criterion and aggregated limits of a Fourier trajectory of one robot.

    The unknowns z (n_c * (1 + 2 harmonics)) are offsets from home and amplitudes,
    each divided by a typical size; z = 0 is rest at home.

    Parameters
    ----------
    model, base
        The robot and the base parameters to be identified.
    criterion : str
        Key of `CRITERIA`.
    harmonics, period
        Of the series.
    limits : DesignLimits
    whitening : (n_a, n_a)
        Multiplies the rows of each sample, W^T W the inverse noise covariance.
    coordinates : 'platform' or 'actuators'
    """

    def __init__(
        self,
        model: Any,
        base: Any,
        criterion: str,
        harmonics: int,
        period: float,
        limits: DesignLimits,
        whitening: Array,
        coordinates: str,
    ) -> None:
        self.model, self.base, self.criterion = model, base, criterion
        self.harmonics, self.period, self.limits = harmonics, period, limits
        self.whitening, self.coordinates = whitening, coordinates
        if coordinates == 'platform':
            self.home = np.concatenate([model.home_position, rotation_to_rpy(model.home_rotation)])
            stroke = _typical(np.asarray(model.upper) - np.asarray(model.lower), 0.4)
            self.scale = np.array([0.25 * stroke] * 3 + [ROTATION_SCALE] * 3)
        else:
            self.home = np.asarray(model.home_actuators, dtype=float)
            span = np.asarray(model.upper) - np.asarray(model.lower)
            self.scale = 0.25 * np.where(np.isfinite(span), span, _typical(span, 1.0))
        self.n_c = len(self.home)
        self.size = self.n_c * (1 + 2 * harmonics)
        self.samples = max(SAMPLES_PER_HARMONIC * harmonics, FEWEST_SAMPLES)
        self.basis = self._basis(np.arange(self.samples) * period / self.samples)
        self.condition_limit = limits.condition_factor * _home_condition(model)
        self._table = ConstraintTable(model, limits, self.condition_limit)
        self.tightening: Array = np.zeros(self._table.count)
        self.smooth = self._smoothed()

    def _basis(self, time: Array) -> Array:
        """Value and two derivatives of offset, sines and cosines: (M, 3, 1 + 2h)."""
        order = np.arange(1, self.harmonics + 1)
        w = 2.0 * np.pi * order / self.period
        sine, cosine = np.sin(np.outer(time, w)) / order, np.cos(np.outer(time, w)) / order
        zero, one = np.zeros((len(time), 1)), np.ones((len(time), 1))
        return np.stack(
            [
                np.concatenate([one, sine, cosine], axis=1),
                np.concatenate([zero, w * cosine, -w * sine], axis=1),
                np.concatenate([zero, -(w**2) * sine, -(w**2) * cosine], axis=1),
            ],
            axis=1,
        )

    def unsmoothed(self) -> DesignProblem:
        """Return the problem of the robot as described, on the same grid."""
        exact = copy.copy(self)
        exact.smooth = self.model
        exact.tightening = self.tightening.copy()
        return exact

    def refined(self, factor: int) -> DesignProblem:
        """Return the problem of the robot as described on a finer grid, not tightened."""
        fine = copy.copy(self)
        fine.smooth = self.model
        fine.samples = self.samples * factor
        fine.basis = self._basis(np.arange(fine.samples) * self.period / fine.samples)
        fine.tightening = np.zeros_like(self.tightening)
        return fine

    def states(self, z: Array) -> Array:
        """Return (M, 3, n_c) states along one period."""
        coefficients = z.reshape(self.n_c, -1) * self.scale[:, None]
        states = np.einsum('tob,ib->toi', self.basis, coefficients)
        states[:, 0] += self.home
        return states

    def trajectory(self, z: Array) -> FourierTrajectory:
        """Return the trajectory of the unknowns."""
        amplitude = z.reshape(self.n_c, -1) * self.scale[:, None]
        order = np.arange(1, self.harmonics + 1)
        h = self.harmonics
        return FourierTrajectory(
            self.period,
            self.home + amplitude[:, 0],
            amplitude[:, 1 : 1 + h] / order,
            amplitude[:, 1 + h :] / order,
            coordinates=self.coordinates,
            coordinate_names=(
                None if self.coordinates == 'platform' else list(self.model.actuated_joints)
            ),
            robot=self.model.description.name,
        )

    def unknowns(self, trajectory: FourierTrajectory) -> Array:
        """Return z of a trajectory with the same harmonics, for a warm start."""
        if trajectory.sine.shape != (self.n_c, self.harmonics):
            raise TrajectoryError(
                f'a start needs {self.n_c} coordinates and {self.harmonics} harmonics, '
                f'got {trajectory.sine.shape}'
            )
        order = np.arange(1, self.harmonics + 1)
        parts = [
            (trajectory.offset - self.home)[:, None],
            trajectory.sine * order,
            trajectory.cosine * order,
        ]
        return np.asarray((np.concatenate(parts, axis=1) / self.scale[:, None]).ravel())

    def value(self, z: Array) -> tuple[float, float]:
        """Return the criterion and the worst constraint value over all samples."""
        try:
            samples = evaluate(self.smooth, self.base, self.coordinates, self.states(z))
        except KinematicsError:
            return np.inf, np.inf
        values = self._table.values(samples) + self.tightening
        return CRITERIA[self.criterion](self._stack(samples))[0], float(values.max())

    def constraints(self, z: Array) -> Array:
        """Return the worst value of each constraint over the samples (C,)."""
        try:
            samples = evaluate(self.smooth, self.base, self.coordinates, self.states(z))
        except KinematicsError:
            return np.full(self._table.count, np.inf)
        return np.asarray(self._table.values(samples).max(axis=0) + self.tightening)

    def linearise(self, z: Array) -> Linearisation:
        """Return criterion and near constraints at z with their derivatives."""
        samples, local = linearise(self.smooth, self.base, self.coordinates, self.states(z))
        value, slope = CRITERIA[self.criterion](self._stack(samples))
        slope = slope.reshape(samples.regressor.shape)
        slope = np.einsum('ab,tan->tbn', self.whitening, slope)
        values = self._table.values(samples) + self.tightening
        rows, columns = np.nonzero(values > -NEAR)
        gradient = np.zeros((self.n_c, self.basis.shape[2]))
        jacobian = np.zeros((len(rows), *gradient.shape))
        for order, i, derivative in local:
            basis = self.basis[:, order] * self.scale[i]
            gradient[i] += np.einsum('tan,tan->t', slope, derivative.regressor) @ basis
            slopes = self._table.slopes(derivative)[rows, columns]
            jacobian[:, i] += slopes[:, None] * basis[rows]
        return Linearisation(
            value, gradient.ravel(), values[rows, columns], jacobian.reshape(len(rows), -1)
        )

    def _stack(self, samples: Samples) -> Array:
        W = np.einsum('ab,tbn->tan', self.whitening, samples.regressor)
        return np.asarray(W.reshape(-1, W.shape[2]))

    def check(self, trajectory: Any, rate: float = 1000.0) -> FeasibilityReport:
        """Return the dense feasibility report within the design limits."""
        return check_feasibility(
            self.model,
            trajectory,
            rate=rate,
            force_margin=self.limits.force_margin,
            velocity_margin=self.limits.velocity_margin,
            stroke_margin=self.limits.stroke_margin,
            condition_limit=self.condition_limit,
        )

    def _smoothed(self) -> Any:
        """Return the robot with Coulomb friction that changes sign slowly enough to be sampled.

        The forces of the description's narrow transition jump from sample to sample,
        which no derivative can see; figures and checks use the robot as described.
        """
        speed = np.linalg.norm(self.scale[:1]) * 2.0 * np.pi * self.harmonics / self.period
        width = SMOOTHING * speed / self.samples
        if width <= self.model.description.transition_velocity:
            return self.model
        description = dataclasses.replace(self.model.description, transition_velocity=width)
        return type(self.model)(description)

    def motion(self, trajectory: FourierTrajectory, time: Array) -> Any:
        """Return the platform motion at `time` (N,) [s]."""
        return motion_of(self.model, self.coordinates, np.stack(trajectory.evaluate(time), axis=1))


def _typical(span: Array, fallback: float) -> float:
    finite = np.asarray(span)[np.isfinite(span)]
    return float(finite.min()) if finite.size else fallback


def _home_condition(model: Any) -> float:
    """Condition number of the scaled Jacobian at home; 1 where there is no singularity."""
    if not has_singularities(model):
        return 1.0
    home = reciprocal_condition(
        model,
        np.asarray(model.home_position)[None],
        np.asarray(model.home_rotation)[None],
        np.asarray(model.home_actuators)[None],
    )
    return float(1.0 / home[0])


def check_names(criterion: str, choices: Sequence[str] = tuple(CRITERIA)) -> None:
    """Refuse an unknown criterion."""
    if criterion not in choices:
        raise TrajectoryError(
            f"criterion '{criterion}' is unknown; valid are {', '.join(sorted(choices))}"
        )
