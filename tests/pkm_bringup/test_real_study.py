"""Study of real logs on a made-up shelf: a two-axis arm whose torques Pinocchio computes."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import pytest

from pkm_bringup import cli
from pkm_bringup.studies import real_study
from pkm_bringup.studies.real_data import plain_reference, real_logs
from pkm_bringup.studies.real_data.plain_reference import PlainReference
from pkm_bringup.studies.real_data.real_logs import EvenLog, RealLog
from pkm_description.errors import DatasetError, EstimationError
from pkm_identification.datasets import Recording

RATE = 100.0
NAMES = ('shoulder', 'elbow')
COULOMB, VISCOUS = np.array([0.8, 0.4]), np.array([1.5, 0.7])
URDF = """<robot name="arm">
  <link name="base_link"/>
  <link name="upper">
    <inertial><origin xyz="0.2 0.01 0"/><mass value="4"/>
      <inertia ixx="0.01" iyy="0.06" izz="0.06" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="platform">
    <inertial><origin xyz="0.15 0 0.02"/><mass value="2"/>
      <inertia ixx="0.005" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base_link"/><child link="upper"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="9" effort="90"/><dynamics damping="0" friction="0"/>
  </joint>
  <joint name="elbow" type="revolute">
    <parent link="upper"/><child link="platform"/><origin xyz="0.4 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" velocity="9" effort="90"/><dynamics damping="0" friction="0"/>
  </joint>
  <ros2_control name="arm" type="system">
    <joint name="shoulder"><command_interface name="effort"/></joint>
    <joint name="elbow"><command_interface name="effort"/></joint>
  </ros2_control>
</robot>
"""


def motion(time, phase):
    """Positions (N, 2) of a motion without a period in the time recorded, and derivatives."""
    slow, fast = 2 * np.pi * 0.31, 2 * np.pi * 0.7123
    angles = np.outer(time, [slow, fast]) + phase
    q = 0.9 * np.sin(angles) + 0.3 * np.sin(angles[:, ::-1] * np.sqrt(2) / 2)
    qd, qdd = (np.zeros_like(q) for _ in range(2))
    for part, rate in ((0.9, [slow, fast]), (0.3, np.array([fast, slow]) * np.sqrt(2) / 2)):
        at = angles if part == 0.9 else angles[:, ::-1] * np.sqrt(2) / 2
        qd += part * np.asarray(rate) * np.cos(at)
        qdd -= part * np.asarray(rate) ** 2 * np.sin(at)
    return q, qd, qdd


def torques(q, qd, qdd):
    pinocchio = pytest.importorskip('pinocchio')
    model = pinocchio.buildModelFromXML(URDF)
    data = model.createData()
    rigid = [pinocchio.rnea(model, data, *one) for one in zip(q, qd, qdd, strict=True)]
    return np.array(rigid) + COULOMB * np.sign(qd) + VISCOUS * qd


@pytest.fixture(scope='module')
def shelf(tmp_path_factory):
    """A folder with one log: two motions, with noise like that of encoders and torque sensors."""
    folder = tmp_path_factory.mktemp('shelf')
    own = folder / 'arm'
    own.mkdir()
    (own / 'robot.urdf').write_text(URDF)
    random = np.random.default_rng(5)
    time = np.arange(1500) / RATE
    for stem, phase in (('train', 0.0), ('test', 1.0)):
        q, qd, qdd = motion(time, phase)
        efforts = torques(q, qd, qdd) + 0.02 * random.normal(size=q.shape)
        q = q + 2e-5 * random.normal(size=q.shape)
        np.savez(own / f'{stem}.npz', time=time, joint_names=NAMES, positions=q, efforts=efforts)
    return folder


@pytest.fixture(scope='module')
def log(shelf):
    return RealLog(shelf / 'arm')


def perfect(log):
    """The predictor that returns the reference forces of a test themselves."""
    even = log.even_tests[0]
    return lambda recording: (even.time, even.reference, None)


def test_the_band_is_ten_times_the_highest_frequency_of_the_motion():
    time = np.arange(2000) / RATE
    random = np.random.default_rng(0)
    q = np.sin(2 * np.pi * 0.5 * time) + 0.2 * np.sin(2 * np.pi * 1.5 * time)
    q = np.column_stack([q, 2 * q]) + 1e-4 * random.normal(size=(2000, 2))
    assert EvenLog(time, q, q).band == pytest.approx(15.0, abs=2.0)  # to the window's width
    fast = np.sin(2 * np.pi * 20 * time)[:, None]
    assert EvenLog(time, fast, fast).band == pytest.approx(real_logs.WIDEST * RATE, rel=1e-3)


def test_repeated_stamps_are_left_out_and_missing_ones_interpolated():
    time = np.array([0.0, 0.01, 0.01, 0.02, 0.04, 0.05])
    values = np.column_stack([100 * time, 200 * time])
    even = EvenLog.of(
        Recording.from_arrays(time=time, joint_names=NAMES, positions=values, efforts=values)
    )
    np.testing.assert_allclose(even.time, np.arange(6) / RATE)
    np.testing.assert_allclose(even.positions[:, 0], np.arange(6))
    assert even.rate == pytest.approx(RATE)


def test_errors_are_those_of_the_forces_in_the_band(log):
    even = log.even_tests[0]
    assert log.error(perfect(log)).overall == 0.0
    short = log.error(lambda recording: (even.time, even.reference * [0.9, 1.0], None))
    np.testing.assert_allclose(short.axes, [0.1, 0.0], atol=1e-12)
    inner = even.reference[len(even.time) // 5 : -len(even.time) // 5]
    size = (inner**2).mean(axis=0)
    assert short.overall == pytest.approx(np.sqrt(0.01 * size[0] / size.sum()), rel=1e-2)
    assert short.raw > short.overall


def test_one_period_stands_for_all(log):
    even = log.even_tests[0]
    period = 2.5
    angle = 2 * np.pi * even.time / period
    always = np.column_stack([np.cos(angle), np.sin(2 * angle)])
    once = slice(100, 350)  # a period, from a stamp on that is no multiple of it
    at, values = real_logs._going_on(even.time[once], always[once], period, even.time)
    np.testing.assert_array_equal(at, even.time)
    np.testing.assert_allclose(values, always, atol=1e-6)


def test_predictions_that_leave_out_much_are_refused(log):
    even = log.even_tests[0]
    half = slice(len(even.time) // 2, None)
    with pytest.raises(EstimationError, match='^test 1 of 1: .* less than the central 60 %'):
        log.error(lambda recording: (even.time[half], even.reference[half], None))


@pytest.mark.parametrize('rate', [10.0, 25.0, 100.0])
@pytest.mark.parametrize(('before', 'after'), [(0.0, 0.0), (4.0, 0.0), (3.0, 6.13), (5.0, 7.7)])
def test_rests_before_and_after_a_motion_count_for_no_method(before, after, rate):
    time = np.arange(round(15 * rate)) / rate
    q = motion(time, 0.0)[0] + 1e-6 * np.random.default_rng(1).normal(size=(len(time), 2))
    rests = [np.tile(q[at], (round(rate * long), 1)) for at, long in ((0, before), (-1, after))]
    whole = np.concatenate([rests[0], q, rests[1]])
    first, last = EvenLog(np.arange(len(whole)) / rate, whole, whole).motion
    window = max(0.3, 9 / rate)
    assert first == pytest.approx(before, abs=window)
    assert last == pytest.approx(before + 15, abs=window)


def test_a_test_counts_by_its_motion(log):
    """The same motion twice, predicted once; how long the other one rests changes nothing."""
    even = log.even_tests[0]
    found = []
    for rest in (0, 1000):
        still = [np.vstack([a, np.tile(a[-1], (rest, 1))]) for a in (even.positions, even.forces)]
        resting = EvenLog(np.arange(len(still[0])) / RATE, *still)
        predictions = {
            'right': (even.time, even.reference, None),
            'zero': (resting.time, 0 * resting.reference, None),
        }
        both = RealLog(log.folder)
        vars(both).update(test=list(predictions), even_tests=[even, resting])
        found.append(both.error(predictions.get).overall)
    assert found[1] == pytest.approx(found[0], rel=0.02)
    assert found[0] == pytest.approx(np.sqrt(0.5), rel=0.02)


def test_what_hardly_moves_counts_as_a_whole():
    q = np.zeros((1500, 2))
    q[700:720] += np.hanning(20)[:, None]
    time = np.arange(1500) / RATE
    assert EvenLog(time, q, q).motion == (time[0], time[-1])


@pytest.mark.parametrize('late', [0.03, -0.02])
def test_an_estimated_delay_is_that_of_the_tests(tmp_path, late):
    """Forces that are late, or early, predicted at the motion that they belong to."""
    own = tmp_path / 'late'
    own.mkdir()
    (own / 'robot.urdf').write_text(URDF)
    time = np.arange(1500) / RATE
    for stem, phase in (('train', 0.0), ('test', 1.0)):
        found = {
            'positions': motion(time, phase)[0],
            'efforts': torques(*motion(time - late, phase)),
        }
        np.savez(own / f'{stem}.npz', time=time, joint_names=NAMES, **found)
    delayed = RealLog(own)
    with_it, without = (
        real_study.identified(delayed, 'wls', **options)['overall']
        for options in ({'delay': 'estimate'}, {})
    )
    assert with_it < 0.5 * without
    given = real_study.identified(delayed, 'wls', delay=-late)['overall']
    assert with_it == pytest.approx(given, rel=0.1)


def test_the_plain_reference_takes_one_axis(tmp_path):
    """The upper arm alone, with the other joint fixed."""
    own = tmp_path / 'one'
    own.mkdir()
    second = URDF.index('<joint name="elbow"'), URDF.index('<ros2_control')
    fixed = URDF[second[0] : second[1]].replace('"revolute"', '"fixed"')
    fixed = fixed[: fixed.index('<axis')] + '</joint>\n'
    drive = '<joint name="elbow"><command_interface name="effort"/></joint>'
    text = URDF[: second[0]] + fixed + URDF[second[1] :].replace(drive, '')
    (own / 'robot.urdf').write_text(text)
    time = np.arange(1500) / RATE
    for stem, phase in (('train', 0.0), ('test', 1.0)):
        q, qd, qdd = motion(time, phase)
        for each in (q, qd, qdd):
            each[:, 1] = 0.0
        found = {'positions': q[:, :1], 'efforts': torques(q, qd, qdd)[:, :1]}
        np.savez(own / f'{stem}.npz', time=time, joint_names=NAMES[:1], **found)
    one = RealLog(own)
    plain = PlainReference(one)
    plain.fit(one.train)
    assert one.error(plain.predict).overall < 0.02


def test_the_plain_reference_finds_the_arm(log):
    plain = PlainReference(log)
    plain.fit(log.train)
    # the reversals of Coulomb friction, filtered, are what it cannot have
    assert log.error(plain.predict).overall < 0.02
    # the first link turns about one axis alone: not all of 20 + 4 columns are independent
    assert len(plain._base) < 24


def test_the_plain_reference_leaves_wheels_and_hands_where_they_are():
    joint = '<joint name="{0}" type="continuous"><parent link="{1}"/><child link="{0}"/></joint>'
    further = ''.join(
        f'<link name="{name}"/>' + joint.format(name, parent)
        for name, parent in (('wheel', 'base_link'), ('finger', 'platform'))
    )
    pinocchio = pytest.importorskip('pinocchio')
    model = plain_reference.with_joints(
        pinocchio, URDF.replace('</robot>', further + '</robot>'), NAMES
    )
    assert (model.nq, list(model.names)[1:]) == (2, list(NAMES))


def test_without_pinocchio_the_reference_says_what_to_install(log, monkeypatch):
    monkeypatch.setitem(sys.modules, 'pinocchio', None)
    row = real_study.one_run(str(log.folder.parent), 2, 60.0, 'arm', real_study.REFERENCE)
    assert 'pip install pin' in row['refused']


def test_a_failure_is_a_row_with_its_kind(log, monkeypatch):
    def fail(*_, **__):
        raise ValueError('rows differ')

    monkeypatch.setattr(real_study, 'identify', fail)
    row = real_study.one_run(str(log.folder.parent), 2, 60.0, 'arm', 'wls')
    assert row['refused'] == 'FAILED with ValueError: rows differ'


def test_a_run_that_takes_too_long_is_a_row(log, monkeypatch):
    monkeypatch.setattr(real_study, 'identify', lambda *_, **__: time.sleep(5))
    begin = time.monotonic()
    row = real_study.one_run(str(log.folder.parent), 2, 0.05, 'arm', 'wls')
    assert row['refused'] == 'stopped after 0.05 s (--limit)' and time.monotonic() - begin < 4


def test_the_command(shelf, tmp_path, capsys):
    path = tmp_path / 'study.json'
    command = ['study', 'real', str(shelf), '--estimators', 'wls', 'wls/cutoff=8', 'iv']
    command += ['--cutoffs', '3', '--workers', '1']
    assert cli.main([*command, '--output', str(path)]) == 0
    (found,) = json.loads(path.read_text())['logs']
    rows = {row['name']: row for row in found['rows']}
    assert list(rows) == ['wls', 'wls/cutoff=8', 'iv', real_study.HINDSIGHT, real_study.REFERENCE]
    assert 'period' in rows['iv']['refused']
    best = rows[real_study.HINDSIGHT]
    tried = [each['overall'] for each in best['tried'] if 'overall' in each]
    assert best['overall'] == min(tried) and best['ratio'] == 1.0
    assert rows['wls']['overall'] < 0.02 and len(rows['wls']['axes']) == 2
    assert rows['wls/cutoff=8']['overall'] != rows['wls']['overall']
    text = capsys.readouterr().out
    assert 'arm, 2 axes, 100 Hz' in text and f'iv: {rows["iv"]["refused"]}' in text
    assert f'{real_study.HINDSIGHT}: {best["cutoff"]:.3g} Hz' in text


def test_unknown_methods_are_refused_before_anything_runs(shelf, fails):
    assert "'wlss'" in fails('study', 'real', str(shelf), '--estimators', 'wlss')
    assert "'cutof'" in fails('study', 'real', str(shelf), '--estimators', 'wls/cutof=3')


def test_an_unknown_log_and_an_empty_shelf_are_named(shelf, tmp_path, fails):
    assert "no log 'leg'" in fails('study', 'real', str(shelf), '--log', 'leg')
    assert 'robot.urdf' in fails('study', 'real', str(tmp_path))
    (tmp_path / 'arm').mkdir()
    (tmp_path / 'arm' / 'robot.urdf').write_text(URDF)
    with pytest.raises(DatasetError, match=r'no train\*'):
        _ = RealLog(tmp_path / 'arm').train
