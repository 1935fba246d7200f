"""ClosedChainModel against finite differences, energy and its own definitions' consequences."""

from __future__ import annotations

import mechanisms
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pkm_description
from pkm_description import ConvergenceError, KinematicsError, TrajectoryError
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.random_motion import random_motion

MAKERS = {
    'palida': lambda: pkm_description.load('palida'),
    'skew_hexapod': mechanisms.skew_hexapod,
    'tripod': mechanisms.tripod,
    'five_bar': mechanisms.five_bar,
    'serial_arm': mechanisms.serial_arm,
}


@pytest.fixture(scope='module')
def models():
    return {name: ClosedChainModel(make()) for name, make in MAKERS.items()}


def actuator_wave(model: ClosedChainModel, t: np.ndarray):
    """A smooth actuator motion around home with exact derivatives."""
    rng = np.random.default_rng(0)
    size = np.minimum(0.03, 0.1 * (model.upper - model.lower))
    w = rng.uniform(3.0, 9.0, model.n_a)
    phase = rng.uniform(0, 6, model.n_a)
    angle = t[:, None] * w + phase
    return (
        model.home_actuators + size * np.sin(angle),
        size * w * np.cos(angle),
        -size * w**2 * np.sin(angle),
    )


@pytest.mark.parametrize('name', MAKERS)
def test_velocities_and_accelerations_are_time_derivatives(models, name):
    model = models[name]
    h = 1e-4
    t = 0.3 + h * np.arange(-2, 3)
    motion = model.motion_from_actuators(*actuator_wave(model, t))
    states = model.joint_states(motion)

    def first(values):
        return (values[0] - 8 * values[1] + 8 * values[3] - values[4]) / (12 * h)

    np.testing.assert_allclose(first(states.positions), states.velocities[2], atol=2e-8)
    np.testing.assert_allclose(first(states.velocities), states.accelerations[2], atol=1e-6)
    np.testing.assert_allclose(first(motion.position), motion.twist[2, :3], atol=2e-8)
    np.testing.assert_allclose(first(motion.twist), motion.acceleration[2], atol=1e-6)
    spin = first(motion.rotation) @ motion.rotation[2].T
    np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], motion.twist[2, 3:], atol=2e-8)


@pytest.mark.parametrize('name', MAKERS)
def test_regressor_is_the_derivative_of_the_forces(models, name):
    model = models[name]
    motion = random_motion(model, 15, seed=5)
    parameters = np.random.default_rng(1).normal(size=model.n_p)
    forces = model.inverse_dynamics(motion, parameters)
    np.testing.assert_allclose(
        model.regressor(motion) @ parameters, forces, atol=1e-10 * np.abs(forces).max()
    )
    np.testing.assert_allclose(model.inverse_dynamics(motion, np.zeros(model.n_p)), 0.0)


@pytest.mark.parametrize('name', MAKERS)
def test_power_balance(models, name):
    """Actuator power is the change of mechanical energy plus the heat of friction.

    The energy is summed over the bodies from their poses, which are differentiated
    numerically: no regressor, no inverse dynamics, no Jacobian is shared.
    """
    model = models[name]
    description = model.description
    h = 2e-4
    t = 0.2 + h * np.arange(-3, 4)
    motion = model.motion_from_actuators(*actuator_wave(model, t))
    joints = model.joint_states(motion)

    def derivative(values):
        return (values[:-4] - 8 * values[1:-3] + 8 * values[3:-1] - values[4:]) / (12 * h)

    from pkm_description.assembly import Assembly, Configuration
    from pkm_description.description import Pose

    assembly = Assembly(description)
    poses = [
        assembly.body_poses(Configuration(q, Pose(p, r)))
        for q, p, r in zip(joints.positions, motion.position, motion.rotation, strict=True)
    ]
    energy = np.zeros(len(t) - 4)
    for body, link in enumerate(assembly.tree.body_names):
        inertial = description.link(link).inertial
        if inertial is None:
            continue
        r = np.array([pose[1][body] for pose in poses])
        com = np.array([pose[0][body] for pose in poses]) + r @ inertial.com
        v, r_dot = derivative(com), derivative(r)
        spin = np.einsum('nij,nkj->nik', r_dot, r[2:-2])
        omega = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
        local = np.einsum('nji,nj->ni', r[2:-2], omega)
        energy += 0.5 * inertial.mass * np.einsum('ni,ni->n', v, v)
        energy += 0.5 * np.einsum('ni,ij,nj->n', local, inertial.inertia, local)
        energy -= inertial.mass * com[2:-2] @ description.gravity
    for actuator in description.actuators:
        if actuator.rotor_inertia:
            k = model.actuated_joints.index(actuator.joint)
            rate = model.actuator_states(motion).velocities[2:-2, k]
            energy += 0.5 * actuator.rotor_inertia * rate**2
    power_stored = (energy[2] - energy[0]) / (2 * h)
    frictionless = np.where(model.parameter_mask('friction'), 0.0, model.nominal_parameters)
    force = model.inverse_dynamics(motion, frictionless)
    rates = model.actuator_states(motion).velocities
    power = np.einsum('ni,ni->n', force, rates)[3]
    assert abs(power) > 1e-3
    np.testing.assert_allclose(power, power_stored, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize('name', ['palida', 'skew_hexapod', 'tripod'])
def test_friction_heat_of_every_joint_reaches_the_actuators(models, name):
    """Power of the friction parameters = sum over joints of (Fc |v| + Fv v^2)."""
    model = models[name]
    motion = random_motion(model, 12, seed=3)
    only = np.where(model.parameter_mask('friction'), model.nominal_parameters, 0.0)
    force = model.inverse_dynamics(motion, only)
    rates = model.actuator_states(motion).velocities
    joints = model.joint_states(motion)
    v0 = model.description.transition_velocity
    heat = np.zeros(len(motion))
    for k, joint_name in enumerate(model.joint_names):
        friction = model.description.joint(joint_name).friction
        if friction is not None:
            v = joints.velocities[:, k]
            heat += friction.coulomb * np.abs(v) * np.minimum(1, np.abs(v) / v0)
            heat += friction.viscous * v**2
    if name == 'skew_hexapod':  # one cut joint has viscous friction: slider 3 to platform
        from pkm_description.assembly import Assembly, Configuration
        from pkm_description.description import Pose

        assembly = Assembly(model.description)
        h = 1e-6
        body = assembly.tree.body_names.index('slider3')
        for n in range(len(motion)):
            turned = []
            for s in (-h, h):
                pose = Pose(
                    motion.position[n] + s * motion.twist[n, :3],
                    Rotation.from_rotvec(s * motion.twist[n, 3:]).as_matrix() @ motion.rotation[n],
                )
                q = joints.positions[n] + s * joints.velocities[n]
                _, r = assembly.body_poses(Configuration(q, pose))
                turned.append(r[body].T @ pose.rotation)
            relative = Rotation.from_matrix(turned[0].T @ turned[1]).as_rotvec() / (2 * h)
            heat[n] += 0.05 * relative @ relative
    np.testing.assert_allclose(np.einsum('ni,ni->n', force, rates), heat, rtol=1e-6)


def test_rotor_inertia_is_felt_by_its_own_actuator(models):
    model = models['skew_hexapod']
    motion = random_motion(model, 8, seed=7)
    only = np.where(model.parameter_mask('rotor'), model.nominal_parameters, 0.0)
    force = model.inverse_dynamics(motion, only)
    acceleration = model.actuator_states(motion).accelerations
    np.testing.assert_allclose(force[:, 0], 0.7 * acceleration[:, 0], rtol=1e-9)
    np.testing.assert_allclose(force[:, 3], 1.3 * acceleration[:, 3], rtol=1e-9)
    np.testing.assert_allclose(force[:, [1, 2, 4, 5]], 0.0, atol=1e-9 * np.abs(force).max())


def test_hexapod_inverse_kinematics_is_the_distance_between_the_joints():
    """A closed form that shares nothing with the Newton search: strut length = |B - A|."""
    model = ClosedChainModel(pkm_description.load('palida'))
    rng = np.random.default_rng(0)
    p = model.home_position + 0.08 * rng.uniform(-1, 1, (200, 3))
    r = Rotation.from_rotvec(0.2 * rng.uniform(-1, 1, (200, 3))).as_matrix()
    base = np.radians([-8, 8, 112, 128, -128, -112])
    top = np.radians([-45, 45, 75, 165, -165, -75])
    a = 0.55 * np.stack([np.cos(base), np.sin(base), 0 * base], axis=1)
    b = np.stack([0.09 * np.cos(top), 0.09 * np.sin(top), 0 * top + 0.105], axis=1)
    points = p[:, None] + np.einsum('nij,kj->nki', r, b)
    lengths = np.linalg.norm(points - a, axis=2)
    np.testing.assert_allclose(model.inverse_kinematics(p, r), lengths, atol=1e-12)


@pytest.mark.parametrize('name', MAKERS)
def test_forward_kinematics_inverts(models, name):
    model = models[name]
    motion = random_motion(model, 60, seed=9)
    q = model.actuator_states(motion).positions
    order = np.argsort(q[:, 0])
    position, rotation = model.forward_kinematics(q[order])
    np.testing.assert_allclose(position, motion.position[order], atol=1e-9)
    np.testing.assert_allclose(rotation, motion.rotation[order], atol=1e-9)


def test_forward_kinematics_from_a_neighbour(models):
    model = models['palida']
    p = model.home_position + np.array([[0.03, -0.02, 0.04]])
    r = Rotation.from_rotvec([0.1, 0.05, -0.1]).as_matrix()[None]
    q = model.inverse_kinematics(p, r)
    near = model.forward_kinematics(q, initial=(p + 0.005, r))
    np.testing.assert_allclose(near[0], p, atol=1e-10)


def test_unreachable_poses_are_named(models):
    model = models['palida']
    q = np.repeat(model.home_actuators[None], 4, axis=0)
    q[2, 0] += 0.3  # the platform's joints are only 47 mm apart: it cannot assemble
    with pytest.raises(ConvergenceError, match='sample 2') as caught:
        model.forward_kinematics(q)
    assert caught.value.samples.tolist() == [2]
    tripod = models['tripod']
    with pytest.raises(ConvergenceError, match='degrees of freedom'):
        tripod.inverse_kinematics(tripod.home_position[None] + [[0.1, 0, 0]], np.eye(3)[None])


def test_impossible_twist_of_a_restricted_platform_is_refused(models):
    model = models['tripod']
    still = PlatformMotion(
        model.home_position[None],
        model.home_rotation[None],
        [[1.0, 0, 0, 0, 0, 0]],
        np.zeros((1, 6)),
    )
    with pytest.raises(KinematicsError, match='twist'):
        model.inverse_dynamics(still)


def test_wrong_input_is_named(models):
    model = models['palida']
    q = np.repeat(model.home_actuators[None], 3, axis=0)
    bad = q.copy()
    bad[1, 4] = np.nan
    with pytest.raises(TrajectoryError, match='leg5_strut.*sample 1'):
        model.forward_kinematics(bad)
    with pytest.raises(TrajectoryError, match=r'\(N, 6\)'):
        model.forward_kinematics(q[:, :5])
    with pytest.raises(TrajectoryError, match='twist.*sample 0'):
        PlatformMotion(
            model.home_position[None],
            model.home_rotation[None],
            [[np.inf] + [0] * 5],
            np.zeros((1, 6)),
        )
    motion = random_motion(model, 3, seed=1)
    with pytest.raises(TrajectoryError, match='214 finite numbers'):
        model.inverse_dynamics(motion, np.zeros(3))


def test_jacobian_maps_twists_to_actuator_rates(models):
    model = models['skew_hexapod']
    motion = random_motion(model, 6, seed=12)
    rates = np.einsum('nij,nj->ni', model.jacobian(motion.position, motion.rotation), motion.twist)
    np.testing.assert_allclose(rates, model.actuator_states(motion).velocities, atol=1e-9)
    q = model.actuator_states(motion).positions
    twist = np.einsum('nij,nj->ni', model.platform_jacobian(q), rates)
    np.testing.assert_allclose(twist, motion.twist, atol=1e-7)


@pytest.mark.parametrize('name', MAKERS)
def test_one_pass_gives_what_the_separate_calls_give(models, name):
    model = models[name]
    motion = random_motion(model, 8, seed=14)
    start = None if motion.joint_positions is None else motion.joint_positions + 1e-3
    if model.platform_determines_joints:  # the guess is a guess, not the answer
        motion = PlatformMotion(
            motion.position, motion.rotation, motion.twist, motion.acceleration, start
        )
    states, forces = model.states_and_forces(motion)
    for found, expected in zip(states, model.joint_states(motion), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)
    expected = model.inverse_dynamics(motion)
    np.testing.assert_allclose(forces, expected, atol=1e-9 * np.abs(expected).max())
