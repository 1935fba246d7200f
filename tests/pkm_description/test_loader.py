"""The loader: what it reads, and that each mistake is named."""

from __future__ import annotations

import re

import mechanisms
import numpy as np
import pytest

import pkm_description
from pkm_description import DescriptionError, loads
from pkm_description.assembly import Assembly
from pkm_description.loader import is_of_library
from pkm_description.rotation_formats import rpy_from_rotation


@pytest.fixture(scope='module')
def palida():
    return pkm_description.load('palida')


def test_library_robot_loads(palida):
    assert 'palida' in pkm_description.library()
    assert palida.actuated_joints == [f'leg{k}_strut' for k in range(1, 7)]
    assert len(palida.links) == 20 and len(palida.constraints) == 6
    assert palida.joint('leg3_strut').friction.coulomb == 14.794
    assert all(actuator.force_constant == 23.0 for actuator in palida.actuators)


def test_home_is_closed_inside_the_limits(palida):
    assembly = Assembly(palida)
    residual, _ = assembly.closure(assembly.home())
    assert np.max(np.abs(residual)) < 1e-9
    for name, value in palida.home_joints.items():
        limit = palida.joint(name).limit
        assert limit.lower <= value <= limit.upper


def test_texts_of_a_bag_give_the_same_robot(palida):
    again = loads(palida.urdf, palida.yaml_text)
    assert again.digest == palida.digest
    assert again.home_joints == pytest.approx(palida.home_joints)


def test_expanded_text_names_no_folder(palida):
    assert '<!--' not in palida.urdf and str(palida.path.parent) not in palida.urdf


def test_home_is_found_without_a_declared_one():
    description = mechanisms.five_bar()
    assembly = Assembly(description)
    residual, _ = assembly.closure(assembly.home())
    assert np.max(np.abs(residual)) < 1e-9
    assert assembly.mobility(assembly.home()) == 2


def test_inertia_is_turned_and_moved_to_the_link_frame():
    inertial = mechanisms.serial_arm().link('arm').inertial
    m, c = inertial.mass, inertial.com
    expected = inertial.inertia + m * (c @ c * np.eye(3) - np.outer(c, c))
    parameters = inertial.standard_parameters()
    assert parameters[0] == m
    np.testing.assert_allclose(parameters[1:4], m * c)
    np.testing.assert_allclose(
        parameters[4:],
        [expected[i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))],
    )


def test_assembly_follows_the_actuators(palida):
    assembly = Assembly(palida)
    index = [assembly.tree.joint_names.index(name) for name in palida.actuated_joints]
    target = assembly.home().joints[index]
    configuration = assembly.solve(target + 0.02)
    residual, _ = assembly.closure(configuration)
    assert np.max(np.abs(residual)) < 1e-6
    with pytest.raises(pkm_description.ConvergenceError, match='does not assemble'):
        assembly.solve(target + [0.3, 0, 0, 0, 0, 0])


# Each entry: what is replaced in PaLiDA's URDF, by what, and what the error must name.
MISTAKES = {
    'missing_link': ('<child link="leg1_stator"/>', '<child link="leg1_statr"/>', 'leg1_statr'),
    'unknown_constraint': (
        'name="leg2_top" type="spherical"',
        'name="leg2_top" type="ball"',
        "leg2_top.*'ball'.*spherical",
    ),
    'negative_mass': ('<mass value="3.107"/>', '<mass value="-3.107"/>', 'platform.*-3.107'),
    'zero_axis': ('<axis xyz="1 0 0"/>', '<axis xyz="0 0 0"/>', 'axis.*zero'),
    'unknown_joint_type': (
        'name="leg1_strut" type="prismatic"',
        'name="leg1_strut" type="slider"',
        "leg1_strut.*'slider'",
    ),
    'not_a_number': ('<mass value="3.107"/>', '<mass value="3,107"/>', "platform.*'3,107'"),
    'reversed_limit': (
        'lower="0.6" upper="1.02"',
        'lower="1.6" upper="1.02"',
        'leg1_strut.*1.6.*above',
    ),
    'unreachable_closure': ('upper="1.02"', 'upper="0.7"', 'leg._strut.*limits 0.6 to 0.7'),
    'unknown_actuator': ('<joint name="leg3_strut">', '<joint name="leg3_motor">', 'leg3_motor'),
    'triangle_inequality': ('izz="0.01608"', 'izz="0.1608"', 'platform.*triangle'),
    'doctype': ('<robot ', '<!DOCTYPE robot [<!ENTITY a "b">]><robot ', 'entities'),
    'not_xml': ('</robot>', '', 'well-formed'),
    'one_actuator_less': (
        '<joint name="leg6_strut">\n      <command_interface name="effort"/>',
        '<joint name="leg6_strut">',
        'mobility 6.*5 actuated',
    ),
    'force_constant_not_finite': (
        'name="force_constant">23.0<',
        'name="force_constant">nan<',
        "leg1_strut.*force_constant 'nan' is not a finite number",
    ),
    'negative_friction': ('friction="11.958"', 'friction="-11.958"', 'leg1_strut.*negative'),
}


@pytest.mark.parametrize('mistake', MISTAKES)
def test_mistakes_in_the_urdf_are_named(palida, mistake):
    old, new, expected = MISTAKES[mistake]
    assert old in palida.urdf
    with pytest.raises(DescriptionError, match=f'(?s){expected}'):
        loads(palida.urdf.replace(old, new), palida.yaml_text)


def test_inconsistent_closure_is_named(palida):
    """A platform joint 3 m off: no strut inside its stroke reaches it."""
    before, closure, after = palida.urdf.partition('<constraint name="leg1_top"')
    old = 'xyz="0.06363961030678927 '
    assert old in after
    moved = before + closure + after.replace(old, 'xyz="3.06363961030678927 ', 1)
    with pytest.raises(DescriptionError, match='leg1'):
        loads(moved, palida.yaml_text)


SIDECAR_MISTAKES = {
    'unknown_key': ('gravity:', 'gravitiy:', "'gravitiy'"),
    'short_gravity': ('gravity: [0.0, 0.0, -9.81]', 'gravity: [0.0, -9.81]', 'gravity.*3 finite'),
    'unknown_design': ('leg2_ring, leg3_ring', 'leg2_rong, leg3_ring', 'leg2_rong'),
    'mixed_design': ('[leg1_ring, leg2_ring', '[leg1_alpha_x, leg2_ring', 'leg1_alpha_x'),
    'tag': (
        'title: PaLiDA',
        'title: !!python/object/apply:os.getcwd []\nnotes: PaLiDA',
        'cannot be read',
    ),
    'nesting': ('gravity: [0.0, 0.0, -9.81]', f'gravity: {"[" * 99}{"]" * 99}', '50 levels'),
    'alias': ('gravity: [0.0, 0.0, -9.81]', 'gravity: &g [0.0, 0.0, -9.81]\nnotes: *g', 'aliases'),
    'home_off': ('position: [0.0, 0.0, -0.755]', 'position: [0.0, 0.0, 2.755]', 'leg'),
}


@pytest.mark.parametrize('mistake', SIDECAR_MISTAKES)
def test_mistakes_in_the_sidecar_are_named(palida, mistake):
    old, new, expected = SIDECAR_MISTAKES[mistake]
    assert old in palida.yaml_text
    with pytest.raises(DescriptionError, match=f'(?s){expected}'):
        loads(palida.urdf, palida.yaml_text.replace(old, new))


# What stands in palida.yaml before a number, and what an error calls the field.
FIELDS = {
    'gravity: [': 'gravity',
    '  position: [': 'home position',
    'transition_velocity: ': 'transition_velocity',
    'position_upper: [': 'workspace.position_upper',
    'tilt: ': 'workspace.tilt',
    'standard_deviation: [': 'simulation.force_noise.standard_deviation',
}


@pytest.mark.parametrize('before', FIELDS)
def test_whole_numbers_too_large_for_a_float(palida, before):
    """YAML reads whole numbers of any length."""
    yaml = re.sub(f'{re.escape(before)}[0-9.]+', before + str(10**400), palida.yaml_text, count=1)
    with pytest.raises(DescriptionError, match=f'^{FIELDS[before]} must be .* not .?10{{400}}'):
        loads(palida.urdf, yaml)


def test_unknown_robot_lists_the_library():
    with pytest.raises(DescriptionError, match='palida'):
        pkm_description.load('paldia')
    with pytest.raises(DescriptionError, match="example .*tricept.*is 'quattro' meant"):
        pkm_description.load('quatro')
    with pytest.raises(DescriptionError, match='no file'):
        pkm_description.load('nowhere/robot.urdf')


def test_examples_are_loaded_by_their_names():
    names = pkm_description.examples()
    assert 'quattro' in names and not set(names) & set(pkm_description.library())
    robot = pkm_description.load('quattro')
    assert robot.name == 'quattro' and not is_of_library(robot)


def test_two_roots_and_two_parents_are_named(palida):
    with pytest.raises(DescriptionError, match='exactly one link without a parent.*stray'):
        loads(palida.urdf.replace('</robot>', '<link name="stray"/></robot>'), palida.yaml_text)
    double = (
        '<joint name="extra" type="fixed"><parent link="base_link"/>'
        '<child link="leg1_ring"/></joint>'
    )
    with pytest.raises(DescriptionError, match="leg1_ring.*'leg1_alpha'.*'extra'"):
        loads(palida.urdf.replace('</robot>', double + '</robot>'), palida.yaml_text)


def test_home_that_cannot_be_is_refused_with_the_nearest_one():
    tripod = mechanisms.tripod()
    moved = 'home: {position: [0.005, 0, 0.72]}\n'
    with pytest.raises(DescriptionError, match='nearest closed pose'):
        loads(tripod.urdf, moved)
    turned = 'home: {position: [0, 0, 0.72], rpy: [0, 0, 0.3]}\n'
    with pytest.raises(DescriptionError, match='nearest closed pose'):
        loads(tripod.urdf, turned)


def test_home_of_a_platform_that_does_not_float():
    arm = mechanisms.serial_arm()
    rpy = rpy_from_rotation(arm.home.rotation).tolist()
    declared = f'home: {{position: {arm.home.position.tolist()}, rpy: {rpy}}}\n'
    found = loads(arm.urdf, declared)
    np.testing.assert_allclose(found.home.position, arm.home.position, atol=1e-6)
    with pytest.raises(DescriptionError, match='nearest closed pose'):
        loads(arm.urdf, 'home: {position: [5, 0, 0]}\n')


def test_limits_beyond_half_a_turn():
    bar = mechanisms.four_bar()
    shifted = bar.urdf.replace('rpy="0.0 0.0 1.2"', f'rpy="0.0 0.0 {1.2 - 4.5!r}"', 1).replace(
        '<limit lower="-3.0" upper="3.0"', '<limit lower="3.5" upper="5.5"', 1
    )
    assert shifted != bar.urdf
    found = loads(shifted, bar.yaml_text)
    assert 3.5 <= found.home_joints['crank_joint'] <= 5.5


def test_more_mistakes_are_named(palida):
    cases = {
        'leg1_top.*child_orign': ('<child_origin', '<child_orign'),
        'leg1_strut.*effort limit': ('upper="1.02" effort="230"', 'upper="1.02"'),
        'leg1_top.*twice': ('constraint name="leg2_top"', 'constraint name="leg1_top"'),
    }
    for expected, (old, new) in cases.items():
        urdf = palida.urdf.replace(old, new, 1)
        if urdf == palida.urdf:  # the attributes are written in another order
            urdf = palida.urdf.replace('effort="230" lower="0.6"', 'lower="0.6"', 1)
        assert urdf != palida.urdf
        with pytest.raises(DescriptionError, match=f'(?s){expected}'):
            loads(urdf, palida.yaml_text)


def test_friction_that_the_model_lacks_is_not_dropped(palida):
    text = palida.yaml_text + 'friction: {leg1_alpha: {viscous: 0.1}}\n'
    friction = (
        loads(
            palida.urdf,
            text.replace(', leg1_alpha', '').replace('[leg1_alpha, leg2_alpha', '[leg2_alpha'),
        )
        .joint('leg1_alpha')
        .friction
    )
    assert (friction.model, friction.coulomb, friction.viscous) == ('coulomb_viscous', 0.42, 0.1)
    with pytest.raises(DescriptionError, match="leg1_alpha.*'viscous'.*'coulomb'"):
        loads(
            palida.urdf,
            palida.yaml_text + 'friction: {leg1_alpha: {model: coulomb, viscous: 0.1}}\n',
        )
