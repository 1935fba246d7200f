"""Manufacturers' URDFs that stay as they are: the YAML chooses base, platform and drives."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pkm_description import DescriptionError, load, loads
from pkm_description.checks import inertial_problem
from pkm_description.description import Inertial
from pkm_description.readers.chosen_mechanism import nearest_possible
from pkm_description.remarks import remarks
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.random_motion import random_motion

BODY = (
    '<inertial><origin xyz="{com}"/><mass value="{mass}"/>'
    '<inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def link(name: str, mass: float = 0.0, com: str = '0 0 0.1') -> str:
    body = BODY.format(mass=mass, com=com) if mass else ''
    return f'<link name="{name}">{body}</link>'


def joint(name: str, kind: str, parent: str, child: str, axis: str, further: str = '') -> str:
    limit = '<limit lower="-1" upper="2" effort="50" velocity="3"/>' if kind != 'fixed' else ''
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0 0 0.3" rpy="0.1 0 0.2"/><axis xyz="{axis}"/>{limit}{further}</joint>'
    )


def robot(left: str = '', right: str = '<mimic joint="finger_left" multiplier="-2"/>') -> str:
    """Return a world link, a pedestal, an arm of two joints and a gripper of two fingers."""
    parts = [
        *(link('world'), link('base_link', 3.0), link('upper', 2.0), link('fore', 1.0)),
        *(link('hand', 0.5, '0.05 0 0'), link('left', 0.2, '0.1 0 0'), link('right', 0.3)),
        link('tool0'),
        joint('mount', 'fixed', 'world', 'base_link', '1 0 0'),
        joint('shoulder', 'revolute', 'base_link', 'upper', '0 1 0'),
        joint('elbow', 'revolute', 'upper', 'fore', '0 1 0', '<dynamics D="1" damping="0.1"/>'),
        joint('wrist', 'fixed', 'fore', 'hand', '1 0 0'),
        joint('tool', 'fixed', 'hand', 'tool0', '1 0 0'),
        joint('finger_left', 'revolute', 'hand', 'left', '0 1 0', left),
        joint('finger_right', 'prismatic', 'hand', 'right', '1 0 0', right),
        '<transmission name="t"><type>x</type><joint name="elbow"/>'
        '<actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator>'
        '</transmission>',
    ]
    return f'<robot name="arm">{"".join(parts)}</robot>'


CHOICE = 'platform: tool0\nactuated_joints: [shoulder, elbow]\n'


def test_without_a_choice_one_is_proposed_that_can_be_pasted(tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text(robot())
    with pytest.raises(DescriptionError) as caught:
        load(path)
    reason, text = str(caught.value).split('\n\n')
    assert reason.endswith(f"if this is the robot, write into '{tmp_path / 'arm.yaml'}':")
    assert text == CHOICE
    (tmp_path / 'arm.yaml').write_text(text)
    found = load(path)
    assert (found.platform, found.base_link) == ('tool0', 'world')
    assert found.actuated_joints == ['shoulder', 'elbow'] == found.scalar_joints
    assert found.urdf == robot()


def test_a_proposal_of_drives_for_a_known_platform():
    with pytest.raises(DescriptionError, match=r'\n\nactuated_joints: \[shoulder, elbow\]\n$'):
        loads(robot(), 'platform: hand')


def test_what_is_fixed_and_not_used_is_said():
    said = ' | '.join(remarks(loads(robot(), CHOICE)))
    assert '<mimic> is not modelled; fixed at home: finger_right' in said
    assert 'carrying nothing that is driven; fixed at home: finger_left' in said
    assert "<dynamics D> in joint 'elbow' is not used" in said


@pytest.mark.parametrize('home', ['', 'home: {joints: {finger_left: 0.4}}'])
def test_forces_with_a_gripper_fixed_at_home_are_those_of_pinocchio(home):
    pin = pytest.importorskip('pinocchio')
    description = loads(robot(), CHOICE + home)
    model = ClosedChainModel(description)
    motion = random_motion(model, 5, seed=1)
    rigid = np.where(model.parameter_mask('rigid_body'), model.nominal_parameters, 0.0)
    ours = model.inverse_dynamics(motion, rigid)
    states = model.joint_states(motion)
    whole = pin.buildModelFromXML(robot())
    data = whole.createData()
    opened = 0.4 if home else 0.0
    fingers = {'finger_left': opened, 'finger_right': -2 * opened}
    for k in range(len(motion)):
        q, v, a = pin.neutral(whole), np.zeros(whole.nv), np.zeros(whole.nv)
        for name, value in fingers.items():
            q[whole.joints[whole.getJointId(name)].idx_q] = value
        for i, name in enumerate(model.joint_names):
            own = whole.joints[whole.getJointId(name)]
            q[own.idx_q] = states.positions[k, i]
            v[own.idx_v] = states.velocities[k, i]
            a[own.idx_v] = states.accelerations[k, i]
        forces = pin.rnea(whole, data, q, v, a)
        theirs = [
            forces[whole.joints[whole.getJointId(name)].idx_v] for name in ('shoulder', 'elbow')
        ]
        np.testing.assert_allclose(ours[k], theirs, rtol=1e-9, atol=1e-9)


def test_a_joint_below_all_drives_that_has_none_may_stand_still():
    with pytest.raises(DescriptionError, match=r'`free_joints: \[shoulder\]` or.*`base: upper`'):
        loads(robot(), 'platform: tool0\nactuated_joints: [elbow]\n')
    with pytest.raises(DescriptionError, match=r'`free_joints: \[elbow\]`$'):
        loads(robot(), 'platform: tool0\nactuated_joints: [shoulder]\n')


def test_the_base_may_be_further_down():
    found = loads(robot(), 'base: upper\nplatform: tool0\nactuated_joints: [elbow]')
    assert found.base_link == 'upper' and found.actuated_joints == ['elbow']
    assert 'left out' in found.warnings[1] and 'world, base_link' in found.warnings[1]


def test_limits_and_force_constants_of_drives():
    text = robot().replace('effort="50" velocity="3"', 'effort="0" velocity="0"')
    with pytest.raises(DescriptionError, match=r'`actuated_joints: \{shoulder: \{velocity: \.'):
        loads(text, CHOICE)
    drive = '{effort: 80, velocity: 2, force_constant: 0.5, lower: -2}'
    choice = f'platform: hand\nactuated_joints: {{elbow: {drive}, shoulder: {drive}}}'
    found = loads(text, choice)
    assert found.actuated_joints == ['elbow', 'shoulder']
    limit = found.joint('elbow').limit
    assert (limit.lower, limit.upper, limit.velocity, limit.effort) == (-2, 2, 2, 80)
    assert found.actuators[0].force_constant == 0.5


MISTAKES = {
    'base: bse_link': r"base names .* 'bse_link', which does not exist \(is 'base_link'",
    'platform: tol0': r"no link is named 'tol0'; .*\(is 'tool0' meant\?\)",
    'platform: [tool0]': 'platform must be the name of a link',
    'platform: tool0\nactuated_joints: [shoulder, elbw]': r"names 'elbw', .* \(is 'elbow' meant",
    'platform: tool0\nactuated_joints: [elbow, elbow]': "lists 'elbow' twice",
    'platform: tool0\nactuated_joints: elbow': 'must be a list of joints, or a mapping',
    'platform: tool0\nactuated_joints: {elbow: {efort: 3}}': r"'efort' \(is 'effort' meant\?\)",
    'platform: tool0\nactuated_joints: [elbow]': 'mobility 2 at home .* still move shoulder',
}


@pytest.mark.parametrize('choice', MISTAKES)
def test_a_wrong_choice_is_named(choice):
    with pytest.raises(DescriptionError) as caught:
        loads(robot(), choice)
    assert re.search(MISTAKES[choice], str(caught.value), re.DOTALL), str(caught.value)


def test_a_coupling_that_carries_the_platform_is_refused():
    text = robot().replace('<dynamics D="1" damping="0.1"/>', '<mimic joint="shoulder"/>')
    with pytest.raises(
        DescriptionError,
        match=r"joint 'elbow' follows 'shoulder' \(<mimic>\) and carries the platform 'tool0': ",
    ):
        loads(text, 'platform: tool0\nactuated_joints: [shoulder]')
    driven = loads(text, CHOICE)
    assert "<mimic> of joint 'elbow' is not used: the joint has a drive of its own" in ' '.join(
        driven.warnings
    )


def test_inertias_that_no_body_has_are_replaced_and_named():
    text = robot().replace('izz="0.01"', 'izz="0.05"', 1)  # of base_link, which does not move
    assert 'bodies has' not in text
    found = loads(text, CHOICE)
    assert 'no rigid body has the inertia of these links' in ' '.join(found.warnings)
    own = loads(robot(), CHOICE)
    for each in own.links:
        if each.name != 'base_link' and each.inertial is not None:
            np.testing.assert_array_equal(
                found.link(each.name).inertial.inertia, each.inertial.inertia
            )


def test_the_nearest_possible_inertia():
    possible = Inertial(2.0, np.zeros(3), np.diag([1.0, 2.0, 2.5]))
    assert nearest_possible(possible) is possible
    assert nearest_possible(Inertial(0.0, np.zeros(3), np.eye(3))) is None
    wrong = Inertial(2.0, np.ones(3), np.diag([1.0, 2.0, 5.0]))
    found = nearest_possible(wrong)
    assert inertial_problem(wrong) and inertial_problem(found) is None
    # Second moments 3, 2 and -1: the last becomes a thousandth of the largest.
    np.testing.assert_allclose(np.diag(found.inertia), [2.003, 3.003, 5.0], rtol=1e-12)
    assert found.mass == 2.0 and inertial_problem(Inertial(2.0, np.ones(3), np.diag([-1.0, 1, 1])))
    assert (
        inertial_problem(nearest_possible(Inertial(1.0, np.ones(3), np.diag([-1.0, 1, 1])))) is None
    )


@pytest.mark.parametrize('name', ['arm.yml', 'arm.urdf.yaml', 'Arm.yaml', 'robot.yaml'])
def test_a_yaml_that_would_be_ignored_is_an_error(tmp_path, name):
    (tmp_path / 'arm.urdf').write_text(robot())
    (tmp_path / name).write_text(CHOICE)
    with pytest.raises(DescriptionError, match=rf"{name}' would not be read: .* called 'arm.yaml'"):
        load(tmp_path / 'arm.urdf')


def test_other_yaml_files_of_the_folder_are_left_alone(tmp_path):
    (tmp_path / 'arm.urdf').write_text(robot())
    (tmp_path / 'arm.yaml').write_text(CHOICE)
    (tmp_path / 'other.urdf').write_text(robot())
    (tmp_path / 'other.yaml').write_text(CHOICE)
    (tmp_path / 'arm_controllers.yaml').write_text('controller_manager: {update_rate: 100}')
    (tmp_path / 'notes.yaml').write_text('notes: {a: b}')
    assert load(tmp_path / 'arm.urdf').platform == 'tool0'
    (tmp_path / 'arm.yaml').unlink()
    with pytest.raises(DescriptionError, match="no link is named 'platform'"):
        load(tmp_path / 'arm.urdf')
