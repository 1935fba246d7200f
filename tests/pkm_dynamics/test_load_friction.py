"""Friction that grows with the load of a joint: against free bodies by hand and the rest."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from every_model import NAMES, model_of
from slider_crank import PINS, forces_by_hand, slider_crank
from urdf_builder import control, inertial, joint, robot
from waves import wave

from pkm_description import DescriptionError, KinematicsError, loads
from pkm_description.friction import joint_frictions
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.analysis.contributions import contributions
from pkm_dynamics.equations.energy import actuator_work, energy_balance
from pkm_dynamics.equations.integration import integrate_motion
from pkm_dynamics.equations.wrench import PlatformWrench, wrench_forces
from pkm_dynamics.random_motion import random_motion

LIMIT = (-1, 1, 10, 100)
FACTORS = (0.02, 0.01, 0.015)  # [m] of the slider-crank's pins: a fifth of the crank's length


@pytest.fixture(scope='module')
def crank():
    return ClosedChainModel(slider_crank(FACTORS))


@pytest.fixture(scope='module')
def tripod():
    """3-RPS: hinges and struts of the tree, spherical closings; all rub with their loads."""
    factors = {'leg*_hinge': 0.02, 'leg*_strut': 0.2, 'leg*_top': 0.01}
    return model_of('rps_upv').with_load_friction(factors)


def test_loads_and_forces_of_a_slider_crank_are_those_of_free_bodies_by_hand(crank):
    rng = np.random.default_rng(5)
    states = np.column_stack([rng.uniform(-3, 3, 12), *rng.normal(size=(2, 12)) * [[4.0], [30.0]]])
    expected = [forces_by_hand(*state, FACTORS) for state in states]
    q, qd, qdd = (column[:, None] for column in states.T)
    motion = crank.motion_from_actuators(q, qd, qdd)
    torques = np.array([[torque] for torque, _ in expected])
    np.testing.assert_allclose(crank.inverse_dynamics(motion), torques, rtol=1e-9, atol=1e-9)
    found = crank.load_friction.loads(crank.body_motion(motion), crank.load_parameters)
    np.testing.assert_allclose(found, [load for _, load in expected], rtol=1e-8)
    plain = np.array([[forces_by_hand(*state, (0, 0, 0))[0]] for state in states])
    assert np.abs(torques - plain).max() > 0.1 * np.abs(plain).max()


def test_the_load_of_a_slide_is_the_force_across_it():
    """A carriage on a tilted rail: N = m g cos(tilt), whatever it does along the rail."""
    tilt, mass, factor = 0.4, 3.0, 0.3
    parts = [
        '<link name="base_link"/>',
        f'<link name="platform">{inertial(mass, (0.1, 0.2, 0.0), 0.01 * np.eye(3))}</link>',
        joint(
            'rail',
            'prismatic',
            'base_link',
            'platform',
            rpy=(0, -tilt, 0),
            axis=(1, 0, 0),
            limit=LIMIT,
        ),
        control(['rail']),
    ]
    description = loads(robot('rail', parts), f'friction: {{rail: {{load: {factor}}}}}')
    model = ClosedChainModel(description)
    q, qd, qdd = np.zeros((3, 1)), np.array([[0.5], [-0.5], [0.001]]), np.array([[2.0]] * 3)
    sign = np.array([[1.0], [-1.0], [0.5]])  # half of the transition velocity of 2 mm/s
    weight = mass * 9.81
    expected = mass * 2.0 + weight * np.sin(tilt) + factor * weight * np.cos(tilt) * sign
    found = model.inverse_dynamics(model.motion_from_actuators(q, qd, qdd))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    named = ['rail.coulomb', 'rail.viscous', 'rail.load']
    assert model.parameter_names[-3:] == named and model.parameter_units[-1] == '1'


def test_columns_are_derivatives_of_the_forces_by_the_factors(tripod):
    """At factors of zero, where the loads do not change with them at first order."""
    motion = wave(tripod, np.linspace(0.0, 1.0, 6))
    rubbing = tripod.load_friction.columns_of
    p = tripod.nominal_parameters.copy()
    p[rubbing] = 0.0
    columns = tripod.with_load_parameters(p).regressor(motion)[..., rubbing]
    for index in range(p.size - rubbing.start):
        step = np.zeros(p.size)
        step[rubbing.start + index] = 1e-4
        there, back = (
            tripod.with_load_parameters(each).inverse_dynamics(motion, each)
            for each in (p + step, p - step)
        )
        difference = (there - back) / 2e-4
        size = np.abs(columns[..., index]).max()
        assert size > 1e-3
        np.testing.assert_allclose(difference, columns[..., index], atol=1e-6 * size)


def test_forces_are_linear_in_all_parameters_at_given_loads(tripod):
    motion = wave(tripod, np.linspace(0.0, 1.0, 6))
    p = np.random.default_rng(3).normal(size=tripod.n_p)
    forces = tripod.inverse_dynamics(motion, p)
    np.testing.assert_allclose(tripod.regressor(motion) @ p, forces, atol=1e-9)
    own = tripod.with_load_parameters(2.0 * tripod.nominal_parameters)
    assert np.abs(own.inverse_dynamics(motion, p) - forces).max() > 1.0


def test_loads_of_serial_arms_are_those_of_all_that_they_carry():
    """At rest each joint carries the weight behind it, less what points along its axis."""
    model = model_of('serial_arm').with_load_friction('*')
    still = model.motion_from_actuators(*[np.zeros((1, model.n_a))] * 3)
    found = model.load_friction.loads(model.body_motion(still), model.load_parameters)[0]
    description = model.description
    for index, joint_ in enumerate(description.joints[-model.n_a :]):
        carried = [
            description.link(each.child).inertial.mass for each in description.joints[-model.n_a :]
        ]
        weight = 9.81 * sum(carried[index:])
        bodies = model.body_motion(still)
        axis = bodies.rotation[0, list(bodies.names).index(joint_.child)] @ joint_.axis
        assert found[index] == pytest.approx(weight * np.linalg.norm(axis[:2]), rel=1e-9, abs=1e-9)


def test_forward_dynamics_undoes_inverse_dynamics(tripod):
    motion = wave(tripod, np.linspace(0.0, 1.0, 8))
    push = PlatformWrench(force=[30.0, -20.0, 50.0], moment=[1.0, 2.0, -3.0])
    forces = tripod.inverse_dynamics(motion)
    expected = tripod.actuator_states(motion).accelerations
    found = tripod.forward_dynamics(motion, forces).actuators
    np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())
    held = forces - wrench_forces(tripod, motion, push)
    pushed = tripod.forward_dynamics(motion, held, wrench=push)
    # the push loads the joints, so that friction is another one
    assert np.abs(pushed.actuators - expected).max() > 1e-3


def test_integrated_motion_has_the_forces_of_inverse_dynamics_and_balances_energy(crank):
    """While every pin keeps its direction: the rod turns back at a quarter of a turn."""
    time = np.linspace(0.0, 0.15, 8)
    found = integrate_motion(crank, time, lambda t, q, qd: [2.0 + t], q=[0.7], qd=[3.0])
    assert found.status == 'complete'
    np.testing.assert_allclose(crank.inverse_dynamics(found.motion), found.forces, atol=1e-7)
    energy = found.kinetic + found.potential
    np.testing.assert_allclose(energy - energy[0], found.work - found.heat, atol=1e-6)
    assert found.heat[-1] > 0.1 * found.kinetic.max()


def test_rows_of_energy_and_contributions_hold_it(tripod):
    t = np.linspace(0.0, 0.4, 800)
    motion = wave(tripod, t)
    forces = tripod.inverse_dynamics(motion)
    work = actuator_work(tripod, motion, t, forces)
    rows = energy_balance(tripod, motion, t) @ tripod.nominal_parameters
    # the saturated sign has kinks that a cubic spline rounds
    np.testing.assert_allclose(rows.sum(), work.sum(), rtol=1e-4)
    parts = contributions(tripod, motion[:20])
    np.testing.assert_allclose(parts.total, forces[:20], atol=1e-8 * np.abs(forces).max())


# of the other one rigid bodies do not determine all loads
@pytest.mark.parametrize('name', sorted({*NAMES} - {'four_bar_universal'}))
def test_compiled_loops_find_what_the_columns_say(name):
    """Joints of every kind, closings, motors; the columns are batches of NumPy."""
    plain = model_of(name)
    model = plain.with_load_friction(dict.fromkeys(joint_frictions(plain.description), 0.004))
    motion = model.with_joint_states(random_motion(model, 5, seed=3))
    factors = np.random.default_rng(0).uniform(0.5, 1.0, len(model.load_friction))
    columns = model.load_friction.columns(model.body_motion(motion), model.load_parameters)
    expected = columns @ factors
    found = model.load_forces(motion, model.joint_states(motion), factors)
    # loads of 1e-12 of the largest, of loops some of which are nearly singular
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_loads_that_rigid_bodies_do_not_determine_are_refused():
    """Of a planar loop in space the slide can be squeezed across the plane, the pins cannot."""
    with pytest.raises(DescriptionError, match='load of joint slide: its loops hold each other'):
        ClosedChainModel(slider_crank(FACTORS, slide=0.1))


def test_friction_that_locks_is_refused():
    locked = ClosedChainModel(slider_crank((0.0, 2.0, 2.0)))
    motion = locked.motion_from_actuators([[0.7]], [[1.0]], [[0.0]])
    with pytest.raises(KinematicsError, match='rod_pin.*locks the mechanism'):
        locked.inverse_dynamics(motion)


def test_a_model_keeps_its_loads_where_it_goes(crank):
    moved = crank.with_load_parameters(1.5 * crank.nominal_parameters)
    again = pickle.loads(pickle.dumps(moved))
    np.testing.assert_array_equal(again.load_parameters, moved.load_parameters)
    np.testing.assert_array_equal(crank.load_parameters, crank.nominal_parameters)
    base = crank.base_parameters()
    further = crank.with_load_parameters(1.5 * crank.nominal_parameters)
    assert further.base_parameters().names == base.names
    assert further.base_parameters().model is further
    assert [f'{pin}.load' for pin in PINS] == crank.parameter_names[-3:]


def test_further_terms_leave_the_loads_that_a_model_has(crank):
    loads = 1.5 * crank.nominal_parameters
    given = crank.with_load_parameters(loads)
    [drive] = crank.actuated_joints
    wide = given.with_drive_terms({drive: {'offset': 0.4}})
    own = dict(zip(wide.parameter_names, wide.load_parameters, strict=True))
    assert own.pop(f'{drive}.offset') == 0.4
    assert list(own.values()) == loads.tolist()
    more = given.with_load_friction({drive: 0.02})
    own = dict(zip(more.parameter_names, more.load_parameters, strict=True))
    assert [own[name] for name in crank.parameter_names] == loads.tolist()
