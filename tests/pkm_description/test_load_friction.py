"""Friction that grows with the load of a joint: the YAML's section, the function, exports."""

from __future__ import annotations

import dataclasses

import pytest

import pkm_description
from pkm_description import DescriptionError, Friction, with_drive_terms, with_load_friction
from pkm_description.exporters import build_export
from pkm_description.friction import load_factors, with_only_load_friction


@pytest.fixture(scope='module')
def plain():
    return pkm_description.load('five_bar')


def with_section(plain, text):
    return pkm_description.loads(plain.urdf, f'{plain.yaml_text}\nfriction:\n{text}')


def test_the_section_gives_load_factors_beside_what_a_joint_has():
    plain = pkm_description.load('four_bar')
    factors = {'crank_joint': 0.02, 'coupler_joint': 0.01, 'rocker_end': 3.0}
    text = ''.join(f'  {joint}: {{load: {factor}}}\n' for joint, factor in factors.items())
    read = with_section(plain, text)
    before, found = (each.joint('crank_joint').friction for each in (plain, read))
    assert (found.model, found.coulomb, found.load) == (before.model, before.coulomb, 0.02)
    assert load_factors(read) == factors
    assert load_factors(plain) == {}


@pytest.mark.parametrize(
    ('section', 'message'),
    [
        ('{model: none, load: 0.1}', "'load', which the model 'none' does not have"),
        ('{model: load}', "model 'load', but no load factor"),
        ('{load: -0.1}', 'must not be negative'),
        ('{load: much}', 'load friction of .left_elbow. must be a finite number'),
    ],
)
def test_factors_that_cannot_be_are_refused(plain, section, message):
    with pytest.raises(DescriptionError, match=message):
        with_section(plain, f'  left_elbow: {section}\n')


def test_further_factors_leave_the_robot_recognisable(plain):
    found = with_load_friction(plain, ['left_*', 'tool_hinge'])
    assert found.digest == plain.digest
    assert load_factors(found) == {'left_motor': 0.0, 'left_elbow': 0.0, 'tool_hinge': 0.0}
    again = with_load_friction(found, {'left_elbow': 0.5})
    assert load_factors(again)['left_elbow'] == 0.5 and len(load_factors(again)) == 3
    assert with_only_load_friction(again, {'tool_hinge': 0.0}).constraints == found.constraints
    bare = with_only_load_friction(again, {})
    assert (bare.joints, bare.constraints) == (plain.joints, plain.constraints)
    with pytest.raises(DescriptionError, match="names 'elbow', which is no joint or constraint"):
        with_load_friction(plain, 'elbow')


def test_friction_by_direction_stays_beside_it():
    plain = pkm_description.load('rps_upv')
    strut = plain.driven_joints[0]
    before = plain.joint(strut).friction
    assert before.coulomb != before.coulomb_negative
    loaded = with_load_friction(plain, {strut: 0.1})
    assert loaded.joint(strut).friction == dataclasses.replace(before, load=0.1)
    bent = with_drive_terms(loaded, {strut: {'asymmetry': 1.0}}).joint(strut).friction
    assert (bent.model, bent.load) == ('asymmetric', 0.1)
    assert with_only_load_friction(loaded, {}).joints == plain.joints


def test_the_model_of_load_friction_alone_has_no_other(plain):
    urdf = plain.urdf.replace('damping="0.05" friction="0.3"', 'damping="2" friction="3"')
    text = '  left_motor: {model: load, load: 1}\n  right_motor: {model: load, load: 1}\n'
    found = pkm_description.loads(urdf, f'{plain.yaml_text}\nfriction:\n{text}')
    assert found.joint('left_motor').friction == Friction(model='load', load=1.0)


@pytest.mark.parametrize('form', ['mjcf', 'sdf'])
def test_exports_say_that_they_have_no_load_friction(plain, form):
    lost = build_export(with_load_friction(plain, {'left_motor': 0.02}), form).losses
    gone = sorted(set(lost) - set(build_export(plain, form).losses))
    assert len(gone) == 1 and "'left_motor'" in gone[0] and 'load by 0.02' in gone[0]
