"""From a description to a validated model without ROS, on robots with and without symmetry.

The plant is MuJoCo: it shares no mathematics with the model that is identified.
"""

from __future__ import annotations

import dataclasses

import mechanisms
import numpy as np
import pytest

import pkm_description
from pkm_control.closed_loop import run_closed_loop
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import identified_feedforward, no_feedforward
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.kinematics.roll_pitch_yaw import rotation_to_rpy
from pkm_dynamics.limits.feasibility import check_feasibility
from pkm_dynamics.simulation import PlantEffects, SimulatedPlant
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification import Recording, identify, load_result, validate
from pkm_identification.datasets import Truth


def random_excitation(model: ClosedChainModel, seed: int, period: float = 2.0):
    """A random feasible Fourier trajectory with five harmonics."""
    rng = np.random.default_rng(seed)
    if model.platform_determines_joints:
        offset = np.r_[model.home_position, rotation_to_rpy(np.asarray(model.home_rotation))]
        size = np.array([0.04, 0.04, 0.03, 0.12, 0.12, 0.12])
        coordinates, names = 'platform', None
    else:
        offset, size = np.asarray(model.home_actuators), np.full(model.n_a, 0.03)
        coordinates, names = 'actuators', model.actuated_joints
    for _ in range(100):
        sine, cosine = (
            0.5 * size[:, None] / np.arange(1, 6) * rng.normal(size=(len(size), 5)) for _ in 'sc'
        )
        trajectory = FourierTrajectory(
            period, offset, sine, cosine, coordinates, names, model.description.name
        )
        if check_feasibility(model, trajectory).feasible:
            return trajectory
    raise AssertionError('no feasible trajectory in 100 draws')


def drive(model, trajectory, periods, feedforward, effects, seed):
    """Closed loop on the plant; the recording of the periods at full speed as a dataset."""
    plant = SimulatedPlant(model.description, effects, seed=seed)
    controller = TrajectoryController(model, servo_gains(model), feedforward)
    recording = run_closed_loop(plant, controller, trajectory, periods, ramp_time=0.5)
    rows = np.flatnonzero(recording.running)
    dataset = Recording.from_arrays(
        time=recording.time[rows],
        joint_names=tuple(model.actuated_joints),
        positions=recording.positions[rows],
        currents=recording.currents[rows],
        effort_delay=float(np.median(recording.current_time[rows] - recording.time[rows])),
        force_constants=dict(zip(model.actuated_joints, model.force_constants, strict=True)),
        period=trajectory.period,
        truth=Truth(
            recording.current_time[rows],
            recording.truth_positions[rows],
            recording.truth_velocities[rows],
            recording.truth_forces[rows],
        ),
        provenance={'source': 'closed loop'},
    )
    return dataset, recording


def with_noise(description, force: float, position: float) -> PlantEffects:
    """The plant as the model has it, with independent force [N] and position [m] noise."""
    n_a = len(description.actuators)
    ideal = PlantEffects.from_description(description).without_unmodelled()
    return dataclasses.replace(
        ideal,
        force_covariance=force**2 * np.eye(n_a),
        position_covariance=position**2 * np.eye(n_a),
    )


MAKERS = {
    'palida': lambda: pkm_description.load('palida'),
    'skew_hexapod': mechanisms.skew_hexapod,
    'tripod': mechanisms.tripod,
}


@pytest.mark.parametrize('name', MAKERS)
def test_standard_deviations_cover_the_truth(name):
    model = ClosedChainModel(MAKERS[name]())
    effects = with_noise(model.description, force=20.0, position=2e-6)
    dataset, _ = drive(model, random_excitation(model, 1), 3, no_feedforward(), effects, seed=1)
    result = identify(dataset, model, estimator='gauss_markov')
    truth = result.matrix @ model.nominal_parameters
    distance = np.abs(result.values - truth) / result.standard_deviation
    assert np.mean(distance <= 3.0) >= 0.95
    assert np.sqrt(np.mean(distance**2)) > 0.4  # uncertainty is not overstated either


@pytest.mark.parametrize('name', ['palida', 'tripod'])
def test_identified_model_predicts_another_motion(name, tmp_path):
    model = ClosedChainModel(MAKERS[name]())
    effects = with_noise(model.description, force=1.0, position=1e-6)
    dataset, _ = drive(model, random_excitation(model, 1), 2, no_feedforward(), effects, seed=1)
    result = load_result(identify(dataset, model).save(tmp_path / 'model.yaml'), model)
    other, _ = drive(model, random_excitation(model, 2), 2, no_feedforward(), effects, seed=2)
    validation = validate(other, result, model)
    assert validation.against_truth_in_band.overall < 0.03
    assert validation.against_measured.overall > validation.against_truth_in_band.overall


def test_feedforward_of_the_identified_model_improves_tracking():
    model = ClosedChainModel(mechanisms.skew_hexapod())
    effects = with_noise(model.description, force=5.0, position=1e-5)
    dataset, _ = drive(model, random_excitation(model, 1), 3, no_feedforward(), effects, seed=1)
    result = identify(dataset, model)
    feedforward = identified_feedforward(
        model, 'identified', model.parameter_names, result.standard_parameters
    )
    trajectory = random_excitation(model, 3)
    _, with_model = drive(model, trajectory, 1, feedforward, effects, seed=3)
    _, alone = drive(model, trajectory, 1, no_feedforward(), effects, seed=3)
    assert np.all(with_model.tracking_rms() < 0.25 * alone.tracking_rms())
