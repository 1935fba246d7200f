"""Robots with rods between ball joints: driven in MuJoCo, where the rods spin, and identified."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pkm_description
from pkm_bringup.offline import dataset_of, measured_arrays
from pkm_control.closed_loop import run_closed_loop
from pkm_control.control_types import ErrorCode
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import nominal_feedforward
from pkm_description import load
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.simulation import PlantEffects, SimulatedPlant
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification import Recording, identify

QUATTRO = Path(pkm_description.__file__).parent / 'examples' / 'quattro.urdf.xacro'
RATE = 250.0  # [Hz]
RAMP, PERIODS = 0.5, 4  # [s], of a second each
SPAN = 0.12  # [rad] of each drive and harmonic
LARGEST = 3e-4  # [rad] of the tracking errors, some of which the noise makes: 1e-4 is usual


def driven(model: ClosedChainModel) -> Recording:
    """Whole periods of a motion of all drives under control, with the noise of the sensors."""
    random = np.random.default_rng(2)
    sine, cosine = SPAN / np.arange(1, 4) * random.uniform(-1.0, 1.0, (2, model.n_a, 3))
    given = (model.home_actuators, sine, cosine, 'actuators', tuple(model.actuated_joints))
    motion = FourierTrajectory(1.0, *given, model.description.name)
    effects = PlantEffects.from_description(model.description).without_unmodelled()
    plant = SimulatedPlant(model.description, effects, seed=3, step=1.0 / RATE)
    controller = TrajectoryController(model, servo_gains(model), nominal_feedforward(model))
    run = run_closed_loop(plant, controller, motion, PERIODS, ramp_time=RAMP)
    assert plant.closure_gap() < 1e-4
    assert run.outcome is not None and run.outcome.code is ErrorCode.NONE
    assert np.max(run.tracking_rms()) < LARGEST
    return dataset_of(measured_arrays(run, model, motion.period))


@pytest.mark.parametrize('robot', ['delta rods:=ball', QUATTRO], ids=['delta', 'quattro'])
def test_they_are_controlled_and_identified(robot) -> None:
    model = ClosedChainModel(load(robot))
    assert model.description.idle_spins
    recording = driven(model)
    result = identify(recording, model)
    base = model.base_parameters(shared=True)
    truth = dict(zip(base.names, base.matrix @ model.nominal_parameters, strict=True))
    true = np.array([truth[name] for name in result.names])
    # 16 normal numbers: one in a thousand times is one of them beyond four
    assert np.max(np.abs(result.values - true) / result.standard_deviation) < 4.0
