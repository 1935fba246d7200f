"""Preflight, metadata and verification of recordings, without ROS."""

import re
import shutil
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

import pkm_description
from pkm_description import Payload, payload_of
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.trajectories import FourierTrajectory, PointToPoint, trajectory_from_dict
from pkm_identification.datasets import BagWriter
from pkm_identification.datasets.bags.message_types import complete_typestore, jazzy_typestore
from pkm_identification.excitation import load_excitation
from pkm_identification.recording import (
    SystemFacts,
    dump_metadata,
    finished_metadata,
    recording_metadata,
    run_preflight,
    verify_recording,
)
from pkm_identification.recording import preflight as preflight_module
from pkm_identification.recording.metadata import git_revision
from pkm_identification.requests.refusal import Code

RATE, PERIOD = 200.0, 0.5


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(pkm_description.load('palida'))


@pytest.fixture
def facts(model):
    topics = ['/joint_states', '/motor_currents', '/trajectory_controller/state']
    return {
        'controller_state': 'active',
        'topic_ages': dict.fromkeys(topics, 0.01),
        'positions': np.array(model.home_actuators),
        'digest': model.description.digest,
    }


def check(model, facts, bag, trajectory=None, periods=2, **changed):
    trajectory = trajectory or load_excitation('palida')
    return run_preflight(model, trajectory, periods, 1.0, bag, SystemFacts(**{**facts, **changed}))


def test_a_sound_run_passes_every_check(model, facts, tmp_path):
    report = check(model, facts, tmp_path / 'bag')
    assert report.ok, report.message
    assert (report.code, report.message) == (None, 'ready')
    assert [c.name for c in report.checks] == [
        'controller',
        'topics',
        'description',
        'trajectory',
        'bag',
        'disk',
        'limits',
    ]
    assert report.duration > 2 * 2.0 + 2 * 1.0
    assert report.bag_bytes > 1e6
    assert sum(check.ok for check in report.checks) == 7


@pytest.mark.parametrize(
    ('changed', 'code', 'message'),
    [
        ({'controller_state': 'inactive'}, 'CONTROLLER_NOT_ACTIVE', "'inactive'; activate it"),
        ({'controller_state': ''}, 'CONTROLLER_NOT_ACTIVE', 'does not answer'),
        ({'topic_ages': {'/joint_states': None}}, 'TOPIC_SILENT', "no message on '/joint_states'"),
        ({'topic_ages': {'/motor_currents': 4.0}}, 'TOPIC_SILENT', "'/motor_currents' 4.00 s ago"),
        ({'digest': 'other'}, 'NO_DESCRIPTION', 'another description'),
    ],
)
def test_facts_that_forbid_a_run(model, facts, tmp_path, changed, code, message):
    report = check(model, facts, tmp_path / 'bag', **changed)
    assert not report.ok
    assert report.code is Code[code]
    assert message in report.message


def test_limits_name_joint_and_time(model, facts, tmp_path):
    sine = np.zeros((6, 1))
    sine[2, 0] = 0.3
    far = FourierTrajectory(2.0, [*model.home_position, 0, 0, 0], sine, 0 * sine, robot='palida')
    report = check(model, facts, tmp_path / 'bag', far)
    assert report.code is Code.INFEASIBLE
    assert re.search(r'stroke of leg\d_strut at t = [\d.]+ s', report.message)


def test_the_approach_from_the_measured_pose_is_checked(model, facts, tmp_path):
    """Only the way there leaves the limits: it starts where the stroke ends."""
    beyond = np.array(model.home_actuators) + 0.215
    report = check(model, facts, tmp_path / 'bag', positions=beyond)
    assert report.code is Code.INFEASIBLE
    assert report.feasibility.margins['stroke'].time < 0.1


def test_wrong_trajectories(model, facts, tmp_path):
    sine = np.full((6, 1), 0.01)
    other = FourierTrajectory(1.0, [*model.home_position, 0, 0, 0], sine, sine, robot='msi')
    assert check(model, facts, tmp_path / 'bag', other).code is Code.NO_DESCRIPTION
    assert check(model, facts, tmp_path / 'bag', periods=0).code is Code.BAD_TRAJECTORY


def test_a_motion_that_ends_at_rest_runs_once(model, facts, tmp_path):
    home = [*model.home_position, 0, 0, 0]
    rest = PointToPoint([0.0, 1.0], [home, [*(model.home_position + 0.01), 0, 0, 0]])
    report = check(model, facts, tmp_path / 'bag', rest, periods=1)
    assert report.ok and report.duration == pytest.approx(1.0)
    report = check(model, facts, tmp_path / 'bag', rest, periods=2)
    assert report.code is Code.BAD_TRAJECTORY and 'runs once' in report.message


def test_the_bag_must_be_new_and_writable(model, facts, tmp_path, monkeypatch):
    (tmp_path / 'old').mkdir()
    assert check(model, facts, tmp_path / 'old').code is Code.BAG_EXISTS
    (tmp_path / 'cut.partial').mkdir()
    assert check(model, facts, tmp_path / 'cut').code is Code.BAG_EXISTS
    (tmp_path / 'file').write_text('')
    assert check(model, facts, tmp_path / 'file' / 'bag').code is Code.CANNOT_WRITE
    assert check(model, facts, '').code is Code.CANNOT_WRITE
    usage = shutil.disk_usage(tmp_path)._replace(free=150_000_000)
    monkeypatch.setattr(preflight_module.shutil, 'disk_usage', lambda _: usage)
    assert check(model, facts, tmp_path / 'bag').ok
    full = check(model, facts, tmp_path / 'bag', periods=40)
    assert full.code is Code.DISK_FULL
    assert '150 MB free' in full.message


def test_metadata_is_plain_yaml_and_says_it_all(model):
    trajectory = load_excitation('palida')
    metadata = recording_metadata(model, trajectory, 10, 1.5, {'averaging': 0.001})
    assert metadata['outcome'] == 'running'
    again = yaml.safe_load(dump_metadata(finished_metadata(metadata, 'aborted', 208, 'canceled')))
    assert again['outcome'] == 'aborted'
    assert (again['error_code'], again['error_msg']) == (208, 'canceled')
    read = trajectory_from_dict(again['trajectory'])
    assert np.array_equal(read.sine, trajectory.sine)
    assert (again['period'], again['periods'], again['ramp_time']) == (trajectory.period, 10, 1.5)
    assert again['description_digest'] == model.description.digest
    assert again['force_constants'] == dict(
        zip(model.actuated_joints, model.force_constants, strict=True)
    )
    assert set(again['versions']) >= {'pkm_dynamics', 'pkm_msgs'}
    assert again['payload'] is None
    weight = Payload(mass=2.0, centre=(0.0, 0.0, 0.1), inertia=0, mass_deviation=0.001)
    metadata = recording_metadata(model, trajectory, 10, 1.5, payload=weight)
    again = yaml.safe_load(dump_metadata(metadata))
    assert payload_of(again['payload']).to_mapping() == weight.to_mapping()


def test_the_commit_is_that_of_the_checkout(tmp_path, monkeypatch):
    monkeypatch.setenv('GIT_CEILING_DIRECTORIES', str(tmp_path.parent))  # may lie in a checkout
    assert git_revision(tmp_path) == ''
    if shutil.which('git') is None:
        pytest.skip('git is not installed')
    run = ['git', '-C', str(tmp_path), '-c', 'user.name=t', '-c', 'user.email=t@example.com']
    subprocess.run([*run, 'init', '-q'], check=True)
    subprocess.run([*run, 'commit', '-q', '--allow-empty', '-m', 'x'], check=True)
    head = subprocess.run([*run, 'rev-parse', 'HEAD'], check=True, capture_output=True, text=True)
    assert git_revision(tmp_path) == head.stdout.strip()


# -- verification -----------------------------------------------------------------


@pytest.fixture
def robot(slider_model):
    """The sliders, with strokes."""
    return SimpleNamespace(
        actuated_joints=slider_model.actuated_joints,
        joint_names=slider_model.joint_names,
        description=slider_model.description,
        force_constants=slider_model.force_constants,
        n_a=2,
        lower=np.zeros(2),
        upper=np.ones(2),
    )


@pytest.fixture
def recorded(definitions, robot, tmp_path):
    """The function that writes a bag of three periods, with what a test makes wrong."""

    def write(
        name='bag',
        drop=(),
        saturated=(),
        error=0.001,
        periods=3,
        with_state=True,
        period=PERIOD,
        order=(0, 1),
        middle=(0.5, 0.5),
    ):
        order = list(order)  # of the joints in the messages
        store = jazzy_typestore()
        for kind in definitions:
            complete_typestore(kind, definitions, store)
        types = store.types
        stamp_of, header_of = (types['builtin_interfaces/msg/Time'], types['std_msgs/msg/Header'])
        joints = [robot.actuated_joints[k] for k in order]
        count = round(periods * PERIOD * RATE)
        with BagWriter(tmp_path / name, definitions=definitions) as writer:
            for k in range(-20, count + 20):
                t = 10**9 + round(k / RATE * 1e9)
                header = header_of(stamp_of(t // 10**9, t % 10**9), '')
                q = np.array(middle)[order] + 0.1 * np.sin(2 * np.pi * k / RATE / PERIOD)
                none = np.zeros(0)
                messages = {
                    'joint_states': ('sensor_msgs/msg/JointState', joints, q, none, none),
                    'motor_currents': ('pkm_msgs/msg/MotorCurrents', joints, 2 * q),
                }
                if with_state:
                    wrong = np.array([error * (-1) ** k, 0.0])[order]
                    clamped = np.array([k in saturated, False])[order]
                    messages['trajectory_controller/state'] = (
                        'pkm_msgs/msg/ControllerState',
                        joints,
                        4 if 0 <= k < count else 3,
                        k / RATE,
                        0,
                        q + wrong,
                        0 * q,
                        q,
                        0 * q,
                        0 * q,
                        0 * q,
                        clamped,
                        'none',
                        0.0,
                        1.0,
                    )
                for topic, (kind, *fields) in messages.items():
                    if k in drop and topic == 'joint_states':
                        continue
                    data = store.serialize_cdr(types[kind](header, *fields), kind)
                    writer.write(f'/{topic}', kind, bytes(data), t)
            writer.write_text('/pkm/metadata', yaml.safe_dump({'period': period}), 10**9)
        return tmp_path / name

    return write


def test_a_good_recording(recorded, robot):
    quality = verify_recording(recorded(), robot, 3)
    assert quality.usable
    assert (quality.periods, quality.samples, quality.gaps) == (3, 300, 0)
    assert quality.rate == pytest.approx(RATE)
    assert quality.duration == pytest.approx(1.5)
    assert quality.tracking_rms == pytest.approx([0.001, 0.0])
    assert quality.tracking_max == pytest.approx([0.001, 0.0])
    assert quality.warnings == []


def test_few_gaps_are_a_warning_many_are_not_usable(recorded, robot):
    few = verify_recording(recorded('few', drop={50, 120}), robot, 3)
    assert few.usable
    assert (few.gaps, few.samples) == (2, 298)
    assert few.longest_gap == pytest.approx(2 / RATE)
    assert any('2 gaps' in warning for warning in few.warnings)
    many = verify_recording(recorded('many', drop=set(range(100, 130))), robot, 3)
    assert not many.usable
    assert 'samples are missing' in many.warnings[0]


def test_saturation_and_tracking(recorded, robot):
    quality = verify_recording(recorded('some', saturated={5}, error=0.05), robot, 3)
    assert quality.usable
    assert quality.saturated_fraction == pytest.approx(1 / 300)
    assert any(w.startswith('left was up to 0.05') for w in quality.warnings)
    assert not verify_recording(recorded('much', saturated=set(range(30))), robot, 3).usable


@pytest.mark.parametrize('order', [(0, 1), (1, 0)])
def test_verification_names_the_right_joint_in_any_order(recorded, robot, order):
    """The left is off its path, the right leaves its stroke; their strokes differ."""
    robot.upper = np.array([1.0, 1.5])
    bag = recorded(order=order, error=0.025, saturated={5}, middle=(0.5, 1.45))
    quality = verify_recording(bag, robot, 3)
    assert quality.usable and quality.saturated_fraction == pytest.approx(1 / 300)
    assert quality.tracking_rms == pytest.approx([0.025, 0.0])
    assert quality.tracking_max == pytest.approx([0.025, 0.0])
    _, tracking, stroke = quality.warnings
    assert tracking == 'left was up to 0.0250 off its path'
    assert stroke.startswith("positions of 'right' leave its stroke [0, 1.5]")
    robot.upper = np.array([1.5, 1.6])  # 2 % of 1.5 m is more than the left is off
    assert len(verify_recording(bag, robot, 3).warnings) == 1


def test_missing_periods_and_unreadable_bags(recorded, robot, tmp_path):
    short = verify_recording(recorded('short', periods=2), robot, 3)
    assert not short.usable
    assert short.warnings == ['2 of 3 whole periods were recorded']
    nothing = verify_recording(tmp_path / 'nothing', robot, 3)
    assert not nothing.usable
    assert 'does not exist' in nothing.warnings[0]
    bag = recorded('other')
    robot.actuated_joints = ['a', 'b']
    assert "lacks joints 'a', 'b'" in verify_recording(bag, robot).warnings[0]


def test_without_the_controllers_state(recorded, robot):
    quality = verify_recording(recorded(with_state=False), robot, 3)
    assert quality.usable
    assert quality.periods == 3
    assert np.isnan(quality.saturated_fraction)
    assert np.isnan(quality.tracking_rms).all() and np.isnan(quality.tracking_max).all()
    assert any('phases were not recorded' in warning for warning in quality.warnings)
    assert any('saturation and tracking are unknown' in w for w in quality.warnings)
    assert not verify_recording(recorded('few', with_state=False), robot, 9).usable
    unknown = verify_recording(recorded('none', with_state=False, period=None), robot, 3)
    assert not unknown.usable
    assert any('periods cannot be told' in warning for warning in unknown.warnings)


def test_message_of_unknown_figures(recorded, robot):
    pytest.importorskip('pkm_msgs')
    from pkm_identification.nodes.excitation_run import quality_message

    message = quality_message(verify_recording(recorded(with_state=False), robot, 3))
    assert np.isnan(message.saturated_fraction) and np.isnan(message.tracking_rms).all()
