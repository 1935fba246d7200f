"""Descriptions that say other parameters: read again, they are the robot of these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from drawn_parameters import drawn_parameters
from every_model import NAMES, model_of
from mechanisms import serial_arm

import pkm_description
from pkm_description import DescriptionError
from pkm_description.description import Description, EncoderAndDrive
from pkm_description.sidecar_sections import read_simulation
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.parameters.rewritten_description import rewritten
from pkm_dynamics.random_motion import random_motion


def again(model: ClosedChainModel, parameters: dict[str, float], **given) -> ClosedChainModel:
    return ClosedChainModel(rewritten(model.description, parameters, **given))


def assert_said(model: ClosedChainModel, parameters: dict[str, float]) -> None:
    sizes = np.abs(model.nominal_parameters)
    expected = [parameters[name] for name in model.parameter_names]
    np.testing.assert_allclose(model.nominal_parameters, expected, rtol=1e-12, atol=1e-14)
    assert (sizes > 0.0).any()


@pytest.mark.parametrize('alike', [True, False])
@pytest.mark.parametrize('name', NAMES)
def test_it_says_what_it_was_told(name: str, alike: bool) -> None:
    model = model_of(name)
    parameters = drawn_parameters(model, 3, alike)
    found = again(model, parameters)
    assert found.parameter_names == model.parameter_names
    assert_said(found, parameters)
    motion = random_motion(model, 3, seed=1)
    expected = model.inverse_dynamics(motion, [parameters[n] for n in model.parameter_names])
    size = np.abs(expected).max()
    np.testing.assert_allclose(found.inverse_dynamics(motion), expected, atol=1e-10 * size)
    assert_same_mechanism(found.description, model.description)


def assert_same_mechanism(found: Description, expected: Description) -> None:
    assert found.digest != expected.digest
    assert found.home_joints == pytest.approx(expected.home_joints, abs=1e-12)
    assert found.actuated_joints == expected.actuated_joints
    for one, other in zip(found.joints, expected.joints, strict=True):
        assert (one.name, one.type, one.limit) == (other.name, other.type, other.limit)
        assert (one.friction is None) == (other.friction is None)
        assert one.friction is None or one.friction.model == other.friction.model
    assert found.gravity.tolist() == expected.gravity.tolist()


def test_parts_of_one_design_stay_so_where_they_agree() -> None:
    model = model_of('palida')
    same = again(model, drawn_parameters(model, 4)).description
    assert same.same_design == model.description.same_design
    assert same.zero_parameters == model.description.zero_parameters
    other = again(model, drawn_parameters(model, 4, alike=False)).description
    assert len(other.same_design) < len(model.description.same_design)
    assert 'platform.Ixy' not in other.zero_parameters
    assert len(other.zero_parameters) < len(model.description.zero_parameters)


def test_equal_parameters_and_reduced_models_stay_where_they_agree() -> None:
    model = model_of('rps_upv')
    said, alike = model.description.sidecar, drawn_parameters(model, 4)
    same = again(model, alike)
    for key in ('equal_parameters', 'reduced_models', 'zero_parameters'):
        assert same.description.sidecar[key] == said[key]
    for level in said['reduced_models']:
        found, expected = (each.base_parameters(reduced=level).matrix for each in (same, model))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    other = again(model, alike | {'platform.Ixy': 1.1 * alike['platform.Ixy']}).description
    assert 'equal_parameters' not in other.sidecar
    # without the relation, those that are made of it say another thing
    assert list(other.sidecar['reduced_models']) == ['model_1']
    level = {'smooth': {'geometry': False, 'zero_parameters': ['leg1_strut.viscous']}}
    own = replace(model.description, sidecar={**said, 'reduced_models': level})
    assert 'reduced_models' not in rewritten(own, alike).sidecar


def test_the_machine_stays_the_one_that_it_was() -> None:
    model = model_of('five_bar')
    joint = model.actuated_joints[0]
    machine = {joint: EncoderAndDrive(-1, 0.25, 1)}
    robot = replace(model.description, calibration=machine)
    assert rewritten(robot, drawn_parameters(model, 4)).calibration == machine


def test_what_only_the_result_has_is_said_too() -> None:
    """Rotors, springs, ripple, friction by direction and by load of a robot without them."""
    terms = {
        'joint1': {'rotor': 0.02, 'offset': 0.3, 'stiffness': 2.0, 'rest': 0.1},
        'joint2': {'asymmetry': 0.05, 'ripple': {'period': 0.4, 'cosine': 0.2, 'sine': 0.1}},
        'joint3': {'presliding': 0.01, 'warm_up': {'times': [60.0], 'values': [0.01]}},
    }
    extended = pkm_description.with_load_friction(
        pkm_description.with_drive_terms(serial_arm(), terms), {'joint2': 0.03}
    )
    model = ClosedChainModel(extended)
    parameters = drawn_parameters(model, 5)
    found = again(model, parameters)
    assert_said(found, parameters)
    assert found.description.drive_terms['joint1'].rest == 0.1
    assert found.description.drive_terms['joint3'].presliding == 0.01
    assert found.description.joint('joint2').friction.model == 'asymmetric'
    rotors = {item.joint: item.rotor_inertia for item in found.description.actuators}
    assert rotors == {'joint1': parameters['joint1.rotor'], 'joint2': None, 'joint3': None}


def test_stribeck_friction_is_that_of_the_simulated_plant() -> None:
    model = model_of('palida')
    law = {'stribeck_force': 4.0, 'stribeck_velocity': 0.02, 'stribeck_exponent': 1.5}
    own = drawn_parameters(model, 6)
    parameters = own | {f'leg2_strut.{key}': value for key, value in law.items()}
    plant = read_simulation(again(model, parameters).description)
    assert plant.stribeck == {
        'leg2_strut': {'static': own['leg2_strut.coulomb'] + 4.0, 'velocity': 0.02, 'exponent': 1.5}
    }
    before = read_simulation(model.description)
    assert before.cogging_amplitude.any() and not plant.cogging_amplitude.any()
    np.testing.assert_array_equal(plant.force_covariance, before.force_covariance)


def test_force_constants() -> None:
    model = model_of('palida')
    found = again(model, {}, force_constants={'leg1_strut': 21.5}).description
    constants = {item.joint: item.force_constant for item in found.actuators}
    assert constants.pop('leg1_strut') == 21.5
    assert set(constants.values()) == {23.0}


def test_a_body_that_cannot_be_is_named() -> None:
    model = model_of('five_bar')
    with pytest.raises(DescriptionError, match="link 'left_arm'.*mass of -1"):
        rewritten(model.description, drawn_parameters(model, 1) | {'left_arm.m': -1.0})


def test_sources_of_numbers_that_changed_are_gone() -> None:
    model = model_of('palida')
    found = rewritten(model.description, drawn_parameters(model, 1), source='log 7')
    sources = found.sidecar['sources']
    assert sources['bodies, friction, rotors and drives'] == 'log 7'
    assert 'workspace' in sources and 'leg*_alpha.origin' in sources
    assert not any('mass' in key or 'coulomb' in key for key in sources)
