"""Converters of public logs, on made-up files in the formats of the logs."""

import sqlite3
import sys
from importlib import import_module
from math import cos, sin
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.io import savemat

import pkm_description
from pkm_description.assembly import Assembly, Configuration
from pkm_dynamics import ClosedChainModel
from pkm_identification.datasets import load
from pkm_identification.datasets.bags.message_types import jazzy_typestore

SCRIPTS = Path(__file__).parents[1] / 'scripts' / 'real_logs'
COUNT = 20
JOINT_STATE = 'sensor_msgs/msg/JointState'
#: Columns; where each log has positions, efforts or currents, velocities, and its time; n_a.
TABLES = {
    'ur10e': (31, 1, 13, 7, 0, 6),
    'xmate7p': (28, 0, 21, 7, None, 7),
    'ar5': (29, 1, 22, 8, 0, 7),
}


@pytest.fixture(scope='module')
def convert():
    """The script's module; its siblings are importable meanwhile."""
    sys.path.insert(0, str(SCRIPTS))
    yield import_module('convert')
    sys.path.remove(str(SCRIPTS))


def written(path, values, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savetxt(path, values, **options)
    return values


def converted(convert, name, source, target):
    assert convert.main([name, '--from', str(source), '--to', str(target)]) == 0
    folder = target / name
    return folder, pkm_description.load(folder / 'robot.urdf')


def panda_files(source):
    random = np.random.default_rng(0)
    folder = source / 'matlab/data/Exciting_Traj/Trajectory_1/rbt_log'
    one = {name: random.normal(size=(COUNT, 7)) for name in ('positions', 'velocity', 'torques')}
    one['time'] = np.cumsum(random.uniform(0.5e-3, 1.5e-3, COUNT))
    for name, values in one.items():
        written(folder / f'exciting_traj_{name}.txt', values.reshape(-1))
    return one


def test_text_files_become_two_parts_with_the_stamps_of_the_log(convert, tmp_path):
    log = panda_files(tmp_path / 'raw')
    folder, robot = converted(convert, 'panda', tmp_path / 'raw', tmp_path / 'shelf')
    parts = [np.load(folder / f'{stem}.npz') for stem in ('train', 'test')]
    for name, key in (
        ('time', 'time'),
        ('positions', 'positions'),
        ('velocities', 'velocity'),
        ('efforts', 'torques'),
    ):
        both = np.concatenate([part[name] for part in parts])
        np.testing.assert_allclose(both, log[key], rtol=1e-15)
    assert [len(part['time']) for part in parts] == [14, 6]
    assert list(parts[0]['joint_names']) == list(robot.actuated_joints)
    assert load(folder / 'train.npz').joint_names == tuple(robot.actuated_joints)


@pytest.mark.parametrize('name', sorted(TABLES))
def test_tables_give_each_column_its_meaning(convert, tmp_path, name):
    columns, position, force, velocity, time, axes = TABLES[name]
    sources = import_module(name)
    files = list(getattr(sources, 'RECORDINGS', {'train': getattr(sources, 'FILE', '')}).values())
    root = {'ur10e': 'dataset_ur10e', 'xmate7p': 'data/recdata'}.get(name, '')
    header = {'header': 'q,...', 'comments': ''} if name == 'ar5' else {}
    values = np.arange(COUNT)[:, None] * 1e-3 + np.arange(columns)
    for file in files:
        written(tmp_path / 'raw' / root / file, values, delimiter=',', **header)
    folder, robot = converted(convert, name, tmp_path / 'raw', tmp_path / 'shelf')
    stems = sorted(path.stem for path in folder.glob('*.npz'))
    assert any(stem.startswith('train') for stem in stems)
    assert any(stem.startswith('test') for stem in stems)
    part = np.load(folder / f'{[stem for stem in stems if stem.startswith("train")][0]}.npz')
    begin = round(1000 * (part['positions'][0, 0] - position))  # row of the log
    own = values[begin : begin + len(part['time'])]
    kind = 'currents' if name == 'ur10e' else 'efforts'
    for key, first in (('positions', position), (kind, force), ('velocities', velocity)):
        if first is not None:
            np.testing.assert_allclose(part[key], own[:, first : first + axes])
    expected = own[:, time or 0] if time is not None else 1e3 * own[:, 0] / sources.RATE
    np.testing.assert_allclose(part['time'], expected, atol=1e-12)
    assert len(robot.actuated_joints) == axes
    if name == 'ur10e':
        assert [each.force_constant for each in robot.actuators] == [
            a.constant for a in sources.AXES
        ]


def test_text_files_of_an_xmate(convert, tmp_path):
    random = np.random.default_rng(3)
    folder = tmp_path / 'raw/filtering/data/excit'
    log = {
        key: written(folder / f'excit_{name}_record.txt', random.normal(size=(COUNT, 7)))
        for key, name in (('positions', 'ang'), ('velocities', 'vel'), ('efforts', 'torque'))
    }
    folder, robot = converted(convert, 'xmate3', tmp_path / 'raw', tmp_path / 'shelf')
    parts = [np.load(folder / f'{stem}.npz') for stem in ('train', 'test')]
    for name, values in log.items():
        np.testing.assert_allclose(np.concatenate([part[name] for part in parts]), values)
    np.testing.assert_allclose(parts[1]['time'], np.arange(14, COUNT) / 1000)
    heights = [np.linalg.norm(joint.origin.position) for joint in robot.joints]
    np.testing.assert_allclose(heights, [0.3415, 0, 0.394, 0, 0.366, 0, 0.2503], atol=1e-12)


def test_motor_side_and_joint_side_have_the_same_power(convert, tmp_path):
    random = np.random.default_rng(1)
    raw = tmp_path / 'raw/examples/staubli_TX40/data'
    motors = written(
        raw / 'pos_read_data.csv', random.normal(size=(COUNT, 6)), delimiter=',', header='Joint_1'
    )
    torques = written(
        raw / 'curr_data.csv', random.normal(size=(COUNT, 6)), delimiter=',', header='Joint_1'
    )
    folder, robot = converted(convert, 'tx40', tmp_path / 'raw', tmp_path / 'shelf')
    model = ClosedChainModel(robot)
    parts = [load(folder / f'{stem}.npz').for_model(model) for stem in ('test', 'train')]
    joints, efforts = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ('positions', 'efforts')
    )
    work = np.sum(efforts[1:] * np.diff(joints, axis=0), axis=1)
    np.testing.assert_allclose(work, np.sum(torques[1:] * np.diff(motors, axis=0), axis=1))
    # motor 6 is turned 32 times by joint 6 and as often by joint 5
    np.testing.assert_allclose(motors[:, 5], 32 * (joints[:, 4] + joints[:, 5]), rtol=1e-12)
    np.testing.assert_allclose(motors[:, 1], 32 * (joints[:, 1] + np.pi / 2), rtol=1e-12)


def test_a_tendon_along_the_arm_keeps_the_power_and_the_loop_closes(convert, tmp_path):
    random = np.random.default_rng(2)
    raw = tmp_path / 'raw/data/mtm/measured_trajectory'
    logs = {
        stem: written(raw / f'{motion}_results.csv', random.normal(size=(COUNT, 21)), delimiter=',')
        for stem, motion in {'train': 'one', 'test': 'two'}.items()
    }
    folder, robot = converted(convert, 'mtm', tmp_path / 'raw', tmp_path / 'shelf')
    for stem, log in logs.items():
        recording = load(folder / f'{stem}.npz')
        part = recording.for_model(ClosedChainModel(robot))
        assert recording.side == 'motor' and part.velocities is not None
        power = np.sum(part.efforts * part.velocities, axis=1)
        np.testing.assert_allclose(power, np.sum(log[:, 14:] * log[:, 7:14], axis=1))
        own = [0, 1, 2, 4, 5, 6]  # what no tendon couples
        np.testing.assert_allclose(part.positions[:, own], log[:, own])
    # the elbow's pitch from the horizontal is that of its motor: a parallelogram
    home = robot.home_joints
    assert home['elbow'] == pytest.approx(home['elbow_pitch'] - home['shoulder_pitch'])
    assert home['rod'] == pytest.approx(-home['elbow'])


def test_arrays_of_a_controller_one_file_an_axis(convert, tmp_path):
    random = np.random.default_rng(4)
    module = import_module('shanghai')
    log = {}
    for motion in module.RECORDINGS.values():
        folder = tmp_path / 'raw/matlab_identification/data' / f'DataOutput_{motion}'
        folder.mkdir(parents=True)
        for name in ('theta', 'torque'):
            values = log[motion, name] = random.normal(size=(COUNT, 6)) * [1e-4, 1, 1, 1, 1, 1]
            for axis, column in enumerate(values.T, 1):
                lines = [
                    f'DataOutput.OutData[{k}]:={x:.7G}F16#-2B16910H-6' for k, x in enumerate(column)
                ]
                (folder / f'DataOutput_{name}{axis}.txt').write_text('\r\n'.join(lines))
    folder, _ = converted(convert, 'shanghai', tmp_path / 'raw', tmp_path / 'shelf')
    part = np.load(folder / 'test.npz')
    np.testing.assert_allclose(part['positions'], log['Traj3', 'theta'], rtol=1e-6)
    ratio = part['efforts'] / log['Traj3', 'torque']
    np.testing.assert_allclose(ratio[:, 0], 0.03477, rtol=1e-4)
    np.testing.assert_allclose(ratio, ratio[:1].repeat(COUNT, axis=0), rtol=1e-6)
    assert (np.sign(ratio[0]) == [1, 1, -1, 1, 1, 1]).all()


def test_a_workspace_of_an_industrial_robot(convert, tmp_path):
    random = np.random.default_rng(5)
    module = import_module('kr300')
    names = ('act_pos_mot_deg', 'act_vel_mot_deg_per_s', 'act_torque_abs_nm')
    for motion in module.RECORDINGS.values():
        path = tmp_path / f'raw/data/recorded_trajectories/2020-10-21 10s FF {motion} 08ms/data.mat'
        path.parent.mkdir(parents=True)
        recorded = {name: random.normal(size=(6, COUNT)) for name in names}
        savemat(path, {'rec': {'time_cont': 0.004 * np.arange(COUNT), **recorded}})
    folder, robot = converted(convert, 'kr300', tmp_path / 'raw', tmp_path / 'shelf')
    part = np.load(folder / 'test.npz')  # of the last motion
    np.testing.assert_allclose(np.rad2deg(part['positions'].T), recorded['act_pos_mot_deg'])
    power = np.sum(part['efforts'] * part['velocities'], axis=1)
    motors = np.deg2rad(recorded['act_vel_mot_deg_per_s']) * module.GEARS[:, None]
    np.testing.assert_allclose(power, np.sum(recorded['act_torque_abs_nm'] * motors, axis=0))
    # the shoulder stands on the axis that leans out of the column, the flange looks down the arm
    assert robot.joints[1].origin.position == pytest.approx([0.35, 0, 0])


URDF_BESIDE = """<robot name="arm"><link name="world"/><link name="{base}"/>{joints}
  <joint name="lift" type="prismatic"><parent link="world"/><child link="{base}"/>
  <axis xyz="0 0 1"/><limit lower="0" upper="1" effort="1" velocity="1"/></joint></robot>"""


def urdf_of(joints, base, links):
    """A chain of joints below a lift, with the names of a manufacturer's URDF."""
    text = ''
    for parent, child, name in zip((base, *links), links, joints, strict=False):
        text += (
            f'<link name="{child}"><inertial><mass value="1"/><origin xyz="0.1 0 0"/><inertia '
            'ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
            '<origin xyz="0.2 0 0.1" rpy="0.3 0.2 0.1"/><axis xyz="0 0 1"/>'
            '<limit lower="-2" upper="2" effort="10" velocity="2"/></joint>'
        )
    return URDF_BESIDE.format(base=base, joints=text)


def test_tables_of_currents_and_a_foreign_urdf(convert, tmp_path):
    random = np.random.default_rng(6)
    module = import_module('tiago')
    links = [name.replace('joint', 'link') for name in module.JOINTS]
    raw = tmp_path / 'raw/examples/tiago'
    (raw / 'urdf').mkdir(parents=True)
    (raw / module.URDF).write_text(urdf_of(module.JOINTS, 'torso_lift_link', links))
    log = {
        name: written(
            raw / f'data/identification/dynamic/tiago_{name}.csv',
            random.normal(size=(COUNT, 9)),
            delimiter=',',
            header='t,...',
            comments='',
        )
        for name in ('position', 'velocity', 'effort')
    }
    folder, robot = converted(convert, 'tiago', tmp_path / 'raw', tmp_path / 'shelf')
    assert robot.base_link == 'torso_lift_link'
    part = np.load(folder / 'train.npz')
    for key, name in (('positions', 'position'), ('velocities', 'velocity')):
        np.testing.assert_allclose(part[key], log[name][:14, 2:])
    np.testing.assert_allclose(part['efforts'][:, 2], -8.7 * log['effort'][:14, 4])
    np.testing.assert_array_equal(part['time'], log['position'][:14, 0])


def test_tables_of_positions_and_torques_and_a_foreign_urdf(convert, tmp_path):
    random = np.random.default_rng(7)
    module = import_module('airbot')
    raw = tmp_path / 'raw' / module.FOLDER
    (raw / 'urdf').mkdir(parents=True)
    links = [name.replace('joint', 'link') for name in module.JOINTS]
    (raw / module.URDF).write_text(urdf_of(module.JOINTS, 'base_link', links))
    for motion in module.RECORDINGS.values():
        log = {
            name: written(
                raw / f'identification/{motion}/identification_{name}_real.csv',
                random.normal(size=(COUNT, 6)),
                delimiter=',',
                header='1,...',
                comments='',
            )
            for name in ('q', 'tau')
        }
    folder, robot = converted(convert, 'airbot', tmp_path / 'raw', tmp_path / 'shelf')
    part = np.load(folder / 'test.npz')  # of the last motion
    assert list(part['joint_names']) == list(robot.actuated_joints)
    np.testing.assert_allclose(part['positions'], log['q'])
    np.testing.assert_allclose(part['efforts'], log['tau'])
    np.testing.assert_allclose(part['time'], np.arange(COUNT) / 100)


def test_four_of_seven_motors(convert, tmp_path):
    raw = tmp_path / 'raw/data/psm/measured_trajectory'
    random = np.random.default_rng(8)
    for motion in ('one', 'two'):
        log = written(raw / f'{motion}_results.csv', random.normal(size=(COUNT, 21)), delimiter=',')
    folder, robot = converted(convert, 'psm', tmp_path / 'raw', tmp_path / 'shelf')
    part = np.load(folder / 'test.npz')  # of the last motion
    for key, first in (('positions', 0), ('velocities', 7), ('efforts', 14)):
        np.testing.assert_allclose(part[key], log[:, first : first + 4])
    # the tool passes through the point about which yaw and pitch turn
    assert robot.home.position == pytest.approx([0, 0, -(0.1 - 0.4318 + 0.4162)], abs=1e-9)


def test_rows_of_a_humanoid_and_of_a_logger_of_everything(convert, tmp_path):
    random = np.random.default_rng(9)
    baxter, gen3 = import_module('baxter'), import_module('gen3')
    for file in baxter.RECORDINGS.values():
        path = tmp_path / f'raw/Dataset/{file}_ang_vel_torq.csv'
        log = written(path, random.normal(size=(COUNT, 21)), header='ang_left_s0 ...', comments='')
    folder, robot = converted(convert, 'baxter', tmp_path / 'raw', tmp_path / 'shelf')
    part = np.load(folder / 'test_3.npz')  # of the last motion
    for key, first in (('positions', 0), ('velocities', 7), ('efforts', 14)):
        np.testing.assert_allclose(part[key], log[:, first : first + 7])
    # the arm is stretched where all joints are zero; elbow and wrist lie below the shoulder
    arm = Assembly(robot)
    end = arm.body_poses(Configuration(np.zeros(7), arm.home().platform))[0][-1]
    reach = 0.069 + 0.102 + 0.26242 + 0.10359 + 0.2707 + 0.115975
    np.testing.assert_allclose(end, [reach, 0, 0.27035 - 0.069 - 0.01], atol=1e-9)
    for file in gen3.RECORDINGS.values():
        path = tmp_path / f'raw/data/kinova/{file}.csv'
        log = np.column_stack([np.arange(COUNT), random.normal(size=(COUNT, 77))])
        written(path, log, delimiter=',', header='Time,...', comments='')
    folder, _ = converted(convert, 'gen3', tmp_path / 'raw', tmp_path / 'shelf')
    part = np.load(folder / 'test_2.npz')
    for key, first in (('positions', 1), ('velocities', 8), ('efforts', 29)):
        np.testing.assert_allclose(part[key], log[:, first : first + 7])
    np.testing.assert_allclose(part['time'], 1e-3 * np.arange(COUNT))


def experiments(source, names, axes):
    """Positions and commands of experiments at the UPV; return those of the last one."""
    random = np.random.default_rng(10)
    read, sent = 1.6e9 + 0.01 * np.arange(COUNT), 1.6e9 + 0.003 + 0.01 * np.arange(COUNT)
    for name in names:
        logs = {}
        for stem, stamps in (('joint_position', read), ('control_action', sent)):
            seconds = np.floor(stamps)
            logs[stem] = random.normal(size=(COUNT, axes))
            rows = np.column_stack([seconds, np.round(1e9 * (stamps - seconds)), logs[stem]])
            path = source / f'exp_data/exp_{name}/{stem}.txt'
            written(path, rows, header='time_sec ...', comments='')
    return logs


def check_the_command_that_stood(part, logs, first=0):
    """Before the first command there is no row; then each has that of the row before."""
    np.testing.assert_allclose(part['positions'], logs['joint_position'][1 + first :])
    np.testing.assert_allclose(part['efforts'], logs['control_action'][first:-1])
    np.testing.assert_allclose(part['time'], 0.01 * np.arange(first, COUNT - 1), atol=1e-5)


@pytest.mark.parametrize('name', ['upv5p', 'upv3ups'])
def test_a_parallel_robot_and_the_command_that_stood(convert, tmp_path, name):
    module = import_module(name)
    names = [entry if name == 'upv5p' else entry[0] for entry in module.RECORDINGS.values()]
    logs = experiments(tmp_path / 'raw', names, 4)
    folder, robot = converted(convert, name, tmp_path / 'raw', tmp_path / 'shelf')
    last = list(module.RECORDINGS)[-1]
    check_the_command_that_stood(np.load(folder / f'{last}.npz'), logs)  # in newtons
    # lengths of the limbs at home, by the inverse kinematics of the controller
    geometry, position, turn = module.GEOMETRY, robot.home.position, robot.home.rotation
    for limb, (radius, angle), (across, own) in zip(
        ('outer_1', 'outer_2', 'outer_3'), geometry.base, geometry.platform, strict=True
    ):
        foot = radius * np.array([cos(angle), sin(angle), 0])
        tip = position + turn @ (across * np.array([cos(own), sin(own), 0]))
        assert np.linalg.norm(tip - foot) == pytest.approx(robot.home_joints[f'{limb}_strut'])
    centre = np.linalg.norm(position - [geometry.centre, 0, 0])
    assert centre == pytest.approx(robot.home_joints['centre_strut'])


def test_three_screws_and_the_parts_of_their_experiments(convert, tmp_path):
    module = import_module('upv3prs')
    logs = experiments(tmp_path / 'raw', [name for name, *_ in module.RECORDINGS.values()], 3)
    folder, robot = converted(convert, 'upv3prs', tmp_path / 'raw', tmp_path / 'shelf')
    check_the_command_that_stood(np.load(folder / 'test_3.npz'), logs, first=7)  # 0.345 of 19
    counts = {path.stem: len(np.load(path)['time']) for path in folder.glob('*.npz')}
    assert counts == {'train_1': 13, 'test_1': 6, 'train_2': 13, 'test_2': 13, 'test_3': 12}
    # at home the platform hangs level below the carriages
    assert all(robot.home_joints[name] == 0 for name in module.JOINTS)
    reach = module.SIDE / np.sqrt(3)
    depth = np.sqrt(module.LENGTH**2 - (module.RADIUS - reach) ** 2)
    np.testing.assert_allclose(robot.home.position, [reach, 0, -depth], atol=1e-9)
    np.testing.assert_allclose(robot.home.rotation, np.eye(3), atol=1e-9)


def test_three_legs_are_closed_at_any_height_of_their_screws(convert):
    module = import_module('upv3prs')
    robot = pkm_description.loads(module.urdf(), module.SIDECAR)
    assert tuple(robot.actuated_joints) == module.JOINTS
    arm = Assembly(robot)
    assert arm.mobility(arm.home()) == 3
    heights = np.array([0.05, 0.12, 0.2])
    configuration = arm.solve(heights)
    assert np.abs(arm.closure(configuration)[0]).max() < 1e-9
    pose = arm.platform_pose(configuration)
    tips = [pose.position] + [
        pose.position + pose.rotation @ closure.child_origin.position
        for closure in robot.constraints
    ]
    angles = 2 * np.pi / 3 * np.arange(3)
    outward = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(3)])
    legs = np.array(tips) - module.RADIUS * outward - heights[:, None] * [0, 0, 1]
    np.testing.assert_allclose(np.linalg.norm(legs, axis=1), module.LENGTH)
    # each leg stays in the plane of its screw and the axis of the robot
    np.testing.assert_allclose(np.sum(legs * np.cross(outward, [0, 0, 1]), axis=1), 0, atol=1e-9)
    sides = np.linalg.norm(np.array(tips) - np.roll(tips, 1, axis=0), axis=1)
    np.testing.assert_allclose(sides, module.SIDE)


@pytest.mark.parametrize(
    ('name', 'columns', 'rows'), [('dpendulum', 15, 20), ('dpendulum_a', 7, 10)]
)
def test_a_pendulum_has_its_torques_in_the_last_columns(convert, tmp_path, name, columns, rows):
    random = np.random.default_rng(11)
    module = import_module(name)
    raw = tmp_path / 'raw' / module.FOLDER
    logs = {}
    for stem, entry in module.RECORDINGS.items():
        path = raw / (f'{entry}/trajectory.csv' if name == 'dpendulum' else entry[0])
        values = random.normal(size=(COUNT, columns))
        logs[stem] = written(path, values, delimiter=',', header='time,...', comments='')
    folder, robot = converted(convert, name, tmp_path / 'raw', tmp_path / 'shelf')
    part = np.load(folder / 'test_1.npz')  # where only one half of the log had power
    log = logs['test_1'][:rows]
    np.testing.assert_allclose(part['time'], log[:, 0])
    for key, first in (('positions', 1), ('velocities', 3), ('efforts', columns - 2)):
        np.testing.assert_allclose(part[key], log[:, first : first + 2])
    # hanging at zero: the elbow lies below the shoulder
    arm = Assembly(robot)
    elbow = arm.body_poses(Configuration(np.zeros(2), arm.home().platform))[0][-1]
    np.testing.assert_allclose(elbow, [0, 0, -module.AXES[1].a], atol=1e-9)
    assert f"design_{'A.0' if name == 'dpendulum_a' else 'C.1'}'" in module.SIDECAR


def test_currents_of_an_arm_with_gravity_along_y(convert, tmp_path):
    random = np.random.default_rng(12)
    module = import_module('krang')
    urdf = tmp_path / 'raw' / module.URDF
    urdf.parent.mkdir(parents=True)
    links = [*(f'L{number}' for number in range(1, 7)), 'L7_EFF']
    text = urdf_of(module.JOINTS, 'Bracket', links).replace('"prismatic"', '"fixed"')
    text = text.replace('velocity="2"', 'velocity="0.1"')
    mesh = '<visual>\n<geometry><mesh filename="none.stl"/></geometry></visual></link><joint'
    urdf.write_text(text.replace('</link><joint', mesh))
    for motion in module.RECORDINGS.values():
        folder = tmp_path / 'raw' / module.FOLDER / motion
        log = {
            name: written(folder / f'data{name}.txt', random.normal(size=(COUNT, 7)))
            for name in ('Q', 'DotQ_NF', 'Cur')
        }
        log['TimeStamp'] = written(folder / 'dataTimeStamp.txt', 0.01 * np.arange(COUNT))
    folder, robot = converted(convert, 'krang', tmp_path / 'raw', tmp_path / 'shelf')
    part = np.load(folder / 'test.npz')  # of the last motion
    for key, name in (
        ('time', 'TimeStamp'),
        ('positions', 'Q'),
        ('velocities', 'DotQ_NF'),
        ('currents', 'Cur'),
    ):
        np.testing.assert_allclose(part[key], log[name])
    assert list(part['joint_names']) == list(robot.actuated_joints)
    constants = [each.force_constant for each in robot.actuators]
    np.testing.assert_allclose(constants, [18.7144, 18.7144, 23.75, 23.75, 8.832, 8.832, 8.832])
    np.testing.assert_array_equal(robot.gravity, [0, -9.81, 0])
    assert all(robot.joint(name).limit.velocity == 2 for name in module.JOINTS)
    assert 'mesh' not in (folder / 'robot.urdf').read_text()


def test_torques_of_the_opposite_sign(convert, tmp_path):
    random = np.random.default_rng(13)
    module = import_module('iiwa14')
    log = written(tmp_path / 'raw' / module.FILE, random.normal(size=(COUNT, 28)), delimiter=',')
    folder, _ = converted(convert, 'iiwa14', tmp_path / 'raw', tmp_path / 'shelf')
    parts = [np.load(folder / f'{stem}.npz') for stem in ('train', 'test')]
    assert [len(part['time']) for part in parts] == [14, 6]
    for key, values in (
        ('time', np.arange(COUNT) / 25),
        ('positions', log[:, :7]),
        ('velocities', log[:, 7:14]),
        ('efforts', -log[:, 21:]),
    ):
        np.testing.assert_allclose(np.concatenate([part[key] for part in parts]), values)


def test_rows_in_brackets_and_files_of_different_length(convert, tmp_path):
    random = np.random.default_rng(14)
    module = import_module('xmate_er')
    logs = {}
    for stem, (folder, files) in module.RECORDINGS.items():
        logs[stem] = [random.normal(size=(COUNT - axis, 7)) for axis in range(3)]
        for file, values in zip(files, logs[stem], strict=True):
            path = tmp_path / 'raw' / module.FOLDER / folder / f'{file}.txt'
            written(path, values, **({'delimiter': ', '} if stem == 'train_2' else {}))
            if stem == 'train_2':
                lines = [f'[ {line} ]\n' for line in path.read_text().splitlines()]
                path.write_text(''.join(lines))
    folder, _ = converted(convert, 'xmate_er', tmp_path / 'raw', tmp_path / 'shelf')
    for stem, log in logs.items():
        part = np.load(folder / f'{stem}.npz')
        for key, values in zip(('positions', 'velocities', 'efforts'), log, strict=True):
            np.testing.assert_allclose(part[key], values[: COUNT - 2])
        np.testing.assert_allclose(part['time'], np.arange(COUNT - 2) / 1000)


def humble_bag(path, names, stamps):
    """A bag as ROS 2 Humble writes it: without definitions of its types."""
    types = jazzy_typestore()
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as database:
        database.executescript(
            """CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);
            CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL,
              metadata TEXT NOT NULL);
            CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,
              serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL);
            CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL,
              timestamp INTEGER NOT NULL, data BLOB NOT NULL);
            INSERT INTO schema VALUES (3, 'humble');"""
        )
        database.execute(
            'INSERT INTO topics VALUES (1, ?, ?, ?, ?)', ('/joint_states', JOINT_STATE, 'cdr', '')
        )
        for number, stamp in enumerate(stamps):
            header = types.types['std_msgs/msg/Header'](
                types.types['builtin_interfaces/msg/Time'](stamp // 10**9, stamp % 10**9), ''
            )
            row = np.full(len(names), float(number))
            message = types.types[JOINT_STATE](header, list(names), row, row, row + 0.5)
            data = bytes(types.serialize_cdr(message, JOINT_STATE))
            database.execute(
                'INSERT INTO messages(topic_id, timestamp, data) VALUES (1, ?, ?)', (stamp, data)
            )


@pytest.mark.parametrize('name', ['ur10_bag', 'fer_bag'])
def test_a_bag_without_type_definitions_is_cut_in_two_and_read(convert, tmp_path, name):
    module = import_module(name)
    stamps = [round(1e9 * (3 + 0.03 * k)) for k in range(COUNT + 1)]
    humble_bag(tmp_path / 'raw' / module.BAG, module.JOINTS, stamps)
    folder, robot = converted(convert, name, tmp_path / 'raw', tmp_path / 'shelf')
    parts = [load(folder / f'{stem}.db3') for stem in ('train', 'test')]
    assert parts[0].joint_names == tuple(robot.actuated_joints)
    np.testing.assert_array_equal(
        np.concatenate([part.positions[:, 0] for part in parts]), np.arange(COUNT + 1)
    )
    np.testing.assert_array_equal(parts[1].efforts - parts[1].positions, 0.5)
    assert [len(part) for part in parts] == [15, 6]
    assert '| train.db3 | 15 |' in (folder / 'README.md').read_text()


def transform(axis, position):
    """Modified Denavit-Hartenberg transform by Craig's formula."""
    angle = axis.offset + (0.0 if axis.prismatic else position)
    d = axis.d + (position if axis.prismatic else 0.0)
    ca, sa, ct, st = cos(axis.alpha), sin(axis.alpha), cos(angle), sin(angle)
    return np.array(
        [
            [ct, -st, 0, axis.a],
            [st * ca, ct * ca, -sa, -d * sa],
            [st * sa, ct * sa, ca, d * ca],
            [0, 0, 0, 1],
        ]
    )


@pytest.mark.parametrize(
    'name',
    [
        *('panda', 'tx40', 'ur10e', 'ur10_bag', 'xmate7p', 'ar5', 'shanghai', 'kr300'),
        *('xmate3', 'xmate_er', 'iiwa14', 'dpendulum', 'dpendulum_a'),
    ],
)
def test_urdf_has_the_kinematics_of_the_parameters(convert, tmp_path, name):
    module = import_module(name)
    text = import_module('arm_urdf').arm_urdf('arm', module.AXES, module.JOINTS)
    robot = pkm_description.loads(text, module.SIDECAR)
    pose = np.eye(4)
    for axis, joint in zip(module.AXES, module.JOINTS, strict=True):
        pose = pose @ transform(axis, yaml.safe_load(module.SIDECAR)['home']['joints'][joint])
    np.testing.assert_allclose(robot.home.position, pose[:3, 3], atol=1e-9)
    np.testing.assert_allclose(robot.home.rotation, pose[:3, :3], atol=1e-9)


def test_a_missing_file_and_a_missing_folder_are_named(convert, tmp_path, capsys):
    assert convert.main(['panda', '--from', str(tmp_path), '--to', str(tmp_path)]) == 1
    assert 'exciting_traj_time.txt' in capsys.readouterr().err
    with pytest.raises(SystemExit):
        convert.main(['panda'])
    assert '--from' in capsys.readouterr().err


def test_the_list_names_source_and_licence_of_every_log(convert, capsys):
    assert convert.main(['list']) == 0
    text = capsys.readouterr().out
    for name in convert.NAMES:
        log = convert.log_of(name)
        assert log.name == name
        assert log.source in text and log.licence in text
