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
from dataclasses import replace
from pathlib import Path

import numpy as np

from pkm_description.actuation.redundant_drives import refuse_redundant_actuation
from pkm_description.drives import drive_mapping
from pkm_description.errors import EstimationError, SimulationError
from pkm_description.friction import load_factors
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.equations.actuator_inertia import effective_inertia
from pkm_dynamics.joint_servo.servo_loop import ServoLoop
from pkm_dynamics.model import require_drives
from pkm_dynamics.trajectories import Trajectory
from pkm_identification.arrays import Array
from pkm_identification.estimators.linear import gauss_markov
from pkm_identification.estimators.output_error.gauss_newton import OutputErrorFit
from pkm_identification.estimators.output_error.simulated_run import (
    Reference,
    reference_of,
    simulated_run,
)
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Run
from pkm_identification.regression.weighted_least_squares import Estimate
from pkm_identification.result.reading import load_result
from pkm_identification.result.result import IdentificationResult


def output_error(
    problem: Problem,
    reference: Reference | Sequence[Reference] = None,
    feedforward: IdentificationResult | str | Path | None = 'none',
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
    (`pkm_dynamics.joint_servo.steady_state`). The clock of the reference is found from the
    positions, which serve for nothing else. Options are declared in `estimator_options`:

    `reference`: a `Trajectory`, its file, `shipped` for the robot's excitation, or one of these a
    run; None: what the recording tells. `proportional`, `derivative`: gains, one for all axes or
    one an axis; None: from `bandwidth`, `damping` and `gain_scale` with the nominal inertia, as the
    project's controller chooses them. `control_delay`: from a measured position to the centre of
    the force that answers; None: that between the stamps of positions and forces, or half an
    interval of the controller where they have the same stamps. `jacobian`: `closed_loop`, change of
    the simulated forces with the parameters, with the motion that gives way under the servo, or
    `regressor`, that of the simulated motion, as if it stayed where it is (DIDIM), which needs more
    iterations. `tolerance`: largest last step in standard deviations.

    The covariance is that of the estimate for the force noise that the periods show, with what the
    servo makes of position noise in it. EstimationError where reference, gains or period are
    missing or do not fit, or the search does not converge.
    """
    require_drives(problem.model, 'output error')
    refuse_redundant_actuation(problem.model.description, 'output error')
    tuning, gains = (bandwidth, damping, gain_scale), (proportional, derivative)
    servo = _build_servo(
        problem.model, gains, tuning, velocity_cutoff, 1 / control_rate, control_delay
    )
    forward = _feedforward_parameters(problem.model, feedforward)
    if reference is None or isinstance(reference, str | Path | Trajectory):
        given = [reference] * len(problem.runs)
    else:
        given = list(reference)
    if len(given) != len(problem.runs):
        raise EstimationError(f'{len(given)} references for {len(problem.runs)} runs')
    runs = [
        simulated_run(
            run, reference_of(run, each), forward, _servo_of_run(servo, run, control_delay), rate
        )
        for run, each in zip(problem.runs, given, strict=True)
    ]
    first = gauss_markov(problem)
    values = first.values if start == 'gauss_markov' else problem.nominal.copy()
    fit = OutputErrorFit(problem, runs, values, first.undetermined, exact=jacobian == 'closed_loop')
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


def _build_servo(
    model: ClosedChainModel,
    gains: tuple[Sequence[float] | float | None, Sequence[float] | float | None],
    tuning: tuple[float, float, float],
    velocity_cutoff: float,
    interval: float,
    delay: float | None,
) -> ServoLoop:
    """Return the servo from its gains, or from bandwidth, damping and scale."""
    if (gains[0] is None) != (gains[1] is None):
        raise EstimationError('give both gains, proportional and derivative, or none of them')
    try:
        if gains[0] is None:
            bandwidth, damping, scale = tuning
            inertia, w = effective_inertia(model), 2 * np.pi * bandwidth
            stiffness, viscosity = scale * inertia * w**2, scale * 2 * damping * inertia * w
        else:
            shape = (len(model.actuated_joints),)
            stiffness, viscosity = (np.broadcast_to(np.array(k, float), shape) for k in gains)
        wait = 0.5 * interval if delay is None else delay
        return ServoLoop(stiffness, viscosity, velocity_cutoff, interval, wait)
    except (SimulationError, ValueError) as error:
        raise EstimationError(f'output_error: {error}') from error


def _servo_of_run(servo: ServoLoop, run: Run, delay: float | None) -> ServoLoop:
    """Return the servo with the delay that the stamps of a run show."""
    shown = float(run.signals.delay)
    return replace(servo, delay=shown) if delay is None and shown > 0 else servo


def _feedforward_parameters(
    model: ClosedChainModel, given: IdentificationResult | str | Path | None
) -> Array | None:
    """Standard parameters (n_p,) of the feedforward; None where there was none."""
    if given is None or given == 'none':
        return None
    if given == 'nominal':
        return np.asarray(model.nominal_parameters)
    result = given if isinstance(given, IdentificationResult) else load_result(given, model)
    own = drive_mapping(model.description)
    if any(own.get(joint) != terms for joint, terms in result.drive_terms.items()):
        raise EstimationError(
            'output_error: the feedforward has forces of drives at '
            f'{", ".join(result.drive_terms)} that the model does not have; give drive_terms='
        )
    if not set(result.load_friction) <= set(load_factors(model.description)):
        raise EstimationError(
            'output_error: the feedforward has friction that grows with the loads of '
            f'{", ".join(result.load_friction)}, which the model does not have; give load_friction='
        )
    by_name = dict(zip(result.parameter_names, result.standard_parameters, strict=True))
    return np.array([by_name.get(name, 0.0) for name in model.parameter_names])
