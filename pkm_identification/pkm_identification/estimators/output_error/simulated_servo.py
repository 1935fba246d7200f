"""The servo that `output_error` simulates: its gains, its delay and its feedforward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pkm_description.errors import EstimationError, SimulationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.equations.actuator_inertia import effective_inertia
from pkm_dynamics.settled.servo_loop import ServoLoop
from pkm_identification.arrays import Array
from pkm_identification.regression.run import Run
from pkm_identification.result.reading import load_result
from pkm_identification.result.result import IdentificationResult


def build_servo(
    model: ClosedChainModel,
    proportional: Sequence[float] | float | None,
    derivative: Sequence[float] | float | None,
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
        if proportional is None or derivative is None:
            bandwidth, damping, scale = tuning
            inertia, w = effective_inertia(model), 2 * np.pi * bandwidth
            stiffness, viscosity = scale * inertia * w**2, scale * 2 * damping * inertia * w
        else:
            stiffness, viscosity = (
                np.broadcast_to(np.asarray(each, dtype=float), (axes,))
                for each in (proportional, derivative)
            )
        interval = 1 / control_rate
        wait = 0.5 * interval if delay is None else delay
        return ServoLoop(stiffness, viscosity, velocity_cutoff, interval, wait)
    except (SimulationError, ValueError) as error:
        raise EstimationError(f'output_error: {error}') from error


def servo_of_run(servo: ServoLoop, run: Run, delay: float | None) -> ServoLoop:
    """Return the servo with the delay that the stamps of a run show."""
    shown = float(run.signals.delay)
    return replace(servo, delay=shown) if delay is None and shown > 0 else servo


def feedforward_parameters(
    model: ClosedChainModel, given: IdentificationResult | str | Path | None
) -> Array | None:
    """Standard parameters (n_p,) of the feedforward; None where there was none."""
    if given is None or given == 'none':
        return None
    if given == 'nominal':
        return np.asarray(model.nominal_parameters)
    result = given if isinstance(given, IdentificationResult) else load_result(given, model)
    by_name = dict(zip(result.parameter_names, result.standard_parameters, strict=True))
    return np.array([by_name[name] for name in model.parameter_names])
