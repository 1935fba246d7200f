"""Estimator `output_error`: the robot whose simulation under the same servo gives the forces.

Direct and inverse dynamic identification: the model and the controller that drove the robot
are simulated along the reference motion; the parameters are those with which the simulated
forces fit the measured ones. The regressor is that of the simulated motion: measured
positions, their noise and their derivatives do not enter it. Sources: Gautier, Janot and
Vandanjon, IEEE Trans. Control Systems Technology 21 (2), 2013 (DIDIM); Walter and Pronzato,
Identification of Parametric Models, 1997 (output error).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import EstimationError, SimulationError
from pkm_dynamics.actuation import require_drives
from pkm_dynamics.actuator_inertia import effective_inertia
from pkm_dynamics.simulation.servo_loop import ServoLoop
from pkm_dynamics.simulation.steady_state import SteadyState
from pkm_identification.estimators.honest import SIGNIFICANCE, residual_spectrum
from pkm_identification.estimators.initial_state import opened
from pkm_identification.estimators.linear import gauss_markov
from pkm_identification.estimators.problem import Problem
from pkm_identification.estimators.run import Run
from pkm_identification.estimators.simulated_run import (
    SimulatedRun,
    reference_of,
    simulated_run,
)
from pkm_identification.estimators.solve import Estimate, inverse_root

Array = NDArray[np.float64]

JACOBIANS = ('closed_loop', 'regressor')
STARTS = ('gauss_markov', 'nominal')
SIMULATION_TOLERANCE = 1e-9
TRACKING = 3.0  # of the position noise: simulated positions further away are not the robot's
LAG_SHARE, MOTION_SHARE = 0.05, 1e-4  # of the servo's lag and of the motion: not worth a warning
SHORTEST_STEP = 1e-3
EXACT = 1e-4  # of a value: smaller standard deviations count as this


def output_error(
    problem: Problem,
    reference: Any = None,
    feedforward: Any = 'none',
    proportional: Sequence[float] | float | None = None,
    derivative: Sequence[float] | float | None = None,
    bandwidth: float = 10.0,
    damping: float = 0.7,
    gain_scale: float = 1.0,
    velocity_cutoff: float = 150.0,
    control_rate: float = 1000.0,
    control_delay: float | None = None,
    rate: float | None = None,
    jacobian: str = 'closed_loop',
    start: str = 'gauss_markov',
    tolerance: float = 0.01,
    max_iterations: int = 30,
) -> Estimate:
    """Fit the forces of a simulated robot under the servo that drove the real one.

    The simulation is that of the periodic motion that the servo settles to
    (`pkm_dynamics.simulation.steady_state`). The clock of the reference is found from the
    positions, which serve for nothing else.

    Parameters
    ----------
    problem
        Periodic data.
    reference
        What the controller followed: a `Trajectory`, its file, `shipped` for the robot's
        excitation, or one of these a run; None: what the recording tells.
    feedforward
        `none`, `nominal`, or a model file or result: what the controller added.
    proportional, derivative
        Gains, one for all axes or one an axis [N/m, N s/m; N m/rad, N m s/rad]; None: from
        `bandwidth` [Hz], `damping` and `gain_scale` with the nominal inertia, as the
        project's controller chooses them.
    velocity_cutoff
        Of the low pass on the derivative [Hz].
    control_rate
        Of the controller [Hz].
    control_delay
        From a measured position to the centre of the force that answers [s]; None: that
        between the stamps of positions and forces, or half an interval of the controller
        where they have the same stamps.
    rate
        Samples of the simulation a second [Hz]; None: as recorded.
    jacobian
        `closed_loop`: change of the simulated forces with the parameters, with the motion
        that gives way under the servo. `regressor`: that of the simulated motion, as if it
        stayed where it is (DIDIM); needs more iterations.
    start
        Where the search begins: at the `gauss_markov` estimate, or at the `nominal` values.
    tolerance
        Largest last step in standard deviations.
    max_iterations
        After which it is an error.

    Returns
    -------
    Estimate
        Its covariance is that of the estimate for the force noise that the periods show, with
        what the servo makes of position noise in it.

    Raises
    ------
    EstimationError
        Reference, gains or period are missing or do not fit, or the search does not converge.
    """
    if jacobian not in JACOBIANS:
        raise EstimationError(f"unknown jacobian '{jacobian}'; valid are {', '.join(JACOBIANS)}")
    if start not in STARTS:
        raise EstimationError(f"unknown start '{start}'; valid are {', '.join(STARTS)}")
    require_drives(problem.model, 'output error')
    servo = _servo(
        problem.model, proportional, derivative, (bandwidth, damping, gain_scale),
        velocity_cutoff, control_rate, control_delay,
    )  # fmt: skip
    force_parameters = _feedforward(problem.model, feedforward)
    several = isinstance(reference, Sequence) and not isinstance(reference, str)
    given = list(reference) if several else [reference] * len(problem.runs)
    if len(given) != len(problem.runs):
        raise EstimationError(f'{len(given)} references for {len(problem.runs)} runs')
    runs = [
        simulated_run(
            run, reference_of(run, each), force_parameters, _of_run(servo, run, control_delay), rate
        )
        for run, each in zip(problem.runs, given, strict=True)
    ]
    first = gauss_markov(problem)
    values = first.values if start == 'gauss_markov' else problem.nominal.copy()
    fit = _Fit(problem, runs, values, first.undetermined, exact=jacobian == 'closed_loop')
    steps: list[float] = []
    for _ in range(max_iterations):
        steps.append(fit.step())
        if steps[-1] < tolerance:
            break
    else:
        raise EstimationError(
            f'output_error did not converge in {max_iterations} iterations (last step '
            f'{steps[-1]:.2g} standard deviations); check gains, feedforward and reference'
        )
    return fit.result(first.condition_number, steps)


@dataclass(frozen=True)
class _Linear:
    """The rows of one run around the present values.

    Attributes
    ----------
    residuals
        (m, n_a).
    instruments
        What the estimate makes the weighted residuals orthogonal to (m, n_a, r).
    jacobian
        Change of the simulated rows with the parameters (m, n_a, r).
    noise
        (m, n_a, n_a).
    """

    residuals: Array
    instruments: Array
    jacobian: Array
    noise: Array


class _Fit:
    """Gauss-Newton on the simulated forces of all runs."""

    def __init__(
        self,
        problem: Problem,
        runs: list[SimulatedRun],
        values: Array,
        lost: NDArray[np.int64],
        exact: bool,
    ) -> None:
        self.problem, self.runs, self.values, self.exact = problem, runs, values, exact
        self.lost = lost
        self.states: list[SteadyState | None] = [None] * len(runs)
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
        scale = np.maximum(np.linalg.norm(rows, axis=0), 1e-300)
        step = np.linalg.lstsq(rows / scale, right, rcond=1e-10)[0] / scale
        inverse = np.linalg.pinv(rows / scale, rcond=1e-10)
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
        for run, state in zip(self.runs, self.states, strict=True):
            try:
                states.append(run.simulate(everything, state, SIMULATION_TOLERANCE))
            except SimulationError:
                if state is None:
                    raise
                states.append(run.simulate(everything, None, SIMULATION_TOLERANCE))
        self.states = list(states)
        for _ in range(2):  # the second time from nearby
            self.runs = [
                run.aligned(state) for run, state in zip(self.runs, states, strict=True)
            ]

    def _linear(self, number: int, answers: bool) -> _Linear:
        """Rows of a run; `answers`: the Jacobian is that of the closed loop."""
        run, state = self.runs[number], self.states[number]
        assert state is not None
        regressor = run.regressor(state)
        regressor[..., self.problem.free[self.lost]] = 0.0  # stay at their nominal values
        rows = run.rows(regressor)
        jacobian = run.rows(state.force_change(regressor)) if answers else rows
        residuals = run.forces - run.rows(state.forces)
        noise = run.noise()
        if noise is None:
            share = self.problem.size * len(residuals) / self._rows
            spread = residuals.T @ residuals / max(len(residuals) - share, 1.0)
            floor = 1e-9 * np.maximum(np.sqrt(np.mean(run.forces**2, axis=0)), 1e-12)
            noise = np.array([spread + np.diag(floor**2)] * len(residuals))
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
        linear = [self._linear(k, answers=True) for k in range(len(self.runs))]
        prior = problem.prior_rows
        slope, meat = prior.T @ prior, prior.T @ prior
        mixed = prior.T @ problem.prior_fixed
        ratios, widened = [], False
        freedom = max(self._rows - problem.size, 1)
        for each in linear:
            weighted = np.linalg.solve(each.noise, each.instruments[..., free])
            flat = weighted.reshape(-1, problem.size)
            slope = slope + flat.T @ each.jacobian[..., free].reshape(-1, problem.size)
            mixed = mixed + flat.T @ each.jacobian[..., fixed].reshape(len(flat), -1)
            misfit = np.linalg.solve(each.noise, each.residuals[..., None])[..., 0]
            ratio = float(np.mean(misfit * each.residuals) * self._rows / freedom)
            noise = each.noise
            if ratio > 1 + SIGNIFICANCE * np.sqrt(2 / freedom):
                noise, widened = residual_spectrum(each.residuals), True
            meat = meat + flat.T @ (noise @ weighted).reshape(-1, problem.size)
            ratios.append(ratio)
        scale = np.sqrt(np.maximum(np.abs(np.diag(slope)), 1e-300))
        inverse = np.linalg.pinv(slope / np.outer(scale, scale), rcond=1e-12)
        inverse = inverse / np.outer(scale, scale)
        covariance = inverse @ meat @ inverse.T
        return Estimate(
            values=self.values,
            covariance=opened((covariance + covariance.T) / 2, self.lost),
            undetermined=self.lost,
            condition_number=condition,
            sensitivity=-inverse @ mixed,
            covariance_rests_on=(
                'closed-loop residuals by frequency' if widened else 'noise of the forces'
            ),
            diagnostics={
                'iterations': len(steps),
                'steps': steps,
                'closed_loop_residual_ratio': ratios,
                'reference_shift': [run.shift for run in self.runs],
                'tracking_difference': [self._away(k) for k in range(len(self.runs))],
                'simulation_iterations': [
                    state.iterations for state in self.states if state is not None
                ],
                'warnings': self._warnings(),
            },
        )

    def _away(self, number: int) -> Array:
        """Root mean square (n_a,) of measured minus simulated positions."""
        state = self.states[number]
        assert state is not None
        off = self.runs[number].positions - state.positions
        return np.sqrt(np.mean(off**2, axis=0))

    def _warnings(self) -> list[str]:
        found = []
        joints = self.problem.model.actuated_joints
        limit = np.asarray(self.problem.model.force_limit, dtype=float)
        for k, (run, state) in enumerate(zip(self.runs, self.states, strict=True)):
            assert state is not None
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


def _servo(
    model: Any,
    proportional: Any,
    derivative: Any,
    tuning: tuple[float, float, float],
    velocity_cutoff: float,
    control_rate: float,
    delay: float | None,
) -> ServoLoop:
    """Return the servo from its gains, or from bandwidth, damping and scale."""
    axes = len(model.actuated_joints)
    if (proportional is None) != (derivative is None):
        raise EstimationError('give both gains, proportional and derivative, or none of them')
    try:
        if proportional is None:
            bandwidth, damping, scale = tuning
            if not all(np.isfinite(each) and each > 0 for each in tuning):
                raise EstimationError('bandwidth, damping and gain_scale must be positive')
            inertia, w = effective_inertia(model), 2 * np.pi * bandwidth
            stiffness, viscosity = scale * inertia * w**2, scale * 2 * damping * inertia * w
        else:
            stiffness, viscosity = (
                np.broadcast_to(np.asarray(each, dtype=float), (axes,))
                for each in (proportional, derivative)
            )
        if not (np.isfinite(control_rate) and control_rate > 0):
            raise EstimationError(f'control_rate must be positive, got {control_rate}')
        interval = 1 / control_rate
        wait = 0.5 * interval if delay is None else delay
        return ServoLoop(stiffness, viscosity, velocity_cutoff, interval, wait)
    except (SimulationError, ValueError) as error:
        raise EstimationError(f'output_error: {error}') from error


def _of_run(servo: ServoLoop, run: Run, delay: float | None) -> ServoLoop:
    """Return the servo with the delay that the stamps of a run show."""
    shown = float(run.signals.delay)
    return replace(servo, delay=shown) if delay is None and shown > 0 else servo


def _feedforward(model: Any, given: Any) -> Array | None:
    """Standard parameters (n_p,) of the feedforward; None where there was none."""
    from pkm_identification.result import IdentificationResult
    from pkm_identification.result_file import load_result

    if given is None or given == 'none':
        return None
    if isinstance(given, str) and given == 'nominal':
        return np.asarray(model.nominal_parameters)
    result = given if isinstance(given, IdentificationResult) else load_result(given, model)
    by_name = dict(zip(result.parameter_names, result.standard_parameters, strict=True))
    return np.array([by_name[name] for name in model.parameter_names])
