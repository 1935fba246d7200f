"""Forces of robots with idle spins: those of universal ends, and of Pinocchio without any gauge."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_description import load
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.parameters.rewritten_description import rewritten
from pkm_dynamics.random_motion import random_motion


@pytest.fixture(scope='module')
def balls():
    return ClosedChainModel(load('delta rods:=ball'))


@pytest.fixture(scope='module')
def cardans():
    return ClosedChainModel(load('delta'))


def _same_motion(of, model, count, seed):
    motion = random_motion(of, count, seed=seed)
    states = of.actuator_states(motion)
    return motion, model.motion_from_actuators(
        states.positions, states.velocities, states.accelerations
    )


def test_forces_are_those_of_rods_with_universal_ends(balls, cardans):
    with_cardans, with_balls = _same_motion(cardans, balls, 20, seed=1)
    np.testing.assert_allclose(with_balls.position, with_cardans.position, atol=1e-12)
    parameters = np.array(cardans.nominal_parameters)
    along = [f'rod{n}{letter}.Izz' for n in (1, 2, 3) for letter in 'ab']
    parameters[[cardans.parameter_names.index(name) for name in along]] = 0.0
    expected = cardans.inverse_dynamics(with_cardans, parameters)
    forces = balls.inverse_dynamics(with_balls)
    assert np.max(np.abs(forces - expected)) < 1e-12 * np.max(np.abs(expected))
    np.testing.assert_allclose(
        balls.regressor(with_balls) @ balls.nominal_parameters, forces, atol=1e-11
    )
    whole = cardans.inverse_dynamics(with_cardans)
    assert 1e-9 < np.max(np.abs(whole - expected)) / np.max(np.abs(whole)) < 1e-5


def test_forces_are_those_of_pinocchio_whatever_the_rods_spin(balls):
    """Pinocchio closes the loops without the gauge, with rods that are turned, spin and spin up."""
    pin = pytest.importorskip('pinocchio')
    from pinocchio_oracle import PinocchioOracle

    # thin rods: what spins has no inertia about its axis
    urdf = balls.description.urdf.replace('izz="6e-06"', 'izz="0"')
    oracle = PinocchioOracle(balls.description, urdf)
    motion = random_motion(balls, 6, seed=3)
    rigid = np.where(balls.parameter_mask('rigid_body'), balls.nominal_parameters, 0.0)
    ours = balls.inverse_dynamics(motion, rigid)
    states = balls.actuator_states(motion)
    rng = np.random.default_rng(7)
    for k in range(len(motion)):
        joints = dict(zip(balls.joint_names, balls.joint_states(motion).positions[k], strict=True))
        spins = [name for name in joints if name.endswith('_ball_3')]
        joints |= {name: joints[name] + rng.uniform(-2.0, 2.0) for name in spins}
        q = oracle.place(joints, motion.position[k], motion.rotation[k])
        given = states.velocities[k], states.accelerations[k]
        _, v, _, transfer = oracle.driven(q, balls.actuated_joints, *given)
        places = [oracle.rate_index(name) for name in spins]
        v[places] += rng.uniform(-5.0, 5.0, 6)
        _, rows, drift = oracle._closing_rows(q, v)
        drives = np.eye(len(v))[[oracle.rate_index(name) for name in balls.actuated_joints]]
        right = np.concatenate([-drift, given[1]])
        a = np.linalg.lstsq(np.vstack([rows, drives]), right, rcond=1e-10)[0]
        a[places] += rng.uniform(-50.0, 50.0, 6)
        theirs = transfer.T @ pin.rnea(oracle.model, oracle.data, q, v, a)
        assert np.max(np.abs(ours[k] - theirs)) < 1e-9 * np.max(np.abs(ours))


def test_what_the_spin_hides_has_no_influence(balls):
    motion = random_motion(balls, 8, seed=2)
    columns = dict(
        zip(balls.parameter_names, np.moveaxis(balls.regressor(motion), 2, 0), strict=True)
    )
    for field in ('mx', 'my', 'Ixy', 'Ixz', 'Iyz', 'Izz'):
        assert np.max(np.abs(columns[f'rod2a.{field}'])) == 0.0
    np.testing.assert_array_equal(columns['rod2a.Ixx'], columns['rod2a.Iyy'])
    assert balls.base_parameters(shared=True).rank == 7


def test_an_identified_robot_is_written_with_round_rods(balls):
    """Rods that are far from round in their parameters, and the same forces from round ones."""
    rng = np.random.default_rng(9)
    parameters = np.array(balls.nominal_parameters)
    for index, name in enumerate(balls.parameter_names):
        if name.startswith('rod') and name.endswith(('.mx', '.my', '.Ixx', '.Iyy')):
            parameters[index] += rng.uniform(-0.002, 0.002)
    named = dict(zip(balls.parameter_names, parameters.tolist(), strict=True))
    written = ClosedChainModel(rewritten(balls.description, named, source='a test'))
    assert len(written.description.idle_spins) == 6
    motion = random_motion(balls, 8, seed=5)
    expected = balls.inverse_dynamics(motion, parameters)
    assert np.max(np.abs(balls.inverse_dynamics(motion) - expected)) > 1e-3
    np.testing.assert_allclose(written.inverse_dynamics(motion), expected, atol=1e-11)


def test_energy_and_mass_matrix_agree_with_the_forces(balls):
    motion = random_motion(balls, 5, seed=4)
    states = balls.actuator_states(motion)
    still = balls.motion_from_actuators(states.positions, np.zeros((5, 3)), np.zeros((5, 3)))
    weight = balls.inverse_dynamics(still)
    mass = balls.mass_matrix(still)
    for k, unit in enumerate(np.eye(3)):
        moved = balls.motion_from_actuators(
            states.positions, np.zeros((5, 3)), np.tile(unit, (5, 1))
        )
        np.testing.assert_allclose(
            balls.inverse_dynamics(moved) - weight, mass[:, :, k], atol=1e-11
        )
    forces = balls.inverse_dynamics(motion)
    back = balls.forward_dynamics(motion, forces).actuators
    np.testing.assert_allclose(back, states.accelerations, atol=1e-8)
