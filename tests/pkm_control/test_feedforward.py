"""Feedforward: contributions, matching by name, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from gantry import Gantry

from pkm_control.feedforward import (
    NotPhysicalError,
    identified_feedforward,
    no_feedforward,
    nominal_feedforward,
)
from pkm_description import load
from pkm_description.errors import ModelFileError
from pkm_dynamics import ClosedChainModel

MODEL = Gantry(mass=10.0, coulomb=5.0, viscous=20.0, rotor=2.0)
MOTION = MODEL.motion_from_actuators(
    np.zeros((1, 3)), np.full((1, 3), 0.5), np.array([[1.0, 2.0, 3.0]])
)


def test_contributions_can_be_left_out() -> None:
    rigid = 10.0 * np.array([1.0, 2.0, 12.81])
    friction, rotor = np.full(3, 15.0), 2.0 * np.array([1.0, 2.0, 3.0])

    def forces(**parts: bool) -> np.ndarray:
        return nominal_feedforward(MODEL, **parts).forces(MODEL, MOTION)[0]

    np.testing.assert_allclose(forces(), rigid + friction + rotor)
    np.testing.assert_allclose(forces(friction=False), rigid + rotor)
    np.testing.assert_allclose(forces(rotor=False), rigid + friction)
    np.testing.assert_allclose(forces(rigid_body=False), friction + rotor)
    np.testing.assert_array_equal(forces(rigid_body=False, friction=False, rotor=False), 0.0)
    np.testing.assert_array_equal(no_feedforward().forces(MODEL, MOTION), np.zeros((1, 3)))


def test_names_say_what_is_in_use() -> None:
    assert nominal_feedforward(MODEL).name == 'nominal'
    assert nominal_feedforward(MODEL, friction=False).name == 'nominal without friction'


def test_parameters_are_matched_by_name() -> None:
    random = np.random.default_rng(8)
    values = MODEL.nominal_parameters * random.uniform(0.8, 1.2, MODEL.n_p)
    order = random.permutation(MODEL.n_p)
    names = [MODEL.parameter_names[i] for i in order]
    feedforward = identified_feedforward(MODEL, 'wls', names, values[order])
    np.testing.assert_array_equal(feedforward.parameters, values)
    assert not feedforward.parameters.flags.writeable


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda n, v: (n[:-1], v[:-1]), "'z.rotor' is missing"),
        (lambda n, v: (n + ['w.rotor'], [*v, 1.0]), "'w.rotor' is unknown"),
        (lambda n, v: (n[:-1] + ['platform.m'], v), "'platform.m' is given twice"),
        (lambda n, v: (n, [*v[:-1], np.nan]), "'z.rotor' is not finite"),
        (lambda n, v: (n, v[:-1]), 'values of shape'),
    ],
)
def test_refusals_name_the_parameter(change, message: str) -> None:
    names, values = change(list(MODEL.parameter_names), list(MODEL.nominal_parameters))
    with pytest.raises(ModelFileError, match=message):
        identified_feedforward(MODEL, 'wls', names, values)


@pytest.mark.parametrize('index', [0, 1, 2, 9])
def test_negative_mass_friction_and_rotor_are_not_physical(index: int) -> None:
    values = np.array(MODEL.nominal_parameters)
    values[index] = -0.1
    with pytest.raises(NotPhysicalError, match=MODEL.parameter_names[index]):
        identified_feedforward(MODEL, 'wls', MODEL.parameter_names, values)


@pytest.mark.parametrize(
    ('parameter', 'value'),
    [('platform.Izz', -5.0), ('platform.Ixx', 10.0), ('platform.mx', 9.0), ('platform.Ixy', 1e200)],
)
def test_impossible_inertia_is_refused_by_body(parameter: str, value: float) -> None:
    model = ClosedChainModel(load('palida'))
    names, values = model.parameter_names, np.array(model.nominal_parameters)
    identified_feedforward(model, 'wls', names, values)
    values[[name.startswith('leg3_ring.') for name in names]] = 0.0  # no body at all
    identified_feedforward(model, 'wls', names, values)
    values[names.index(parameter)] = value
    with pytest.raises(NotPhysicalError, match="body 'platform'"):
        identified_feedforward(model, 'wls', names, values)


LAW = {
    'x.stribeck_force': 4.0,
    'x.stribeck_velocity': 0.6,
    'x.stribeck_exponent': 1.0,
    'z.atan_force': -3.0,
    'z.atan_slope': 2.0,
}


def law_feedforward(changes=None, **parts):
    model = Gantry(mass=10.0, coulomb=5.0, viscous=20.0, rotor=2.0)
    model.description.transition_velocity = 0.002
    values = dict(zip(model.parameter_names, model.nominal_parameters.tolist(), strict=True))
    values |= LAW | (changes or {})
    return model, identified_feedforward(model, 'law', list(values), list(values.values()), **parts)


def test_friction_laws_of_the_drives_are_added() -> None:
    model, feedforward = law_feedforward()
    plain = nominal_feedforward(model).forces(model, MOTION)
    beyond = [4.0 * np.exp(-0.5 / 0.6), 0.0, -3.0 * np.arctan(2.0 * 0.5)]
    np.testing.assert_allclose(feedforward.forces(model, MOTION) - plain, [beyond], atol=1e-12)
    _, forces = feedforward.along(model, MOTION)
    np.testing.assert_array_equal(forces, feedforward.forces(model, MOTION))
    model, without = law_feedforward(friction=False)
    plain = nominal_feedforward(model, friction=False).forces(model, MOTION)
    np.testing.assert_array_equal(without.forces(model, MOTION), plain)


@pytest.mark.parametrize(
    ('changes', 'error', 'message'),
    [
        ({'z.atan_force': -3.3}, NotPhysicalError, "'z.atan_force' is -3.3"),
        ({'x.stribeck_force': -5.1}, NotPhysicalError, 'drives the joint'),
        ({'x.stribeck_velocity': 0.0}, ModelFileError, "'x.stribeck_velocity' must be positive"),
        ({'w.atan_force': 1.0}, ModelFileError, "'w.atan_force' belongs to no"),
    ],
)
def test_impossible_friction_laws_are_refused(changes, error, message) -> None:
    with pytest.raises(error, match=message):
        law_feedforward(changes)
