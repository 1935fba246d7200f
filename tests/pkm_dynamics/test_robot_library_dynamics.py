"""Dynamics of the library's robots against Pinocchio and against the papers' own equations."""

from __future__ import annotations

import numpy as np
import pytest

import pkm_description
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.random_motion import random_motion

HEXAPODS = ('palida', 'msi', 'uf_pkm', 'hexel', 'ford')
OTHERS = ('rps_upv', 'h4', 'delta', 'five_bar', 'four_bar', 'serial_arm', 'cart_pendulum')
#: What a hexapod's forces change, relative to the largest, if struts do not spin.
COST_OF_NO_SPIN = {
    'palida': 3.0e-4,
    'msi': 8.7e-5,
    'uf_pkm': 1.4e-3,
    'hexel': 1.4e-5,
    'ford': 5.0e-6,
}


@pytest.fixture(scope='module')
def models():
    return {name: ClosedChainModel(pkm_description.load(name)) for name in (*HEXAPODS, *OTHERS)}


def rigid(model):
    return np.where(model.parameter_mask('rigid_body'), model.nominal_parameters, 0.0)


def pinocchio_forces(model, motion):
    pytest.importorskip('pinocchio')
    from pinocchio_oracle import PinocchioOracle

    oracle = PinocchioOracle(model.description)
    return np.array([oracle.forces(model, motion, k) for k in range(len(motion))])


@pytest.mark.parametrize('name', (*HEXAPODS, *OTHERS))
def test_forces_agree_with_pinocchio(models, name):
    """From actuator motions where the platform has fewer than six degrees of freedom."""
    model = models[name]
    motion = random_motion(model, 12, seed=5)
    theirs = pinocchio_forces(model, motion)
    scale = np.max(np.abs(theirs))
    assert scale > 0.1
    assert np.max(np.abs(model.inverse_dynamics(motion, rigid(model)) - theirs)) < 1e-9 * scale


@pytest.mark.parametrize('name', HEXAPODS)
def test_leaving_out_strut_spin_costs_what_it_says(models, name, record_property):
    """Without moments of inertia about the strut, a strut may as well not spin."""
    model = models[name]
    motion = random_motion(model, 40, seed=11)
    without = rigid(model)
    for k, parameter in enumerate(model.parameter_names):
        if parameter.endswith(('stator.Izz', 'slider.Izz')):
            without[k] = 0.0
    theirs = pinocchio_forces(model, motion)
    scale = np.max(np.abs(theirs))
    cost = np.max(np.abs(model.inverse_dynamics(motion, without) - theirs)) / scale
    record_property('cost_of_no_spin', float(cost))
    assert 0.5 * COST_OF_NO_SPIN[name] < cost < 2.0 * COST_OF_NO_SPIN[name]
    complete = np.max(np.abs(model.inverse_dynamics(motion, rigid(model)) - theirs)) / scale
    assert complete < 1e-9


def test_rps_forces_from_actuators_with_friction_and_rotors(models):
    """[M eq. 14, 18 and 20]: rigid bodies, asymmetric friction, rotor and screw."""
    model = models['rps_upv']
    motion = random_motion(model, 25, seed=3)
    states = model.actuator_states(motion)
    speed = states.velocities
    assert np.all(np.abs(speed) > model.description.transition_velocity)
    friction = np.where(speed > 0, 227.96, -228.04) + 3272.0 * speed
    expected = pinocchio_forces(model, motion) + friction + 483.1 * states.accelerations
    again = model.motion_from_actuators(*states, initial=motion)
    error = np.abs(model.inverse_dynamics(again) - expected)
    assert np.max(error) < 1e-8 * np.max(np.abs(expected))


class H4OfThePaper:
    """Kinematics and reduced dynamics of the H4 as [P eq. 1 to 16] state them."""

    ALPHA = np.array([0.0, np.pi, 1.5 * np.pi, 1.5 * np.pi])
    AXIS = np.array([[0, 1, 0], [0, -1, 0], [1, 0, 0], [1, 0, 0]], dtype=float)
    H, D, R, ARM, ROD = 0.06, 0.06, 0.14, 0.26, 0.48
    I_MOT = np.array([0.0199, 0.0133, 0.0189, 0.025])
    M_NAC, I_BC = 0.7914, 0.0005
    VISCOUS = np.array([0.3093, 0.2166, 0.1235, 0.0752])
    COULOMB = np.array([0.8126, 0.9390, 0.5360, 0.9868])
    SIDE = np.array([1.0, -1.0, -1.0, 1.0])  # of h in the middle bar
    ROW = np.array([1.0, 1.0, -1.0, -1.0])  # of d

    def points(self, place, turn, q):
        """A_i, B_i, P_i B_i, D C_i, each (4, 3)."""
        zero = np.zeros(4)
        centre = self.SIDE[:, None] * self.H * np.array([np.cos(turn), np.sin(turn), 0.0])
        a = place + centre + np.stack([zero, self.ROW * self.D, zero], axis=1)
        motor = np.stack(
            [
                self.SIDE * self.H + self.R * np.cos(self.ALPHA),
                self.ROW * self.D + self.R * np.sin(self.ALPHA),
                zero,
            ],
            axis=1,
        )
        arm = self.ARM * np.stack(
            [np.cos(q) * np.cos(self.ALPHA), np.cos(q) * np.sin(self.ALPHA), -np.sin(q)], axis=1
        )
        return a, motor + arm, arm, centre

    def jacobian(self, place, turn, q):
        """(4, 4): rates of x, y, z and the angle from the motors' [P eq. 11 to 13]."""
        a, b, arm, centre = self.points(place, turn, q)
        rod = b - a
        j_x = np.column_stack([rod, np.cross(centre, rod)[:, 2]])
        j_q = np.diag(np.einsum('ij,ij->i', np.cross(arm, rod), self.AXIS))
        return np.linalg.solve(j_x, j_q)


def heading(rotation):
    return np.arctan2(rotation[1, 0], rotation[0, 0])


def test_h4_kinematics_of_the_paper(models):
    model, paper = models['h4'], H4OfThePaper()
    motion = random_motion(model, 40, seed=1)
    q = model.actuator_states(motion).positions
    jacobian = model.platform_jacobian(q)
    np.testing.assert_allclose(jacobian[:, 3:5], 0.0, atol=1e-9)  # the nacelle never tilts
    assert np.ptp([heading(r) for r in motion.rotation]) > 0.2
    for k in range(len(motion)):
        turn = heading(motion.rotation[k])
        a, b, _, _ = paper.points(motion.position[k], turn, q[k])
        np.testing.assert_allclose(np.linalg.norm(b - a, axis=1), paper.ROD, atol=1e-10)
        np.testing.assert_allclose(
            jacobian[k, [0, 1, 2, 5]], paper.jacobian(motion.position[k], turn, q[k]), atol=1e-9
        )


def test_h4_forces_are_the_papers(models):
    """Inverse dynamics with friction equal [P eq. 14], which knows four masses only."""
    model, paper = models['h4'], H4OfThePaper()
    motion = random_motion(model, 40, seed=2)
    states = model.actuator_states(motion)
    gravity = np.array([0.0, 0.0, -9.81, 0.0])
    mass = np.array([paper.M_NAC] * 3 + [paper.I_BC])
    expected = []
    for k in range(len(motion)):
        q, v, a = (array[k] for array in states)
        jacobian = paper.jacobian(motion.position[k], heading(motion.rotation[k]), q)
        wrench = mass * (motion.acceleration[k, [0, 1, 2, 5]] - gravity)
        coulomb = paper.COULOMB * np.clip(v / model.description.transition_velocity, -1, 1)
        expected.append(paper.I_MOT * a + jacobian.T @ wrench + paper.VISCOUS * v + coulomb)
    ours = model.inverse_dynamics(motion)
    np.testing.assert_allclose(ours, expected, atol=1e-9 * np.max(np.abs(ours)))


def test_h4_has_the_papers_fourteen_parameters(models):
    """[P eq. 18]: what is not declared zero and moves any motor are the paper's parameters."""
    model = models['h4']
    motion = random_motion(model, 80, seed=2, scale=0.5)
    columns = model.regressor(motion).reshape(-1, model.n_p)
    columns = columns[:, ~model.zero_parameter_mask]
    names = np.array(model.parameter_names)[~model.zero_parameter_mask]
    size = np.linalg.norm(columns, axis=0)
    felt = size > 1e-8 * size.max()
    assert set(names[felt]) == {
        'platform.m',
        'platform.Izz',
        *(f'arm{k}_joint.rotor' for k in (1, 2, 3, 4)),
        *(f'arm{k}_joint.{kind}' for k in (1, 2, 3, 4) for kind in ('coulomb', 'viscous')),
    }
    assert np.linalg.matrix_rank(columns[:, felt] / size[felt], tol=1e-3) == 14
    assert set(model.base_parameters(shared=True, reduced=True).names) == set(names[felt])


def test_delta_platform_only_translates(models):
    model = models['delta']
    motion = random_motion(model, 20, seed=8)
    np.testing.assert_allclose(motion.rotation, np.broadcast_to(np.eye(3), (20, 3, 3)), atol=1e-9)
    np.testing.assert_allclose(motion.twist[:, 3:], 0.0, atol=1e-8)
    assert np.all(np.ptp(motion.position, axis=0) > 0.05)


def test_cart_pendulum_obeys_the_papers_equations(models):
    """[O eq. 3.3 to 3.5]: absolute angles, uniform rods, and no torque at the hinges."""
    model = models['cart_pendulum']
    l1, l2, m1, m2, cart, g = 0.5, 0.75, 0.75, 0.5, 1.5, 9.81
    motion = random_motion(model, 30, seed=4)
    q, v, a = model.actuator_states(motion)
    t1, t2 = q[:, 1], q[:, 1] + q[:, 2]
    w1, w2 = v[:, 1], v[:, 1] + v[:, 2]
    b1, b2 = a[:, 1], a[:, 1] + a[:, 2]
    lever1, lever2 = (m1 / 2 + m2) * l1, m2 * l2 / 2
    cross = m2 * l1 * l2 / 2
    force = (
        (cart + m1 + m2) * a[:, 0]
        + lever1 * (b1 * np.cos(t1) - w1**2 * np.sin(t1))
        + lever2 * (b2 * np.cos(t2) - w2**2 * np.sin(t2))
    )
    first = (
        lever1 * (a[:, 0] * np.cos(t1) - g * np.sin(t1))
        + (m1 / 3 + m2) * l1**2 * b1
        + cross * (b2 * np.cos(t2 - t1) - w2**2 * np.sin(t2 - t1))
    )
    second = (
        lever2 * (a[:, 0] * np.cos(t2) - g * np.sin(t2))
        + m2 * l2**2 / 3 * b2
        + cross * (b1 * np.cos(t2 - t1) + w1**2 * np.sin(t2 - t1))
    )
    # The upper joint is relative: its torque works on the upper angle alone.
    expected = np.stack([force, first + second, second], axis=1)
    np.testing.assert_allclose(model.inverse_dynamics(motion), expected, atol=1e-11)
