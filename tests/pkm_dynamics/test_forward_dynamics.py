"""Forward dynamics against inverse dynamics, finite differences and MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from every_model import NAMES, model_of

from pkm_description import KinematicsError, SimulationError, TrajectoryError
from pkm_description.exporters import build_mjcf
from pkm_dynamics import PlatformMotion
from pkm_dynamics.equations.forward_dynamics import actuator_state, forward_dynamics
from pkm_dynamics.equations.wrench import PlatformWrench, wrench_forces
from pkm_dynamics.random_motion import random_motion

LOAD = PlatformWrench([30.0, -20.0, 50.0], [3.0, 1.0, 2.0], [0.1, 0.2, -0.1], 'platform')


@pytest.mark.parametrize('name', NAMES)
def test_forward_dynamics_inverts_inverse_dynamics(name):
    model = model_of(name)
    motion = random_motion(model, 20, seed=4)
    forces = model.inverse_dynamics(motion) - wrench_forces(model, motion, LOAD)
    found = model.forward_dynamics(motion, forces, wrench=LOAD)
    expected = model.actuator_states(motion).accelerations
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found.actuators, expected, atol=1e-10 * scale)
    np.testing.assert_allclose(
        found.platform, motion.acceleration, atol=1e-10 * (scale + np.abs(found.platform).max())
    )
    again = model.inverse_dynamics(found.motion) - wrench_forces(model, found.motion, LOAD)
    np.testing.assert_allclose(again, forces, atol=1e-9 * np.abs(forces).max())


@pytest.mark.parametrize('name', NAMES)
def test_mass_matrix_is_the_force_per_acceleration(name):
    """Column j is the change of the inverse dynamics with the acceleration of actuator j."""
    model = model_of(name)
    motion = random_motion(model, 6, seed=6)
    q, qd, qdd = model.actuator_states(motion)
    reference = model.motion_from_actuators(q, qd, qdd, motion.joint_positions)
    mass = model.mass_matrix(reference)
    forces = model.inverse_dynamics(reference)
    for j in range(model.n_a):
        start = motion.joint_positions
        more = model.motion_from_actuators(q, qd, qdd + np.eye(model.n_a)[j], start)
        np.testing.assert_allclose(
            model.inverse_dynamics(more) - forces,
            mass[:, :, j],
            atol=1e-9 * (np.abs(mass).max() + np.abs(forces).max()),
        )
    assert np.all(mass == np.swapaxes(mass, 1, 2))
    assert np.all(np.linalg.eigvalsh(mass) > 0.0)


@pytest.mark.parametrize('name', ['palida', 'skew_hexapod', 'tripod', 'skew_five_bar', 'skew_arm'])
def test_release_from_rest_agrees_with_mujoco(name):
    """Accelerations right after the brakes open, under random forces."""
    model = model_of(name)
    text = build_mjcf(model.description, joint_friction=False, joint_limits=False).text
    engine = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(engine)
    mujoco.mj_resetDataKeyframe(engine, data, 0)
    forces = np.random.default_rng(3).normal(size=model.n_a) * np.minimum(model.force_limit, 20.0)
    dofs = [engine.joint(joint).dofadr[0] for joint in model.actuated_joints]
    data.qfrc_applied[dofs] = forces
    mujoco.mj_forward(engine, data)
    state = actuator_state(model, model.home_actuators[None], np.zeros((1, model.n_a)))
    frictionless = np.where(model.parameter_mask('friction'), 0.0, model.nominal_parameters)
    ours = forward_dynamics(model, state, forces, frictionless).actuators[0]
    # MuJoCo's closures give way by a ten-thousandth of the force.
    np.testing.assert_allclose(data.qacc[dofs], ours, atol=2e-3 * np.abs(ours).max())


def test_state_from_the_platform_alone():
    for name in ('palida', 'tripod'):
        model = model_of(name)
        motion = random_motion(model, 6, seed=3)
        bare = PlatformMotion(motion.position, motion.rotation, motion.twist, np.full((6, 6), 7.0))
        forces = model.inverse_dynamics(motion)
        np.testing.assert_allclose(
            forward_dynamics(model, bare, forces).platform,
            motion.acceleration,
            atol=1e-6 * np.abs(motion.acceleration).max(),
        )


def test_wrong_input_is_named():
    model = model_of('tripod')
    motion = random_motion(model, 4, seed=3)
    with pytest.raises(TrajectoryError, match=r'forces.*\(3,\) or \(4, 3\)'):
        forward_dynamics(model, motion, np.zeros(6))
    with pytest.raises(TrajectoryError, match='parameters'):
        forward_dynamics(model, motion, np.zeros(3), np.zeros(2))
    with pytest.raises(SimulationError, match='not positive definite'):
        forward_dynamics(model, motion, np.zeros(3), np.zeros(model.n_p))
    sideways = PlatformMotion(
        model.home_position[None],
        model.home_rotation[None],
        [[1.0, 0, 0, 0, 0, 0]],
        np.zeros((1, 6)),
    )
    with pytest.raises(KinematicsError, match='cannot follow that platform twist'):
        forward_dynamics(model, sideways, np.zeros(3))
