"""Limits of mechanisms with loops: passive joints, assembly, singularities, apertures."""

import dataclasses

import numpy as np
import planar
import pytest
from every_model import model_of
from hexapods import hexapod

from pkm_description import Description
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.analysis.apertures import apertures_of_joints
from pkm_dynamics.analysis.singularities import jacobian_condition
from pkm_dynamics.limits import feasibility
from pkm_dynamics.limits.feasibility import check_feasibility
from pkm_dynamics.limits.robot_limits import LimitOptions
from pkm_dynamics.trajectories import CircleTrajectory, Execution, FourierTrajectory

LITTLE = 1e-6
ENDS = {  # lower, upper, velocity
    'crank_joint': (-0.9, 1.5, 9.0),
    'coupler_joint': (-0.3, 0.6, 7.0),
    'rocker_joint': (-0.5, 0.4, 3.0),
}


def with_ends(description: Description, ends) -> Description:
    """Return a robot with other limits of its joints."""
    joints = []
    for joint in description.joints:
        if joint.name in ends:
            lower, upper, velocity = ends[joint.name]
            limit = dataclasses.replace(joint.limit, lower=lower, upper=upper, velocity=velocity)
            joint = dataclasses.replace(joint, limit=limit)
        joints.append(joint)
    return dataclasses.replace(description, joints=tuple(joints))


@pytest.fixture(scope='module')
def parallelogram():
    """A parallelogram: the rocker turns as the crank does, the coupler as much back."""
    return ClosedChainModel(with_ends(planar.four_bar(0.2, 0.5, 0.2, 0.5), ENDS))


@pytest.fixture(scope='module')
def four_bar():
    """A four-bar that the crank can pull apart, where its end is 0.6 m from the rocker's foot."""
    description = planar.four_bar(0.4, 0.3, 0.3, 0.5)
    return ClosedChainModel(with_ends(description, {'crank_joint': (-0.3, 0.5, 20.0)}))


APART = np.arccos((0.4**2 + 0.5**2 - 0.6**2) / (2 * 0.4 * 0.5)) - 1.1  # [rad] of its crank


def turned(model, q, qd=0.0, qdd=0.0):
    states = np.broadcast_arrays(q, qd, qdd)
    return model.motion_from_actuators(*(np.array(state, dtype=float)[:, None] for state in states))


def spike(height, where=3, count=6):
    signal = np.zeros(count)
    signal[where] = height
    return signal


def broken(report, constraint):
    return [margin for margin in report.broken if margin.constraint == constraint]


@pytest.mark.parametrize(
    ('crank', 'name', 'end'),
    [
        (0.3, 'coupler_joint', -0.3),
        (-0.6, 'coupler_joint', 0.6),
        (0.4, 'rocker_joint', 0.4),
        (-0.5, 'rocker_joint', -0.5),
    ],
)
def test_a_passive_joint_keeps_both_ends_of_its_own_range(parallelogram, crank, name, end):
    time = 3.0 + 0.1 * np.arange(6)
    for excess in (-LITTLE, LITTLE):
        motion = turned(parallelogram, spike(crank + excess * np.sign(crank)))
        report = check_feasibility(parallelogram, motion, time=time)
        found = [margin for margin in broken(report, 'joint') if margin.name == name]
        if excess < 0.0:
            assert not found
            continue
        (found,) = found
        assert (found.limit, found.unit) == (end, 'rad')
        assert found.margin == pytest.approx(-LITTLE, rel=1e-3)
        assert found.value == pytest.approx(end + LITTLE * np.sign(end), rel=1e-9)
        assert found.time == pytest.approx(3.3)
        assert found.size == pytest.approx(0.9)


@pytest.mark.parametrize('side', [1, -1])
def test_a_passive_joint_keeps_its_own_speed_in_both_directions(parallelogram, side):
    """The rocker is as fast as the crank and may least; the crank may turn fastest."""
    for speed, kept in ((3.0 - LITTLE, True), (3.0 + LITTLE, False)):
        report = check_feasibility(parallelogram, turned(parallelogram, 0.0, spike(side * speed)))
        assert report.feasible == kept
        found = report.margins['joint_velocity']
        assert (found.name, found.limit, found.unit) == ('rocker_joint', side * 3.0, 'rad/s')
        assert found.margin == pytest.approx(3.0 - speed, rel=1e-3)
        assert found.time == pytest.approx(3e-3)
    report = check_feasibility(parallelogram, turned(parallelogram, 0.0, spike(side * 7.5)))
    limits = {margin.name: margin.limit for margin in broken(report, 'joint_velocity')}
    assert limits == {'rocker_joint': side * 3.0, 'coupler_joint': -side * 7.0}
    assert not broken(report, 'velocity')


def test_free_shares_hold_for_passive_joints(parallelogram):
    """A share of the range at both ends, of the speed once."""
    q = np.array([0.0, 0.9, 0.0, -0.9])
    report = check_feasibility(
        parallelogram, turned(parallelogram, q, 20.0 * q), stroke_margin=0.1, velocity_margin=0.25
    )
    limits = {(m.constraint, m.name, round(m.limit, 9)) for m in report.broken}
    assert {
        ('joint', 'coupler_joint', -0.21),
        ('joint', 'coupler_joint', 0.51),
        ('joint', 'rocker_joint', -0.41),
        ('joint', 'rocker_joint', 0.31),
        ('joint_velocity', 'coupler_joint', 5.25),
        ('joint_velocity', 'coupler_joint', -5.25),
        ('joint_velocity', 'rocker_joint', 2.25),
        ('joint_velocity', 'rocker_joint', -2.25),
        ('velocity', 'crank_joint', 6.75),
        ('velocity', 'crank_joint', -6.75),
        ('stroke', 'crank_joint', -0.66),
    } == {key for key in limits if key[0] != 'force'}


@pytest.mark.parametrize('size', [4096, 7, 4])
def test_a_motion_that_pulls_the_loop_apart_is_told_from_when_on(four_bar, monkeypatch, size):
    """The crank swings by 0.6 rad and the loop opens at 0.345: the first sample beyond that.

    What the drive is asked for beyond it still has a stroke; what is before it has all limits.
    """
    monkeypatch.setattr(feasibility, 'BLOCK', size)
    swing = FourierTrajectory(1.0, [0.0], [[0.6]], [[0.0]], 'actuators', ['crank_joint'])
    report = check_feasibility(four_bar, swing, rate=100.0)
    opens = 100.0 * np.arcsin(APART / 0.6) / (2.0 * np.pi)
    assert 0.1 < opens % 1.0 < 0.9
    lost = report.margins['kinematics']
    assert (lost.margin, lost.name) == (-np.inf, 'platform')
    assert lost.time == pytest.approx(0.01 * np.ceil(opens))
    assert 'no closed configuration' in report.message
    assert broken(report, 'kinematics') == [lost]
    ends = {margin.limit: margin for margin in broken(report, 'stroke')}
    assert set(ends) == {-0.3, 0.5}
    assert ends[0.5].value == pytest.approx(0.6) and ends[0.5].time == pytest.approx(0.25)
    assert ends[-0.3].value == pytest.approx(-0.6)
    fastest = report.margins['velocity']
    assert abs(fastest.value) == pytest.approx(0.6 * 2.0 * np.pi, rel=1e-3)
    assert {'joint', 'joint_velocity', 'force', 'conditioning'} <= set(report.margins)


def test_nothing_is_solved_after_the_block_in_which_the_loop_opens(four_bar, monkeypatch):
    """Samples that do not assemble take a hundred times as long as others."""
    monkeypatch.setattr(feasibility, 'BLOCK', 50)
    swing = FourierTrajectory(50.0, [0.0], [[0.6]], [[0.0]], 'actuators', ['crank_joint'])
    solved, motion = [], FourierTrajectory.motion

    def counted(self, t, *arguments, **options):
        solved.append(np.max(t))
        return motion(self, t, *arguments, **options)

    monkeypatch.setattr(FourierTrajectory, 'motion', counted)
    report = check_feasibility(four_bar, swing, rate=100.0)
    assert 'no closed configuration' in report.message
    opens = 50.0 * np.arcsin(APART / 0.6) / (2.0 * np.pi)
    assert max(solved) < opens + 0.6  # a block and its overlap


def test_what_comes_before_the_loop_opens_is_judged_and_nothing_after_it(four_bar):
    """A loop that opens at the sixth sample: the five before it, and no more."""
    q = np.array([0.0, 0.1, -0.1, 0.2, 0.3, 0.4, 0.0, 0.0])
    start = turned(four_bar, q[:5], [0.0, 3.0, 0.0, 0.0, -4.0], [0.0, 0.0, 5.0, 0.0, 0.0])
    arrays = [getattr(start, field) for field in PlatformMotion.FIELDS]
    longer = [np.concatenate([array, array[[4, 4, 4]]]) for array in arrays]
    longer[4][5:7] += 0.1  # joint positions that leave the loop open
    longer[5][6:] = 100.0
    time = 2.0 + 0.5 * np.arange(8)
    whole = check_feasibility(four_bar, PlatformMotion(*longer), time=time)
    before = check_feasibility(four_bar, start, time=time[:5])
    assert whole.margins['kinematics'].time == 4.5
    assert {k: v for k, v in whole.margins.items() if k != 'kinematics'} == before.margins


def test_a_singular_sample_is_told_by_its_time(parallelogram):
    """All joints on one line: there the crank does not tell how the rocker goes on."""
    q = np.array([0.0, -0.3, -0.7, -1.1, -0.8])
    motion = turned(parallelogram, q[[0, 1, 2, 2, 4]])
    arrays = [np.array(getattr(motion, field)) for field in PlatformMotion.FIELDS]
    flat = dict(zip(parallelogram.joint_names, arrays[4][3], strict=True))
    turn = -1.1 - q[2]
    flat = {name: flat[name] + turn * (-1 if name == 'coupler_joint' else 1) for name in flat}
    arrays[4][3] = [flat[name] for name in parallelogram.joint_names]
    arrays[0][3] = [0.2, 0.0, 0.0]
    report = check_feasibility(parallelogram, PlatformMotion(*arrays), time=10.0 + np.arange(5))
    assert report.margins['kinematics'].time == 13.0
    assert [m.time for m in broken(report, 'kinematics')] == [13.0]
    assert {'stroke', 'force', 'joint'} <= set(report.margins)


def test_a_pose_that_is_never_reached_leaves_only_that(four_bar):
    """Coordinates of the platform say nothing about strokes where it does not assemble."""
    model = model_of('palida')
    away = CircleTrajectory([*model.home_position + [0.0, 0.0, 9.0], 0, 0, 0], [0, 0, 0], 0.1, 1.0)
    report = check_feasibility(model, away, rate=20.0)
    assert list(report.margins) == ['kinematics'] and report.margins['kinematics'].time == 0.0
    apart = FourierTrajectory(1.0, [0.45], [[0.04]], [[0.0]], 'actuators', ['crank_joint'])
    report = check_feasibility(four_bar, apart, rate=20.0)
    assert list(report.margins) == ['kinematics', 'stroke']
    assert report.margins['stroke'].value == pytest.approx(0.49)


def test_strokes_of_what_does_not_assemble_are_matched_by_name():
    """A five-bar whose elbows go apart; the trajectory lists its drives the other way round."""
    model = model_of('skew_five_bar')
    names = tuple(model.actuated_joints)
    home = dict(zip(names, model.home_actuators, strict=True))
    moves = {names[0]: 3.5, names[1]: -2.0}
    swing = FourierTrajectory(
        2.0,
        [home[name] for name in names[::-1]],
        [[moves[name]] for name in names[::-1]],
        np.zeros((2, 1)),
        'actuators',
        names[::-1],
    )
    report = check_feasibility(model, Execution(swing, 1, 0.5), rate=100.0)
    assert 'kinematics' in report.margins
    strokes = {(m.name, m.limit): m.value for m in broken(report, 'stroke')}
    assert set(strokes) == {(names[0], model.lower[0]), (names[0], model.upper[0])}
    assert strokes[names[0], model.upper[0]] == pytest.approx(home[names[0]] + 3.5, rel=1e-3)


def test_the_condition_number_at_its_limit():
    model = model_of('palida')
    wave = FourierTrajectory(
        2.0, [*model.home_position, 0, 0, 0], 0.3 * np.eye(6)[:, 5:], np.zeros((6, 1))
    )
    time = np.linspace(0.0, 0.5, 11)
    motion = wave.motion(time, model)
    condition = jacobian_condition(model, motion)
    assert np.argmax(condition) == 10
    report = check_feasibility(model, motion, time=time)
    found = report.margins['conditioning']
    assert (found.limit, found.name, found.time, found.unit) == (1000.0, 'platform', 0.5, '')
    assert found.value == pytest.approx(condition[10], rel=1e-9)
    assert LimitOptions().condition_limit == 1000.0
    for excess, kept in ((1e-6, True), (-1e-6, False)):
        limit = condition[10] * (1.0 + excess)
        report = check_feasibility(model, motion, time=time, condition_limit=limit)
        assert report.feasible == kept
    for unchecked in (None, np.inf):
        report = check_feasibility(model, motion, time=time, condition_limit=unchecked)
        assert 'conditioning' not in report.margins


def test_each_closure_keeps_its_own_aperture():
    """Two of six have one: of these the worst by share, and no other."""
    description = hexapod(aperture=0.6)
    sidecar = {**description.sidecar, 'workspace': {'aperture': {'top2': 0.2, 'top5': 0.4}}}
    model = ClosedChainModel(dataclasses.replace(description, sidecar=sidecar))
    turn = np.zeros((6, 1))
    turn[3], turn[4] = 0.3, 0.15
    motion = FourierTrajectory(1.0, [0, 0, 0.7, 0, 0, 0], turn, 0 * turn).motion(
        np.linspace(0.0, 0.25, 6), model
    )
    joints = model.joint_states(motion).positions
    angles = apertures_of_joints(model, joints, motion.position, motion.rotation).angles[-1]
    report = check_feasibility(model, motion, clearance=None)
    assert angles[1] > 0.2 and angles[4] < 0.4
    (found,) = broken(report, 'aperture')
    assert (found.name, found.limit, found.unit) == ('top2', 0.2, 'rad')
    assert found.value == pytest.approx(angles[1], rel=1e-9)
    assert found.time == pytest.approx(5e-3)
    wide = check_feasibility(model, motion, clearance=None, aperture=np.pi)
    assert [m.name for m in broken(wide, 'aperture')] == ['top2']
    narrow = check_feasibility(model, motion, clearance=None, aperture=0.1, stroke_margin=0.25)
    limits = dict.fromkeys([f'top{k}' for k in range(1, 7)], 0.1)
    expected = {n: limits[n] for n, a in zip(limits, angles, strict=True) if a > limits[n]}
    assert {m.name: m.limit for m in broken(narrow, 'aperture')} == expected
    assert len(expected) >= 4
    inset = check_feasibility(model, motion, clearance=None, stroke_margin=0.25)
    assert inset.margins['aperture'].limit == pytest.approx(0.15)
