"""Offsets, springs and force ripple that the description does not have, through all stages."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from slides import slides, three_sines

from pkm_control.feedforward import identified_feedforward
from pkm_description.errors import ModelFileError
from pkm_dynamics import ClosedChainModel
from pkm_identification import identify, load_result
from pkm_identification.datasets import Recording
from pkm_identification.model_selection.reduction import reduce_model
from pkm_identification.validation.validate import validate

PERIOD, PERIODS, RATE, NOISE = 4.0, 4, 250.0, 0.2  # [s, 1, Hz, N]
RIPPLE = {'period': 0.11, 'harmonics': 2, 'cosine': [4.0, 1.0], 'sine': [-2.0, 0.5]}
TERMS = {
    'across': {'offset': 3.0, 'ripple': RIPPLE},
    'lift': {'offset': -2.0, 'stiffness': 60.0, 'rest': 0.1},
}
TEXTS = ['across:offset+ripple(0.11,2)', 'lift:spring(0.1)']


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(slides())


@pytest.fixture(scope='module')
def truth(model):
    return model.with_drive_terms(TERMS)


motion_at = partial(three_sines, period=PERIOD)


@pytest.fixture(scope='module')
def recording(truth):
    def make(seed):
        time = np.arange(round(PERIODS * PERIOD * RATE)) / RATE
        motion = motion_at(truth, time, seed)
        noise = NOISE * np.random.default_rng(100 + seed).normal(size=(len(time), truth.n_a))
        positions = truth.actuator_states(motion).positions
        forces = truth.inverse_dynamics(motion) + noise
        return Recording.from_arrays(time, truth.actuated_joints, positions, forces, period=PERIOD)

    return make


@pytest.fixture(scope='module')
def found(recording, model):
    return identify(recording(1), model, drive_terms=TEXTS)


@pytest.mark.parametrize('method', ['fourier', 'filter'])
def test_terms_are_estimated_with_the_other_parameters(recording, model, truth, method):
    """Their columns pass the same band as the forces."""
    cutoff = {'cutoff': 20.0} if method == 'filter' else {}
    found = identify(recording(1), model, drive_terms=TEXTS, method=method, **cutoff)
    expected = dict(zip(truth.parameter_names, truth.nominal_parameters, strict=True))
    drives = [name for name in found.names if name.rpartition('.')[2] in FIELDS]
    assert len(drives) == 7
    for name in drives:
        i = found.names.index(name)
        # fails once in 200,000 draws; this one is fixed
        assert abs(found.values[i] - expected[name]) < 5 * found.standard_deviation[i], name
        assert found.standard_deviation[i] < 0.05 * max(abs(expected[name]), 1.0)


def test_physical_estimators_leave_their_signs_alone(recording, model):
    """Friction must not be negative; an offset, a ripple or a stiffness may."""
    found = identify(recording(1), model, 'feasible', drive_terms=TEXTS)
    assert found.is_physical
    for name, value in (('lift.offset', -2.0), ('across.ripple_sin1', -2.0)):
        i = found.names.index(name)
        assert abs(found.values[i] - value) < 5 * found.standard_deviation[i]


def test_friction_laws_go_with_them(recording, model, truth):
    """The estimator of nonlinear friction takes the terms as it takes base parameters."""
    data = recording(1)
    motion = motion_at(truth, np.asarray(data.time), 1)
    speed = truth.actuator_states(motion).velocities[:, 3:]
    efforts = np.array(data.efforts)
    efforts[:, 3:] += 6.0 * np.arctan(20.0 * speed)
    rubbed = Recording.from_arrays(
        data.time, truth.actuated_joints, data.positions, efforts, period=PERIOD
    )
    found = identify(
        rubbed,
        model,
        'nonlinear_friction',
        law={model.actuated_joints[3]: 'atan'},
        drive_terms=TEXTS,
    )
    friction = dict(zip(found.drive_friction.names, found.drive_friction.values, strict=True))
    assert friction[f'{model.actuated_joints[3]}.atan_slope'] == pytest.approx(20.0, rel=0.3)
    i = found.names.index('across.ripple_cos1')
    assert abs(found.values[i] - 4.0) < 5 * found.standard_deviation[i]
    values = found.controller_parameters
    given = identified_feedforward(model, 'm', list(values), list(values.values()))
    motion = motion_at(model, np.linspace(0.0, 2.0, 30), 4)
    np.testing.assert_allclose(
        given.forces(model, motion), found.as_physical().predict(motion), rtol=0, atol=1e-9
    )


FIELDS = (
    *('offset', 'stiffness'),
    *(f'ripple_{wave}{k}' for wave in ('cos', 'sin') for k in (1, 2)),
)


def test_without_them_the_forces_are_missed(recording, model, found):
    plain = identify(recording(1), model)
    joint = model.actuated_joints.index('across')
    assert plain.residual_rms[joint] > 5 * found.residual_rms[joint]
    assert plain.drive_terms == {} and 'drive_terms' not in plain.to_mapping()


def test_a_model_file_brings_the_terms_to_the_plain_robot(found, model, tmp_path):
    loaded = load_result(found.save(tmp_path / 'model.yaml'), model)
    assert loaded.digest == model.description.digest
    assert loaded.model.parameter_names == found.parameter_names
    motion = motion_at(model, np.linspace(0.0, 1.0, 20), 3)
    np.testing.assert_allclose(loaded.predict(motion), found.predict(motion), rtol=1e-9)
    joints = {'across': {'ripple': RIPPLE | {'cosine': 0, 'sine': 0}}, 'lift': {'stiffness': 0}}
    other = model.with_drive_terms(joints)
    assert loaded.with_model(other).model.parameter_names == found.parameter_names


def test_a_period_that_is_none_makes_the_file_malformed(found, tmp_path):
    path = found.save(tmp_path / 'model.yaml')
    path.write_text(path.read_text().replace('period: 0.11', 'period: -0.11'))
    with pytest.raises(ModelFileError, match='period must be positive'):
        load_result(path)


def test_validation_takes_the_plain_model(found, recording, model):
    data = recording(2)
    judged = validate(data, found, model, true_parameters=model.nominal_parameters)
    assert judged.against_measured.overall < 0.1
    errors = judged.parameter_error
    unknown = dict(zip(errors.names, np.isnan(errors.truth), strict=True))
    assert unknown['across.ripple_cos1'] and not unknown['across.coulomb']
    assert np.isfinite(errors.average) and np.isfinite(errors.p_value)


def test_the_controller_needs_the_file_alone(found, model):
    """Its own model has none of the terms; the constants come with the parameters."""
    values = found.controller_parameters
    assert values['across.ripple_period'] == 0.11 and values['lift.rest'] == 0.1
    motion = motion_at(model, np.linspace(0.0, 2.0, 30), 4)
    given = identified_feedforward(model, 'm', list(values), list(values.values()))
    np.testing.assert_allclose(
        given.forces(model, motion), found.as_physical().predict(motion), rtol=0, atol=1e-9
    )


def test_a_reduction_keeps_the_terms(recording, model):
    reduced = reduce_model(recording(1), model, drive_terms=TEXTS)
    assert {'across.ripple_cos1', 'lift.stiffness'} <= set(reduced.result.names)
    assert 'across.ripple_cos1' not in reduced.result.diagnostics.parameters.left_out
    assert set(reduced.result.drive_terms) == {'across', 'lift'}
