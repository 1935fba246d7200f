"""Gauss-Newton steps of `output_error`, and the covariance of what they find."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from pkm_description.errors import EstimationError, SimulationError
from pkm_dynamics.joint_servo.steady_state import SteadyState
from pkm_identification.arrays import Array, Indices
from pkm_identification.covariance.residual_scaling import SIGNIFICANCE
from pkm_identification.covariance.residual_spectrum import noise_by_frequency
from pkm_identification.estimators.output_error.simulated_run import SimulatedRun
from pkm_identification.regression.numerics import (
    column_sizes,
    inverse_square,
    rounding_variance,
    scaled_least_squares,
    with_variance,
)
from pkm_identification.regression.problem import Problem, row_covariance
from pkm_identification.regression.weighted_least_squares import Estimate, inverse_root

SIMULATION_TOLERANCE = 1e-9  # of the steady state: far below the noise of any force
SINGULAR_STEP = 1e-10  # of the largest singular value: directions below make no step
TRACKING = 3.0  # of the position noise: simulated positions further away are not the robot's
LAG_SHARE, MOTION_SHARE = 0.05, 1e-4  # of the servo's lag and of the motion: not worth a warning
SHORTEST_STEP = 1e-3  # share of a step that still cannot be simulated: the search is lost
EXACT = 1e-4  # of a value: smaller standard deviations count as this


@dataclass(frozen=True)
class OutputErrorDiagnostics:
    """How the search went, and how the simulated robot differs; one entry a run but of steps."""

    iterations: int
    steps: tuple[float, ...]  # largest change of each iteration [standard deviations]
    closed_loop_residual_ratio: tuple[float, ...]  # mean square over what the noise explains
    reference_shift: tuple[float, ...]  # added to the stamps of the data [s]
    tracking_difference: tuple[Array, ...]  # (n_a,) measured less simulated positions [m, rad]
    simulation_iterations: tuple[int, ...]


@dataclass(frozen=True)
class _Linear:
    """The rows of one run around the present values."""

    residuals: Array  # (m, n_a)
    instruments: Array  # (m, n_a, r), what the weighted residuals are made orthogonal to
    jacobian: Array  # (m, n_a, r), change of the simulated rows with the parameters
    noise: Array  # (m, n_a, n_a)


class OutputErrorFit:
    """Gauss-Newton on the simulated forces of all runs, from values (f,).

    `lost` parameters, which the data do not determine, stay where they start. `exact` takes
    the Jacobian of the closed loop, not that of a motion that stays where it is.
    """

    def __init__(
        self, problem: Problem, runs: list[SimulatedRun], values: Array, lost: Indices, exact: bool
    ) -> None:
        self.problem, self.runs, self.values, self.exact = problem, runs, values, exact
        self.lost = lost
        self.states: list[SteadyState] = []
        self._settle(values)

    def step(self) -> float:
        """Move the values; return the step in standard deviations."""
        problem = self.problem
        design = [problem.prior_rows]
        target = [problem.prior_target - problem.prior_rows @ self.values]
        for each in (self._linear(k, self.exact) for k in range(len(self.runs))):
            root = inverse_root(each.noise)
            free = each.instruments[..., problem.free]
            design.append((root @ free).reshape(-1, problem.size))
            target.append((root @ each.residuals[..., None]).ravel())
        rows, right = np.concatenate(design), np.concatenate(target)
        scale = column_sizes(rows)
        step = scaled_least_squares(rows, right, SINGULAR_STEP)
        inverse = np.linalg.pinv(rows / scale, rcond=SINGULAR_STEP)
        deviation = np.sqrt(np.sum(inverse**2, axis=1)) / scale
        least = np.maximum(EXACT * np.abs(self.values), 1e-300)
        size = float(np.max(np.abs(step) / np.maximum(deviation, least)))
        share = 1.0
        while True:
            try:
                self._settle(self.values + share * step)
                break
            except SimulationError as error:
                share *= 0.5
                if share < SHORTEST_STEP:
                    raise EstimationError(f'output_error: {error}') from error
        self.values = self.values + share * step
        return size

    def _settle(self, values: Array) -> None:
        """Simulate all runs and move their clocks."""
        everything = self.problem.expand(values)
        states = []
        for run, start in zip_longest(self.runs, self.states):  # None where there is no state yet
            try:
                states.append(run.simulate(everything, start, SIMULATION_TOLERANCE))
            except SimulationError:
                if start is None:
                    raise
                states.append(run.simulate(everything, None, SIMULATION_TOLERANCE))
        self.states = states
        for _ in range(2):  # the second time from nearby
            self.runs = [run.aligned(state) for run, state in zip(self.runs, states, strict=True)]

    def _linear(self, number: int, answers: bool) -> _Linear:
        """Rows of a run; `answers`: the Jacobian is that of the closed loop."""
        run, state = self.runs[number], self.states[number]
        regressor = run.regressor(state)
        regressor[..., self.problem.free[self.lost]] = 0.0  # stay at their nominal values
        rows = run.rows(regressor)
        jacobian = run.rows(state.force_change(regressor)) if answers else rows
        residuals = run.forces - run.rows(state.forces)
        noise = row_covariance(run.signals, None)  # with what the servo makes of noise
        if noise is None:
            share = self.problem.size * len(residuals) / self._rows
            spread = residuals.T @ residuals / max(len(residuals) - share, 1.0)
            floor = rounding_variance(np.sqrt(np.mean(run.forces**2, axis=0)))
            noise = np.array([spread + np.diag(floor)] * len(residuals))
        return _Linear(residuals, jacobian if self.exact else rows, jacobian, noise)

    @property
    def _rows(self) -> int:
        return sum(run.forces.size for run in self.runs)

    def result(self, condition: float, steps: list[float]) -> Estimate:
        """Return the estimate with its covariance.

        The estimate makes Z^T W r + B^T (b - B p) zero, with the instruments Z, weights W and
        the prior's B and b: with A = Z^T W J + B^T B its covariance is
        A^-1 (Z^T W (noise) W Z + B^T B) A^-T.
        """
        problem = self.problem
        free, fixed = problem.free, problem.selection.fixed
        prior = problem.prior_rows
        slope, meat = prior.T @ prior, prior.T @ prior
        mixed = prior.T @ problem.prior_fixed
        ratios, widened = [], False
        freedom = max(self._rows - problem.size, 1)
        for each in (self._linear(k, answers=True) for k in range(len(self.runs))):
            weighted = np.linalg.solve(each.noise, each.instruments[..., free])
            flat = weighted.reshape(-1, problem.size)
            slope = slope + flat.T @ each.jacobian[..., free].reshape(-1, problem.size)
            mixed = mixed + flat.T @ each.jacobian[..., fixed].reshape(len(flat), -1)
            misfit = np.linalg.solve(each.noise, each.residuals[..., None])[..., 0]
            ratio = float(np.mean(misfit * each.residuals) * self._rows / freedom)
            noise = each.noise
            if ratio > 1 + SIGNIFICANCE * np.sqrt(2 / freedom):
                share = freedom * each.residuals.size / self._rows
                noise, widened = noise_by_frequency(each.residuals, noise, share), True
            meat = meat + flat.T @ (noise @ weighted).reshape(-1, problem.size)
            ratios.append(ratio)
        inverse = inverse_square(slope, 1e-12, is_symmetric=False)
        covariance = inverse @ meat @ inverse.T
        return Estimate(
            values=self.values,
            covariance=with_variance((covariance + covariance.T) / 2, self.lost),
            undetermined=self.lost,
            condition_number=condition,
            sensitivity=-inverse @ mixed,
            covariance_rests_on=(
                'closed-loop residuals by frequency' if widened else 'noise of the forces'
            ),
            diagnostics=OutputErrorDiagnostics(
                iterations=len(steps),
                steps=tuple(steps),
                closed_loop_residual_ratio=tuple(ratios),
                reference_shift=tuple(run.shift for run in self.runs),
                tracking_difference=tuple(self._away(k) for k in range(len(self.runs))),
                simulation_iterations=tuple(state.iterations for state in self.states),
            ),
            warnings=tuple(self._warnings()),
        )

    def _away(self, number: int) -> Array:
        """Root mean square (n_a,) of measured minus simulated positions."""
        off = self.runs[number].positions - self.states[number].positions
        return np.sqrt(np.mean(off**2, axis=0))

    def _warnings(self) -> list[str]:
        found = []
        joints = self.problem.model.actuated_joints
        limit = np.asarray(self.problem.model.force_limit, dtype=float)
        for k, (run, state) in enumerate(zip(self.runs, self.states, strict=True)):
            noise = run.signals.position_noise
            if noise is not None:
                expected = np.sqrt(np.diag(noise.covariance) / noise.periods)
                lag = (run.reference - state.positions).std(axis=0)
                least = LAG_SHARE * lag + MOTION_SHARE * run.reference.std(axis=0)
                away = self._away(k) / np.maximum(TRACKING * expected, least)
                if away.max() > 1:
                    found.append(
                        f'run {k}: {joints[int(away.argmax())]} does not follow as the simulated '
                        f'robot does ({self._away(k).max():.2g} m or rad apart): check gains, '
                        'delay, feedforward and reference'
                    )
            over = np.abs(state.forces).max(axis=0) > limit
            if over.any():
                found.append(
                    f'run {k}: the simulated force of {joints[int(np.argmax(over))]} exceeds its '
                    'limit: saturation is not simulated'
                )
        return found
