"""More drives than degrees of freedom, against Pinocchio, MuJoCo and finite differences."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import mujoco
import numpy as np
import pytest
from every_model import model_of
from hexapods import seven_struts

import pkm_description
from pkm_control.effort_trajectory import hold_points
from pkm_control.feedforward import nominal_feedforward
from pkm_description import DescriptionError, RedundantActuationError
from pkm_description.exporters import build_mjcf
from pkm_dynamics import ClosedChainModel, RedundantModel
from pkm_dynamics.cpp import build_cpp
from pkm_dynamics.equations.forward_dynamics import actuator_state
from pkm_dynamics.friction_laws import smoothed_sign
from pkm_dynamics.limits.robot_limits import LimitOptions, Limits
from pkm_dynamics.worlds.equations_plant import EquationsPlant

EXAMPLE = Path(pkm_description.__file__).parent / 'examples' / 'planar_4rrr.urdf.xacro'
SEVEN = """
redundant_actuation: {drives: [drive3], scale: {drive1: 50}, preload: {drive3: -60, drive5: 20}}
rotor_inertia: {drive1: 0.4, drive3: 0.7}
friction:
  drive1: {coulomb: 3, viscous: 9}
  drive3: {model: asymmetric, coulomb: 8, coulomb_negative: 5, viscous: 30}
"""


@pytest.fixture(scope='module', params=['planar_4rrr', 'seven_struts'])
def model(request):
    if request.param == 'planar_4rrr':
        return RedundantModel(pkm_description.load(EXAMPLE))
    return RedundantModel(seven_struts(SEVEN))


@pytest.fixture(scope='module')
def motion(model):
    rng = np.random.default_rng(1)
    stroke = np.minimum(model.core.upper - model.core.lower, 1.0)
    q = model.core.home_actuators + 0.02 * stroke * rng.uniform(-1, 1, (12, model.core.n_a))
    qd, qdd = stroke * rng.normal(size=q.shape), 10 * stroke * rng.normal(size=q.shape)
    return model.core.motion_from_actuators(q, qd, qdd)


def drive_forces(model, qd, qdd):
    """Forces (n_d,) for friction and rotor of each drive, from the description alone."""
    robot, needed = model.description, np.zeros(len(qd))
    for k, each in enumerate(robot.actuators):
        friction = robot.joint(each.joint).friction
        sign = smoothed_sign(qd[k], robot.transition_velocity)
        forwards, backwards = friction.levels
        needed[k] = (forwards if sign > 0 else backwards) * sign + friction.damping * qd[k]
        needed[k] += (each.rotor_inertia or 0.0) * qdd[k]
    return needed


def test_forces_of_all_drives_do_the_virtual_work_that_pinocchio_needs(model, motion):
    pytest.importorskip('pinocchio')
    import pinocchio
    from pinocchio_oracle import PinocchioOracle

    oracle = PinocchioOracle(model.description)
    forces = model.inverse_dynamics(motion)
    states = model.core.actuator_states(motion)
    drives = [oracle.rate_index(name) for name in model.actuated_joints]
    for k in range(len(motion)):
        q, v, a, transfer = oracle.driven(
            oracle.configuration(model.core, motion, k),
            model.core.actuated_joints,
            states.velocities[k],
            states.accelerations[k],
        )
        left = pinocchio.rnea(oracle.model, oracle.data, q, v, a)
        left[drives] += drive_forces(model, v[drives], a[drives]) - forces[k]
        work = transfer.T @ left
        assert np.abs(work).max() < 1e-9 * np.abs(forces).max()
        np.testing.assert_allclose(model.drive_states(motion).velocities[k], v[drives], atol=1e-9)


def test_forces_are_those_of_the_least_norm(model, motion):
    """The gradient of the weighted squares has no part in what the motion leaves open."""
    gradient = (model.inverse_dynamics(motion) - model.preload) / model.scale**2
    q, step = model.core.actuator_states(motion).positions, 1e-6
    still = np.zeros_like(q)

    def drives_at(positions):
        moved = model.core.motion_from_actuators(positions, still, still, motion.joint_positions)
        return model.drive_states(moved).positions

    axes = step * np.eye(model.core.n_a)
    rates = [(drives_at(q + axis) - drives_at(q - axis)) / (2 * step) for axis in axes]
    jacobian = np.stack(rates, axis=2)  # (N, n_d, n_a)
    for rows, slope in zip(jacobian, gradient, strict=True):
        left, _, _ = np.linalg.svd(rows)
        inner = left[:, model.core.n_a :]  # forces that tension the drives against each other
        assert inner.shape[1] == 1
        assert np.abs(inner.T @ slope).max() < 1e-7 * np.abs(slope).max()
        # any of them leaves the generalised forces as they are
    with_inner = model.inverse_dynamics(motion) + 7.0 * np.linalg.svd(jacobian)[0][:, :, -1]
    needed = model.core.inverse_dynamics(motion)
    found = model.generalised_forces(motion, with_inner)
    np.testing.assert_allclose(found, needed, atol=1e-6 * np.abs(needed).max())


def test_forward_dynamics_inverts_inverse_dynamics(model, motion):
    found = model.forward_dynamics(motion, model.inverse_dynamics(motion))
    wanted = model.core.actuator_states(motion).accelerations
    np.testing.assert_allclose(found.actuators, wanted, atol=1e-9 * np.abs(wanted).max())


def test_the_regressor_has_friction_and_rotors_of_all_drives(model, motion):
    core = model.core
    columns = core.regressor(motion)
    forces = core.inverse_dynamics(motion)
    np.testing.assert_allclose(columns @ core.nominal_parameters, forces, atol=1e-9)
    (beyond,) = model.description.redundant_actuation.drives
    index = core.parameter_names.index(f'{beyond}.viscous')
    place = model.actuated_joints.index(beyond)
    rate = model.drive_states(motion).velocities[:, place]
    projected = model.drive_jacobian(motion)[:, place] * rate[:, None]
    np.testing.assert_allclose(columns[:, :, index], projected, atol=1e-10)
    assert f'{beyond}.rotor' in core.parameter_names


def test_release_from_rest_agrees_with_mujoco(model):
    """Accelerations of all drives right after the brakes open, under random forces."""
    text = build_mjcf(model.description, joint_friction=False, joint_limits=False).text
    engine = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(engine)
    mujoco.mj_resetDataKeyframe(engine, data, 0)
    forces = 5.0 * np.random.default_rng(3).normal(size=model.n_d)
    dofs = [engine.joint(joint).dofadr[0] for joint in model.actuated_joints]
    data.qfrc_applied[dofs] = forces
    mujoco.mj_forward(engine, data)
    core = model.core
    state = actuator_state(core, core.home_actuators[None], np.zeros((1, core.n_a)))
    smooth = np.where(core.parameter_mask('friction'), 0.0, core.nominal_parameters)
    found = model.forward_dynamics(state, forces[None], smooth)
    ours = model.drive_states(found.motion).accelerations[0]
    # MuJoCo's closures give way by a ten-thousandth of the force.
    np.testing.assert_allclose(data.qacc[dofs], ours, atol=2e-3 * np.abs(ours).max())


@pytest.mark.parametrize(
    'use, feature',
    [
        (lambda model: ClosedChainModel(model.description), 'a ClosedChainModel by itself'),
        (lambda model: build_cpp(model.core), 'C\\+\\+'),
        (lambda model: EquationsPlant(model.description), 'a simulator other than MuJoCo'),
        (
            lambda model: hold_points(
                model.core, nominal_feedforward(model.core), model.core.home_actuators
            ),
            'a trajectory with efforts',
        ),
    ],
)
def test_what_needs_a_drive_for_each_freedom_refuses_it(use, feature):
    model = RedundantModel(pkm_description.load(EXAMPLE))
    with pytest.raises(RedundantActuationError, match=rf"'planar_4rrr'.*\(motor4\): {feature} is"):
        use(model)


def test_the_forces_of_the_box_are_those_that_all_drives_have_at_home(model):
    """Any of its corners is within the limits of all drives, and one of them at a limit."""
    core, box = model.core, np.asarray(model.core.force_limit)
    home = core.motion_from_actuators(core.home_actuators[None], *np.zeros((2, 1, core.n_a)))
    corners = np.array(list(product([-1.0, 1.0], repeat=core.n_a))) * box
    shares = [np.abs(model.distributed(home, each[None])[0]) for each in corners]
    largest = np.max(shares / model.force_limit)
    assert largest == pytest.approx(1.0, rel=1e-9)


def worst_force(margins):
    return min((m for m in margins if m.constraint == 'force'), key=lambda m: m.relative)


def test_limits_of_all_drives_are_checked(model, motion):
    """The smallest margin of each sample is that of the drive with the largest share."""
    left = 1.0 - np.abs(model.inverse_dynamics(motion)) / model.force_limit
    limits = Limits(model.core, LimitOptions(condition_limit=None, clearance=None))
    for k, each in enumerate(left):
        worst = worst_force(limits.margins(motion[k : k + 1], np.zeros(1), None))
        assert worst.name == model.actuated_joints[np.argmin(each)]
        assert worst.relative == pytest.approx(each.min(), abs=1e-12)
    (beyond,) = model.description.redundant_actuation.drives
    assert beyond in limits.passive_names


def test_an_uncertain_model_leaves_more_of_all_forces(model, motion):
    core = model.core
    covariance = np.diag((0.1 * core.nominal_parameters) ** 2)
    rows = model.shares(motion)[1] @ core.regressor(motion)
    deviation = np.sqrt(np.einsum('tdp,pq,tdq->td', rows, covariance, rows))
    needed = np.abs(model.inverse_dynamics(motion)) + 3.0 * deviation
    options = LimitOptions(condition_limit=None, clearance=None, force_uncertainty=covariance)
    limits = Limits(core, options)
    for k, each in enumerate(1.0 - needed / model.force_limit):
        worst = worst_force(limits.margins(motion[k : k + 1], np.zeros(1), None))
        assert worst.relative == pytest.approx(each.min(), abs=1e-12)


def test_terms_that_came_later_are_refused():
    robot = pkm_description.load(EXAMPLE)
    with pytest.raises(RedundantActuationError, match='a drive term'):
        RedundantModel(pkm_description.with_drive_terms(robot, 'motor4:offset'))
    with pytest.raises(RedundantActuationError, match='friction by load'):
        RedundantModel(pkm_description.with_load_friction(robot, 'elbow1'))
    with pytest.raises(RedundantActuationError, match='friction by load'):
        RedundantModel(robot).core.with_load_friction('elbow1')


def test_a_robot_without_redundant_drives_is_refused():
    with pytest.raises(DescriptionError, match="'palida' has no redundant_actuation"):
        RedundantModel(model_of('palida').description)
