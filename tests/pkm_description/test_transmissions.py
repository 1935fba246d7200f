"""Transmissions: the YAML's section, ratios of a URDF, limits and constants of motors."""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
import pytest
from lxml import etree
from mechanisms import five_bar
from slides import slides

import pkm_description
from pkm_description import DescriptionError, ExportError, MotorSide, build_export
from pkm_description.exporters import build_mjcf

WRIST = '  wrist: {joints: [joint5, joint6], motors: [pitch, roll], '


@pytest.fixture(scope='module')
def plain():
    return pkm_description.load('serial_arm')


def with_section(plain, text, urdf=None):
    return pkm_description.loads(urdf or plain.urdf, f'{plain.yaml_text}\ntransmissions:\n{text}')


def with_element(plain, text):
    return plain.urdf.replace('</robot>', f'{text}</robot>')


def test_a_coupled_wrist_says_what_motors_and_joints_do(plain):
    """A differential: the joints are half the sum and half the difference of the motors."""
    robot = with_section(plain, WRIST + 'matrix: [[0.01, 0.01], [0.02, -0.02]], offset: [0, 0.3]}')
    side = MotorSide.of(robot)
    assert side.motors == ('joint1', 'joint2', 'joint3', 'joint4', 'pitch', 'roll')
    assert side.coupled.tolist() == [False] * 4 + [True] * 2
    motors = np.random.default_rng(1).normal(size=(5, 6))
    joints = side.joint_positions(motors)
    np.testing.assert_allclose(joints[:, 4], 0.01 * (motors[:, 4] + motors[:, 5]))
    np.testing.assert_allclose(joints[:, 5], 0.02 * (motors[:, 4] - motors[:, 5]) + 0.3)
    np.testing.assert_array_equal(joints[:, :4], motors[:, :4])
    np.testing.assert_allclose(side.motor_positions(joints), motors, atol=1e-12)


def test_power_passes_through(plain):
    robot = with_section(plain, WRIST + 'reduction: [[45, 0], [32, 32]]}')
    side, random = MotorSide.of(robot), np.random.default_rng(2)
    rates, efforts = random.normal(size=(2, 4, 6))
    joint_rates, joint_efforts = side.joint_rates(rates), side.joint_efforts(efforts)
    power = np.sum(joint_rates * joint_efforts, axis=1)
    np.testing.assert_allclose(power, np.sum(rates * efforts, axis=1))
    np.testing.assert_allclose(side.motor_rates(joint_rates), rates, rtol=1e-12)
    np.testing.assert_allclose(side.motor_efforts(joint_efforts), efforts, rtol=1e-12)


def test_what_a_joint_does_not_need_may_be_unknown(plain):
    """Motor 6 also turns with joint 5, but not the other way: a triangle stays one."""
    side = MotorSide.of(with_section(plain, WRIST + 'reduction: [[45, 0], [32, 32]]}'))
    values = np.ones((1, 6))
    values[0, 5] = np.nan
    assert np.flatnonzero(np.isnan(side.joint_positions(values)[0])).tolist() == [5]
    assert np.flatnonzero(np.isnan(side.joint_efforts(values)[0])).tolist() == [4, 5]


@pytest.mark.parametrize(
    ('ratio', 'expected'),
    [
        ('lead: 0.0008', np.diag([8e-4, 8e-4])),
        ('reduction: [50, -25]', np.diag([0.02, -0.04])),
        ('matrix: [[0.5, 0], [0, 2]]', np.diag([0.5, 2.0])),
    ],
)
def test_numbers_for_single_joints(ratio, expected):
    plain = slides()
    text = f'  rails: {{joints: [across, lift], {ratio}}}\n'
    [found] = with_section(plain, text).transmissions
    np.testing.assert_allclose(found.matrix, expected)
    np.testing.assert_allclose(found.inverse, np.linalg.inv(expected))
    assert [motor.name for motor in found.motors] == ['across_motor', 'lift_motor']


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (WRIST + 'matrix: [[1, 2], [2, 4]]}', r'wrist\.matrix is singular'),
        (WRIST + 'matrix: [[1, 0], [0, 0]]}', r'wrist\.matrix is singular'),
        (WRIST + 'reduction: 0}', r'wrist\.reduction is singular'),
        (WRIST + 'matrix: [[1, 2]]}', r'wrist\.matrix has 1 rows for 2 joints'),
        (WRIST + 'matrix: [[1, 2, 3], [1, 2, 4]]}', r'row 1 of .*wrist\.matrix must be 2'),
        (WRIST + 'lead: 1, reduction: 2}', 'wrist must have one of matrix, reduction, lead'),
        ('  a: {joints: [joint7], lead: 1}', "a names 'joint7', which is no joint with a drive"),
        ('  a: {joints: [joint1, joint1], lead: 1}', "a.joints lists 'joint1' twice"),
        (WRIST + 'lead: 1}\n  a: {joints: [joint5], lead: 1}', "'joint5' is in two transmissions"),
        (
            WRIST + 'lead: 1}\n  a: {joints: [joint1], motors: [roll], lead: 1}',
            "motor 'roll' is in two transmissions, 'wrist' and 'a'",
        ),
        ('  a: {joints: [joint1], motors: [joint2], lead: 1}', "'joint2' has the name of a joint"),
        ('  a: {joints: [joint1], motors: [m, n], lead: 1}', 'a has 2 motors for 1 joints'),
        ('  a: {joints: [joint1], motors: {m: {effort: 0}}, lead: 1}', 'm.effort must be positive'),
        ('  a: {joints: [joint1], ratio: 3}', "unknown key 'ratio'"),
    ],
)
def test_errors_name_the_offender(plain, text, message):
    with pytest.raises(DescriptionError, match=message):
        with_section(plain, text)


def test_limits_of_a_motor_are_those_of_its_own_joint(plain):
    motors = 'motors: {m: {effort: 1.5, velocity: 200}}'
    robot = with_section(plain, f'  a: {{joints: [joint1], {motors}, reduction: -100}}')
    limit, own = robot.joint('joint1').limit, plain.joint('joint1').limit
    assert (limit.effort, limit.velocity) == pytest.approx((150.0, 2.0))
    assert (limit.lower, limit.upper) == (own.lower, own.upper)
    loose = with_section(plain, '  a: {joints: [joint1], motors: {m: {effort: 9}}, reduction: 100}')
    assert loose.joint('joint1').limit == own


def test_limits_of_coupled_motors_are_refused(plain):
    text = '  a: {joints: [joint5, joint6], motors: {m: {effort: 9}, n: {}}, '
    with pytest.raises(DescriptionError, match="limits of motor 'm' cannot be said of joints"):
        with_section(plain, text + 'matrix: [[1, 1], [1, -1]]}')


def test_the_force_constant_of_a_motor_is_that_of_its_joint(plain):
    urdf = plain.urdf.replace('<param name="force_constant">18</param>', '')
    assert np.isnan(pkm_description.loads(urdf, plain.yaml_text).actuators[0].force_constant)
    text = '  a: {joints: [joint1], motors: {m: {force_constant: 0.15}}, reduction: -100}'
    robot = with_section(plain, text, urdf)
    assert robot.actuators[0].force_constant == pytest.approx(15.0)
    np.testing.assert_allclose(MotorSide.of(robot).force_constants[0], 0.15)
    with pytest.raises(DescriptionError, match="'joint1': its force_constant is 18, that of its m"):
        with_section(plain, text)


def test_a_ratio_of_the_urdf_is_read_where_the_yaml_says_none(plain):
    element = (
        '<transmission name="t"><type>transmission_interface/SimpleTransmission</type>'
        '<joint name="joint2"><hardwareInterface>x</hardwareInterface></joint><actuator '
        'name="m2"><mechanicalReduction>80</mechanicalReduction></actuator></transmission>'
    )
    urdf = with_element(plain, element)
    [found] = pkm_description.loads(urdf, plain.yaml_text).transmissions
    assert (found.joints, found.motors[0].name) == (('joint2',), 'm2')
    np.testing.assert_allclose(found.matrix, 1 / 80)
    same = with_section(plain, '  a: {joints: [joint2], reduction: 80}', urdf)
    assert [each.name for each in same.transmissions] == ['a']
    with pytest.raises(DescriptionError, match=r"'joint2'.* is 70 in transmissions\.a and 80 in"):
        with_section(plain, '  a: {joints: [joint2], reduction: 70}', urdf)


def simple(content):
    """Element of ROS for joint2 with this content of its joint."""
    return (
        '<transmission name="t"><plugin>transmission_interface/SimpleTransmission</plugin>'
        f'<actuator name="m2" role="actuator1"/><joint name="joint2">{content}</joint>'
        '</transmission>'
    )


RATIO, OFFSET = '<mechanical_reduction>-80</mechanical_reduction>', '<offset>0.3</offset>'


@pytest.mark.parametrize(
    ('content', 'joint_position'),
    [(RATIO + OFFSET, 0.3 - 2.0 / 80), (OFFSET, 0.3 + 2.0), (RATIO, -2.0 / 80)],
)
def test_the_offset_of_a_joint_in_a_urdf_is_read(plain, content, joint_position):
    """Joint = motor / ratio + offset, as SimpleTransmission of ROS has it."""
    robot = pkm_description.loads(with_element(plain, simple(content)), plain.yaml_text)
    found = MotorSide.of(robot).joint_positions(np.array([0.0, 2.0, 0.0, 0.0, 0.0, 0.0]))
    np.testing.assert_allclose(found, [0.0, joint_position, 0.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize('text', ['', 'x', 'nan', 'inf'])
def test_offsets_that_are_no_numbers_leave_the_element_out(plain, text):
    element = simple(f'{RATIO}<offset>{text}</offset>')
    robot = pkm_description.loads(with_element(plain, element), plain.yaml_text)
    assert robot.transmissions == ()


def test_an_offset_that_the_yaml_contradicts_is_refused(plain):
    urdf = with_element(plain, simple(RATIO + OFFSET))
    own = '  a: {joints: [joint2], reduction: -80, offset: '
    assert with_section(plain, f'{own}0.3}}', urdf).transmissions[0].name == 'a'
    with pytest.raises(
        DescriptionError, match=r"'joint2': its offset is 0 in transmissions\.a and"
    ):
        with_section(plain, f'{own}0}}', urdf)


@pytest.mark.parametrize('given', ['', simple(RATIO)])
def test_a_tree_has_offsets_that_are_read_back(plain, given):
    text = '  a: {joints: [joint2], motors: [m2], reduction: -80, offset: 0.3}'
    exported = build_export(with_section(plain, text, with_element(plain, given)), 'urdf', 'tree')
    [found] = pkm_description.loads(exported.text, plain.yaml_text).transmissions
    np.testing.assert_allclose([found.offset[0], found.matrix[0, 0]], [0.3, -1 / 80])
    assert not any('offset' in loss for loss in exported.losses)


def test_motors_that_a_urdf_does_not_tell_apart_get_names_of_their_own(plain):
    """The first has the name that the second would get, the second that of a joint."""
    elements = ''.join(
        f'<transmission name="{joint}"><joint name="{joint}"/><actuator name="{motor}">'
        '<mechanicalReduction>50</mechanicalReduction></actuator></transmission>'
        for joint, motor in (('joint1', 'joint2_motor'), ('joint2', 'joint1'))
    )
    robot = pkm_description.loads(with_element(plain, elements), plain.yaml_text)
    motors = MotorSide.of(robot).motors
    assert len(set(motors)) == len(motors)
    assert not {'joint1', 'joint2'} & set(motors)


def test_a_ratio_of_ros2_control_is_read_and_a_coupling_is_named(plain):
    single = (
        '<transmission name="t"><plugin>transmission_interface/SimpleTransmission</plugin>'
        '<actuator name="joint4"/><joint name="joint4"><mechanical_reduction>2'
        '</mechanical_reduction></joint></transmission>'
    )
    double = '<transmission name="d"><joint name="joint5"/><joint name="joint6"/></transmission>'
    urdf = plain.urdf.replace('</ros2_control>', f'{single}{double}</ros2_control>')
    robot = pkm_description.loads(urdf, plain.yaml_text)
    [found] = robot.transmissions
    assert (found.joints, found.motors[0].name) == (('joint4',), 'joint4_motor')
    assert any("<transmission> 'd' couples joints" in text for text in robot.warnings)


MOTORS = """  wrist:
    joints: [joint5, joint6]
    motors:
      pitch: {rotor_inertia: 2.0e-5, friction: {coulomb: 0.01, viscous: 1.0e-4}}
      roll: {rotor_inertia: 1.0e-5,
             friction: {model: asymmetric, coulomb: 0.03, coulomb_negative: 0.01, viscous: 0}}
    reduction: [[45, 0], [32, 32]]
  base: {joints: [joint1], motors: {turn: {rotor_inertia: 1.0e-4}}, reduction: -100}
"""


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('{rotor_inertia: -1}', 'm.rotor_inertia must be positive, not -1'),
        ('{friction: {coulomb: -1}}', "friction of 'motor m' must not be negative"),
        ('{friction: {load: 0.1}}', 'm.friction cannot grow with a load'),
        ('{friction: {stribeck: 1}}', "friction of 'motor m' has the unknown key 'stribeck'"),
    ],
)
def test_errors_of_motors_name_them(plain, text, message):
    with pytest.raises(DescriptionError, match=message):
        with_section(plain, f'  a: {{joints: [joint1], motors: {{m: {text}}}, lead: 1}}')


def test_mjcf_has_a_tendon_for_each_motor(plain):
    robot = with_section(plain, MOTORS)
    exported = build_mjcf(robot)
    engine = mujoco.MjModel.from_xml_string(exported.text)
    names = [engine.tendon(k).name for k in range(engine.ntendon)]
    assert names == ['pitch', 'roll', 'turn']
    np.testing.assert_allclose(engine.tendon_armature, [2e-5, 1e-5, 1e-4])
    np.testing.assert_allclose(np.ravel(engine.tendon_frictionloss)[:3], [0.01, 0.02, 0.0])
    assert [loss for loss in exported.losses if 'motor' in loss] == [
        "motor 'roll': Coulomb friction 0.03 forwards and 0.01 backwards is written as its mean"
    ]
    frictionless = mujoco.MjModel.from_xml_string(build_mjcf(robot, joint_friction=False).text)
    np.testing.assert_array_equal(frictionless.tendon_frictionloss, 0.0)


def test_mjcf_leaves_out_rotors_between_branches():
    plain = five_bar()
    belt = 'joints: [shoulder1, shoulder2], motors: {a: {rotor_inertia: 1}, b: }'
    robot = with_section(plain, f'  belt: {{{belt}, matrix: [[1, 1], [1, -1]]}}')
    exported = build_mjcf(robot)
    assert '<tendon>' not in exported.text
    assert any("motor 'a': rotor inertia 1 is left out" in loss for loss in exported.losses)


def test_sdf_has_single_rotors_and_names_the_others(plain):
    """The rotor of the base's joint is 1e-4 * 100^2 there: added to the link that it drives."""
    robot, exported = with_section(plain, MOTORS), build_export(with_section(plain, MOTORS), 'sdf')
    own = plain.link('column').inertial.inertia[2, 2]
    driven = etree.fromstring(exported.text).find(".//link[@name='column']/inertial/inertia/izz")
    added = 1.0 + robot.actuators[0].rotor_inertia
    assert float(driven.text) == pytest.approx(own + added)
    lost = [loss for loss in exported.losses if loss.startswith('motor')]
    losses = 'rotor inertia 1e-05 and Coulomb friction 0.02 are no part of SDF'
    assert f"motor 'roll': {losses}" in lost
    assert not any('turn' in loss for loss in lost)


def test_a_tree_has_ratios_as_elements_that_are_read_back(plain):
    exported = build_export(with_section(plain, MOTORS), 'urdf', form='tree')
    [found] = pkm_description.loads(exported.text, plain.yaml_text).transmissions
    assert (found.name, found.joints, found.motors[0].name) == ('base', ('joint1',), 'turn')
    np.testing.assert_allclose(found.matrix, -0.01)
    assert "transmission 'wrist' couples joint5, joint6: it is left out" in exported.losses
    assert "motor 'turn': rotor inertia 0.0001 is no part of URDF" in exported.losses


def test_the_closed_urdf_is_the_same_robot(plain):
    robot = with_section(plain, MOTORS)
    exported = build_export(robot, 'urdf')
    again = pkm_description.loads(exported.text, exported.sidecar)
    assert again.digest == robot.digest
    changed = dataclasses.replace(robot, transmissions=robot.transmissions[:1])
    with pytest.raises(ExportError, match='its transmissions were changed'):
        build_export(changed, 'urdf')
