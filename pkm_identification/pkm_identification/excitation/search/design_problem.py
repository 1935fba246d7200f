"""The design problem: criterion and limits as functions of Fourier coefficients and period."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pkm_description.errors import KinematicsError
from pkm_dynamics import BaseParameters, ClosedChainModel
from pkm_dynamics.analysis.clearances import BodyDistances
from pkm_dynamics.analysis.singularities import has_singularities, reciprocal_condition
from pkm_dynamics.joint_servo.expected_tracking import ErrorResponse, largest_commands, under_servo
from pkm_dynamics.joint_servo.gains import largest_errors, servo_gains
from pkm_dynamics.limits.feasibility import FeasibilityReport, check_feasibility
from pkm_dynamics.limits.margins import peaks
from pkm_dynamics.trajectories import Execution, FourierTrajectory
from pkm_identification.arrays import Array, Indices
from pkm_identification.excitation.information import information_factor
from pkm_identification.excitation.search.constraints import ConstraintTable, DesignLimits
from pkm_identification.excitation.search.criteria import POWERS, SMOOTHED, mixed
from pkm_identification.excitation.search.samples import Evaluator, Samples, local_derivatives
from pkm_identification.excitation.search.sequential_convex import Linearisation
from pkm_identification.excitation.search.unknowns import PERIOD_SCALE, FourierUnknowns

NEAR = 0.5  # constraints closer than this to their limits enter the linearised problem
SAMPLES_PER_HARMONIC = 12  # what rises between them is looked for on a finer grid
FEWEST_SAMPLES = 48
CHECKED_PER_OSCILLATION = 4000.0  # samples of the dense check, of the highest harmonic
SMOOTHING = 5.0  # samples over which Coulomb friction changes sign
PERIOD_STEP = 1e-6  # relative, for the derivative of the servo's answer
RIDGE = 1e-10  # of the information that is typical of a parameter, in place of none


@dataclass(frozen=True)
class DesignTask:
    """What is asked for."""

    weights: Mapping[str, float]  # {criterion: weight}
    harmonics: int
    period: float  # [s], of the first guess where it is free
    period_range: tuple[float, float] | None  # least and largest [s]; None: fixed
    limits: DesignLimits
    whitening: Array  # W (n_a, n_a) of the rows of a sample, W^T W the inverse noise covariance
    samples: float  # that the criterion is for, however long the period
    prior: Array | None = None  # information (n, n) that is there already


class DesignProblem(FourierUnknowns):
    """Criterion and limits of a Fourier trajectory that shall identify base parameters."""

    def __init__(self, model: ClosedChainModel, base: BaseParameters, task: DesignTask) -> None:
        super().__init__(model, task.harmonics, task.period, task.period_range)
        self.model, self.base, self.task, self.limits = model, base, task, task.limits
        self.options = task.limits.options(_home_condition(model))
        self._distances = BodyDistances(model)
        self.errors = _error_response(model, task.limits)
        self.allowed_errors = _allowed_errors(model, task.limits)  # (n_a,) [m, rad]
        errors, commands = np.full((2, model.n_a), np.inf)
        if self.errors is not None:
            errors = (1.0 - task.limits.error_margin) * self.allowed_errors
            commands = largest_commands(model, self.errors, task.limits.error_margin)
        self._table = ConstraintTable(
            model, self.options, self._distances, task.limits.reach, errors, commands
        )
        # by how much limits are moved inwards, of all samples or by sample (M, C)
        self.tightening: Array = np.zeros(self._table.count)
        self.ridge = np.zeros(base.rank)
        self.power = POWERS[0]  # the larger, the less smoothed the criterion
        self.prior_rows = None if task.prior is None else information_factor(task.prior)
        self._last: tuple[bytes, Samples] | None = None
        self._set_grid(max(SAMPLES_PER_HARMONIC * task.harmonics, FEWEST_SAMPLES))

    @cached_property
    def _evaluator(self) -> Evaluator:
        return self._evaluator_of(self._smoothed())

    def _set_grid(self, samples: int) -> None:
        """Value and two derivatives of offset, sines and cosines by phase: (M, 3, 1 + 2h)."""
        self.samples = samples
        order = np.arange(1, self.harmonics + 1)
        angle = np.outer(np.arange(samples) * 2.0 * np.pi / samples, order)
        sine, cosine = np.sin(angle) / order, np.cos(angle) / order
        zero, one = np.zeros((samples, 1)), np.ones((samples, 1))
        rows = (
            [one, sine, cosine],
            [zero, order * cosine, -order * sine],
            [zero, -(order**2) * sine, -(order**2) * cosine],
        )
        self.basis = np.stack([np.concatenate(row, axis=1) for row in rows], axis=1)

    def _evaluator_of(self, model: ClosedChainModel) -> Evaluator:
        return Evaluator(
            model, self.base, self.coordinates, self.options, self._distances, self._table.fields
        )

    def refined(self, factor: int) -> DesignProblem:
        """Return the problem of the robot as described on a finer grid, not tightened."""
        fine = self.changed(_evaluator=self._evaluator_of(self.model), _last=None)
        fine._set_grid(self.samples * factor)
        return fine.changed(tightening=np.zeros(self._table.count))

    def changed(self, **changes: Any) -> DesignProblem:
        """Return the problem with other attributes, as `tightening` or `power`."""
        other = copy.copy(self)
        vars(other).update(changes)
        return other

    @property
    def powers(self) -> tuple[float, ...]:
        """Of the smoothing of the criterion, for one search after the other."""
        smoothed = any(name in SMOOTHED for name in self.task.weights)
        return POWERS if smoothed else POWERS[:1]

    def followed(self, z: Array, fine: DesignProblem, margin: float = 0.0) -> DesignProblem:
        """Return the problem with limits tightened by what is seen between the samples at z.

        `fine` is this problem on a finer grid. How much worse a constraint gets within half
        a step of a sample is counted as the sample's, and so is what smoothing took away.
        """
        factor = fine.samples // self.samples
        around = np.roll(fine.peaks(z), factor // 2, axis=0)
        windows = around.reshape(self.samples, factor, -1)
        highest = np.maximum(windows.max(axis=1), np.roll(windows[:, 0], -1, axis=0))
        return self.changed(tightening=highest - self._table.values(self.evaluate(z)) + margin)

    def peaks(self, z: Array) -> Array:
        """Return the sampled constraints (M, C), maxima raised to what lies between samples.

        Those of where the robot is and how fast it moves are the worse of the motion and of what
        the servo makes of it.
        """
        samples = self.evaluate(z)
        values = self._values(samples)
        if self.errors is not None:
            values[:, self._table.of_state] = np.maximum(
                values[:, self._table.of_state], self._executed_values(samples, z)
            )
        return peaks(np.concatenate([values[-1:], values, values[:1]]))[1:-1]

    def _executed_values(self, samples: Samples, z: Array) -> Array:
        """Values (M, C_s) of the constraints of position and speed where the servo leaves errors.

        -inf where the loops do not close there.
        """
        speeds = spectral_derivative(samples.tracking, self.split(z)[1])
        actuated = [self.model.joint_names.index(name) for name in self.model.actuated_joints]
        positions = samples.positions[:, actuated] - samples.tracking
        velocities = samples.velocities[:, actuated] - speeds
        try:
            motion = self.model.motion_from_actuators(positions, velocities, 0.0 * speeds)
            executed = self._evaluator.samples_of(motion)
        except KinematicsError:  # far off: the errors themselves are too large
            return np.full((len(speeds), np.count_nonzero(self._table.of_state)), -np.inf)
        return self._values(executed)[:, self._table.of_state]

    def regularised(self, reference: Array) -> DesignProblem:
        """Return the problem whose singular information is made up for by a little of each.

        `reference` (n_z,) is a motion that shows what size of information is typical.
        """
        rows = self._rows(self.evaluate(reference))
        lengths = np.linalg.norm(rows, axis=0)
        typical = np.median(lengths[lengths > 0.0]) if np.any(lengths > 0.0) else 1.0
        return self.changed(ridge=np.sqrt(RIDGE) * np.maximum(lengths, 1e-3 * typical))

    def states(self, z: Array) -> Array:
        """Return (M, 3, n_c) states along one period."""
        amplitudes, period = self.split(z)
        w = 2.0 * np.pi / period
        states = np.einsum('tob,ib->toi', self.basis, amplitudes)
        states *= np.array([1.0, w, w * w])[:, None]
        states[:, 0] += self.home
        return states

    # -- criterion and limits ------------------------------------------------------

    def evaluate(self, z: Array) -> Samples:
        """Return what the model says along the motion; raises KinematicsError.

        The last answer is kept: an optimiser asks for the derivatives where it just asked
        for the value.
        """
        key = z.tobytes()
        if self._last is None or self._last[0] != key:
            samples = self._evaluator.evaluate(self.states(z))
            if self.errors is not None:
                answer = self.errors.settled(_forces(samples), self.split(z)[1])
                samples = dataclasses.replace(
                    samples, tracking=answer.errors, commands=answer.feedback
                )
            self._last = key, samples
        return self._last[1]

    def value(self, z: Array) -> tuple[float, float]:
        """Return the criterion and the worst constraint value over all samples."""
        try:
            samples = self.evaluate(z)
        except KinematicsError:
            return np.inf, np.inf
        return self._criterion(samples)[0], float(self._worst(samples, z).max())

    def constraints(self, z: Array) -> Array:
        """Return the worst value of each constraint over the samples (C,)."""
        try:
            return self._worst(self.evaluate(z), z)
        except KinematicsError:
            return np.full(self._table.count + 2 * self.free, np.inf)

    def geometric_excess(self, z: Array) -> float:
        """Return the worst value of the limits that no longer period can help."""
        worst = self.constraints(z)[: self._table.count]
        return float(worst[self._table.geometric].max(initial=-np.inf))

    def linearise(self, z: Array) -> Linearisation:
        """Return criterion and near constraints at z with their derivatives."""
        samples, states = self.evaluate(z), self.states(z)
        value, slope = self._criterion(samples)
        values = self._values(samples)
        near = np.any(values[:, self._table.of_pose] > -NEAR, axis=1)
        local = local_derivatives(self._evaluator, states, samples, slope, near)
        rows, columns = np.nonzero(values > -NEAR)
        w = 2.0 * np.pi / self.split(z)[1]
        count = self.shape[0] * self.shape[1]
        gradient = np.zeros(self.shape)
        jacobian = np.zeros((len(rows), self.size))
        by_amplitude = jacobian[:, :count].reshape(len(rows), *self.shape)
        by_period, time_slopes = 0.0, np.zeros(len(rows))
        by_servo = self._table.of_servo[columns]
        force_slopes = np.zeros((*samples.high.shape, self.size if by_servo.any() else 0))
        for order, i, derivative in local:
            basis = self.basis[:, order] * (self.scale[i] * w**order)
            along = derivative.regressor
            gradient[i] += along @ basis
            slopes = self._table.slopes(derivative)[rows, columns]
            by_amplitude[:, i] += slopes[:, None] * basis[rows]
            if by_servo.any():
                own = slice(i * self.shape[1], (i + 1) * self.shape[1])
                force_slopes[:, :, own] += _forces(derivative)[:, :, None] * basis[:, None]
                if self.free and order:
                    speed = -PERIOD_SCALE * order * states[:, order, i]
                    force_slopes[:, :, count] += _forces(derivative) * speed[:, None]
            if self.free and order:  # d/dlog w of (x, xd, xdd) is (0, xd, 2 xdd)
                speed = -PERIOD_SCALE * order * states[:, order, i]
                by_period += float(along @ speed)
                time_slopes += slopes * speed[rows]
        total = gradient.ravel()
        jacobian[:, :count] = by_amplitude.reshape(len(rows), count)
        if self.free:
            jacobian[:, count] = time_slopes
        if by_servo.any():
            servo_slopes = self._table.servo_slopes(self._servo_slopes(samples, force_slopes, z))
            jacobian[by_servo] = servo_slopes[rows[by_servo], columns[by_servo]]
        constraints, labels = values[rows, columns], rows * values.shape[1] + columns
        if self.free:
            total = np.append(total, by_period)
            bounds = np.zeros((2, self.size))
            bounds[:, count] = 1.0, -1.0
            constraints = np.concatenate([constraints, self._period_excess(z)])
            jacobian = np.concatenate([jacobian, bounds])
            labels = np.append(labels, values.size + np.arange(2))
        return Linearisation(value, total, constraints, jacobian, labels)

    def _servo_slopes(self, samples: Samples, force_slopes: Array, z: Array) -> dict[str, Array]:
        """Derivatives (M, n_a, n_z) of what the servo does from those of the forces, by field."""
        assert self.errors is not None
        period = self.split(z)[1]
        slopes = self.errors.settled(force_slopes, period)
        if self.free:  # the same forces in a longer period
            longer = self.errors.settled(_forces(samples), period * (1.0 + PERIOD_STEP))
            before = samples.tracking, samples.commands
            for slope, after, here in zip(slopes, longer, before, strict=True):
                slope[:, :, -1] += PERIOD_SCALE * (after - here) / PERIOD_STEP
        return dict(zip(('tracking', 'commands'), slopes, strict=True))

    def constraints_of(self, z: Array, labels: Indices) -> Array:
        """Return the values at z of the constraints (K,) that a linearisation holds."""
        values = self._values(self.evaluate(z)).ravel()
        return np.concatenate([values, self._period_excess(z)])[labels]

    def _worst(self, samples: Samples, z: Array) -> Array:
        return np.concatenate([self._values(samples).max(axis=0), self._period_excess(z)])

    def _values(self, samples: Samples) -> Array:
        """Values (M, C) of the sampled constraints."""
        return np.asarray(self._table.values(samples) + self.tightening)

    def _period_excess(self, z: Array) -> Array:
        """Values of the bounds on the logarithm of a free period (2,), in units of the unknown."""
        if self.task.period_range is None:
            return np.zeros(0)
        low, high = np.log(np.array(self.task.period_range) / self.task.period) / PERIOD_SCALE
        return np.array([z[-1] - high, low - z[-1]])

    def _rows(self, samples: Samples) -> Array:
        """Whitened regressor (M n_a, n) for the number of samples that the criterion is for."""
        size = np.sqrt(self.task.samples / self.samples)
        W = np.einsum('ab,tbn->tan', size * self.task.whitening, samples.regressor)
        return np.asarray(W.reshape(-1, W.shape[2]))

    def information_rows(self, z: Array) -> Array:
        """Return W (m, n) whose W^T W is the information along z and that of the prior."""
        rows = self._rows(self.evaluate(z))
        return rows if self.prior_rows is None else np.concatenate([rows, self.prior_rows])

    def _criterion(self, samples: Samples) -> tuple[float, Array]:
        """Value, and gradient with respect to the regressor (M, n_a, n)."""
        rows = self._rows(samples)
        parts = [rows]
        if self.prior_rows is not None:
            parts.append(self.prior_rows)
        if np.any(self.ridge):
            parts.append(np.diag(self.ridge))
        value, slope = mixed(self.task.weights, np.concatenate(parts), self.power)
        slope = slope[: len(rows)].reshape(samples.regressor.shape)
        size = np.sqrt(self.task.samples / self.samples)
        return value, np.einsum('ab,tan->tbn', size * self.task.whitening, slope)

    def check(
        self, trajectory: FourierTrajectory | Execution, rate: float | None = None
    ) -> FeasibilityReport:
        """Return the dense feasibility report within the design limits.

        At the rate that `check_feasibility` takes by default; slow motions at less.
        """
        period = (trajectory.trajectory if isinstance(trajectory, Execution) else trajectory).period
        assert period is not None
        if rate is None and CHECKED_PER_OSCILLATION * self.harmonics < 1000.0 * period:
            rate = CHECKED_PER_OSCILLATION * self.harmonics / period
        limits = dataclasses.asdict(self.options)
        report = check_feasibility(self.model, trajectory, rate=rate, **limits)
        if self.errors is None or not report.feasible:
            return report
        given = report, self.model, trajectory, self.errors, self.allowed_errors
        return under_servo(*given, left_free=self.limits.error_margin, limits=limits)

    def _smoothed(self) -> ClosedChainModel:
        """Return the robot with Coulomb friction that changes sign slowly enough to be sampled.

        The forces of the description's narrow transition jump from sample to sample,
        which no derivative can see; figures and checks use the robot as described.
        """
        speed = self.scale[0] * 2.0 * np.pi * self.harmonics / self.task.period
        width = SMOOTHING * speed / self.samples
        if width <= self.model.description.transition_velocity:
            return self.model
        description = dataclasses.replace(self.model.description, transition_velocity=width)
        return type(self.model)(description)


def _error_response(model: ClosedChainModel, limits: DesignLimits) -> ErrorResponse | None:
    """What the servo of the limits leaves; None where there is none."""
    if limits.bandwidth == np.inf:
        return None
    gains = servo_gains(model, limits.bandwidth, limits.damping, limits.gain_scale)
    return ErrorResponse(model, gains)


def _allowed_errors(model: ClosedChainModel, limits: DesignLimits) -> Array:
    """Largest errors (n_a,) [m, rad] that do not end a motion."""
    if limits.max_error is None:
        return largest_errors(model)
    return np.full(model.n_a, float(limits.max_error))


def spectral_derivative(values: Array, period: float) -> Array:
    """Return the derivative (M, n) of even samples (M, n) of a period [s]."""
    spectrum = np.fft.rfft(values, axis=0)
    spectrum *= 2j * np.pi * np.arange(len(spectrum))[:, None] / period
    return np.fft.irfft(spectrum, len(values), axis=0)


def _forces(samples: Samples) -> Array:
    """Forces (M, n_a) of the model without its uncertainty, or their derivatives."""
    return 0.5 * (samples.high + samples.low)


def _home_condition(model: ClosedChainModel) -> float:
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
