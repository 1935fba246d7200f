"""Recordings of a robot under its servo in steady state: exact, then with noise on top."""

from __future__ import annotations

from typing import Any

import numpy as np

from pkm_bringup.studies.noise_plant import noisy_periods
from pkm_control.gains import servo_gains
from pkm_control.servo import VELOCITY_CUTOFF
from pkm_dynamics.settled.servo_loop import ServoLoop
from pkm_dynamics.settled.steady_state import steady_state
from pkm_dynamics.simulation import PlantEffects
from pkm_dynamics.trajectories import Trajectory
from pkm_identification.datasets import Recording

SAMPLING_RATE = 1000.0  # [Hz]


def under_servo(
    model: Any, trajectory: Trajectory, periods: int, effects: PlantEffects, seed: int
) -> Recording:
    """Return periods of a motion under the project's servo with nominal feedforward.

    Noise of positions and forces is added afterwards: the servo does not answer to it, so
    that what it does to an estimate is the noise of the regressor alone.
    """
    assert trajectory.period is not None
    samples = round(trajectory.period * SAMPLING_RATE)
    interval = trajectory.period / samples
    gains = servo_gains(model)
    servo = ServoLoop(
        gains.proportional, gains.derivative, VELOCITY_CUTOFF, interval, 0.5 * interval
    )
    motion = trajectory.ordered(model.actuated_joints).motion(interval * np.arange(samples), model)
    state = steady_state(
        model,
        model.nominal_parameters,
        model.actuator_states(motion).positions,
        model.inverse_dynamics(motion),
        servo,
        trajectory.period,
    )
    rng = np.random.default_rng(seed)
    return Recording.from_arrays(
        np.asarray(interval * np.arange(periods * samples), dtype=np.float64),
        tuple(model.actuated_joints),
        *noisy_periods(state.positions, state.forces, periods, effects, rng),
        period=trajectory.period,
        provenance={'metadata': {'trajectory': trajectory.to_dict()}},
    )
