"""Integrated motions against energy, MuJoCo and a pendulum's own equation."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from every_model import MAKERS, NAMES, model_of
from scipy.integrate import solve_ivp
from urdf_builder import control, inertial, joint, robot
from waves import wave

import pkm_description
from pkm_description import SimulationError, TrajectoryError
from pkm_description.exporters import build_mjcf
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.equations import equations_of_motion
from pkm_dynamics.equations.integration import CLOSURE_TOLERANCE, integrate_motion
from pkm_dynamics.equations.wrench import PlatformWrench


def frictionless(model):
    return np.where(model.parameter_mask('friction'), 0.0, model.nominal_parameters)


@pytest.mark.parametrize('name', NAMES)
def test_energy_of_a_free_fall_is_conserved(name):
    """Without drives, friction or brakes; it starts moving, for robots that lie on a table."""
    model = model_of(name)
    start = 0.02 * np.minimum(model.velocity_limit, 1.0) * (-1.0) ** np.arange(model.n_a)
    fall = integrate_motion(
        model, np.linspace(0, 0.1, 11), qd=start, parameters=frictionless(model)
    )
    assert fall.success, fall.message
    assert np.ptp(fall.kinetic) > 0.0
    moved = max(fall.kinetic.max(), np.ptp(fall.potential))
    np.testing.assert_allclose(fall.energy, fall.energy[0], rtol=0, atol=1e-8 * moved)
    assert fall.relative_drift < 1e-8
    assert np.all(fall.work == 0.0)
    assert fall.closure_gap < 1e-8


@pytest.mark.parametrize('name', ['skew_hexapod', 'tripod', 'skew_five_bar'])
def test_energy_with_forces_friction_and_a_wrench_is_balanced(name):
    model = model_of(name)
    size = np.minimum(model.force_limit, 20.0)
    done = integrate_motion(
        model,
        np.linspace(0, 0.01, 5),
        lambda t, q, qd: size * np.sin(20.0 * t + np.arange(model.n_a)),
        wrench=PlatformWrench([5.0, 3.0, -2.0], [0.5, 0.1, 0.2], [0.1, 0.0, 0.0], 'platform'),
        method='LSODA',
        tolerance=1e-11,
    )
    assert done.success, done.message
    assert done.heat[-1] > 1e-6
    assert np.all(np.diff(done.heat) >= 0.0)
    assert done.relative_drift < 1e-8


@pytest.mark.parametrize('name', ['tripod', 'skew_hexapod', 'chain_universal'])
def test_forces_of_a_motion_lead_back_to_it(name):
    """Inverse dynamics of a motion, played as a function of time, give the motion."""
    model = model_of(name)
    t = np.linspace(0.0, 0.03, 4)
    motion = wave(model, t)
    q, qd, _ = model.actuator_states(motion)

    def forces(time, _q, _qd):
        return model.inverse_dynamics(wave(model, np.array([time])))[0]

    done = integrate_motion(model, t, forces, q[0], qd[0])
    assert done.success
    np.testing.assert_allclose(
        model.actuator_states(done.motion).positions, q, atol=1e-8 * (1 + np.abs(q).max())
    )
    np.testing.assert_allclose(done.forces, model.inverse_dynamics(motion), atol=1e-8 * 1e3)


@pytest.mark.parametrize('name', ['skew_hexapod', 'tripod', 'skew_five_bar', 'skew_arm'])
def test_free_fall_agrees_with_mujoco(name):
    model = model_of(name)
    text = build_mjcf(MAKERS[name](), timestep=2e-5, joint_friction=False, joint_limits=False).text
    engine = mujoco.MjModel.from_xml_string(text)
    engine.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    data = mujoco.MjData(engine)
    mujoco.mj_resetDataKeyframe(engine, data, 0)
    addresses = [engine.joint(joint).qposadr[0] for joint in model.actuated_joints]
    for _ in range(5000):
        mujoco.mj_step(engine, data)
    fall = integrate_motion(model, [0.0, data.time], parameters=frictionless(model))
    ours = model.actuator_states(fall.motion).positions
    path = np.abs(ours[1] - ours[0]).max()
    assert path > 0.005
    np.testing.assert_allclose(data.qpos[addresses], ours[1], atol=2e-3 * path)


def test_a_pendulum_swings_as_its_equation_says():
    """One hinge with Coulomb and viscous friction and a rotor, against its own equation."""
    text = robot(
        'pendulum',
        [
            '<link name="base_link"/>',
            '<link name="platform">',
            inertial(1.3, (0.4, 0.0, 0.0), np.diag([0.01, 0.02, 0.03])),
            '</link>',
            joint(
                'hinge',
                'revolute',
                'base_link',
                'platform',
                axis=(0, 1, 0),
                limit=(-9, 9, 50, 50),
                dynamics='<dynamics friction="0.3" damping="0.1"/>',
            ),
            control(['hinge']),
        ],
    )
    model = ClosedChainModel(
        pkm_description.loads(text, 'home: {joints: {hinge: 0.0}}\nrotor_inertia: {hinge: 0.05}\n')
    )
    inertia = 0.02 + 1.3 * 0.4**2 + 0.05
    v0 = model.description.transition_velocity

    def rates(t, y):
        friction = 0.3 * np.clip(y[1] / v0, -1, 1) + 0.1 * y[1]
        return [y[1], (1.3 * 9.81 * 0.4 * np.cos(y[0]) - friction + 0.7) / inertia]

    t = np.linspace(0.0, 0.8, 9)
    expected = solve_ivp(rates, (0.0, 0.8), [0.0, 0.0], 'LSODA', t, rtol=1e-11, atol=1e-12).y.T
    done = integrate_motion(model, t, [0.7], method='LSODA')
    states = model.actuator_states(done.motion)
    np.testing.assert_allclose(states.positions[:, 0], expected[:, 0], atol=1e-7)
    np.testing.assert_allclose(states.velocities[:, 0], expected[:, 1], atol=1e-6)
    np.testing.assert_allclose(done.work, 0.7 * expected[:, 0], atol=1e-7)


def test_a_fall_goes_on_where_the_drives_are_singular():
    """The unlocked 3-RPS falls through a position where its drives do not determine it."""
    model = model_of('tripod')
    fall = integrate_motion(
        model, np.linspace(0, 0.5, 11), parameters=frictionless(model), tolerance=1e-9
    )
    assert fall.success, fall.message
    assert fall.relative_drift < 1e-7
    geometry = model.body_motion(fall.motion).geometry
    system = np.zeros((11, 12, 12))
    system[:, :9] = geometry.row_jacobian
    drives = [geometry.layout.tree.coordinate_of(joint) for joint in model.actuated_joints]
    system[:, [9, 10, 11], drives] = 1.0
    signs = np.sign(np.linalg.det(system))
    assert set(signs) == {-1.0, 1.0}
    np.testing.assert_allclose(geometry.residual(), 0.0, atol=1e-11)


def test_loops_that_open_are_projected():
    model = model_of('tripod')
    t = np.linspace(0, 0.1, 6)
    exact = integrate_motion(model, t, parameters=frictionless(model))
    loose = integrate_motion(
        model, t, parameters=frictionless(model), method='RK23', tolerance=1e-6
    )
    assert loose.projections > 0
    assert loose.closure_gap > CLOSURE_TOLERANCE
    np.testing.assert_allclose(
        loose.motion.joint_positions, exact.motion.joint_positions, atol=1e-5
    )


def test_what_cannot_go_on_is_reported(monkeypatch):
    model = model_of('skew_five_bar')
    few = integrate_motion(model, [0.0, 0.1, 0.2], max_evaluations=60)
    assert few.status == 'too_many'
    assert not few.success
    assert len(few.motion) == len(few.time) == len(few.energy) == len(few.forces) < 3
    t = np.linspace(0, 0.4, 9)
    fall = integrate_motion(model, t, parameters=frictionless(model), tolerance=1e-7)
    rows = model.body_motion(fall.motion).geometry.row_jacobian
    singular = np.linalg.svd(rows, compute_uv=False)
    margin = singular[:, 1] / singular[:, 0]  # rank 2: the loop is planar
    monkeypatch.setattr(equations_of_motion, 'LEAST_SINGULAR', 0.9 * margin[0])
    assert margin.min() < 0.9 * margin[0]
    stopped = integrate_motion(model, t, parameters=frictionless(model), tolerance=1e-7)
    assert stopped.status == 'singular'
    assert 'more freedom' in stopped.message
    assert 0 < len(stopped.time) < len(t)


def test_wrong_input_is_named():
    model = model_of('tripod')
    with pytest.raises(TrajectoryError, match="unknown method 'euler'; methods are RK23"):
        integrate_motion(model, [0, 1], method='euler')
    with pytest.raises(TrajectoryError, match=r'forces must have the shape \(3,\).*drive1'):
        integrate_motion(model, [0, 1], np.zeros(6))
    with pytest.raises(TrajectoryError, match=r'qd must have the shape \(3,\)'):
        integrate_motion(model, [0, 1], qd=np.zeros(2))
    with pytest.raises(SimulationError, match='drive2.*not finite'):
        integrate_motion(model, [0, 1], lambda t, q, qd: [0.0, np.nan, 0.0])
