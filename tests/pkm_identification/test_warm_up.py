"""Drives that warm up in a long recording: identified, validated, commanded."""

from __future__ import annotations

import numpy as np
import pytest
from slides import rubbing_slides

from pkm_control.feedforward import identified_feedforward, nominal_feedforward
from pkm_identification import identify, load_result
from pkm_identification.datasets import Recording
from pkm_identification.validation.validate import validate

RATE, DURATION, NOISE = 50.0, 400.0, 0.1  # [Hz, s, N]
TIMES = [30.0, 240.0]  # [s]
OPTIONS = {'method': 'filter', 'cutoff': 8.0}
# [N, N s/m; N s/m by W]: warm drives have half the viscous friction of cold ones
FRICTION = {'lift': (8.0, 40.0), 'along': (6.0, 60.0), 'across': (6.0, 3.0), 'tip': (0.4, 0.1)}
VALUES = {'lift': [-2.0, -3.0], 'along': [-0.6, -0.9]}
TERMS = {name: {'warm_up': {'times': TIMES, 'values': own}} for name, own in VALUES.items()}
TEXTS = [f'{name}:warm_up(30,240)' for name in VALUES]


@pytest.fixture(scope='module')
def model():
    return rubbing_slides(FRICTION)


@pytest.fixture(scope='module')
def truth(model):
    return model.with_drive_terms(TERMS)


def motion_of(model, time, seed):
    """Swings that grow and fade over minutes, and their exact derivatives."""
    rng = np.random.default_rng(seed)
    shape = (3, model.n_a)
    w = rng.uniform(1.0, 5.0, shape)
    w[1:] = w[0] + [[0.023], [0.031]] * rng.uniform(0.8, 1.2, (2, model.n_a))  # slow beats
    size = 0.06 * (model.upper - model.lower) * rng.uniform(0.8, 1.0, shape)
    angle = time[:, None, None] * w + rng.uniform(0, 6, shape)
    return (
        0.5 * (model.upper + model.lower) + np.sum(size * np.sin(angle), axis=1),
        np.sum(size * w * np.cos(angle), axis=1),
        -np.sum(size * w**2 * np.sin(angle), axis=1),
    )


@pytest.fixture(scope='module')
def recording(truth):
    def make(seed):
        time = np.arange(round(DURATION * RATE)) / RATE
        states = motion_of(truth, time, seed)
        motion = truth.with_drive_states(truth.motion_from_actuators(*states), time)
        noise = NOISE * np.random.default_rng(100 + seed).normal(size=(len(time), truth.n_a))
        forces = truth.inverse_dynamics(motion) + noise
        return Recording.from_arrays(time, truth.actuated_joints, states[0], forces)

    return make


@pytest.fixture(scope='module')
def found(recording, model):
    return identify(recording(1), model, drive_terms=TEXTS, **OPTIONS)


def test_friction_by_temperature_is_found(found, truth):
    """Within three standard deviations; the inputs are fixed."""
    expected = found.matrix @ truth.nominal_parameters
    off = np.abs(found.values - expected) / found.standard_deviation
    for name in VALUES:
        for field in ('viscous', 'warm_up1', 'warm_up2'):
            i = found.names.index(f'{name}.{field}')
            assert off[i] < 3.0, found.names[i]
            assert found.standard_deviation[i] < 0.1 * abs(expected[i]), found.names[i]
    assert off.max() < 4.5


def test_another_long_motion_is_predicted_better(recording, model, found):
    plain = identify(recording(1), model, **OPTIONS)
    data = recording(2)
    errors = [validate(data, each, model).against_measured.overall for each in (plain, found)]
    assert errors[1] < 0.3 * errors[0]


def test_the_model_file_and_the_controller_know_it(found, model, truth, tmp_path):
    loaded = load_result(found.save(tmp_path / 'model.yaml'), model)
    assert loaded.drive_terms['lift']['warm_up']['times'] == TIMES
    time = np.arange(3000) / RATE
    motion = truth.with_drive_states(truth.motion_from_actuators(*motion_of(truth, time, 4)), time)
    predicted = loaded.as_physical().predict(motion)
    values = loaded.controller_parameters
    assert values['lift.warm_up_time2'] == TIMES[1]
    given = identified_feedforward(model, 'm', list(values), list(values.values()))
    np.testing.assert_allclose(given.forces(model, motion), predicted, rtol=0, atol=1e-9)
    before, forces = None, []
    for row in range(150):
        states = (each[row : row + 1] for each in motion_of(model, time, 4))
        now = model.motion_from_actuators(*states)
        forces.append(given.along(model, now, before, 1.0 / RATE)[1][0])
        before = now
    np.testing.assert_allclose(forces[1:], predicted[1:150], rtol=0, atol=1e-9)


def test_the_nominal_feedforward_is_the_description(truth):
    time = np.arange(3000) / RATE
    motion = truth.with_drive_states(truth.motion_from_actuators(*motion_of(truth, time, 3)), time)
    expected = truth.inverse_dynamics(motion)
    given = nominal_feedforward(truth)
    np.testing.assert_allclose(given.forces(truth, motion), expected, atol=1e-9)
    without = nominal_feedforward(truth, friction=False).forces(truth, motion)
    values = np.where(truth.parameter_mask('rigid_body'), truth.nominal_parameters, 0.0)
    np.testing.assert_allclose(without, truth.inverse_dynamics(motion, values), atol=1e-9)
