"""Robots written by hand from the description of the format, and mistakes made in them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from pkm_description import DescriptionError, load
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.random_motion import random_motion

FOLDER = Path(__file__).parent / 'strangers'
ROBOTS = {'three_prs': '.urdf.xacro', 'planar': '.urdf', 'six_rus': '.urdf.xacro'}


@pytest.mark.parametrize('name', ROBOTS)
def test_forces_are_those_of_pinocchio(name):
    pytest.importorskip('pinocchio')
    from pinocchio_oracle import PinocchioOracle

    description = load(FOLDER / (name + ROBOTS[name]))
    model = ClosedChainModel(description)
    motion = random_motion(model, 12, seed=3)
    rigid = np.where(model.parameter_mask('rigid_body'), model.nominal_parameters, 0.0)
    ours = model.inverse_dynamics(motion, rigid)
    oracle = PinocchioOracle(description)
    theirs = np.array([oracle.forces(model, motion, k) for k in range(len(motion))])
    assert np.max(np.abs(theirs)) > 0.1
    assert np.max(np.abs(ours - theirs)) < 1e-9 * np.max(np.abs(theirs))


def test_what_the_files_say_is_what_is_there():
    planar = load(FOLDER / 'planar.urdf')
    assert planar.actuated_joints == ['left_shoulder', 'right_shoulder']
    assert planar.joint('right_elbow').friction.model == 'viscous'
    assert planar.actuators[0].force_constant == 1.7
    rus = load(f'{FOLDER / "six_rus.urdf.xacro"} rod:=0.36')
    np.testing.assert_allclose(rus.home.position, [0, 0, 0.37], atol=0)
    np.testing.assert_allclose([c.parent_origin.position[2] for c in rus.constraints], 0.36)


CARRIAGE = '<child link="carriage${n}"/>'
WRIST = '<constraint name="wrist" type="revolute">\n    <parent link="left_forearm"/>'
RIGHT = (
    '<joint name="right_shoulder">\n      <command_interface name="effort"/>\n'
    '      <param name="force_constant">1.7</param>\n    </joint>\n'
)
MOTOR6 = '<joint name="motor6"><command_interface name="effort"/></joint>'

# name: (robot, what is replaced, by what, what the message must say)
MISTAKES = {
    'misspelled link': (
        'planar',
        '<parent link="right_forearm"/>',
        '<parent link="right_forarm"/>',
        r"joint 'tool' names the parent link 'right_forarm', which does not exist "
        r"\(is 'right_forearm' meant\?\)",
    ),
    'wrong constraint type': (
        'three_prs',
        'name="ball${n}" type="spherical"',
        'name="ball${n}" type="ball"',
        "constraint 'ball1' has the unknown type 'ball'; types are fixed, spherical, revolute",
    ),
    'missing parent': (
        'planar',
        WRIST,
        WRIST.replace('<parent link="left_forearm"/>', ''),
        "constraint 'wrist' lacks <parent link",
    ),
    'duplicated name': (
        'planar',
        '<link name="right_forearm">',
        '<link name="left_forearm">',
        "link 'left_forearm' is declared twice",
    ),
    'joint and constraint of one name': (
        'planar',
        '<constraint name="wrist"',
        '<constraint name="tool"',
        "joint or constraint 'tool' is declared twice",
    ),
    'actuator of a joint that does not exist': (
        'six_rus',
        '<joint name="motor6"><comm',
        '<joint name="motr6"><comm',
        r"<ros2_control> names the joint 'motr6', which does not exist \(is 'motor6' meant\?\)",
    ),
    'one actuator too few': (
        'planar',
        RIGHT,
        '',
        r'mobility 2 at home but 1 actuated joint \(left_shoulder\).*still move right_shoulder, '
        r'left_elbow, right_elbow: either.*free_joints: \[right_shoulder\]',
    ),
    'one actuator too many': (
        'planar',
        RIGHT,
        RIGHT + RIGHT.replace('right_shoulder', 'left_elbow'),
        'mobility 2 at home but 3 actuated joints.*not independent of the others: left_elbow',
    ),
    'a joint with two drives': (
        'planar',
        RIGHT,
        RIGHT + RIGHT,
        "gives the joint 'right_shoulder' two drives",
    ),
    'loop open by a centimetre': (
        'planar',
        '<child_origin xyz="0.4 0 0"/>',
        '<child_origin xyz="0.4 0.01 0"/>',
        r"constraint 'wrist' \(left_forearm to right_forearm\) stays open by about 0\.0\d m in",
    ),
    'loop out of reach': (
        'planar',
        '<origin xyz="0.15 0 0"/> <axis',
        '<origin xyz="2.15 0 0"/> <axis',
        r"constraint 'wrist' .* stays open by about 0\.\d m in any",
    ),
    'negative mass': (
        'planar',
        '<mass value="1.2"/>',
        '<mass value="-1.2"/>',
        "link 'right_arm': mass -1.2 kg must be positive",
    ),
    'impossible inertia': (
        'planar',
        'ixx="0.0013" iyy="0.0099" izz="0.0097"',
        'ixx="0.0013" iyy="0.0099" izz="0.97"',
        "link 'right_arm': principal moments .* violate the triangle inequality by 0.959 kg m",
    ),
    'inertia that is not positive': (
        'planar',
        'izz="0.0097" ixy="0"',
        'izz="0.0097" ixy="0.1"',
        "link 'right_arm': inertia has the negative principal moment -0.09",
    ),
    'inertia missing': (
        'planar',
        '<inertia ixx="0.0011" iyy="0.0012" izz="0.001" ixy="0" ixz="0" iyz="0"/>',
        '',
        "link 'platform': <inertial> needs <mass> and <inertia>",
    ),
    'limits swapped': (
        'planar',
        'lower="1.0" upper="3.1"',
        'lower="3.1" upper="1.0"',
        "joint 'left_shoulder': lower limit 3.1 is above upper limit 1",
    ),
    'no effort limit': (
        'planar',
        'velocity="8" effort="30"',
        'velocity="8"',
        "actuated joint 'left_shoulder' has no effort limit",
    ),
    'home outside the limits': (
        'three_prs',
        'position: [0, 0, 0.64]',
        'position: [0, 0, 1.4]',
        r"closes at the declared home pose only with joint 'rail1' at 0.966987 \(limits 0 to 0",
    ),
    'home where the loops do not close': (
        'three_prs',
        'position: [0, 0, 0.64]',
        'position: [0.02, 0, 0.64]',
        r'cannot be at the declared home: the nearest closed pose found is .*\(0.02 m and',
    ),
    'zero axis': (
        'planar',
        '<parent_axis xyz="0 1 0"/>',
        '<parent_axis xyz="0 0 0"/>',
        "<parent_axis> of constraint 'wrist' is the zero vector",
    ),
    'axis without a length': (
        'planar',
        '<parent_axis xyz="0 1 0"/>',
        '<parent_axis xyz="0 1e308 1e308"/>',
        "<parent_axis> of constraint 'wrist' is too long",
    ),
    'not a number': (
        'planar',
        'iyy="0.0131"',
        'iyy="nan"',
        "<inertia> of link 'right_forearm': iyy='nan' is not a number",
    ),
    'decimal comma': (
        'planar',
        '<origin xyz="-0.15 0 0"/>',
        '<origin xyz="-0,15 0 0"/>',
        "<origin> of joint 'left_shoulder': xyz='-0,15 0 0' must be 3 finite numbers",
    ),
    'misspelled YAML key': (
        'three_prs',
        'same_design:',
        'same_desing:',
        r"unknown key 'same_desing' \(is 'same_design' meant\?\); keys are title, home",
    ),
    'tab in the YAML': (
        'three_prs',
        '  position:',
        '\tposition:',
        "three_prs.yaml' cannot be read: .*line 2.*not by tabs",
    ),
    'key twice in the YAML': (
        'six_rus',
        'title:',
        'gravity: [0, 0, 0]\ntitle:',
        r"six_rus.yaml'.*the key 'gravity' stands there twice \(line 4\)",
    ),
    'misspelled XML element': (
        'planar',
        '<origin xyz="0.3 0 0"/>',
        '<orign xyz="0.3 0 0"/>',
        r"joint 'left_elbow' has the unknown element <orign> \(line \d+; is <origin> meant\?\)",
    ),
    'misspelled XML attribute': (
        'planar',
        '<dynamics damping="0.01"/>',
        '<dynamics dampign="0.01"/>',
        "<dynamics> of joint 'right_elbow' has the unknown attribute 'dampign'; attributes are",
    ),
    'misspelled constraint': (
        'planar',
        '<constraint name="wrist" type="revolute">',
        '<contraint name="wrist">',
        None,
    ),
    'unclosed XML': (
        'planar',
        '</joint>\n  <joint name="left_elbow"',
        '\n  <joint name="left_elbow"',
        "planar.urdf' is not well-formed XML: .*line",
    ),
    'same design of a link that is not there': (
        'three_prs',
        'rod3]',
        'rod4]',
        r"same_design names 'rod4', which is no link or joint \(is 'rod\d' meant\?\)",
    ),
    'same design of different links': (
        'three_prs',
        'rod3]',
        'platform]',
        "same_design: 'platform' has other nominal parameters",
    ),
    'passive joint dangling': (
        'planar',
        '<ros2_control',
        '<link name="flag"><inertial><mass value="0.1"/><inertia '
        'ixx="1e-4" iyy="1e-4" izz="1e-4"/></inertial></link><joint name="pole" '
        'type="continuous"><parent link="platform"/><child link="flag"/></joint><ros2_control',
        r'mobility 3 .* still move pole: .*free_joints: \[pole\]',
    ),
    'no platform': ('planar', '"platform"', '"tool_plate"', "no link is named 'platform'"),
    'two bases': (
        'planar',
        '<constraint',
        '<link name="table"/><constraint',
        'exactly one link without a parent joint .*it has base_link, table',
    ),
    'two parents': (
        'planar',
        '<constraint',
        '<joint name="extra" type="fixed"><parent link="left_forearm"/>'
        '<child link="platform"/></joint><constraint',
        "'platform' is the child of both joint 'tool' and joint 'extra'; close the loop with a",
    ),
    'universal joint in the tree': (
        'six_rus',
        '<joint name="cardan${n}b" type="revolute">',
        '<joint name="cardan${n}b" type="universal">',
        "joint 'cardan1b' has the unknown type 'universal'.*two revolute joints",
    ),
    'floating joint elsewhere': (
        'planar',
        '<joint name="tool" type="fixed">',
        '<joint name="tool" type="floating">',
        "floating joint 'tool' must hang the link 'platform' on 'base_link'; it hangs",
    ),
    'wrong interface': (
        'planar',
        RIGHT,
        RIGHT.replace('name="effort"', 'name="efort"'),
        r"joint 'right_shoulder' the command interface 'efort' \(is 'effort' meant\?\)",
    ),
    'rotor of a passive joint': (
        'six_rus',
        '{motor1:',
        '{cardan1a:',
        "rotor_inertia names 'cardan1a', which is no joint",
    ),
    'rotor inertia as a text': (
        'six_rus',
        'motor1: 2e-4',
        'motor1: 2 g',
        "rotor_inertia of 'motor1' must be a finite",
    ),
    'gravity with a missing number': (
        'six_rus',
        'gravity: [0, 0, -9.81]',
        'gravity: [0, -9.81]',
        'gravity must be 3 finite',
    ),
}


def broken(tmp_path: Path, robot: str, old: str, new: str) -> Path:
    """Copy a robot with one text replaced, wherever its files have it."""
    found = 0
    for source in FOLDER.glob(f'{robot}.*'):
        text = source.read_text()
        changed = text.replace(old, new) if old == '"platform"' else text.replace(old, new, 1)
        found += text != changed
        if new == '<contraint name="wrist">':
            changed = changed.replace('</constraint>', '</contraint>')
        (tmp_path / source.name).write_text(changed)
    assert found == 1
    return tmp_path / (robot + ROBOTS[robot])


@pytest.mark.parametrize('mistake', MISTAKES)
def test_each_mistake_is_named(tmp_path, mistake):
    robot, old, new, message = MISTAKES[mistake]
    message = message or r'has the unknown element <contraint> \(line \d+; is <constraint> meant'
    with pytest.raises(DescriptionError) as caught:
        load(broken(tmp_path, robot, old, new))
    assert re.search(message, str(caught.value), re.DOTALL), str(caught.value)
    assert len(str(caught.value)) < 700
