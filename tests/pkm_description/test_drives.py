"""Forces of drives by position: the YAML's section, the function, the short texts."""

from __future__ import annotations

import math

import pytest
from slides import slides

import pkm_description
from pkm_description import DescriptionError, DriveTerms, Friction, Ripple, with_drive_terms
from pkm_description.drives import parse_drive_terms, terms_mapping, with_only_drive_terms
from pkm_description.exporters import build_export
from pkm_dynamics import ClosedChainModel


@pytest.fixture(scope='module')
def plain():
    return pkm_description.load('rps_upv')


def with_section(plain, text):
    return pkm_description.loads(plain.urdf, f'{plain.yaml_text}\ndrives:\n{text}')


def test_the_section_gives_terms_to_the_drives_that_it_names(plain):
    first, second, third = plain.driven_joints
    read = with_section(
        plain,
        f'  "*": {{offset: 2.5}}\n'
        f'  {second}: {{stiffness: 80, rest: 0.1}}\n'
        f'  {third}: {{ripple: {{period: 0.01, harmonics: 2, cosine: [1, 2], sine: 3}}}}\n',
    )
    assert read.drive_terms == {
        first: DriveTerms(offset=2.5),
        second: DriveTerms(offset=2.5, stiffness=80.0, rest=0.1),
        third: DriveTerms(offset=2.5, ripple=Ripple(0.01, (1, 2), (1.0, 2.0), (3.0, 3.0))),
    }
    assert plain.drive_terms == {}


def test_amplitude_and_phase_are_those_of_a_sine(plain):
    joint = plain.driven_joints[0]
    ripple = {'period': 0.02, 'harmonics': [3], 'amplitude': 5.0, 'phase': 0.7}
    found = with_drive_terms(plain, {joint: {'ripple': ripple}}).drive_terms[joint].ripple
    for q in (0.001, 0.0123):
        angle = 2 * math.pi * 3 * q / 0.02
        wave = found.cosine[0] * math.cos(angle) + found.sine[0] * math.sin(angle)
        assert wave == pytest.approx(5.0 * math.sin(angle + 0.7), abs=1e-12)


def test_a_spring_has_an_offset_that_moves_its_rest(plain):
    joint = plain.driven_joints[0]
    found = with_drive_terms(plain, {joint: {'stiffness': 10.0}})
    assert found.drive_terms[joint] == DriveTerms(offset=0.0, stiffness=10.0)


def test_further_terms_leave_the_robot_recognisable(plain):
    joint, other = plain.driven_joints[:2]
    once = with_drive_terms(plain, {joint: {'offset': 1.0}})
    twice = with_drive_terms(once, [f'{joint}:ripple(0.01,2)', f'{other}:spring(0.4)+offset'])
    assert once.digest == twice.digest == plain.digest
    assert twice.drive_terms[joint] == DriveTerms(
        offset=1.0, ripple=Ripple(0.01, (1, 2), (0.0, 0.0), (0.0, 0.0))
    )
    assert twice.drive_terms[other] == DriveTerms(offset=0.0, stiffness=0.0, rest=0.4)
    warm = {'times': [60.0, 600.0], 'coulomb': 4.0, 'start': [1.0, 2.0]}
    twice = with_drive_terms(twice, {other: {'warm_up': warm, 'presliding': 1e-4}})
    content = {name: terms_mapping(terms) for name, terms in twice.drive_terms.items()}
    assert with_drive_terms(plain, content).drive_terms == twice.drive_terms


def test_texts_stand_for_sections():
    assert parse_drive_terms('leg*:offset + ripple(1.2e-2)') == {
        'leg*': {'offset': 0.0, 'ripple': {'period': 0.012, 'harmonics': 1}}
    }
    assert parse_drive_terms(['a:spring', 'a:ripple(0.06,3)', 'b:spring(1e+0)']) == {
        'a': {'stiffness': 0.0, 'rest': 0.0, 'ripple': {'period': 0.06, 'harmonics': 3}},
        'b': {'stiffness': 0.0, 'rest': 1.0},
    }
    assert parse_drive_terms('a:warm_up(60,600)') == {'a': {'warm_up': {'times': [60.0, 600.0]}}}
    assert parse_drive_terms('a:presliding(5e-4)+rotor') == {
        'a': {'presliding': 5e-4, 'rotor': 0.0}
    }


@pytest.mark.parametrize(
    'text',
    [
        '',
        'offset',
        'a:',
        'a:ripple',
        'a:ripple(x)',
        'a:ripple(1,2,3)',
        'a:offset(1)',
        'a:b',
        'a:presliding',
    ],
)
def test_texts_that_are_none_are_refused(text):
    with pytest.raises(DescriptionError, match='JOINT:TERM'):
        parse_drive_terms(text)


@pytest.mark.parametrize(
    ('terms', 'message'),
    [
        ({'leg9': {'offset': 1}}, "names 'leg9', which is no joint with a drive"),
        ({'*': {'ofset': 1}}, "unknown key 'ofset'.*'offset' meant"),
        ({'*': {'offset': 'big'}}, r'offset must be a finite number'),
        ({'*': {'rest': 1.0}}, 'a rest position, but no stiffness'),
        ({'*': {'presliding': 0.0}}, 'presliding must be positive, not 0'),
        ({'*': {'warm_up': {'values': 1.0}}}, r"has no 'times' \[s\]"),
        ({'*': {'warm_up': {'times': [1.0, 1.0]}}}, 'different positive numbers'),
        ({'*': {'warm_up': {'times': 9.0, 'coulomb': -1.0}}}, 'must not be negative'),
        ({'*': {'warm_up': {'times': 9.0, 'start': [-1.0]}}}, r'start -1 is negative'),
        ({'*': {'warm_up': {'times': 9.0, 'values': [1, 2]}}}, 'one number or 1, one a time'),
        ({'*': {'ripple': {'harmonics': 2}}}, "no 'period'"),
        ({'*': {'ripple': {'period': -0.1}}}, 'period must be positive'),
        ({'*': {'ripple': {'period': 1, 'harmonics': 0}}}, 'harmonics must be a count or a list'),
        ({'*': {'ripple': {'period': 1, 'harmonics': [1, 1]}}}, 'different whole numbers'),
        ({'*': {'ripple': {'period': 1, 'harmonics': [1.5]}}}, 'different whole numbers'),
        ({'*': {'ripple': {'period': 1, 'harmonics': 101}}}, 'from 1 to 100'),
        ({'*': {'ripple': {'period': 1, 'cosine': 1, 'phase': 1}}}, 'not both'),
        ({'*': {'ripple': {'period': 1, 'harmonics': 2, 'sine': [1]}}}, 'one number or 2'),
    ],
)
def test_terms_that_mean_nothing_are_refused(plain, terms, message):
    with pytest.raises(DescriptionError, match=message):
        with_drive_terms(plain, terms)


def test_a_joint_without_a_drive_has_none():
    pendulum = pkm_description.load('cart_pendulum')
    with pytest.raises(DescriptionError, match='no joint with a drive'):
        with_drive_terms(pendulum, {pendulum.free_joints[0]: {'offset': 1.0}})


def test_joints_of_one_design_may_have_other_terms(plain):
    """An offset and the phase of a ripple are those of the single drive."""
    joint = plain.driven_joints[0]
    assert any(joint in group for group in plain.same_design)
    assert with_section(plain, f'  {joint}: {{offset: 2}}\n').drive_terms


@pytest.mark.parametrize('form', ['mjcf', 'sdf'])
def test_exports_say_what_they_cannot(plain, form):
    first, second, third = plain.driven_joints
    ripple = {'ripple': {'period': 0.01, 'amplitude': 2.0}}
    sliding = {'offset': 3.0, 'presliding': 2e-4, 'warm_up': {'times': 60.0}}
    terms = {first: sliding, second: {'stiffness': 5.0, 'offset': 1.0}, third: ripple}
    before = build_export(plain, form).losses
    after = build_export(with_drive_terms(plain, terms), form).losses
    lost = sorted(set(after) - set(before))
    assert len(lost) == 2
    assert (
        first in lost[0]
        and 'presliding of 0.0002 and viscous friction that warms up are' in lost[0]
    )
    assert third in lost[1] and 'ripple of period 0.01' in lost[1]


def test_the_urdf_does_not_hide_terms_that_its_texts_do_not_have(plain):
    changed = with_drive_terms(plain, {'*': {'offset': 1.0}})
    with pytest.raises(pkm_description.ExportError, match='actuators were changed'):
        build_export(changed, 'urdf')


def test_a_rotor_is_added_where_the_description_has_none():
    plain = slides()
    joint, other = plain.driven_joints[:2]
    found = with_drive_terms(plain, [f'{joint}:rotor', f'{other}:offset'])
    assert found.drive_terms[joint] == DriveTerms(rotor=0.0)
    assert [item.rotor_inertia for item in found.actuators] == [0.0, None, None, None]
    bare = with_only_drive_terms(found, {other: {'offset': 0.0}})
    assert all(item.rotor_inertia is None for item in bare.actuators)
    own = pkm_description.loads(plain.urdf, f'{plain.yaml_text}rotor_inertia: {{{joint}: 1.5}}')
    kept = with_drive_terms(own, f'{joint}:rotor')
    assert kept.actuators[0].rotor_inertia == 1.5 and kept.drive_terms == {}
    assert with_only_drive_terms(kept, {}).actuators[0].rotor_inertia == 1.5
    with pytest.raises(DescriptionError, match='rotor -1 is negative'):
        with_drive_terms(plain, {joint: {'rotor': -1.0}})


def test_coulomb_friction_gets_two_values_where_the_description_has_one():
    plain = slides()
    joint, other = plain.driven_joints[:2]
    friction = f'friction: {{{joint}: {{coulomb: 4, viscous: 2}}'
    own = pkm_description.loads(plain.urdf, f'{plain.yaml_text}{friction}}}\n')
    text = f'{joint}:asymmetry'
    assert with_drive_terms(own, {joint: {'asymmetry': 1.0}}).joint(joint).friction == Friction(
        5.0, 2.0, 3.0, 'asymmetric'
    )
    found = with_drive_terms(with_drive_terms(own, text), f'{other}:offset')
    assert found.drive_terms[joint] == DriveTerms(asymmetry=0.0) and found.digest == own.digest
    assert found.joint(joint).friction == Friction(4.0, 2.0, 4.0, 'asymmetric')
    bare = with_only_drive_terms(found, {})
    assert bare.drive_terms == {} and bare.joint(joint).friction == Friction(4.0, 2.0, 4.0)
    lopsided = f'{friction}, {other}: {{coulomb: 3, coulomb_negative: 2}}}}\n'
    read = pkm_description.loads(
        plain.urdf, f'{plain.yaml_text}{lopsided}drives: {{"*": {{asymmetry: 0}}}}'
    )
    assert other not in read.drive_terms and read.joint(other).friction.coulomb_negative == 2.0
    with pytest.raises(DescriptionError, match='asymmetry 5 is more than the Coulomb friction 4'):
        with_drive_terms(own, {joint: {'asymmetry': 5.0}})
    none = f'friction: {{{joint}: {{model: none}}}}\ndrives: {{{joint}: {{asymmetry: 0}}}}'
    with pytest.raises(DescriptionError, match='no Coulomb friction that could'):
        pkm_description.loads(plain.urdf, f'{plain.yaml_text}{none}')


def test_friction_by_direction_has_no_viscous_part_where_the_model_has_none():
    """The URDF gives one, which the model `coulomb` leaves out."""
    plain = slides()
    damped = plain.urdf.replace('</joint>', '<dynamics damping="7"/></joint>')
    text = f'{plain.yaml_text}friction: {{along: {{model: coulomb, coulomb: 3}}}}\n'
    own = pkm_description.loads(damped, text)
    assert own.joint('along').friction.viscous == 7.0
    found = with_drive_terms(own, {'along': {'asymmetry': 1.0}})
    assert found.joint('along').friction == Friction(4.0, 7.0, 2.0, 'asymmetric_coulomb')
    names = [name for name in ClosedChainModel(found).parameter_names if name.startswith('along.')]
    assert names == ['along.coulomb_positive', 'along.coulomb_negative']
    assert with_only_drive_terms(found, {}) == own
