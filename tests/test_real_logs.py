"""Converters of public logs, on made-up files in the formats of the logs."""

import sqlite3
import sys
from importlib import import_module
from math import cos, sin
from pathlib import Path

import numpy as np
import pytest
import yaml

import pkm_description
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
        part = np.load(folder / f'{stem}.npz')
        assert list(part['joint_names']) == list(robot.actuated_joints)
        power = np.sum(part['efforts'] * part['velocities'], axis=1)
        np.testing.assert_allclose(power, np.sum(log[:, 14:] * log[:, 7:14], axis=1))
        own = [0, 1, 2, 4, 5, 6]  # what no tendon couples
        np.testing.assert_allclose(part['positions'][:, own], log[:, own])
    # the elbow's pitch from the horizontal is that of its motor: a parallelogram
    home = robot.home_joints
    assert home['elbow'] == pytest.approx(home['elbow_pitch'] - home['shoulder_pitch'])
    assert home['rod'] == pytest.approx(-home['elbow'])


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


@pytest.mark.parametrize('name', ['panda', 'tx40', 'ur10e', 'ur10_bag', 'xmate7p', 'ar5'])
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
