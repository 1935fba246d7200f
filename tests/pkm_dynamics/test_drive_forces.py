"""Forces of drives by position against their formula and the rest of the model."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of
from waves import wave

from pkm_dynamics.drive_forces import DriveForces

RIPPLE = {'period': 0.03, 'harmonics': [1, 4], 'cosine': [2.0, -1.0], 'sine': [0.5, 3.0]}
TERMS = {'offset': 1.5, 'stiffness': 40.0, 'rest': 0.2, 'ripple': RIPPLE}


@pytest.fixture(scope='module')
def model():
    return model_of('rps_upv')


@pytest.fixture(scope='module')
def extended(model):
    first, _, third = model.actuated_joints
    return model.with_drive_terms({first: TERMS, third: {'offset': -2.0}})


def formula(q):
    """The force of `TERMS` at q, written out."""
    angle = 2 * np.pi * q / 0.03
    ripple = 2 * np.cos(angle) + 0.5 * np.sin(angle) - np.cos(4 * angle) + 3 * np.sin(4 * angle)
    return 1.5 + 40 * (q - 0.2) + ripple


def test_parameters_follow_those_of_the_plain_model(model, extended):
    first, _, third = model.actuated_joints
    fields = ('offset', 'stiffness', 'ripple_cos1', 'ripple_sin1', 'ripple_cos4', 'ripple_sin4')
    own = [*(f'{first}.{field}' for field in fields), f'{third}.offset']
    assert extended.parameter_names == model.parameter_names + own
    assert extended.parameter_units[model.n_p :] == ['N', 'N/m', 'N', 'N', 'N', 'N', 'N']
    assert extended.parameter_mask('drive').tolist() == [False] * model.n_p + [True] * 7
    assert extended.nominal_parameters[: model.n_p].tolist() == model.nominal_parameters.tolist()


def test_forces_are_those_of_the_formula(model, extended):
    motion = wave(model, np.linspace(0.0, 1.0, 40))
    q = model.actuator_states(motion).positions
    added = extended.inverse_dynamics(motion) - model.inverse_dynamics(motion)
    expected = np.stack([formula(q[:, 0]), np.zeros(40), np.full(40, -2.0)], axis=1)
    np.testing.assert_allclose(added, expected, atol=1e-9)
    assert np.ptp(expected[:, 0]) > 5.0


def test_the_regressor_is_linear_in_the_terms(model, extended):
    motion = wave(model, np.linspace(0.0, 1.0, 10))
    p = np.random.default_rng(3).normal(size=extended.n_p)
    forces = extended.inverse_dynamics(motion, p)
    np.testing.assert_allclose(extended.regressor(motion) @ p, forces, atol=1e-9)
    whole = extended.regressor(motion)
    np.testing.assert_array_equal(whole[..., : model.n_p], model.regressor(motion))


def test_forward_dynamics_undoes_them(extended):
    motion = wave(extended, np.linspace(0.0, 1.0, 10))
    forces = extended.inverse_dynamics(motion)
    found = extended.forward_dynamics(motion, forces).actuators
    expected = extended.actuator_states(motion).accelerations
    np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())


def test_drives_of_one_design_do_not_share_them(model):
    every = model.with_drive_terms('*:offset+ripple(0.03)')
    base = every.base_parameters(shared=True, reduced=True)
    own = [
        name for name, is_rigid in zip(base.names, base.is_rigid_body, strict=True) if not is_rigid
    ]
    for joint in model.actuated_joints:
        for field in ('offset', 'ripple_cos1', 'ripple_sin1'):
            assert f'{joint}.{field}' in own
    plain = model.base_parameters(shared=True, reduced=True)
    assert [name for name in base.names if name in plain.names] == plain.names
    assert base.rank == plain.rank + 9


def test_nothing_is_added_where_no_drive_has_terms(model):
    none = DriveForces.of(model.description)
    assert none.names == [] and none.forces(np.zeros((4, 3))).tolist() == np.zeros((4, 3)).tolist()
    assert none.columns(np.zeros((4, 3))).shape == (4, 3, 0)
