"""Robots in Gepetto's form: equal to the same robots in ours, mistakes named."""

from __future__ import annotations

import numpy as np
import pytest
from urdf_builder import constraint, control, joint, random_inertial, robot

from pkm_description import DescriptionError, load, loads
from pkm_dynamics import ClosedChainModel

LIMIT = (-2.5, 2.5, 20, 50)


def five_bar(rng, closing: str, joints: str = '') -> list[str]:
    """Links and joints of a planar five-bar whose tip is the link `effector`."""
    parts = ['<link name="base"/>']
    for name in ('upper1', 'lower1', 'upper2', 'effector'):
        parts += [f'<link name="{name}">', random_inertial(rng, 1.0, 0.1), '</link>']
    parts += [
        joint('mot1', 'revolute', 'base', 'upper1', (-0.1, 0, 0), (0, 0, 2.2), (0, 0, 1), LIMIT),
        joint(
            'elbow1', 'revolute', 'upper1', 'lower1', (0.25, 0, 0), (0, 0, -1.6), (0, 0, 1), LIMIT
        ),
        joint('mot2', 'revolute', 'base', 'upper2', (0.1, 0, 0), (0, 0, 0.9), (0, 0, 1), LIMIT),
        joints
        or joint(
            'elbow2', 'revolute', 'upper2', 'effector', (0.25, 0, 0), (0, 0, 1.6), (0, 0, 1), LIMIT
        ),
        closing,
    ]
    return parts


FRAMES = (
    '<link name="tip_A"/>'
    + joint('tip_A_frame', 'fixed', 'lower1', 'tip_A', (0.3, 0, 0))
    + '<link name="tip_B"/>'
    + joint('tip_B_frame', 'fixed', 'effector', 'tip_B', (0.3, 0, 0))
)
HOME = 'home: {joints: {mot1: 0.0, mot2: 0.0}}\n'
PLATFORM = '<link name="platform"/>' + joint('platform_frame', 'fixed', 'effector', 'platform')


def folder_of(path, urdf: str, yaml_text: str):
    (path / 'robot.urdf').write_text(urdf)
    (path / 'robot.yaml').write_text(yaml_text)
    return path


def same_forces(first, second) -> None:
    """Both descriptions need the same forces for the same motions of their actuators."""
    models = [ClosedChainModel(first), ClosedChainModel(second)]
    rng = np.random.default_rng(4)
    q, v, a = rng.normal(size=(3, 6, models[0].n_a))
    home = models[0].home_actuators
    np.testing.assert_allclose(models[1].home_actuators, home, atol=1e-9)
    forces = [m.inverse_dynamics(m.motion_from_actuators(home + 0.05 * q, v, a)) for m in models]
    np.testing.assert_allclose(forces[0], forces[1], rtol=1e-8, atol=1e-9)


def test_a_loop_closed_in_position(tmp_path):
    theirs = load(
        folder_of(
            tmp_path,
            robot('bar', five_bar(np.random.default_rng(1), FRAMES)),
            "closed_loop: [['tip_A', 'tip_B']]\ntype: ['3d']\nname_mot: ['mot1', 'mot2']\n",
        )
    )
    assert theirs.actuated_joints == ['mot1', 'mot2']
    (loop,) = theirs.constraints
    assert (loop.name, loop.type) == ('tip_A_to_tip_B', 'spherical')
    closing = constraint('tip', 'spherical', 'lower1', 'effector', (0.3, 0, 0), (0.3, 0, 0))
    parts = five_bar(np.random.default_rng(1), closing + PLATFORM + control(['mot1', 'mot2']))
    same_forces(theirs, loads(robot('bar', parts), HOME))
    again = loads(theirs.urdf, theirs.yaml_text)  # what a bag holds is complete
    assert again.digest == theirs.digest


def test_a_loop_closed_in_place_with_a_ball_and_a_cardan_joint(tmp_path):
    """6d: the frames coincide, so a ball and a cardan joint must give the loop its freedom."""
    tip = (
        '<link name="tip_A"/>'
        + joint('wrist', 'revolute', 'lower1', 'tip_A', (0.3, 0, 0), (0.1, 0.2, 0.3), (0, 0, 1))
        + '<link name="tip_B"/>'
        + joint('tip_B_frame', 'fixed', 'effector', 'tip_B', (0.3, 0, 0), (0.1, 0.2, 2.0))
    )
    cardan = joint('elbow2', 'revolute', 'upper2', 'effector', (0.25, 0, 0), (0, 0, 1.6), (0, 0, 1))
    theirs = load(
        folder_of(
            tmp_path,
            robot('bar', five_bar(np.random.default_rng(2), tip, cardan)),
            'closed_loop: [[tip_A, tip_B]]\ntype: [6d]\nname_mot: [mot2, mot1]\n'
            'joint_name: [wrist, elbow2]\njoint_type: [SPHERICAL, UJOINT_ZY]\n',
        )
        / 'robot.yaml'
    )
    assert theirs.actuated_joints == ['mot2', 'mot1']
    assert theirs.constraints[0].type == 'fixed'
    assert {'wrist_X', 'wrist_Y', 'wrist_Z', 'elbow2_Z'} <= set(theirs.scalar_joints)
    ring = (
        '<link name="ring"/>'
        + joint('elbow2_Z', 'revolute', 'upper2', 'ring', (0.25, 0, 0), (0, 0, 1.6), (0, 0, 1))
        + joint('elbow2_Y', 'revolute', 'ring', 'effector', axis=(0, 1, 0))
    )
    closing = constraint('tip', 'spherical', 'lower1', 'effector', (0.3, 0, 0), (0.3, 0, 0))
    parts = five_bar(np.random.default_rng(2), closing + PLATFORM + control(['mot2', 'mot1']), ring)
    same_forces(theirs, loads(robot('bar', parts), HOME))


def test_a_frozen_joint_and_a_platform_of_ones_choice(tmp_path):
    urdf = robot(
        'arm',
        [
            '<link name="base"/>',
            '<link name="a">',
            random_inertial(np.random.default_rng(3), 1, 0.1),
            '</link><link name="b">',
            random_inertial(np.random.default_rng(4), 1, 0.1),
            '</link>',
            joint('mot', 'revolute', 'base', 'a', (0, 0, 0.1), axis=(0, 1, 0), limit=LIMIT),
            joint('stuck', 'revolute', 'a', 'b', (0.2, 0, 0), (0, 0.3, 0), (1, 0, 0), LIMIT),
        ],
    )
    text = 'name_mot: [mot]\njoint_name: [stuck]\njoint_type: [FIXED]\n'
    arm = load(folder_of(tmp_path, urdf, text + 'platform: a\n') / 'robot.urdf')
    assert arm.joint('stuck').type == 'fixed'
    assert arm.joint('platform_frame').parent == 'a'
    np.testing.assert_allclose(arm.home.position, [0, 0, 0.1], atol=1e-12)


GOOD = "closed_loop: [['tip_A', 'tip_B']]\ntype: ['3d']\nname_mot: ['mot1', 'mot2']\n"


@pytest.mark.parametrize(
    'old, new, message',
    [
        ("'3d'", "'5d'", "tip_A and tip_B has the unknown type '5d'; types are 3d, 6d"),
        ("type: ['3d']", 'type: []', 'type must give 3d or 6d for each of the 1 closed loops'),
        ("'tip_B'", "'tip_C'", "frame 'tip_C', which is no link or joint.*is 'tip_B' meant"),
        ("'tip_B'", '"tip\\0B"', 'which is no link or joint'),
        ("'mot2'", "'mot3'", "name_mot names the joint 'mot3'.*joints are mot1"),
        ("'mot2'", "'mot1'", "name_mot lists 'mot1' twice"),
        ('name_mot', 'name_motor', "unknown key 'name_motor' .is 'name_mot' meant"),
        (
            'type:',
            'joint_name: [elbow1]\njoint_type: [BALL]\ntype:',
            "joint 'elbow1' has the unknown joint_type 'BALL'; "
            'types are SPHERICAL, FIXED, UJOINT_XY',
        ),
        ('type:', 'joint_name: [mot1]\njoint_type: [SPHERICAL]\ntype:', "names the joint 'mot1'"),
        ('type:', 'platform: efector\ntype:', "'efector'.*is 'effector' meant"),
        ("[['tip_A', 'tip_B']]", "['tip_A', 'tip_B']", 'list of pairs of frame names'),
    ],
)
def test_mistakes_are_named(tmp_path, old, new, message):
    assert old in GOOD
    urdf = robot('bar', five_bar(np.random.default_rng(1), FRAMES))
    with pytest.raises(DescriptionError, match=message):
        load(folder_of(tmp_path, urdf, GOOD.replace(old, new)))


def test_folders_and_yaml_files_without_a_robot_are_named(tmp_path):
    with pytest.raises(DescriptionError, match=r'has no robot\.yaml'):
        load(tmp_path)
    (tmp_path / 'robot.yaml').write_text(GOOD)
    with pytest.raises(DescriptionError, match=r"has no 'robot\.urdf' beside it"):
        load(tmp_path)
