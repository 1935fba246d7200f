"""Feasibility of motions against brute-force sampling of each limit."""

import re

import numpy as np
import pytest
from every_model import model_of

import pkm_description
from pkm_description.errors import FeasibilityError, TrajectoryError
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.analysis.singularities import reciprocal_condition
from pkm_dynamics.kinematics.restricted_poses import PoseSolver
from pkm_dynamics.limits import feasibility
from pkm_dynamics.limits.feasibility import PROBED, check_feasibility
from pkm_dynamics.limits.margins import largest, peaks, smallest
from pkm_dynamics.trajectories import CircleTrajectory, Execution, FourierTrajectory


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(pkm_description.load('palida'))


def fourier(model, period=1.0, **amplitudes):
    """One sine a coordinate about home."""
    names = ['x', 'y', 'z', 'roll', 'pitch', 'yaw']
    sine = np.zeros((6, 2))
    for name, value in amplitudes.items():
        sine[names.index(name), 0] = value
    return FourierTrajectory(period, [*model.home_position, 0, 0, 0], sine, 0 * sine)


def brute_force(model, trajectory, count=4001):
    """Worst margins by plain dense sampling, independent of blocks and interpolation."""
    motion = trajectory.motion(np.linspace(0.0, trajectory.duration, count), model)
    q, qd, _ = model.actuator_states(motion)
    force = model.inverse_dynamics(motion)
    return {
        'stroke': min((q - model.lower).min(), (model.upper - q).min()),
        'velocity': (model.velocity_limit - np.abs(qd)).min(),
        'force': (model.force_limit - np.abs(force)).min(),
    }


@pytest.mark.parametrize(
    'amplitudes', [{'z': 0.05}, {'x': 0.04, 'yaw': 0.2}, {'y': 0.03, 'roll': 0.1}]
)
def test_margins_are_those_of_brute_force_sampling(model, amplitudes):
    trajectory = fourier(model, **amplitudes)
    report = check_feasibility(model, trajectory, rate=500.0)
    expected = brute_force(model, trajectory)
    assert report.feasible
    assert report.margins['stroke'].margin == pytest.approx(expected['stroke'], abs=1e-6)
    assert report.margins['velocity'].margin == pytest.approx(expected['velocity'], abs=1e-4)
    # forces jump with the sign of Coulomb friction: the interpolation errs to the safe side
    assert expected['force'] - 6.0 < report.margins['force'].margin < expected['force'] + 1.0


def test_names_joint_time_value_and_limit(model):
    trajectory = fourier(model, period=2.0, z=0.28)
    report = check_feasibility(model, trajectory)
    assert not report.feasible
    margin = report.margins['stroke']
    q = model.actuator_states(trajectory.motion([margin.time], model)).positions[0]
    joint = model.actuated_joints.index(margin.name)
    assert q[joint] == pytest.approx(margin.value, abs=1e-4)
    assert margin.margin < 0.0
    pattern = r'stroke of leg\d_strut at t = [\d.]+ s: [\d.]+ m, limit [\d.]+ m'
    assert re.search(pattern, report.message)
    with pytest.raises(FeasibilityError, match='stroke of leg'):
        report.raise_if_infeasible()


def test_every_broken_limit_is_listed(model):
    """By brute force: each strut beyond either end of its stroke, at the time of its worst."""
    trajectory = fourier(model, period=2.0, z=0.28)
    report = check_feasibility(model, trajectory)
    time = np.linspace(0.0, trajectory.duration, 4001)
    q = model.actuator_states(trajectory.motion(time, model)).positions
    expected = {}
    for joint, name in enumerate(model.actuated_joints):
        if q[:, joint].min() < model.lower[joint]:
            expected[name, model.lower[joint]] = q[:, joint].min(), time[q[:, joint].argmin()]
        if q[:, joint].max() > model.upper[joint]:
            expected[name, model.upper[joint]] = q[:, joint].max(), time[q[:, joint].argmax()]
    assert len(expected) == 6
    found = {(m.name, m.limit): m for m in report.broken if m.constraint == 'stroke'}
    assert set(found) == set(expected)
    for key, (value, when) in expected.items():
        assert found[key].value == pytest.approx(value, abs=1e-5)
        assert found[key].time == pytest.approx(when, abs=2e-3)
        assert found[key].margin == pytest.approx(-abs(value - key[1]), abs=1e-5)
    assert list(report.broken) == sorted(report.broken, key=lambda m: m.relative)
    assert {m.constraint for m in report.broken} == {m.constraint for m in report.violations}


def test_the_worst_joint_has_the_least_of_its_own_limit_left():
    """Small drives have small limits: what is left in N m says little."""
    arm = ClosedChainModel(pkm_description.load('serial_arm'))
    rng = np.random.default_rng(5)
    sine = 0.1 * rng.standard_normal((6, 2))
    trajectory = FourierTrajectory(
        1.0, arm.home_actuators, sine, sine, 'actuators', arm.actuated_joints
    )
    report = check_feasibility(arm, trajectory)
    time = np.linspace(0.0, 1.0, 2001)
    motion = trajectory.motion(time, arm)
    used = np.abs(arm.inverse_dynamics(motion)).max(axis=0)
    left = 1.0 - used / arm.force_limit
    assert np.argmin(left) != np.argmin(arm.force_limit - used)
    assert report.margins['force'].name == arm.actuated_joints[int(np.argmin(left))]
    assert report.margins['force'].relative == pytest.approx(left.min(), abs=1e-3)
    q = arm.actuator_states(motion).positions
    span = arm.upper - arm.lower
    nearest = np.minimum(q - arm.lower, arm.upper - q).min(axis=0) / span
    assert report.margins['stroke'].relative == pytest.approx(nearest.min(), abs=1e-4)


@pytest.mark.parametrize(
    ('constraint', 'trajectory'),
    [
        ('velocity', lambda m: fourier(m, period=0.1, z=0.06)),
        ('force', lambda m: fourier(m, period=0.15, z=0.06)),
        ('tilt', lambda m: fourier(m, period=5.0, pitch=0.65)),
        ('workspace', lambda m: fourier(m, period=5.0, x=0.21)),
    ],
)
def test_each_limit_is_found(model, constraint, trajectory):
    report = check_feasibility(model, trajectory(model), rate=400.0)
    assert constraint in [margin.constraint for margin in report.violations]


def test_margins_scale_the_limits(model):
    trajectory = fourier(model, period=0.6, z=0.05)
    force = check_feasibility(model, trajectory).margins['force']
    used = abs(force.value) / 230.0
    assert check_feasibility(model, trajectory, force_margin=0.95 * (1.0 - used)).feasible
    assert not check_feasibility(model, trajectory, force_margin=1.05 * (1.0 - used)).feasible


def test_parameters_change_the_forces(model):
    trajectory = fourier(model, period=0.6, z=0.05)
    heavy = model.nominal_parameters * np.where(model.parameter_mask('rigid_body'), 8.0, 1.0)
    report = check_feasibility(model, trajectory, parameters=heavy)
    assert 'force' in [margin.constraint for margin in report.violations]


def test_conditioning_is_the_condition_number_of_the_jacobian(model):
    motion = fourier(model, yaw=0.5).motion([0.25], model)
    jacobian = model.jacobian(motion.position, motion.rotation)[0]
    home = model.jacobian(model.home_position[None], model.home_rotation[None])[0]
    length = np.linalg.norm(home[:, 3:]) / np.linalg.norm(home[:, :3])
    expected = np.linalg.cond(jacobian @ np.diag([1, 1, 1] + [1 / length] * 3))
    q = model.inverse_kinematics(motion.position, motion.rotation)
    found = reciprocal_condition(model, motion.position, motion.rotation, q)[0]
    assert found == pytest.approx(1.0 / expected, rel=1e-9)
    report = check_feasibility(model, motion, condition_limit=0.5 * expected)
    assert report.violations[0].constraint == 'conditioning'


def test_an_execution_is_checked_with_one_period_and_shown_on_its_own_time(model):
    trajectory = fourier(model, z=0.05)
    once = check_feasibility(model, Execution(trajectory, 1, 1.0))
    often = check_feasibility(model, Execution(trajectory, 50, 1.0))
    assert often.samples == once.samples
    for name, margin in once.margins.items():
        assert often.margins[name].margin == pytest.approx(margin.margin, rel=1e-9)
    assert often.duration == pytest.approx(Execution(trajectory, 50, 1.0).duration, abs=1e-3)


def test_the_approach_belongs_to_an_execution(model):
    trajectory = fourier(model, z=0.02)
    start = [*model.home_position + [0.0, 0.0, 0.25], 0.0, 0.0, 0.0]
    assert check_feasibility(model, trajectory).feasible
    report = check_feasibility(model, Execution(trajectory, 1, 1.0, start, approach_speed=1.0))
    assert not report.feasible
    assert report.violations[0].time < 0.5


def test_samples_of_a_motion_with_times(model):
    trajectory = fourier(model, period=2.0, z=0.28)
    time = np.linspace(0.0, 2.0, 501)
    report = check_feasibility(model, trajectory.motion(time, model), time=time + 7.0)
    assert 7.0 <= report.margins['stroke'].time <= 9.0


def test_unreachable_poses_are_an_infeasibility_not_a_crash(model):
    centre = [*model.home_position + [0, 0, -0.1], 0, 0, 0]
    report = check_feasibility(model, CircleTrajectory(centre, [0, 0, 0], 5.0, 1.0), rate=20.0)
    assert not report.feasible


def test_a_pose_that_cannot_be_taken_is_found_before_those_behind_it_are_tried(monkeypatch):
    """Each is tried from home, from three more configurations and from its neighbours."""
    five_bar, tried, solve = model_of('five_bar'), [], PoseSolver.solve

    def counted(self, position, *arguments):
        tried.append(len(position))
        return solve(self, position, *arguments)

    monkeypatch.setattr(PoseSolver, 'solve', counted)
    circle = CircleTrajectory([0, 0.42, 0, 0, 0, 0], [0, 0, 1], 0.02, 0.1)  # stands upright
    home = [*five_bar.home_position, 0, 0, 0]
    report = check_feasibility(five_bar, Execution(circle, 1, 3.0, home, 0.1), rate=500.0)
    assert report.margins['kinematics'].time < 0.01
    assert 2 * PROBED < report.samples and sum(tried) < 6 * PROBED


def test_malformed_input(model):
    ones = np.ones((3, 1))
    good = (model.home_position * ones, np.eye(3) * ones[..., None], np.zeros((3, 6)))
    with pytest.raises(TrajectoryError, match='finite'):
        check_feasibility(model, PlatformMotion(*good, np.full((3, 6), np.nan)))
    motion = PlatformMotion(*good, np.zeros((3, 6)))
    with pytest.raises(TrajectoryError, match='force_margin'):
        check_feasibility(model, motion, force_margin=1.5)
    with pytest.raises(TrajectoryError, match='rate'):
        check_feasibility(model, motion, rate=0.0)
    with pytest.raises(TrajectoryError, match='times'):
        check_feasibility(model, motion, time=np.zeros(2))


def test_peaks_between_samples():
    time = np.linspace(0.0, 1.0, 21)
    values = np.sin(2 * np.pi * (time[:, None] - np.array([0.003, 0.021])))
    assert np.all(values.max(axis=0) < 1.0 - 1e-4)
    assert peaks(values).max(axis=0) == pytest.approx([1.0, 1.0], abs=3e-4)
    assert [found.column for found in largest(values, np.array([np.inf, 2.0]), time)] == [1]
    assert largest(values, np.array([np.inf, np.inf]), time) == []
    lowest = min(smallest(values, np.array([-1.5, -3.0]), time), key=lambda found: found.margin)
    assert (lowest.column, lowest.limit) == (0, -1.5)
    assert lowest.margin == pytest.approx(0.5, abs=1e-4)


def test_a_fast_series_is_sampled_as_densely_as_it_needs(model):
    """Twenty milliseconds, seven samples a wave at 1 kHz: the default follows the series."""
    sine = np.zeros((6, 3))
    sine[2, 2], sine[0, 0] = 2e-4, 1e-4
    trajectory = FourierTrajectory(0.02, [*model.home_position, 0, 0, 0], sine, 0.3 * sine)
    time = np.linspace(0.0, 0.02, 4001)
    q, qd, qdd = model.actuator_states(trajectory.motion(time, model))
    report = check_feasibility(model, trajectory, acceleration=1e3)
    reached = {name: abs(margin.value) for name, margin in report.margins.items()}
    assert reached['acceleration'] == pytest.approx(np.abs(qdd).max(), rel=1e-4)
    assert reached['velocity'] == pytest.approx(np.abs(qd).max(), rel=1e-4)
    coarse = check_feasibility(model, trajectory, acceleration=1e3, rate=1000.0)
    assert coarse.margins['acceleration'].value != pytest.approx(np.abs(qdd).max(), rel=1e-3)


def test_a_peak_at_the_seam_of_two_periods_is_seen(model):
    """The largest force lies just behind the first sample, so that no neighbour is before it."""
    period, count = 1.0, 40
    phase = -0.3 * 2.0 * np.pi / count
    sine, cosine = np.zeros((6, 1)), np.zeros((6, 1))
    sine[2], cosine[2] = 0.05 * np.sin(-phase), 0.05 * np.cos(phase)
    trajectory = FourierTrajectory(period, [*model.home_position, 0, 0, 0], sine, cosine)
    dense = model.actuator_states(trajectory.motion(np.linspace(0, 1, 8001), model)).positions
    found = check_feasibility(model, trajectory, rate=count).margins['stroke']
    expected = min((dense - model.lower).min(), (model.upper - dense).min())
    assert found.margin == pytest.approx(expected, abs=2e-6)
    assert 0.0 <= found.time <= period


def test_what_is_no_number_breaks_every_limit():
    values = np.array([[0.0], [np.nan], [0.1]])
    (found,) = largest(values, np.array([1.0]), np.arange(3.0))
    assert found.margin == -np.inf


def test_conditioning_of_a_platform_that_only_translates():
    """Rotations of a Delta robot are rounding: they must not weigh in its conditioning."""
    model = ClosedChainModel(pkm_description.load('delta'))
    q = model.home_actuators + np.random.default_rng(0).uniform(-0.2, 0.2, (20, 3))
    linear = model.platform_jacobian(q)[:, :3]
    still = model.motion_from_actuators(q, 0 * q, 0 * q)
    found = reciprocal_condition(model, still.position, still.rotation, q)
    assert found == pytest.approx(1.0 / np.linalg.cond(linear), rel=1e-9)


def test_the_last_pose_of_a_block_counts(model):
    """1030 samples, of which every second is a pose sample: the widest is the last."""
    motion = fourier(model, period=4.0, yaw=0.4).motion(np.r_[np.zeros(1029), 1.0], model)
    report = check_feasibility(model, motion, aperture=3.0)
    alone = check_feasibility(model, motion[-1], aperture=3.0)
    for name in ('conditioning', 'aperture'):
        assert report.margins[name].margin == pytest.approx(alone.margins[name].margin)


@pytest.mark.parametrize(
    ('option', 'values'),
    [
        ('force_margin', (1.0, -0.1, np.nan, 'a', None, True)),
        ('stroke_margin', (0.5, np.nan)),
        ('velocity_margin', (1.0, [0.1])),
        ('condition_limit', (0.0, -3.0, np.nan, 'a')),
        ('acceleration', (0.0, -1.0, np.nan, 'a', [], [1.0, 2.0])),
        ('aperture', (0.0, np.nan, 4.0, 'a')),
        ('clearance', (np.nan, np.inf, 'a')),
        ('force_uncertainty', (-0.5, np.nan, 'a', [1.0, 2.0], np.triu(np.ones((3, 3))))),
        ('force_uncertainty', (-np.eye(3), np.eye(3))),
        ('rate', (0.0, -1.0, np.nan, 'a')),
    ],
)
def test_options_that_make_no_sense_are_named(model, option, values):
    for value in values:
        with pytest.raises(TrajectoryError, match=option):
            check_feasibility(model, fourier(model, z=0.01), **{option: value})


@pytest.mark.parametrize('robot', ['delta', 'h4', 'five_bar', 'rps_upv', 'serial_arm'])
def test_conditioning_at_known_joints_is_that_of_the_actuators(robot):
    """What the solved configuration gives is what forward kinematics would find again."""
    model = model_of(robot)
    rng = np.random.default_rng(2)
    q = model.home_actuators + rng.uniform(-0.05, 0.05, (9, model.n_a))
    motion = model.motion_from_actuators(q, 0 * q, 0 * q)
    state = motion.joint_positions, motion.position, motion.rotation
    found = model.platform_jacobian_at(*state)
    assert found == pytest.approx(model.platform_jacobian(q), abs=1e-8)
    step = 1e-6
    first = step * np.eye(model.n_a)[0]
    ahead, behind = (model.forward_kinematics(q + s * first)[0] for s in (1, -1))
    assert found[:, :3, 0] == pytest.approx((ahead - behind) / (2 * step), abs=1e-6)
    with pytest.raises(TrajectoryError, match='position'):
        model.platform_jacobian_at(state[0], state[1][:2], state[2])


def test_a_peak_at_the_border_of_two_blocks_is_seen(model, monkeypatch):
    """Whatever block the worst sample begins or ends, its apex is found between the samples."""
    trajectory = fourier(model, z=0.05, roll=0.1)
    time = np.linspace(0.0, 1.0, 8001)
    dense = model.actuator_states(trajectory.motion(time, model)).positions
    expected = min((dense - model.lower).min(), (model.upper - dense).min())
    whole = check_feasibility(model, trajectory, rate=37.0)
    stroke = whole.margins['stroke']
    worst = round(stroke.time * 37.0)
    coarse = dense[np.round(np.arange(38) * 8000 / 37).astype(int)]
    sampled = min((coarse - model.lower).min(), (model.upper - coarse).min())
    assert stroke.margin == pytest.approx(expected, abs=2e-6)
    assert sampled - expected > 2e-5  # no sample is at the apex
    for size in (worst - 2, worst - 1, worst, worst + 1):
        monkeypatch.setattr(feasibility, 'BLOCK', size)
        report = check_feasibility(model, trajectory, rate=37.0)
        assert set(report.margins) == set(whole.margins)
        for name in ('stroke', 'velocity', 'joint', 'joint_velocity', 'force'):
            found, one = report.margins[name], whole.margins[name]
            assert found.margin == pytest.approx(one.margin, rel=1e-9), (name, size)
            assert (found.name, found.time) == (one.name, pytest.approx(one.time))


@pytest.mark.parametrize('robot', ['palida', 'four_bar'])
def test_margins_of_passive_joints_are_those_of_their_own_limits(robot):
    """By hand, for every passive joint: both ends of its range, and its velocity either way."""
    model = model_of(robot) if robot == 'palida' else ClosedChainModel(pkm_description.load(robot))
    swing = 0.3 if robot == 'four_bar' else 0.03
    sine = swing * np.linspace(0.4, 1.0, model.n_a)[:, None]
    trajectory = FourierTrajectory(
        1.0, model.home_actuators, sine, 0.0 * sine, 'actuators', model.actuated_joints
    )
    time = np.linspace(0.0, 1.0, 1001)
    joints, rates, _ = model.joint_states(trajectory.motion(time, model))
    stroke_margin, velocity_margin = 0.1, 0.2
    left, fast = {}, {}
    for column, name in enumerate(model.joint_names):
        if name in model.actuated_joints:
            continue
        limit = model.description.joint(name).limit
        span = limit.upper - limit.lower
        inset = stroke_margin * span
        gaps = joints[:, column] - limit.lower - inset, limit.upper - inset - joints[:, column]
        left[name] = min(gap.min() for gap in gaps), span - 2.0 * inset
        allowed = limit.velocity * (1.0 - velocity_margin)
        fast[name] = allowed - np.abs(rates[:, column]).max(), allowed
    report = check_feasibility(
        model,
        trajectory,
        stroke_margin=stroke_margin,
        velocity_margin=velocity_margin,
        clearance=None,
    )
    for constraint, expected in (('joint', left), ('joint_velocity', fast)):
        worst = min(expected, key=lambda name: expected[name][0] / expected[name][1])
        found = report.margins[constraint]
        assert found.name == worst
        assert found.margin == pytest.approx(expected[worst][0], abs=1e-5)
        assert found.relative == pytest.approx(expected[worst][0] / expected[worst][1], abs=1e-5)
        broken = {m.name for m in report.broken if m.constraint == constraint}
        assert broken == {name for name, (margin, _) in expected.items() if margin < 0.0}
