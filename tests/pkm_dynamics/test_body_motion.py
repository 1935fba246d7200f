"""Body motion against the compiled kernels and against finite differences of poses."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import NAMES, model_of
from waves import derivative, wave

from pkm_dynamics.equations.body_regressors import local, local_columns, spread, wrench_regressor
from pkm_dynamics.parameters.parameter_terms import ParameterTerms
from pkm_dynamics.random_motion import random_motion


def spins(rotation_rate, rotation):
    """Angular velocity from the rate of a rotation matrix."""
    matrix = rotation_rate @ np.swapaxes(rotation, -1, -2)
    return np.stack([matrix[..., 2, 1], matrix[..., 0, 2], matrix[..., 1, 0]], axis=-1)


def regressor_of_bodies(model, motion):
    """Forces (N, n_a, n_p) per standard parameter, without compiled code."""
    terms = ParameterTerms.of(model)
    acceleration = motion.acceleration.copy()
    acceleration[..., :3] -= model.description.gravity
    unit = wrench_regressor(
        local(motion, terms.bodies, motion.twist), local(motion, terms.bodies, acceleration)
    )
    jacobian = local_columns(motion, terms.bodies, motion.jacobian)
    out = spread(terms, np.swapaxes(jacobian, -1, -2) @ unit, model.n_p)
    friction = terms.friction_forces(motion) @ motion.transfer
    out[..., terms.friction_columns] = np.swapaxes(friction, 1, 2)
    felt = (terms.rotors @ motion.transfer) * (motion.rates_dot @ terms.rotors.T)[..., None]
    out[..., terms.rotor_columns] = np.swapaxes(felt, 1, 2)
    positions = model.actuator_states(motion.platform_motion()).positions
    out[..., model.parameter_mask('drive')] = model.drive_forces.columns(positions)
    return out


@pytest.mark.parametrize('name', NAMES)
def test_regressor_summed_over_the_bodies_is_that_of_the_kernels(name):
    model = model_of(name)
    motion = random_motion(model, 20, seed=4)
    ours = regressor_of_bodies(model, model.body_motion(motion))
    theirs = model.regressor(motion)
    np.testing.assert_allclose(ours, theirs, atol=1e-10 * np.abs(theirs).max(), rtol=0)


@pytest.mark.parametrize('name', NAMES)
def test_platform_and_joints_move_as_the_model_says(name):
    model = model_of(name)
    motion = random_motion(model, 20, seed=5)
    bodies = model.body_motion(motion)
    platform = bodies.names.index('platform')
    scale = 1e-9 * (1.0 + np.abs(motion.acceleration).max())
    np.testing.assert_allclose(bodies.position[:, platform], motion.position, atol=1e-9)
    np.testing.assert_allclose(bodies.rotation[:, platform], motion.rotation, atol=1e-9)
    np.testing.assert_allclose(bodies.twist[:, platform], motion.twist, atol=scale)
    np.testing.assert_allclose(bodies.acceleration[:, platform], motion.acceleration, atol=scale)
    states = model.joint_states(motion)
    rates = np.einsum('nja,na->nj', model.joint_jacobian(motion), bodies.actuator_rates)
    np.testing.assert_allclose(rates, states.velocities, atol=1e-8)
    twists = np.einsum('nbia,na->nbi', bodies.jacobian, bodies.actuator_rates)
    np.testing.assert_allclose(twists, bodies.twist, atol=1e-8)


@pytest.mark.parametrize('name', NAMES)
def test_twists_and_accelerations_are_time_derivatives(name):
    model = model_of(name)
    h = 1e-3
    motion = wave(model, 0.3 + h * np.arange(-2, 3))
    bodies = model.body_motion(motion)
    twist, acceleration = bodies.twist[2], bodies.acceleration[2]
    size = 1.0 + np.abs(acceleration).max()
    np.testing.assert_allclose(derivative(bodies.position, h), twist[:, :3], atol=1e-7 * size)
    turning = spins(derivative(bodies.rotation, h), bodies.rotation[2])
    np.testing.assert_allclose(turning, twist[:, 3:], atol=1e-7 * size)
    np.testing.assert_allclose(derivative(bodies.twist, h), acceleration, atol=1e-6 * size)
