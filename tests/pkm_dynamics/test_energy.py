"""Energy against the bodies' own energies, the power of the forces and the heat of friction."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import NAMES, model_of
from waves import derivative, wave

from pkm_description import MotorSide, TrajectoryError
from pkm_dynamics import PlatformMotion
from pkm_dynamics.equations.energy import (
    actuator_work,
    body_dissipation,
    body_energy_parts,
    energy_balance,
)
from pkm_dynamics.parameters.parameter_terms import ParameterTerms
from pkm_dynamics.random_motion import random_motion


@pytest.mark.parametrize('name', NAMES)
def test_energy_is_that_of_the_bodies_about_their_centres_of_mass(name):
    model = model_of(name)
    motion = random_motion(model, 10, seed=2)
    bodies = model.body_motion(motion)
    kinetic, potential = np.zeros(10), np.zeros(10)
    for k, link in enumerate(bodies.names):
        inertial = model.description.link(link).inertial
        if inertial is None:
            continue
        turn, omega = bodies.rotation[:, k], bodies.twist[:, k, 3:]
        arm = turn @ inertial.com
        velocity = bodies.twist[:, k, :3] + np.cross(omega, arm)
        local = np.einsum('nji,nj->ni', turn, omega)
        kinetic += 0.5 * inertial.mass * np.sum(velocity**2, axis=1)
        kinetic += 0.5 * np.einsum('ni,ij,nj->n', local, inertial.inertia, local)
        potential -= inertial.mass * (bodies.position[:, k] + arm) @ model.description.gravity
    for actuator in model.description.actuators:
        if actuator.rotor_inertia:
            rate = bodies.actuator_rates[:, model.actuated_joints.index(actuator.joint)]
            kinetic += 0.5 * actuator.rotor_inertia * rate**2
    side = MotorSide.of(model.description)
    motor_rates = side.motor_rates(bodies.actuator_rates)
    for each in model.description.transmissions:
        for motor in each.motors:
            kinetic += (
                0.5 * motor.rotor_inertia * motor_rates[:, side.motors.index(motor.name)] ** 2
            )
    potential += model.drive_forces.potentials(model.actuator_states(motion).positions) @ (
        model.drive_forces.values
    )
    parts = body_energy_parts(model, bodies, ParameterTerms.of(model))
    for found, expected in zip(parts, (kinetic, potential), strict=True):
        values = found @ model.nominal_parameters
        np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('name', NAMES)
def test_power_of_the_forces_is_stored_or_becomes_heat(name):
    """Q . qd = dE/dt + heat at a sample, for any parameters, not only physical ones."""
    model = model_of(name)
    h = 1e-3
    motion = wave(model, 0.3 + h * np.arange(-2, 3))
    parameters = np.random.default_rng(1).normal(size=model.n_p)
    bodies, terms = model.body_motion(motion), ParameterTerms.of(model)
    energy = sum(body_energy_parts(model, bodies, terms)) @ parameters
    heat = body_dissipation(model, bodies, terms)[2] @ parameters
    forces = model.inverse_dynamics(motion, parameters)[2]
    power = forces @ model.actuator_states(motion).velocities[2]
    scale = np.abs(forces).max() * np.abs(model.actuator_states(motion).velocities[2]).max()
    assert abs(power - derivative(energy, h) - heat) < 1e-8 * scale


@pytest.mark.parametrize('name', NAMES)
def test_work_between_samples_is_the_change_of_energy(name):
    """Also without accelerations, and with every kind of friction."""
    model = model_of(name)
    t = np.linspace(0.0, 0.1, 401)
    motion = wave(model, t)
    forces = model.inverse_dynamics(motion)
    blind = PlatformMotion(
        motion.position,
        motion.rotation,
        motion.twist,
        np.zeros((401, 6)),
        motion.joint_positions,
        motion.joint_velocities,
        np.zeros_like(motion.joint_velocities),
    )
    rows = energy_balance(model, blind, t)
    work = actuator_work(model, blind, t, forces)
    total = np.cumsum(work)
    np.testing.assert_allclose(
        np.cumsum(rows @ model.nominal_parameters), total, atol=1e-8 * np.abs(total).max()
    )


def test_energy_rows_identify_what_forces_identify():
    """Least squares on the balance of energy alone finds the forces of another motion."""
    model = model_of('skew_arm')
    t = np.linspace(0.0, 4.0, 4001)
    motion = wave(model, t, seed=4)
    rows = energy_balance(model, motion, t)
    work = actuator_work(model, motion, t, model.inverse_dynamics(motion))
    base = model.base_parameters()
    small = rows @ base.columns
    scale = np.linalg.norm(small, axis=0)
    found = np.linalg.lstsq(small / scale, work, rcond=None)[0] / scale
    other = random_motion(model, 30, seed=9)
    expected = model.inverse_dynamics(other)
    np.testing.assert_allclose(
        base.regressor(other) @ found, expected, atol=2e-3 * np.abs(expected).max()
    )


@pytest.mark.parametrize('name', NAMES)
def test_friction_heats(name):
    model = model_of(name)
    bodies = model.body_motion(random_motion(model, 30, seed=5))
    heat = body_dissipation(model, bodies, ParameterTerms.of(model))
    friction = model.parameter_mask('friction')
    assert np.all(heat >= 0.0)
    assert np.all(heat[:, ~friction] == 0.0)
    assert np.all(heat[:, friction].max(axis=0, initial=0.0) > 0.0)


WITH_A_PAST = {
    'presliding': 0.01,
    'warm_up': {'times': [0.05, 0.5], 'values': [0.3, -0.02], 'coulomb': 9.0, 'viscous': 4.0},
}


@pytest.fixture(scope='module')
def with_a_past():
    """A tripod whose drives yield and warm up, and its motion through two reversals."""
    model = model_of('rps_upv').with_drive_terms({'*': WITH_A_PAST})
    t = np.linspace(0.0, 0.8, 4001)
    angle = np.multiply.outer(2 * np.pi * t, [1.0, 1.5, -1.2])
    q = model.home_actuators + 0.02 * np.sin(angle)
    qd = 0.04 * np.pi * np.cos(angle) * [1.0, 1.5, -1.2]
    qdd = -0.08 * np.pi**2 * np.sin(angle) * np.square([1.0, 1.5, -1.2])
    return model, model.with_drive_states(model.motion_from_actuators(q, qd, qdd), t), t


def test_friction_with_a_past_balances_energy(with_a_past):
    """Bristles take energy and give it back, warm drives damp more."""
    model, motion, t = with_a_past
    assert (np.abs(np.diff(np.sign(motion.drive_states[:, :3]), axis=0)).sum(axis=0) > 0).all()
    forces = model.inverse_dynamics(motion)
    rows = energy_balance(model, motion, t) @ model.nominal_parameters
    total = np.cumsum(actuator_work(model, motion, t, forces))
    # the rate of the bristles jumps where a drive turns, which a cubic spline rounds
    np.testing.assert_allclose(np.cumsum(rows), total, atol=2e-5 * np.abs(total).max())
    motion.drive_states, past = None, motion.drive_states
    cold = energy_balance(model, motion, t) @ model.nominal_parameters
    motion.drive_states = past
    assert np.abs(np.cumsum(cold) - total).max() > 0.02 * np.abs(total).max()


def test_bristles_heat_by_the_area_of_their_loop():
    """Settled between -A and A: 4 (A - d tanh(A / d)) a period, by hand from s' = (1 - s) / d."""
    depth, size = 0.02, 0.03
    model = model_of('rps_upv').with_drive_terms({'*': {'presliding': depth}})
    t = np.arange(8000) / 8000
    angle = 2 * np.pi * t[:, None] * np.ones(3)
    q, qd = model.home_actuators + size * np.sin(angle), 2 * np.pi * size * np.cos(angle)
    motion = model.motion_from_actuators(q, qd, 0 * q)
    motion = model.with_drive_states(motion, t, settled=True)
    states = motion.drive_states
    bodies, terms = model.body_motion(motion), ParameterTerms.of(model)
    heat = body_dissipation(model, bodies, terms, states)
    strut = model.actuated_joints[0]
    columns = [i for i, n in enumerate(model.parameter_names) if n.startswith(f'{strut}.coulomb')]
    area = heat[:, columns].sum(axis=1).mean()
    assert area == pytest.approx(4 * (size - depth * np.tanh(size / depth)), rel=1e-3)
    assert (heat[:, columns] < 0.0).any()


def test_forward_dynamics_have_the_past_of_friction(with_a_past):
    model, motion, _ = with_a_past
    motion = motion[::400]
    found = model.forward_dynamics(motion, model.inverse_dynamics(motion))
    expected = model.actuator_states(motion).accelerations
    np.testing.assert_allclose(found.actuators, expected, atol=1e-6 * np.abs(expected).max())
    again = model.inverse_dynamics(found.motion)
    np.testing.assert_allclose(again, model.inverse_dynamics(motion), rtol=1e-6)


def test_wrong_input_is_named():
    model = model_of('tripod')
    motion = random_motion(model, 5, seed=1)
    with pytest.raises(TrajectoryError, match='time has 4 samples, the motion 5'):
        energy_balance(model, motion, np.arange(4.0))
    with pytest.raises(TrajectoryError, match='must increase.*sample 1'):
        energy_balance(model, motion, [0.0, 1.0, 1.0, 2.0, 3.0])
