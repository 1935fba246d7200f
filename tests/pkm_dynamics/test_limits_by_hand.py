"""Limits of three slides and a hinge, where every number is plain; see `slides`.

Each limit is met exactly, and left by a little, at both of its ends and for each joint: the
verdict, the joint, the time, the value, the limit, the unit and the margin are all known.
"""

import numpy as np
import pytest
import slides
from slides import EFFORT, GRAVITY, LOWER, MOVED, OBSTACLE, ORDER, RADII, UPPER, VELOCITY

from pkm_description.errors import TrajectoryError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.limits import feasibility
from pkm_dynamics.limits.feasibility import check_feasibility
from pkm_dynamics.limits.robot_limits import LimitOptions
from pkm_dynamics.trajectories import Execution, FourierTrajectory

LITTLE = 2.0**-20
JOINTS = tuple(LOWER)
METRES = {name: 'rad' if name == 'tip' else 'm' for name in JOINTS}
FORCES = {name: 'N m' if name == 'tip' else 'N' for name in JOINTS}
WEIGHT = {name: MOVED[name] * GRAVITY if name == 'lift' else 0.0 for name in JOINTS}


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(slides.slides())


def moved(model, positions=(), velocities=(), accelerations=(), count=1):
    """A motion with some signals of some joints, all others at zero."""
    states = []
    for signals in (positions, velocities, accelerations):
        state = np.zeros((count, 4))
        for name, signal in dict(signals).items():
            state[:, model.actuated_joints.index(name)] = signal
        states.append(state)
    return model.motion_from_actuators(*states)


def spike(height, where=3, count=6):
    """One sample that is not zero: its neighbours are equal, so that it is its own apex."""
    signal = np.zeros(count)
    signal[where] = height
    return signal


def at_spike(model, kind, signals, **options):
    """Check six samples, of which the fourth has what `signals` say."""
    given = {kind: {name: spike(value) for name, value in signals.items()}}
    motion = moved(model, **given, count=6)
    return check_feasibility(model, motion, time=5.0 + 0.5 * np.arange(6), **options)


def test_the_drives_are_listed_in_another_order_than_the_joints(model):
    assert tuple(model.actuated_joints) == ORDER
    assert tuple(model.joint_names) != ORDER


@pytest.mark.parametrize('side', [1, -1])
@pytest.mark.parametrize('name', JOINTS)
def test_a_stroke_ends_at_its_limit_and_not_before(model, name, side):
    end = UPPER[name] if side > 0 else LOWER[name]
    met = at_spike(model, 'positions', {name: end})
    assert [m.constraint for m in met.broken if m.constraint == 'stroke'] == []
    stroke = met.margins['stroke']
    assert (stroke.margin, stroke.value, stroke.limit, stroke.name) == (0.0, end, end, name)
    assert (stroke.time, stroke.unit) == (6.5, METRES[name])
    assert stroke.size == UPPER[name] - LOWER[name]
    beyond = end + side * LITTLE
    (found,) = (
        m for m in at_spike(model, 'positions', {name: beyond}).broken if m.constraint == 'stroke'
    )
    assert (found.margin, found.value, found.limit, found.name) == (-LITTLE, beyond, end, name)
    assert (found.time, found.unit) == (6.5, METRES[name])


@pytest.mark.parametrize('side', [1, -1])
@pytest.mark.parametrize('name', JOINTS)
def test_a_speed_is_limited_in_both_directions(model, name, side):
    end = side * VELOCITY[name]
    met = at_spike(model, 'velocities', {name: end})
    velocity = met.margins['velocity']
    assert met.feasible
    assert (velocity.margin, velocity.value, velocity.limit) == (0.0, end, end)
    assert (velocity.name, velocity.time) == (name, 6.5)
    left = at_spike(model, 'velocities', {name: end + side * LITTLE})
    (found,) = left.broken
    assert (found.constraint, found.name, found.time) == ('velocity', name, 6.5)
    assert (found.margin, found.limit, found.unit) == (-LITTLE, end, METRES[name] + '/s')
    assert found.relative == -LITTLE / VELOCITY[name]


@pytest.mark.parametrize('side', [1, -1])
@pytest.mark.parametrize('name', JOINTS)
def test_an_acceleration_is_limited_in_both_directions(model, name, side):
    limits = {'lift': 2.0, 'tip': 3.0, 'across': 4.0, 'along': 5.0}
    given = [limits[joint] for joint in ORDER]
    end = side * limits[name]
    met = at_spike(model, 'accelerations', {name: end}, acceleration=given)
    acceleration = met.margins['acceleration']
    assert met.feasible
    assert (acceleration.margin, acceleration.limit, acceleration.name) == (0.0, end, name)
    left = at_spike(model, 'accelerations', {name: end + side * LITTLE}, acceleration=given)
    (found,) = left.broken
    assert (found.constraint, found.name, found.time) == ('acceleration', name, 6.5)
    assert (found.margin, found.limit, found.unit) == (-LITTLE, end, METRES[name] + '/s^2')


@pytest.mark.parametrize('side', [1, -1])
@pytest.mark.parametrize('name', JOINTS)
def test_a_force_is_limited_in_both_directions(model, name, side):
    """Mass times acceleration, and the weight on the lift, which leaves more downwards."""
    end = side * EFFORT[name]
    for excess in (-1e-6, 1e-6):
        push = (end * (1.0 + excess) - WEIGHT[name]) / MOVED[name]
        found = at_spike(model, 'accelerations', {name: push})
        force = found.margins['force']
        assert found.feasible == (excess < 0.0)
        assert (force.name, force.limit, force.unit, force.time) == (name, end, FORCES[name], 6.5)
        assert force.value == pytest.approx(end * (1.0 + excess), rel=1e-9)
        assert force.margin == pytest.approx(-excess * EFFORT[name], rel=1e-5)
        assert force.relative == pytest.approx(-excess, rel=1e-5)
        assert [m.constraint for m in found.broken] == ['force'] * (excess > 0.0)


@pytest.mark.parametrize(
    ('axis', 'name', 'low', 'high'),
    [('x', 'along', -0.5, 1.25), ('y', 'across', -np.inf, 0.5), ('z', 'lift', -0.5, np.inf)],
)
def test_the_workspace_is_a_box_that_may_be_open(model, axis, name, low, high):
    for end, side in ((low, -1.0), (high, 1.0)):
        if not np.isfinite(end):
            far = check_feasibility(model, moved(model, {name: side * 9.0}))
            assert 'workspace' not in [m.constraint for m in far.broken]
            continue
        met = at_spike(model, 'positions', {name: end})
        assert met.feasible
        workspace = met.margins['workspace']
        assert (workspace.margin, workspace.limit, workspace.name) == (0.0, end, axis)
        assert workspace.size == (1.75 if axis == 'x' else 0.5)
        left = at_spike(model, 'positions', {name: end + side * LITTLE})
        (found,) = (m for m in left.broken if m.constraint == 'workspace')
        assert (found.margin, found.value, found.limit) == (-LITTLE, end + side * LITTLE, end)
        assert (found.name, found.time, found.unit) == (axis, 6.5, 'm')


def test_margins_that_stay_free_move_every_end_of_every_limit(model):
    """A share of the range at either end; of velocities, forces and the tilt a share of the whole.

    Accelerations and the clearance are given as they are meant.
    """
    tilting = ClosedChainModel(slides.slides(tilt=0.8))
    free = {'stroke_margin': 0.125, 'velocity_margin': 0.25, 'force_margin': 0.375}
    far = {
        'positions': {name: spike(20.0, 1) + spike(-20.0, 4) for name in JOINTS},
        'velocities': {name: spike(900.0, 1) + spike(-900.0, 4) for name in JOINTS},
        'accelerations': {name: spike(900.0, 1) + spike(-900.0, 4) for name in JOINTS},
    }
    motion = moved(tilting, **far, count=6)
    found = check_feasibility(tilting, motion, acceleration=2.0, clearance=99.0, **free)
    limits = {}
    for margin in found.broken:
        limits.setdefault(margin.constraint, {}).setdefault(margin.name, set()).add(margin.limit)
    for name in JOINTS:
        inset = 0.125 * (UPPER[name] - LOWER[name])
        assert limits['stroke'][name] == {LOWER[name] + inset, UPPER[name] - inset}
        assert limits['velocity'][name] == {0.75 * VELOCITY[name], -0.75 * VELOCITY[name]}
        assert limits['acceleration'][name] == {2.0, -2.0}
        assert limits['force'][name] == {0.625 * EFFORT[name], -0.625 * EFFORT[name]}
    assert limits['workspace'] == {'x': {-0.28125, 1.03125}, 'y': {0.5}, 'z': {-0.5}}
    assert list(limits['tilt']['platform']) == [pytest.approx(0.7)]
    assert limits['clearance'] == {'base_link-platform': {99.0}}


@pytest.mark.parametrize('side', [1, -1])
def test_the_tilt_is_the_angle_to_upright_on_either_side(side):
    tilting = ClosedChainModel(slides.slides(tilt=0.4))
    kept = at_spike(tilting, 'positions', {'tip': side * (0.4 - 1e-6)})
    left = at_spike(tilting, 'positions', {'tip': side * (0.4 + 1e-6)})
    assert kept.feasible
    assert kept.margins['tilt'].margin == pytest.approx(1e-6, rel=1e-3)
    (found,) = left.broken
    assert (found.constraint, found.name, found.time) == ('tilt', 'platform', 6.5)
    assert (found.limit, found.unit) == (0.4, 'rad')
    assert found.margin == pytest.approx(-1e-6, rel=1e-3)
    assert found.value == pytest.approx(0.4 + 1e-6, rel=1e-9)


def test_the_clearance_is_between_the_surfaces(model):
    """Both spheres on one line: what is between their centres less both radii."""
    between = OBSTACLE[0] - 1.25 - sum(RADII)
    for least, kept in ((between - 1e-9, True), (between + 1e-9, False)):
        found = at_spike(model, 'positions', {'along': 1.25}, clearance=least)
        assert found.feasible == kept
        gap = found.margins['clearance']
        assert gap.margin == pytest.approx(between - least, abs=1e-12)
        assert gap.value == pytest.approx(between, rel=1e-12)
        assert (gap.limit, gap.name, gap.unit) == (least, 'base_link-platform', 'm')
        assert gap.time == 6.5
    touching = moved(model, {'along': OBSTACLE[0] - sum(RADII) + LITTLE})
    assert 'clearance' in [m.constraint for m in check_feasibility(model, touching).broken]
    unchecked = check_feasibility(model, touching, clearance=None)
    assert 'clearance' not in unchecked.margins


def test_what_has_no_limit_has_no_margin(model):
    found = check_feasibility(model, moved(model))
    assert list(found.margins) == ['workspace', 'stroke', 'velocity', 'force', 'clearance']
    limits = [np.inf, 3.0, np.inf, np.inf]
    only = check_feasibility(model, moved(model), acceleration=limits).margins['acceleration']
    assert (only.name, only.limit) == (ORDER[1], 3.0)
    assert (
        'acceleration'
        not in check_feasibility(model, moved(model), acceleration=[np.inf] * 4).margins
    )


def test_one_share_of_the_forces_may_be_wrong(model):
    """A share of each force, its sign whatever it is: 256 N of 256 N are met at 28 % of them."""
    for push, limit in ((200.0, 256.0), (-200.0, -256.0)):
        acceleration = {'lift': (push - WEIGHT['lift']) / MOVED['lift']}
        for share, kept in ((0.28 - 1e-6, True), (0.28 + 1e-6, False)):
            found = at_spike(model, 'accelerations', acceleration, force_uncertainty=share)
            assert found.feasible == kept
            force = found.margins['force']
            assert (force.name, force.limit) == ('lift', limit)
            assert force.value == pytest.approx(push * (1.0 + share), rel=1e-9)


def test_three_standard_deviations_of_the_forces_may_be_wrong(model):
    """Masses of column and platform, of one deviation each and correlated, on the lift."""
    column, platform = (model.parameter_names.index(f'{link}.m') for link in ('column', 'platform'))
    covariance = np.zeros((model.n_p, model.n_p))
    covariance[column, column], covariance[platform, platform] = 0.04, 0.09
    covariance[column, platform] = covariance[platform, column] = 0.03
    deviation = 3.0 * np.sqrt(0.04 + 0.09 + 0.06)
    for bend, limit in ((40.0, 256.0), (-60.0, -256.0)):
        found = at_spike(
            model, 'accelerations', {'lift': bend}, force_uncertainty=covariance
        ).margins['force']
        pull = bend + GRAVITY
        expected = MOVED['lift'] * pull + np.sign(bend) * deviation * abs(pull)
        assert (found.name, found.limit) == ('lift', limit)
        assert found.value == pytest.approx(expected, rel=1e-9)


def test_a_covariance_with_rounding_in_it_is_taken(model):
    """Asymmetry and negative eigenvalues within 1e-8 of its largest entry are rounding."""
    size = model.n_p
    platform = model.parameter_names.index('platform.m')
    exact = np.zeros((size, size))
    exact[platform, platform] = 4e-30
    tiny, large = np.zeros((size, size)), np.zeros((size, size))
    tiny[0, 1], large[0, 1] = 3e-38, 6e-38
    for wrong in (tiny, tiny.T, -np.diag(tiny[0, [1] * size])):
        assert check_feasibility(model, moved(model), force_uncertainty=exact + wrong).feasible
    for wrong in (large, large.T):
        with pytest.raises(TrajectoryError, match='symmetric'):
            check_feasibility(model, moved(model), force_uncertainty=exact + wrong)
    with pytest.raises(TrajectoryError, match='negative eigenvalues'):
        check_feasibility(
            model, moved(model), force_uncertainty=exact - np.diag(large[0, [1] * size])
        )
    known = check_feasibility(model, moved(model), force_uncertainty=0.0 * exact)
    assert known.margins['force'] == check_feasibility(model, moved(model)).margins['force']


def parabola(apex, bend, count=9, at=4.25):
    """Samples of a parabola, whose apex lies between the fifth and the sixth of them."""
    return apex - bend * (np.arange(count) - at) ** 2


@pytest.mark.parametrize('side', [1, -1])
def test_every_limit_holds_between_the_samples(model, side):
    """Signals that only pass their limits between two samples, on either side, by 0.001."""
    far, bend = 0.001, 0.02 * side
    cases = {
        'stroke': ('positions', 'tip', UPPER['tip'] if side > 0 else LOWER['tip']),
        'workspace': ('positions', 'along', 1.25 if side > 0 else -0.5),
        'velocity': ('velocities', 'lift', side * VELOCITY['lift']),
        'acceleration': ('accelerations', 'across', side * 3.0),
        'force': ('accelerations', 'tip', side * EFFORT['tip'] / MOVED['tip']),
    }
    for constraint, (kind, name, end) in cases.items():
        signal = parabola(end + side * far, bend)
        assert np.all(side * signal < side * end)
        motion = moved(model, **{kind: {name: signal}}, count=9)
        report = check_feasibility(model, motion, acceleration=3.0 * np.r_[1e6, 1e6, 1.0, 1e6])
        (found,) = (m for m in report.broken if m.constraint == constraint)
        scale = MOVED['tip'] if constraint == 'force' else 1.0
        assert found.margin == pytest.approx(-far * scale, rel=1e-9)
        assert found.value == pytest.approx((end + side * far) * scale, rel=1e-9)
        assert found.time == pytest.approx(4e-3)


def test_tilt_and_clearance_hold_between_the_samples():
    tilting = ClosedChainModel(slides.slides(tilt=0.4))
    motion = moved(
        tilting, {'tip': parabola(-0.4005, -0.02), 'along': parabola(1.2, 0.02)}, count=9
    )
    between = OBSTACLE[0] - 1.2 - sum(RADII)
    report = check_feasibility(tilting, motion, clearance=between + 0.0005)
    found = {m.constraint: m for m in report.broken}
    assert set(found) == {'tilt', 'clearance'}
    assert found['tilt'].value == pytest.approx(0.4005, rel=1e-9)
    assert found['clearance'].value == pytest.approx(between, rel=1e-9)
    assert found['clearance'].margin == pytest.approx(-0.0005, rel=1e-6)


@pytest.mark.parametrize('count', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
def test_first_and_last_sample_count_in_any_number_of_blocks(model, monkeypatch, count):
    """Three samples a block and two of the next: every number of samples about their borders."""
    monkeypatch.setattr(feasibility, 'BLOCK', 3)
    time = 2.0 + 0.25 * np.arange(count)
    rising = np.linspace(0.0, 1.0, count) if count > 1 else np.ones(1)
    positions = {'along': UPPER['along'] + rising, 'across': LOWER['across'] - rising[::-1]}
    velocities = {'lift': -VELOCITY['lift'] - rising, 'tip': VELOCITY['tip'] + rising[::-1]}
    motion = moved(model, positions, velocities, count=count)
    report = check_feasibility(model, motion, time=time)
    found = {(m.constraint, m.name): m for m in report.broken}
    for key, last in (
        (('stroke', 'along'), True),
        (('stroke', 'across'), False),
        (('velocity', 'lift'), True),
        (('velocity', 'tip'), False),
        (('workspace', 'x'), True),
    ):
        assert found[key].margin == pytest.approx(-1.25 if key[1] == 'x' else -1.0)
        assert found[key].time == time[-1 if last else 0]
    assert report.duration == time[-1] - time[0]
    assert report.samples == count


@pytest.mark.parametrize('where', range(1, 8))
def test_an_apex_is_seen_whatever_block_its_sample_stands_in(model, monkeypatch, where):
    """One block of all samples, or a few each: the same margins, at the same time."""
    at = where + 0.25
    motion = moved(model, {'tip': parabola(0.5 + LITTLE, 0.01, 9, at)}, count=9)
    for size in (2, 3, 4, 99):
        monkeypatch.setattr(feasibility, 'BLOCK', size)
        (found,) = check_feasibility(model, motion, rate=10.0).broken
        assert found.margin == pytest.approx(-LITTLE, rel=1e-6)
        assert found.time == pytest.approx(0.1 * where)


@pytest.mark.parametrize('count', [3, 511, 512, 1023, 1024, 1025, 1026])
def test_poses_are_looked_at_all_or_evenly_and_at_both_ends(model, count):
    """The clearance of long blocks is that of some samples; the ends are among them."""
    every = max(count // 512, 1)
    last = 0.5 * np.linspace(0.0, 1.0, count) ** 3
    for signal, where in ((last, count - 1), (last[::-1], 0)):
        report = check_feasibility(model, moved(model, {'along': signal}, count=count))
        found = report.margins['clearance']
        assert found.value == pytest.approx(OBSTACLE[0] - 0.5 - sum(RADII))
        assert found.time == pytest.approx(1e-3 * where)
    for where in (every, count // 2 // every * every):
        signal = spike(0.5, where, count)
        found = check_feasibility(model, moved(model, {'along': signal}, count=count))
        assert found.margins['clearance'].time == pytest.approx(1e-3 * where)


def wave(harmonics, period, amplitude=0.01, names=ORDER, phase=0.0):
    """A Fourier series of the highest of its harmonics."""
    sine, cosine = np.zeros((4, harmonics)), np.zeros((4, harmonics))
    sine[:, -1] = amplitude * np.cos(phase)
    cosine[:, -1] = amplitude * np.sin(phase)
    return FourierTrajectory(period, np.zeros(4), sine, cosine, 'actuators', names)


def test_samples_are_as_dense_as_the_control_loop_or_the_series_needs(model):
    """A kilohertz, or 80 samples of the highest harmonic; one more shows the seam of periods."""
    slow, fast = wave(2, 0.5), wave(10, 0.5, 1e-4)
    assert check_feasibility(model, slow).samples == 502
    assert check_feasibility(model, fast).samples == 802
    assert check_feasibility(model, slow, rate=100.0).samples == 52
    assert check_feasibility(model, slow, rate=99.0).samples == 52
    for trajectory, rate in ((slow, 1000), (fast, 1600)):
        execution = Execution(trajectory, 1, 0.25)
        assert check_feasibility(model, execution).samples == rate + 1
        assert check_feasibility(model, execution.stop(0.5, 0.25)).samples == 0.75 * rate + 1


def test_the_length_of_a_motion_is_that_of_its_time(model):
    assert check_feasibility(model, wave(1, 0.5), rate=50.0).duration == 0.5
    assert check_feasibility(model, Execution(wave(1, 0.5), 7, 0.25), rate=50.0).duration == 4.0
    samples = moved(model, count=11)
    assert check_feasibility(model, samples, rate=20.0).duration == 0.5
    assert check_feasibility(model, samples, time=3.0 + np.arange(11)).duration == 10.0


def test_samples_without_times_follow_each_other_at_the_rate(model):
    motion = moved(model, {'along': spike(2.0)}, count=6)
    assert check_feasibility(model, motion).margins['stroke'].time == 3e-3
    assert check_feasibility(model, motion, rate=4.0).margins['stroke'].time == 0.75


def test_the_peak_behind_the_last_sample_of_a_period_is_found(model):
    """Both ends of the period lie beside the peak, which is 0.3 samples before its end."""
    late = 2.0 * np.pi * 0.3 / 40
    sine, cosine = ([[0.0], [0.5 * part], [0.0], [0.0]] for part in (-np.sin(late), np.cos(late)))
    trajectory = FourierTrajectory(1.0, np.zeros(4), sine, cosine, 'actuators', ORDER)
    found = check_feasibility(model, trajectory, rate=40.0).margins['stroke']
    assert (found.name, found.limit) == ('tip', 0.5)
    assert found.value == pytest.approx(0.5, abs=2e-5)
    assert found.time == 1.0


@pytest.mark.parametrize('periods', [1, 3])
@pytest.mark.parametrize('phase', [0.4, 3.5])
def test_the_worst_of_an_execution_is_shown_on_its_own_time(model, periods, phase):
    """The whole execution by brute force; with short ramps the worst stands in one of them."""
    trajectory = wave(1, 1.0, 0.05, phase=phase)
    execution = Execution(trajectory, periods, 0.25, start=np.zeros(4), approach_speed=0.5)
    time = np.linspace(0.0, execution.duration, 1 + round(4000 * execution.duration))
    _, rates, bends = execution.evaluate(time)
    report = check_feasibility(model, execution, acceleration=[9.0, 1.0, 9.0, 9.0], rate=2000.0)
    for name, values in (('acceleration', bends), ('velocity', rates)):
        found = report.margins[name]
        column = model.actuated_joints.index(found.name)
        assert found.name == ('tip' if name == 'acceleration' else 'lift')
        worst = int(np.argmax(np.abs(values[:, column])))
        assert abs(found.value) == pytest.approx(abs(values[worst, column]), rel=1e-5)
        at = execution.evaluate([found.time])[2 if name == 'acceleration' else 1][0, column]
        assert at == pytest.approx(found.value, rel=1e-4)
    assert report.samples == pytest.approx(
        2000.0 * Execution(trajectory, 1, 0.25, np.zeros(4), 0.5).duration + 1, abs=1.0
    )


def test_drives_are_matched_by_name(model):
    """A trajectory may list the drives in any order."""
    names = ORDER[::-1]
    trajectory = FourierTrajectory(
        1.0,
        np.zeros(4),
        np.array([[1.75], [0.0], [0.0], [0.0]]),
        np.zeros((4, 1)),
        'actuators',
        names,
    )
    stroke = check_feasibility(model, trajectory, rate=100.0).margins['stroke']
    assert (stroke.name, stroke.limit) == (names[0], LOWER[names[0]])
    assert stroke.value == pytest.approx(-1.75, rel=1e-4)


def test_a_motion_of_no_samples_or_no_time_is_refused(model):
    with pytest.raises(TrajectoryError, match='motion of 0 samples'):
        check_feasibility(model, moved(model, count=0))
    with pytest.raises(TrajectoryError, match='motion of 3 samples needs as many times'):
        check_feasibility(model, moved(model, count=3), time=np.zeros((3, 1)))
    late = Execution(wave(1, 1.0), 1, 0.25)
    for start, stop_time in ((-0.5, 0.5), (-2.0, 1.0), (-0.5, np.nan)):
        with pytest.raises(TrajectoryError, match='finite'):
            check_feasibility(model, late.stop(start, stop_time))


def test_options_are_taken_up_to_their_ends_and_no_further():
    """Without a robot: designs make options before they know one."""
    almost = np.nextafter(1.0, 0.0)
    for name, ends in (
        ('force_margin', (0.0, almost)),
        ('velocity_margin', (0.0, almost)),
        ('stroke_margin', (0.0, np.nextafter(0.5, 0.0))),
        ('condition_limit', (1e-300, 0.5, np.inf, None)),
        ('acceleration', (1e-300, np.inf, [1.0, np.inf], None)),
        ('aperture', (1e-300, 0.5, np.pi, None)),
        ('clearance', (-1.0, 0.0, 1.0, None)),
        ('force_uncertainty', (0.0, 2.0, np.zeros((2, 2)), np.eye(2))),
    ):
        for value in ends:
            LimitOptions(**{name: value})
    for name, beyond in (
        ('force_margin', (-1e-300, 1.0)),
        ('velocity_margin', (-1e-300, 1.0)),
        ('stroke_margin', (-1e-300, 0.5)),
        ('condition_limit', (0.0, -np.inf)),
        ('acceleration', (0.0, [], [1.0, 0.0], [-1.0], [1.0, np.nan])),
        ('aperture', (0.0, np.nextafter(np.pi, 4.0))),
        ('force_uncertainty', (-1e-300, np.ones((1, 2)), np.ones((2, 2)) - 2.0 * np.eye(2))),
    ):
        for value in beyond:
            with pytest.raises(TrajectoryError, match=name):
                LimitOptions(**{name: value})


def test_the_documented_defaults(model):
    """Nothing stays free, bodies may touch but not meet, accelerations are unchecked."""
    report = check_feasibility(model, moved(model, {'along': 0.25}))
    stroke = report.margins['stroke']
    assert stroke.limit in (LOWER[stroke.name], UPPER[stroke.name])
    assert report.margins['velocity'].limit == VELOCITY[report.margins['velocity'].name]
    assert report.margins['force'].limit == EFFORT[report.margins['force'].name]
    assert report.margins['force'].value == pytest.approx(WEIGHT['lift'])
    assert report.margins['clearance'].limit == 0.0
    assert 'acceleration' not in report.margins
