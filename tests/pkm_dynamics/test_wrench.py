"""A wrench on the platform against the principle of virtual work and a hanging weight."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import NAMES, model_of

from pkm_description import TrajectoryError
from pkm_dynamics.equations.wrench import PlatformWrench, wrench_forces
from pkm_dynamics.random_motion import random_motion


@pytest.mark.parametrize('name', NAMES)
def test_power_of_the_wrench_is_that_of_its_actuator_forces(name):
    model = model_of(name)
    motion = random_motion(model, 12, seed=1)
    rng = np.random.default_rng(0)
    force, moment = rng.normal(size=(12, 3)), rng.normal(size=(12, 3))
    point = np.array([0.1, -0.2, 0.3])
    arm = np.einsum('nij,j->ni', motion.rotation, point)
    velocity = motion.twist[:, :3] + np.cross(motion.twist[:, 3:], arm)
    power = np.sum(force * velocity + moment * motion.twist[:, 3:], axis=1)
    forces = wrench_forces(model, motion, PlatformWrench(force, moment, point))
    rates = model.actuator_states(motion).velocities
    np.testing.assert_allclose(np.sum(forces * rates, axis=1), power, atol=1e-8)


def test_axes_of_the_platform_turn_with_it():
    model = model_of('palida')
    motion = random_motion(model, 9, seed=2)
    local = np.array([1.0, 2.0, 3.0])
    turned = np.einsum('nij,j->ni', motion.rotation, local)
    here = wrench_forces(model, motion, PlatformWrench(local, 2.0 * local, local, 'platform'))
    there = wrench_forces(model, motion, PlatformWrench(turned, 2.0 * turned, local))
    np.testing.assert_allclose(here, there, atol=1e-12)


def test_a_weight_at_rest_is_a_heavier_platform():
    """Standing still, a force m g at a point is what a point mass there would need."""
    model = model_of('skew_hexapod')
    motion = random_motion(model, 5, seed=4)
    still = model.motion_from_actuators(
        model.actuator_states(motion).positions, np.zeros((5, 6)), np.zeros((5, 6)), motion[:1]
    )
    mass, point = 2.5, np.array([0.1, 0.05, -0.2])
    heavier = model.nominal_parameters.copy()
    first = model.parameter_names.index('platform.m')
    heavier[first] += mass
    heavier[first + 1 : first + 4] += mass * point
    weight = PlatformWrench(mass * model.description.gravity, point=point)
    np.testing.assert_allclose(
        model.inverse_dynamics(still) - wrench_forces(model, still, weight),
        model.inverse_dynamics(still, heavier),
        atol=1e-9,
    )


def test_wrong_wrenches_are_named():
    with pytest.raises(TrajectoryError, match="'base' or 'platform'"):
        PlatformWrench([0, 0, 1], axes='world')
    with pytest.raises(TrajectoryError, match='moment'):
        PlatformWrench([0, 0, 1], [0, 1])
    model = model_of('tripod')
    motion = random_motion(model, 4, seed=3)
    with pytest.raises(TrajectoryError, match='force.*3 samples.*4'):
        wrench_forces(model, motion, PlatformWrench(np.zeros((3, 3))))
