"""Bristles of presliding against a fine solution of their equation, and in the model's forces."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from every_model import model_of
from scipy.integrate import solve_ivp
from slides import slides

import pkm_description
from pkm_description import DescriptionError, Friction, TrajectoryError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.analysis.contributions import contributions
from pkm_dynamics.drive_states import DriveStates, recurrence

DEPTH = 2e-3  # [m]


def states(*deflections):
    """States of so many drives, of which nothing else is known."""
    axes = tuple(range(len(deflections)))
    return DriveStates(deflections, (0,) * len(axes), axes, (), (), 0)


def wave(t):
    """Two motions: strokes of many deflections, and of a fraction of one."""
    size, w = np.array([0.02, 0.4 * DEPTH]), np.array([3.0, 7.0])
    angle = np.multiply.outer(t, w)
    q = size * np.sin(angle) + 0.3 * size * np.sin(2 * angle)
    return q, size * w * (np.cos(angle) + 0.6 * np.cos(2 * angle))


def rubbing(*names, model='coulomb_viscous'):
    """Three slides with friction, and presliding in the drives that are named."""
    description = slides()
    friction = Friction(4.0, 2.0, 6.0, model)
    joints = tuple(dataclasses.replace(j, friction=friction) for j in description.joints)
    description = dataclasses.replace(description, joints=joints)
    terms = {name: {'presliding': DEPTH} for name in names}
    return ClosedChainModel(pkm_description.with_drive_terms(description, terms))


@pytest.mark.parametrize('interval', [1e-3, 1e-2])
def test_bristles_follow_their_equation(interval):
    """At 1 kHz, and in steps of a deflection and more."""
    t = np.arange(0.0, 3.0, interval)
    q, qd = wave(t)
    found = states(DEPTH, DEPTH).along(t, q, qd)

    def rate(time, z):
        v = wave(time)[1]
        return (v - np.abs(v) * z) / DEPTH

    exact = solve_ivp(
        rate, (0, t[-1]), np.zeros(2), 'DOP853', t, rtol=1e-8, atol=1e-8, max_step=0.01
    )
    # a step in which a drive turns has no constant acceleration: third order in the interval
    limit = 2e-5 if interval == 1e-3 else 2e-2
    np.testing.assert_allclose(found, exact.y.T, rtol=0, atol=limit)
    assert np.abs(found).max(axis=0) == pytest.approx([1.0, 0.45], abs=0.01)


def test_one_step_in_one_direction_is_exact():
    t = np.array([0.0, 1.0, 5.0])
    q = np.array([[0.0], [3.0], [4.0]]) * DEPTH
    found = states(DEPTH).along(t, q, np.ones((3, 1)), start=[-0.5])
    np.testing.assert_allclose(found[:, 0], [-0.5, 1 - 1.5 * np.exp(-3), 1 - 1.5 * np.exp(-4)])


def test_a_settled_period_goes_on_from_its_end():
    t = 2 * np.pi * np.arange(2000) / 2000
    q, qd = wave(t)
    motion = states(DEPTH, DEPTH)
    period = motion.along(t, q, qd, settled=True)
    many = [np.tile(each, (40, 1)) for each in (q, qd)]
    long = motion.along(np.arange(80_000) * (t[1] - t[0]), *many)
    np.testing.assert_allclose(period, long[-2000:], rtol=0, atol=1e-6)
    assert np.abs(period - long[:2000]).max() > 0.01


def test_a_motion_in_two_parts_is_the_whole():
    t = np.arange(0.0, 2.0, 1e-3)
    q, qd = wave(t)
    motion = states(DEPTH, np.inf)
    whole = motion.along(t, q, qd)
    second = motion.along(t[700:], q[700:], qd[700:], whole[700])
    np.testing.assert_allclose(second, whole[700:], rtol=0, atol=1e-12)
    assert not whole[:, 1].any()


@pytest.mark.parametrize('count', [0, 1, 2, 3, 17])
def test_doubling_is_the_recurrence(count):
    rng = np.random.default_rng(count)
    factors, summands, start = rng.normal(size=(count, 2)), rng.normal(size=(count, 2)), np.ones(2)
    expected = [start]
    for factor, summand in zip(factors, summands, strict=True):
        expected.append(factor * expected[-1] + summand)
    np.testing.assert_allclose(recurrence(factors, summands, start), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('kind', ['coulomb_viscous', 'asymmetric', 'asymmetric_coulomb'])
def test_forces_have_the_states_in_place_of_the_signs(kind):
    model = rubbing('lift', 'along', model=kind)
    t = np.arange(0.0, 2.0, 1e-3)
    q = np.zeros((len(t), 4))
    qd = q.copy()
    for axis in (0, 2, 3):  # lift and along with presliding, across without
        q[:, axis], qd[:, axis] = (each[:, 0] for each in wave(t))
    motion = model.with_drive_states(model.motion_from_actuators(q, qd, np.zeros_like(q)), t)
    sliding = model.motion_from_actuators(q, qd, np.zeros_like(q))
    added = model.inverse_dynamics(motion) - model.inverse_dynamics(sliding)
    s = states(DEPTH).along(t, q[:, :1], qd[:, :1])[:, 0]
    sign = np.clip(qd[:, 0] / model.description.transition_velocity, -1.0, 1.0)
    backwards = 4.0 if kind == 'coulomb_viscous' else 6.0
    expected = [np.where(each > 0, 4.0, backwards) * each for each in (s, sign)]
    for axis in (0, 3):
        np.testing.assert_allclose(added[:, axis], expected[0] - expected[1], atol=1e-9)
    assert not added[:, 1:3].any() and np.abs(added).max() > 3.0
    np.testing.assert_allclose(
        model.regressor(motion) @ model.nominal_parameters,
        model.inverse_dynamics(motion),
        atol=1e-9,
    )
    part = motion[100:200]
    np.testing.assert_allclose(
        model.inverse_dynamics(part), model.inverse_dynamics(motion)[100:200], atol=1e-9
    )


def test_presliding_needs_coulomb_friction():
    with pytest.raises(DescriptionError, match="'lift' has presliding, but no Coulomb friction"):
        rubbing('lift', model='viscous')


def test_a_motion_without_a_past_slides():
    model = rubbing('lift')
    plain = rubbing()
    motion = model.motion_from_actuators(*np.random.default_rng(1).normal(size=(3, 5, 4)) * 0.1)
    np.testing.assert_array_equal(model.inverse_dynamics(motion), plain.inverse_dynamics(motion))
    assert model.parameter_names == plain.parameter_names


def test_every_drive_of_a_parallel_robot_has_its_own():
    model = model_of('rps_upv').with_drive_terms('*:presliding(1e-4)')
    t = np.linspace(0.0, 1.0, 50)
    q = model.home_actuators + 0.01 * np.sin(6 * t)[:, None] * [1.0, 0.5, -1.0]
    qd = 0.06 * np.cos(6 * t)[:, None] * [1.0, 0.5, -1.0]
    motion = model.with_drive_states(model.motion_from_actuators(q, qd, 0 * q), t)
    np.testing.assert_allclose(
        motion.drive_states, states(1e-4, 1e-4, 1e-4).along(t, q, qd), atol=1e-12
    )


WARM = {'times': [3.0, 40.0], 'values': [-0.04, -0.02], 'coulomb': 2.0, 'viscous': 7.0}


def swinging(t, size=0.2):
    """Positions and velocities (N, 4) of four drives that swing more and more slowly."""
    angle = np.multiply.outer(t, [3.0, 2.0, 4.0, 5.0])
    return size * np.sin(angle), size * np.cos(angle) * [3.0, 2.0, 4.0, 5.0]


@pytest.fixture(scope='module')
def warming():
    model = rubbing('lift')
    terms = {'lift': {'warm_up': WARM}, 'across': {'warm_up': {'times': [5.0], 'start': [1.5]}}}
    return model.with_drive_terms(terms)


def test_temperatures_follow_their_equation(warming):
    t = np.arange(0.0, 20.0, 1e-2)
    q, qd = swinging(t)
    found = warming.drive_states.along(t, q, qd)[:, 4:]

    def power(time, axis, dry, wet):
        speed = np.abs(swinging(np.array([time]))[1][0, axis])
        return (dry + wet * speed) * speed

    def rate(time, z):
        of_lift, of_across = power(time, 0, 2.0, 7.0), power(time, 2, 4.0, 2.0)
        return (np.array([of_lift, of_lift, of_across]) - z) / [3.0, 40.0, 5.0]

    exact = solve_ivp(rate, (0, t[-1]), [0, 0, 1.5], t_eval=t, rtol=1e-8, atol=1e-8, max_step=0.02)
    np.testing.assert_allclose(found, exact.y.T, rtol=0, atol=2e-3)
    assert found.max(axis=0) == pytest.approx([2.1, 0.8, 2.7], rel=0.05)


def test_a_settled_motion_is_warm(warming):
    t = 2 * np.pi * np.arange(400) / 400
    period = warming.drive_states.along(t, *swinging(t), settled=True)[:, 4:]
    power = np.array([each.power(swinging(t)[1]) for each in warming.drive_states.warm])
    np.testing.assert_allclose(period.mean(axis=0), power.mean(axis=1), rtol=1e-3)


def test_viscous_friction_changes_with_the_temperature(warming):
    t = np.arange(0.0, 10.0, 1e-2)
    q, qd = swinging(t)
    cold = warming.motion_from_actuators(q, qd, np.zeros_like(q))
    motion = warming.with_drive_states(cold, t)
    values = warming.nominal_parameters.copy()
    names = warming.parameter_names
    assert names[-3:] == ['lift.warm_up1', 'lift.warm_up2', 'across.warm_up1']
    values[names.index('across.warm_up1')] = 0.3
    z = motion.drive_states[:, 4:]
    sliding = warming.drive_states.further_forces(values, motion.drive_states, qd)
    added = warming.inverse_dynamics(motion, values) - warming.inverse_dynamics(cold, values)
    expected = np.zeros_like(q)
    expected[:, 0] = (-0.04 * z[:, 0] - 0.02 * z[:, 1]) * qd[:, 0]
    expected[:, 2] = 0.3 * z[:, 2] * qd[:, 2]
    np.testing.assert_allclose(added - sliding, expected, atol=1e-9)
    forces = warming.regressor(motion) @ values
    np.testing.assert_allclose(forces, warming.inverse_dynamics(motion, values), atol=1e-9)
    base = warming.base_parameters()
    assert set(names[-3:]) <= set(base.names)


def test_contributions_have_the_past_of_friction(warming):
    t = np.arange(0.0, 1.0, 1e-2)
    q, qd = swinging(t)
    cold = warming.motion_from_actuators(q, qd, np.zeros_like(q))
    motion = warming.with_drive_states(cold, t)
    values = warming.nominal_parameters + 0.5
    expected = warming.inverse_dynamics(motion, values)
    np.testing.assert_allclose(contributions(warming, motion, values).total, expected, atol=1e-9)
    assert np.abs(expected - contributions(warming, cold, values).total).max() > 1.0


def test_states_of_drives_are_checked(warming):
    t = np.arange(0.0, 1.0, 0.1)
    q, qd = swinging(t)
    motion = warming.motion_from_actuators(q, qd, np.zeros_like(q))
    other = rubbing('lift').with_drive_states(motion, t)  # has no temperatures
    for use in (warming.inverse_dynamics, warming.regressor):
        with pytest.raises(TrajectoryError, match='has 4 columns, .* have 7 states'):
            use(other)
    with pytest.raises(TrajectoryError, match='time has 5 samples where the others have 10'):
        warming.with_drive_states(motion, t[:5])
    with pytest.raises(TrajectoryError, match='must increase'):
        warming.with_drive_states(motion, t[::-1])
    with pytest.raises(TrajectoryError, match='start of the drives must have the shape'):
        warming.with_drive_states(motion, t, start=np.zeros(4))


def test_states_go_on_from_those_of_other_drives(warming):
    """Of a drive that was as warm as after ten seconds at a power of 3 W."""
    before = warming.drive_states  # bristles of lift, low passes of lift (3 and 40 s) and across
    powers = 3.0 * -np.expm1(-10.0 / np.array([3.0, 40.0]))
    old = np.array([-0.3, 0.0, 0.0, 0.0, *powers, 1.5])
    terms = {
        'lift': {'presliding': 1.0, 'warm_up': {**WARM, 'times': [40.0, 12.0]}},
        'along': {'presliding': 1.0, 'warm_up': {'times': [7.0], 'start': [0.4]}},
    }
    now = rubbing('lift').with_drive_terms(terms).drive_states
    slow = now.transition_velocity
    found = now.taken_over(before, old, [1.0, 0.0, -1.0, 0.5 * slow])
    np.testing.assert_allclose(found[[0, 2, 3]], [-0.3, -1.0, 0.5])
    np.testing.assert_allclose(found[4], powers[1])
    # between the two that are known: nearer to what it would be than any of them
    assert found[5] == pytest.approx(3.0 * -np.expm1(-10.0 / 12.0), rel=0.15)
    assert found[6] == 0.4
    same = before.taken_over(before, old, np.zeros(4))
    np.testing.assert_array_equal(same, old)
    fresh = now.taken_over(None, None, [-1.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(fresh, [-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.4])


def test_friction_that_heats_must_be_known():
    description = pkm_description.with_drive_terms(slides(), {'tip': {'warm_up': {'times': [9.0]}}})
    with pytest.raises(DescriptionError, match="'tip' warms up, but its friction is not known"):
        ClosedChainModel(description)
