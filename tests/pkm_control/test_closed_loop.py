"""The controller on the simulated PaLiDA, whose physics is MuJoCo's."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('mujoco')

from pkm_control.closed_loop import ClosedLoopRecording, run_closed_loop  # noqa: E402
from pkm_control.controller import TrajectoryController  # noqa: E402
from pkm_control.feedforward import Feedforward, no_feedforward, nominal_feedforward  # noqa: E402
from pkm_description import load  # noqa: E402
from pkm_dynamics import ClosedChainModel  # noqa: E402
from pkm_dynamics.equations.actuator_inertia import inertia_matrix  # noqa: E402
from pkm_dynamics.joint_servo.gains import servo_gains  # noqa: E402
from pkm_dynamics.simulation import PlantEffects, SimulatedPlant  # noqa: E402
from pkm_dynamics.trajectories import benchmark_circle  # noqa: E402

DESCRIPTION = load('palida')
MODEL = ClosedChainModel(DESCRIPTION)


def circle(feedforward: Feedforward, scale: float = 1.0, mirrored: bool = False):
    effects = PlantEffects.from_description(DESCRIPTION).without_unmodelled()
    plant = SimulatedPlant(DESCRIPTION, effects, seed=5)
    controller = TrajectoryController(MODEL, servo_gains(MODEL, scale=scale), feedforward)
    trajectory = benchmark_circle(MODEL, mirrored)
    return run_closed_loop(plant, controller, trajectory, 1, 0.6, 0.4, 0.1)


def error(recording: ClosedLoopRecording) -> float:
    assert recording.outcome is not None and recording.outcome.succeeded
    assert not recording.saturated.any()
    return float(np.sqrt(np.mean(recording.tracking_rms() ** 2)))


def test_feedforward_cuts_the_error_on_the_benchmark_circle() -> None:
    none = error(circle(no_feedforward()))
    rigid = error(circle(nominal_feedforward(MODEL, friction=False)))
    whole = error(circle(nominal_feedforward(MODEL)))
    assert none > 1.5 * rigid > 6.0 * whole
    assert whole < 5e-5  # the position noise has 20 um


def test_gains_twice_as_high_are_stable_on_the_mirrored_circle() -> None:
    recording = circle(no_feedforward(), scale=2.0, mirrored=True)
    assert error(recording) < 2e-3
    still = recording.feedback[recording.time > recording.time[-1] - 0.05]
    assert still.std(axis=0).max() < 20.0  # noise, no oscillation


def test_modes_of_the_servo_lie_about_the_bandwidth() -> None:
    root = np.sqrt(servo_gains(MODEL, bandwidth=10.0).proportional)
    flexibility = np.linalg.inv(inertia_matrix(MODEL))
    stiffness = root[:, None] * 0.5 * (flexibility + flexibility.T) * root
    modes = np.sqrt(np.linalg.eigvalsh(stiffness)) / (2.0 * np.pi)  # [Hz]
    assert 5.0 < modes.min() < 10.0 < modes.max() < 15.0
