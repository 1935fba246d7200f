"""SDF read back: exports of ours, a file as strangers write it, and what cannot be read."""

from __future__ import annotations

import re

import numpy as np
import pytest
from closed_chains import CHAINS, closed_chain
from mechanisms import five_bar, serial_arm, skew_hexapod

import pkm_description
from pkm_description import DescriptionError, build_export
from pkm_description.loader import loads_sdf
from pkm_description.rotation_formats import rotation_from_rpy, rpy_from_rotation
from pkm_dynamics import ClosedChainModel

# Frames, nested models, axes in other frames, degrees and quaternions, a universal joint.
ARM = """<sdf version="1.11"><world name="w">
 <gravity>0 0.5 -9.7</gravity>
 <model name="floor"><static>true</static><link name="ground"/></model>
 <model name="arm">
  <pose degrees="true">0.1 0.2 0.3 10 20 30</pose>
  <frame name="shoulder" attached_to="base"><pose>0 0 0.4 0.1 0 0</pose></frame>
  <link name="base"><pose>0 0 0.1 0 0 0.3</pose></link>
  <joint name="w" type="fixed"><parent>world</parent><child>base</child></joint>
  <link name="upper"><pose relative_to="shoulder">0.1 0 0.2 0 0.5 0</pose>
   <inertial><pose>0.01 0.02 0.1 0.3 0.2 0.1</pose><mass>2</mass><inertia><ixx>0.03</ixx>
    <iyy>0.025</iyy><izz>0.01</izz><ixy>0.001</ixy><ixz>-0.002</ixz><iyz>0.0005</iyz></inertia>
   </inertial></link>
  <joint name="j1" type="revolute"><pose relative_to="shoulder"/><parent>shoulder</parent>
   <child>upper</child><axis><xyz expressed_in="__model__">0 0.6 0.8</xyz><limit><lower>-2</lower>
   <upper>2</upper><effort>50</effort><velocity>3</velocity></limit>
   <dynamics><damping>0.3</damping></dynamics></axis></joint>
  <model name="fore"><pose relative_to="upper" rotation_format="quat_xyzw">0 0 0.3 0.48 0.36 0 0.8
   </pose>
   <link name="rod"><pose>0 0 0.1 0 0 0</pose><inertial><mass>1.2</mass>
    <pose>0 0 0.05 0 0 0</pose><inertia><ixx>0.01</ixx><iyy>0.01</iyy><izz>0.004</izz></inertia>
   </inertial></link>
   <frame name="grip" attached_to="rod"><pose>0 0 0.2 0 1 0</pose></frame>
  </model>
  <joint name="j2" type="prismatic"><pose relative_to="fore::grip">0.01 0 0 0 0 0</pose>
   <parent>upper</parent><child>fore::grip</child><axis><xyz>0 1 2</xyz><limit><lower>-0.2</lower>
   <upper>0.3</upper><effort>80</effort></limit></axis></joint>
  <link name="platform"><pose relative_to="fore::grip">0 0 0.1 0.2 0.1 0</pose><inertial>
   <mass>0.7</mass><inertia><ixx>0.002</ixx><iyy>0.002</iyy><izz>0.003</izz></inertia></inertial>
   <visual name="v"><pose>0 0 0.1 0 0 0</pose><geometry><sphere><radius>0.05</radius></sphere>
   </geometry><material><diffuse>1 0 0 0.5</diffuse></material></visual>
   <collision name="c"><geometry><plane/></geometry></collision></link>
  <joint name="j3" type="universal"><parent>fore::rod</parent><child>platform</child>
   <pose>0 0 -0.05 0.3 0 0</pose><axis><xyz>1 0 0</xyz><dynamics><damping>0.01</damping></dynamics>
   </axis><axis2><xyz>0 1 0</xyz><dynamics><damping>0.01</damping></dynamics></axis2></joint>
 </model></world></sdf>"""
DRIVES = """actuated_joints:
  {j1: {effort: 50}, j2: {effort: 80}, j3_1: {effort: 5}, j3_2: {effort: 5}}
"""
ROBOTS = {
    **{f'chain_{kind}': (lambda kind=kind: closed_chain(kind, True)) for kind in CHAINS},
    'skew_hexapod': skew_hexapod,
    'five_bar': five_bar,
    'sliding_rotors': lambda: pkm_description.load('rps_upv'),
    'rotors': lambda: loads_of(serial_arm(), 'rotor_inertia: {joint1: 0.05, joint2: 0.1}\n'),
}


def loads_of(plain, extra):
    return pkm_description.loads(plain.urdf, plain.yaml_text + extra)


def motion_of(model):
    random = np.random.default_rng(11)
    q = model.home_actuators + 0.01 * random.uniform(-1, 1, (3, model.n_a))
    return q, *random.uniform(-1, 1, (2, 3, model.n_a))


def forces_of(description, motion, order=None):
    model = ClosedChainModel(description)
    order = [model.actuated_joints.index(name) for name in order or model.actuated_joints]
    sorted_motion = (array[:, np.argsort(order)] for array in motion)
    return model.inverse_dynamics(model.motion_from_actuators(*sorted_motion))[:, order]


@pytest.mark.parametrize('form', ['graph', 'gazebo'])
@pytest.mark.parametrize('name', ROBOTS)
def test_exports_are_read_as_the_same_robot(name, form):
    """Forces, names, strokes and home of the joints; what the SDF lacks of friction apart."""
    plain = ROBOTS[name]()
    model = ClosedChainModel(plain)
    exported = build_export(plain, 'sdf', form)
    found = loads_sdf(exported.text)
    assert found.platform == plain.platform and found.free_joints == plain.free_joints
    assert sorted(found.actuated_joints) == sorted(plain.actuated_joints)
    for joint in plain.actuated_joints:
        assert found.home_joints[joint] == pytest.approx(plain.home_joints[joint], abs=1e-9)
        limits = [each.joint(joint).limit for each in (found, plain)]
        assert limits[0].upper == pytest.approx(limits[1].upper, abs=1e-12)
        assert limits[0].effort == limits[1].effort
    motion = motion_of(model)
    expected = forces_of(plain, motion)
    scale = np.abs(expected).max()
    again = forces_of(found, motion, plain.actuated_joints)
    # friction of a ball, and friction that differs between the directions
    lost = {'skew_hexapod': 1e-2, 'sliding_rotors': 1e-4}.get(name, 1e-11)
    np.testing.assert_allclose(again, expected, rtol=0, atol=lost * scale)
    heavier = exported.text.replace('<mass>', '<mass>1')
    changed = forces_of(loads_sdf(heavier), motion, plain.actuated_joints)
    assert np.abs(changed - expected).max() > 2e-2 * scale


def test_a_file_as_strangers_write_it(tmp_path):
    """Forces that Drake 1.51 computes, whose parser is libsdformat."""
    (tmp_path / 'arm.sdf').write_text(ARM)
    (tmp_path / 'arm.sdf.yaml').write_text(DRIVES)
    robot = pkm_description.load(tmp_path / 'arm.sdf')
    motion = [[0.1, -0.2, 0.05, 0.3], [0.5, -1, 2, 1.5], [3, -2, 1, 4]]
    found = forces_of(robot, [np.array([row], dtype=float) for row in motion])
    drake = [-7.672460723527928, -12.95139293718416, -0.03027192005559974, 0.14605362049068166]
    np.testing.assert_allclose(found[0], drake, rtol=1e-12)
    assert robot.actuated_joints == ['j1', 'j2', 'j3_1', 'j3_2']
    notes = robot.sidecar['notes']['reading of the SDF']
    assert notes == [
        'static models are left out: floor',
        "a shape of link 'platform' is left out: URDF has no such geometry",
    ]
    assert '<sphere radius="0.05"/>' in robot.urdf and 'rgba="1.0 0.0 0.0 0.5"' in robot.urdf


def test_a_hexapod_of_a_stranger():
    """Legs on universal joints and balls: the platform floats, its balls close the loops."""
    body = '<inertia><ixx>0.02</ixx><iyy>0.03</iyy><izz>0.02</izz></inertia></inertial></link>'
    parts = ['<link name="ground"/>']
    parts.append('<joint name="g" type="fixed"><parent>world</parent><child>ground</child></joint>')
    parts.append(
        f'<link name="table"><pose>0.02 0 0.6 0 0 0.1</pose><inertial><mass>5</mass>{body}'
    )
    for k in range(6):
        base = 0.6 * np.array([np.cos(k * 1.0 + 0.1), np.sin(k * 1.0 + 0.1), 0.0])
        at = (k + 1) // 2 * 2.1
        top = np.array([0.02, 0, 0.6]) + 0.25 * np.array([np.cos(at), np.sin(at), 0.01 * k])
        along = (top - base) / np.linalg.norm(top - base)
        yaw, pitch = np.arctan2(along[1], along[0]), np.arccos(along[2])
        turn = f'0 {text([pitch, yaw])}'
        middle = 0.5 * (base + top)
        parts.append(
            f'<link name="lower{k}"><pose>{text(base)} {turn}</pose><inertial>'
            f'<pose>0 0 0.1 0 0 0</pose><mass>2</mass>{body}'
            f'<link name="upper{k}"><pose>{text(middle)} {turn}</pose>'
            f'<inertial><mass>1</mass>{body}'
            f'<joint name="foot{k}" type="universal"><parent>ground</parent><child>lower{k}</child>'
            '<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint>'
            f'<joint name="leg{k}" type="prismatic"><parent>lower{k}</parent>'
            f'<child>upper{k}</child>'
            '<axis><xyz>0 0 1</xyz><limit><lower>-0.1</lower><upper>0.1</upper><effort>900</effort>'
            '</limit></axis></joint>'
            # turned round: the platform is the parent of the ball
            f'<joint name="ball{k}" type="ball"><pose relative_to="__model__">{text(top)} 0 0 0'
            f'</pose><parent>table</parent><child>upper{k}</child></joint>'
        )
    pushed = ''.join(
        '<plugin filename="f" name="gz::sim::systems::ApplyJointForce">'
        f'<joint_name>leg{k}</joint_name></plugin>'
        for k in range(6)
    )
    model = f'<model name="hexa">{"".join(parts)}{pushed}</model>'
    robot = loads_sdf(f'<sdf version="1.9">{model}</sdf>')
    assert robot.platform == 'table' and len(robot.constraints) == 6
    assert robot.actuated_joints == [f'leg{k}' for k in range(6)]
    motion = motion_of(ClosedChainModel(robot))
    again = loads_sdf(pkm_description.export(robot, 'sdf'))
    expected = forces_of(robot, motion)
    np.testing.assert_allclose(forces_of(again, motion), expected, rtol=0, atol=1e-7)
    # the legs bear the table
    still = [ClosedChainModel(robot).home_actuators[None], *np.zeros((2, 1, 6))]
    legs = [robot.joint(f'leg{k}') for k in range(6)]
    assert all(joint.limit.effort == 900 for joint in legs)
    assert np.sum(forces_of(robot, still)) > 5 * 9.81


def text(values):
    return ' '.join(repr(float(value)) for value in values)


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('<sdf version="1.11">', '<sdf version="2.0">', 'SDF 2.0; read are 1.4'),
        ('<sdf version="1.11">', '<sdf>', "the version ''"),
        ('type="universal"', 'type="gearbox"', "'j3' is a gearbox: the coupling"),
        ('type="universal"', 'type="screw"', "'j3' is a screw"),
        ('type="universal"', 'type="planar"', "'j3' has the unknown type 'planar'; types are"),
        ('type="universal"', 'type="ball"', 'free_joints: .j3_3'),
        ('<parent>upper</parent>', '<parent>uper</parent>', "'uper', which does not .*'upper'"),
        ('<parent>upper</parent>', '', "joint 'j2' lacks <parent>"),
        ('relative_to="shoulder">0.1', 'relative_to="upper">0.1', 'relative to itself'),
        ('attached_to="rod"', 'attached_to="grip"', "'fore::grip' is relative to itself"),
        ('0 0.6 0.8</xyz>', '0 0 0</xyz>', "<axis> of joint 'j1' is the zero vector"),
        ('0 0.6 0.8</xyz>', '0 nan 1</xyz>', "'0 nan 1' must be 3 finite numbers"),
        ('0.48 0.36 0 0.8', '0 0 0 0', 'a quaternion of length zero'),
        ('quat_xyzw', 'quat_wxyz', "unknown rotation_format 'quat_wxyz'"),
        ('<mass>2</mass>', '<mass>heavy</mass>', "<mass> 'heavy' is no number"),
        ('<inertial><mass>1.2', '<inertial auto="true"><mass>1.2', "'fore::rod': its inertia is"),
        (
            '<model name="fore">',
            '<include><uri>model://x</uri></include><model name="fore">',
            'x.*gz',
        ),
        ('<static>true</static>', '', 'one model that is not static, it has floor, arm'),
        ('<axis2>', '<axis2><mimic joint="j1"/>', "<axis2> of joint 'j3' follows another"),
        ('<link name="base">', '<link name="base"><gravity>0</gravity>', "'base': <gravity> other"),
        ('<link name="upper">', '<link name="x"/><link name="upper">', 'stands still, to x'),
        ('<link name="upper">', '<link name="base"/><link name="upper">', "two frames .* 'base'"),
        ('<pose relative_to="shoulder"/>', '<pose frame="shoulder"/>', "'frame' of SDF before 1.7"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, old, new, message):
    assert old in ARM
    (tmp_path / 'arm.sdf').write_text(ARM.replace(old, new))
    (tmp_path / 'arm.sdf.yaml').write_text(DRIVES)
    with pytest.raises(DescriptionError, match=message):
        pkm_description.load(tmp_path / 'arm.sdf')


def test_the_yaml_of_an_sdf_has_its_whole_name(tmp_path):
    (tmp_path / 'arm.sdf').write_text(ARM)
    with pytest.raises(DescriptionError, match='actuated_joints') as error:
        pkm_description.load(tmp_path / 'arm.sdf')
    assert 'arm.sdf.yaml' in str(error.value)  # the message says what to write there
    (tmp_path / 'arm.sdf.yaml').write_text('actuated_joint: []')
    with pytest.raises(DescriptionError, match="unknown key 'actuated_joint'.*'actuated_joints'"):
        pkm_description.load(tmp_path / 'arm.sdf')
    with pytest.raises(DescriptionError, match='<urdf>, not <sdf>'):
        loads_sdf('<urdf/>')


CLOSURES = [
    ('revolute', 'spring_stiffness', 'closes a loop and has a spring'),
    ('universal', 'friction', 'its friction must be viscous'),
]


@pytest.mark.parametrize(('kind', 'tag', 'message'), CLOSURES)
def test_joints_that_close_loops_as_no_constraint_does(kind, tag, message):
    whole = pkm_description.export(closed_chain(kind), 'sdf')
    block = re.search('<joint name="closure".*?</joint>', whole, re.S).group(0)
    more = f'</limit><dynamics><{tag}>3</{tag}></dynamics>'
    with pytest.raises(DescriptionError, match=f"'closure'.*{message}"):
        loads_sdf(whole.replace(block, block.replace('</limit>', more, 1)))
    leaning = re.sub('<axis2>\\s*<xyz>.*?</xyz>', '<axis2><xyz>1 1 1</xyz>', block, flags=re.S)
    if kind == 'universal':
        with pytest.raises(DescriptionError, match="'closure'.*not perpendicular"):
            loads_sdf(whole.replace(block, leaning))


@pytest.mark.parametrize('pitch', [0.3, np.pi / 2, np.pi / 2 - 1e-9, -np.pi / 2, 2.0])
def test_roll_pitch_yaw_near_the_pole(pitch):
    turn = rotation_from_rpy((0.7, pitch, -2.5))
    again = rotation_from_rpy(rpy_from_rotation(turn))
    np.testing.assert_allclose(again, turn, rtol=0, atol=4e-16)
