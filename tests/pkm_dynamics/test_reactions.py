"""Joint forces against Newton and Euler for every body, and against MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from every_model import NAMES, model_of
from waves import derivative, wave

from pkm_description.exporters import build_mjcf
from pkm_dynamics.analysis.reactions import reactions
from pkm_dynamics.equations.forward_dynamics import actuator_state, forward_dynamics
from pkm_dynamics.equations.wrench import PlatformWrench, inverse_dynamics_under
from pkm_dynamics.parameters.base_parameters import random_motion

LOAD = PlatformWrench([30.0, -20.0, 50.0], [3.0, 1.0, 2.0], [0.1, 0.2, -0.1], 'platform')


@pytest.mark.parametrize('name', NAMES)
def test_every_body_is_in_balance(name):
    """Forces of all joints, weight and wrench = rate of the momentum, body by body.

    Each body's own balance about its centre of mass, from its `Inertial`: no regressor.
    """
    model = model_of(name)
    motion = random_motion(model, 8, seed=5)
    bodies = model.body_motion(motion)
    found = reactions(model, motion, wrench=LOAD)
    gravity = np.asarray(model.description.gravity)
    scale = max(np.abs(r.force).max() for r in found.joints.values()) + 1.0
    for k, link in enumerate(bodies.names):
        turn, place = bodies.rotation[:, k], bodies.position[:, k]
        inertial = model.description.link(link).inertial
        com = place + (turn @ inertial.com if inertial else 0.0)
        force, moment = np.zeros((8, 3)), np.zeros((8, 3))
        for reaction in [*found.joints.values(), *found.constraints.values()]:
            sign = (reaction.child == link) - (reaction.parent == link)
            f, n = reaction.in_base()
            force += sign * f
            moment += sign * (n + np.cross(reaction.point - com, f))
        if link == 'platform':
            load = LOAD.at_origin(turn)
            force += load[:, :3]
            moment += load[:, 3:] + np.cross(place - com, load[:, :3])
        if inertial:
            omega, alpha = bodies.twist[:, k, 3:], bodies.acceleration[:, k, 3:]
            arm = com - place
            a = bodies.acceleration[:, k, :3] + np.cross(alpha, arm)
            a += np.cross(omega, np.cross(omega, arm))
            inertia = turn @ inertial.inertia @ np.swapaxes(turn, 1, 2)
            force -= inertial.mass * (a - gravity)
            moment -= np.einsum('nij,nj->ni', inertia, alpha)
            moment -= np.cross(omega, np.einsum('nij,nj->ni', inertia, omega))
        np.testing.assert_allclose(force, 0.0, atol=1e-9 * scale)
        np.testing.assert_allclose(moment, 0.0, atol=1e-9 * scale)


@pytest.mark.parametrize('name', NAMES)
def test_joints_transmit_what_their_type_lets_them(name):
    model = model_of(name)
    motion = random_motion(model, 8, seed=5)
    found = reactions(model, motion, wrench=LOAD)
    expected = inverse_dynamics_under(model, motion, LOAD)
    size = np.abs(expected).max()
    np.testing.assert_allclose(found.actuator_forces, expected, atol=1e-9 * size)
    scale = max(np.abs(r.force).max() for r in found.joints.values()) + 1.0
    assert np.all(found.residual < 1e-9 * scale)
    states = model.joint_states(motion)
    axis_of = {'revolute': 'moment', 'continuous': 'moment', 'prismatic': 'force'}
    for joint in model.description.joints:
        reaction = found.joints[joint.name]
        if joint.type == 'floating':
            np.testing.assert_allclose(reaction.force, 0.0, atol=1e-9 * scale)
            np.testing.assert_allclose(reaction.moment, 0.0, atol=1e-9 * scale)
        if joint.type in axis_of:
            along = getattr(reaction, axis_of[joint.type]) @ joint.axis
            k = model.joint_names.index(joint.name)
            rate, rate_dot = states.velocities[:, k], states.accelerations[:, k]
            drive = np.zeros(8)
            if joint.name in model.actuated_joints:
                index = model.actuated_joints.index(joint.name)
                drive = expected[:, index].copy()
                rotor = model.description.actuators[index].rotor_inertia
                drive -= (rotor or 0.0) * rate_dot
            if joint.friction is not None and joint.friction.model == 'coulomb_viscous':
                v0 = model.description.transition_velocity
                drive -= joint.friction.coulomb * np.clip(rate / v0, -1, 1)
                drive -= joint.friction.viscous * rate
            if joint.friction is None or joint.friction.model == 'coulomb_viscous':
                np.testing.assert_allclose(along, drive, atol=1e-9 * scale)
    frictionless = np.where(model.parameter_mask('friction'), 0.0, model.nominal_parameters)
    bare = reactions(model, motion, frictionless, LOAD)
    for constraint in model.description.constraints:
        reaction = bare.constraints[constraint.name]
        axis = constraint.parent_axis
        if constraint.type == 'spherical':
            np.testing.assert_allclose(reaction.moment, 0.0, atol=1e-9 * scale)
        if constraint.type == 'revolute':
            np.testing.assert_allclose(reaction.moment @ axis, 0.0, atol=1e-9 * scale)
        if constraint.type == 'prismatic':
            np.testing.assert_allclose(reaction.force @ axis, 0.0, atol=1e-9 * scale)
        if constraint.type == 'universal':
            np.testing.assert_allclose(reaction.moment @ axis, 0.0, atol=1e-9 * scale)


def test_what_redundant_rows_leave_open_is_marked():
    """A planar five-bar: forces in the plane are known, those across it are not."""
    model = model_of('skew_five_bar')
    motion = random_motion(model, 6, seed=5)
    found = reactions(model, motion)
    assert found.redundant
    tip = found.constraints['tip']
    assert tip.determined.tolist() == [True, True, False, False, False, True]
    assert found.joints['shoulder1'].determined.tolist()[:2] == [True, True]
    assert not found.joints['shoulder1'].determined[2]
    sure = reactions(model_of('skew_hexapod'), random_motion(model_of('skew_hexapod'), 3, seed=1))
    assert not sure.redundant
    assert all(r.determined.all() for r in [*sure.joints.values(), *sure.constraints.values()])


@pytest.mark.parametrize('name', NAMES)
def test_ground_supports_the_change_of_all_momentum(name):
    model = model_of(name)
    h = 1e-3
    motion = wave(model, 0.3 + h * np.arange(-2, 3))
    bodies = model.body_motion(motion)
    momentum, moment_of = np.zeros((5, 3)), np.zeros((5, 3))
    weight, turning = np.zeros(3), np.zeros(3)
    for k, link in enumerate(bodies.names):
        inertial = model.description.link(link).inertial
        if inertial is None:
            continue
        turn, omega = bodies.rotation[:, k], bodies.twist[:, k, 3:]
        arm = turn @ inertial.com
        p = inertial.mass * (bodies.twist[:, k, :3] + np.cross(omega, arm))
        spin = turn @ inertial.inertia @ np.swapaxes(turn, 1, 2)
        momentum += p
        moment_of += np.cross(bodies.position[:, k] + arm, p)
        moment_of += np.einsum('nij,nj->ni', spin, omega)
        pull = inertial.mass * np.asarray(model.description.gravity)
        weight += pull
        turning += np.cross(bodies.position[2, k] + arm[2], pull)
    found = reactions(model, motion).base_wrench[2]
    scale = 1.0 + np.abs(found).max()
    np.testing.assert_allclose(derivative(momentum, h) - weight, found[:3], atol=1e-6 * scale)
    np.testing.assert_allclose(derivative(moment_of, h) - turning, found[3:], atol=1e-6 * scale)


def test_forces_in_spherical_joints_agree_with_mujoco():
    """Release from rest under random forces: MuJoCo's constraint forces, three a joint."""
    model = model_of('skew_hexapod')
    text = build_mjcf(model.description, joint_friction=False, joint_limits=False).text
    engine = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(engine)
    mujoco.mj_resetDataKeyframe(engine, data, 0)
    forces = np.random.default_rng(3).normal(size=6) * 50.0
    dofs = [engine.joint(joint).dofadr[0] for joint in model.actuated_joints]
    data.qfrc_applied[dofs] = forces
    mujoco.mj_forward(engine, data)
    frictionless = np.where(model.parameter_mask('friction'), 0.0, model.nominal_parameters)
    state = actuator_state(model, model.home_actuators[None], np.zeros((1, 6)))
    released = forward_dynamics(model, state, forces, frictionless).motion
    found = reactions(model, released, frictionless)
    np.testing.assert_allclose(found.actuator_forces[0], forces, atol=1e-8)
    theirs = {}
    for index in range(engine.neq):
        rows = (data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)) & (
            data.efc_id == index
        )
        theirs[engine.equality(index).name] = data.efc_force[rows]
    scale = max(np.abs(force).max() for force in theirs.values())
    for name, reaction in found.constraints.items():
        # MuJoCo's rows are site 1 less site 2, so its force acts on the parent.
        np.testing.assert_allclose(reaction.in_base()[0][0], -theirs[name], atol=2e-3 * scale)
