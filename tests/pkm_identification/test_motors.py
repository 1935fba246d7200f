"""Motors that share joints: recorded on their side, identified, written, predicted, fed forward."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of

import pkm_description
from pkm_control.feedforward import identified_feedforward
from pkm_description import MotorSide
from pkm_dynamics import ClosedChainModel
from pkm_identification import identify, load_result, validate
from pkm_identification.datasets import Recording

PERIOD, PERIODS, RATE = 4.0, 3, 250.0
NOISE = np.array([0.02, 0.004, 0.004])  # [N m] of the motors' torques


@pytest.fixture(scope='module')
def model():
    return model_of('geared_arm')


def motion_at(model, seed, time):
    """Five harmonics of each joint about home, differentiated by hand."""
    random = np.random.default_rng(seed)
    size, phase = 0.12 * random.uniform(0.3, 1.0, (5, 3)), random.uniform(0.0, 6.0, (5, 3))
    w = 2 * np.pi / PERIOD * np.arange(1, 6)[:, None]
    angle = time[:, None, None] * w + phase
    return model.motion_from_actuators(
        model.home_actuators + (size * np.sin(angle)).sum(axis=1),
        (size * w * np.cos(angle)).sum(axis=1),
        -(size * w**2 * np.sin(angle)).sum(axis=1),
    )


@pytest.fixture(scope='module')
def recorded(model):
    """Recordings of one motion: of the motors, and of the joints."""

    def make(seed):
        time = np.arange(round(PERIODS * PERIOD * RATE)) / RATE
        motion, side = motion_at(model, seed, time), MotorSide.of(model.description)
        positions = model.actuator_states(motion).positions
        torques = side.motor_efforts(model.inverse_dynamics(motion))
        torques = torques + NOISE * np.random.default_rng(50 + seed).normal(size=torques.shape)
        motors = Recording.from_arrays(
            time, side.motors, side.motor_positions(positions), torques, period=PERIOD, side='motor'
        )
        joints = Recording.from_arrays(
            time, side.joints, positions, side.joint_efforts(torques), period=PERIOD
        )
        return motors, joints

    return make


@pytest.fixture(scope='module')
def found(recorded, model):
    return identify(recorded(1)[0], model)


def test_the_sides_agree_to_rounding(found, recorded, model):
    other = identify(recorded(1)[1], model)
    np.testing.assert_allclose(found.values, other.values, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.standard_deviation, other.standard_deviation, rtol=1e-6)


def test_rotors_of_coupled_motors_are_the_true_ones(found, model):
    """The motor that two joints turn alone, and all that the others come together with."""
    truth = model.base_parameters().values()
    deviation = found.standard_deviation
    rotors = [k for k, text in enumerate(found.expressions) if '.rotor' in text]
    assert [found.expressions[k] for k in rotors].count('two.rotor') == 1
    for k in rotors:
        assert abs(found.values[k] - truth[k]) < 3 * deviation[k], found.expressions[k]
    two = found.expressions.index('two.rotor')
    assert deviation[two] < 0.05 * truth[two]


def test_the_model_file_predicts_and_feeds_forward(found, recorded, model, tmp_path):
    path = tmp_path / 'model.yaml'
    found.save(path)
    again = load_result(path, model)
    other = recorded(2)[0]
    time = other.time
    error = validate(other, again, model).against_measured.overall
    side, expected = (
        MotorSide.of(model.description),
        model.inverse_dynamics(motion_at(model, 2, time)),
    )
    noise = np.sqrt(np.sum(NOISE**2 @ side.inverse**2) / np.mean(np.sum(expected**2, axis=1)))
    assert error < 1.2 * noise
    motion = motion_at(model, 3, time[:200])
    expected = model.inverse_dynamics(motion)
    values = again.controller_parameters
    assert values['two.rotor'] == pytest.approx(9e-4, rel=0.1)
    forward = identified_feedforward(model, 'm', list(values), list(values.values()))
    error = np.linalg.norm(forward.forces(model, motion) - expected) / np.linalg.norm(expected)
    assert error < 0.2 * noise  # of 3000 samples of noise 40 parameters keep little


def test_a_hexapod_on_screws_is_recorded_by_its_motors():
    plain = pkm_description.load('palida')
    joints = ', '.join(plain.driven_joints)
    text = f'\ntransmissions: {{screws: {{joints: [{joints}], lead: 0.0008, offset: 0.5}}}}'
    model = ClosedChainModel(pkm_description.loads(plain.urdf, plain.yaml_text + text))
    random = np.random.default_rng(4)
    lengths = model.home_actuators + 0.01 * random.normal(size=(5, 6))
    forces = random.normal(size=(5, 6))
    motors = [f'{name}_motor' for name in plain.driven_joints]
    recording = Recording.from_arrays(
        np.arange(5) / 100, motors, (lengths - 0.5) / 0.0008, 0.0008 * forces, side='motor'
    ).for_model(model)
    np.testing.assert_allclose(recording.positions, lengths, rtol=1e-12)
    np.testing.assert_allclose(recording.efforts, forces, rtol=1e-12)
