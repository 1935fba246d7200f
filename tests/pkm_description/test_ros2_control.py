"""What ros2_control gets of a robot, against what MuJoCo and Pinocchio make of it."""

import mujoco
import mujoco_versions as script
import pinocchio
import pytest
import yaml
from lxml import etree

import pkm_description
from pkm_bringup.exports.simulator_files import KEYFRAME, write_mujoco_files
from pkm_description.errors import ExportError
from pkm_description.exporters import build_mjcf
from pkm_description.exporters.ros2_control import build_controllers, build_ros2_control_urdf

DRIVEN = [name for name in pkm_description.library() if name != 'cart_pendulum']


@pytest.mark.parametrize('name', DRIVEN)
def test_each_commanded_joint_has_a_motor_a_limit_and_a_home(name):
    robot = pkm_description.load(name)
    text = build_ros2_control_urdf(robot, 'a/Plugin', {'key': 'value'})
    root = etree.fromstring(text.encode())
    (system,) = root.findall('ros2_control')
    assert system.findtext('hardware/plugin') == 'a/Plugin'
    assert system.findtext("hardware/param[@name='key']") == 'value'
    joints = [joint.get('name') for joint in system.findall('joint')]
    assert joints == list(robot.actuated_joints)
    controllers = yaml.safe_load(build_controllers(robot, 500))
    assert controllers['effort_controller']['ros__parameters']['joints'] == joints
    assert controllers['controller_manager']['ros__parameters']['update_rate'] == 500
    tree = pinocchio.buildModelFromXML(text)
    model = mujoco.MjModel.from_xml_string(build_mjcf(robot, shapes=False).text)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key(KEYFRAME).id)
    for joint in system.findall('joint'):
        name = joint.get('name')
        assert tree.existJointName(name)
        motor, moved = model.actuator(name), model.joint(name)
        assert motor.trnid[0] == moved.id and motor.gear[0] == 1.0
        home = float(joint.findtext("state_interface[@name='position']/param"))
        assert data.qpos[moved.qposadr[0]] == pytest.approx(home, abs=1e-12)
    free = mujoco.mjtJoint.mjJNT_FREE
    assert all(model.joint(i).name for i in range(model.njnt) if model.jnt_type[i] != free)


def test_the_forces_of_home_hold_the_robots_until_a_controller_takes_over():
    """As the table of versions has it, with the MuJoCo that is installed."""
    found = script.held(script.robots())
    assert {name for _, name, *_ in found} >= set(DRIVEN)
    for _, name, moved, opened in found:
        assert moved < 1e-7 and opened < 1e-8, name


def test_robots_that_it_cannot_command_are_refused():
    with pytest.raises(ExportError, match="robot 'cart_pendulum' has no drive at"):
        build_controllers(pkm_description.load('cart_pendulum'), 1000)


def test_files_are_written(tmp_path):
    files = write_mujoco_files('five_bar', tmp_path / 'new', 'left', speed=0.5)
    assert mujoco.MjModel.from_xml_path(str(files.world)).nu == 2 == len(files.forces)
    assert set(yaml.safe_load(files.controllers.read_text())) == {
        '/left/controller_manager',
        '/left/effort_controller',
    }
    assert f'"mujoco_model">{files.world}<' in files.urdf
    assert '"sim_speed_factor">0.5<' in files.urdf
