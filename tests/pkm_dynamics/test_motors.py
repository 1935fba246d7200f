"""Rotors and friction of motors behind transmissions: model, plant and what is identifiable."""

from __future__ import annotations

import mechanisms
import numpy as np
import pytest
from every_model import model_of

import pkm_description
from pkm_description import MotorSide, SimulationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.random_motion import random_motion
from pkm_dynamics.simulation import PlantEffects, SimulatedPlant

INVERSE = np.array([[20.0, 0.0], [15.0, -18.0]])  # of the wrist of `geared_arm`
CROSSED = """
transmissions:
  belt:
    joints: [shoulder1, shoulder2]
    motors: {a: {rotor_inertia: 0.01, friction: {coulomb: 0.1, viscous: 0.02}}, b: }
    reduction: [[3, 2], [1, -2]]
"""


def bare(name):
    model = model_of(name)
    plain = pkm_description.loads(
        model.description.urdf, model.description.yaml_text.split('transmissions:')[0]
    )
    return ClosedChainModel(plain)


def test_motors_add_what_the_chain_rule_says():
    """T^-T (J T^-1 qdd + friction(T^-1 qd)), with slow and fast motions of either sign."""
    model, plain = model_of('geared_arm'), bare('geared_arm')
    q, qd, qdd = np.random.default_rng(3).normal(size=(3, 40, 3))
    qd[:10] *= 1e-3
    forces = model.inverse_dynamics(model.motion_from_actuators(q, qd, qdd))
    forces -= plain.inverse_dynamics(plain.motion_from_actuators(q, qd, qdd))
    rates, rates_dot = qd[:, 1:] @ INVERSE.T, qdd[:, 1:] @ INVERSE.T
    v0 = model.description.transition_velocity
    one, two = np.clip(rates / (np.array([20.0, 18.0]) * v0), -1.0, 1.0).T
    dry = np.column_stack([0.02 * one, np.where(two > 0, 0.03, 0.01) * two])
    torques = [4e-4, 9e-4] * rates_dot + dry + [0.001, 0.002] * rates
    np.testing.assert_allclose(forces[:, 1:], torques @ INVERSE, atol=1e-12)
    np.testing.assert_allclose(forces[:, 0], 900 * 2e-4 * qdd[:, 0], atol=1e-12)


def test_names_units_and_kinds():
    model = model_of('geared_arm')
    units, kinds = (
        dict(zip(model.parameter_names, values, strict=True))
        for values in (model.parameter_units, model.parameter_kinds)
    )
    assert (units['one.rotor'], kinds['one.rotor']) == ('kg m^2', 'rotor')
    assert (units['two.viscous'], kinds['two.viscous']) == ('N m s/rad', 'friction')
    assert (units['two.coulomb_negative'], kinds['two.coulomb_negative']) == ('N m', 'friction')


def test_a_screw_makes_a_mass_of_its_rotor():
    """J (2 pi / lead)^2; the lead in m/rad is that of a turn over 2 pi."""
    plain = pkm_description.load('palida')
    joints = ', '.join(plain.driven_joints)
    motors = ', '.join(f'm{k}: {{rotor_inertia: 2.0e-5}}' for k in range(6))
    text = f'\ntransmissions: {{screws: {{joints: [{joints}], motors: {{{motors}}}, lead: 0.002}}}}'
    screws = ClosedChainModel(pkm_description.loads(plain.urdf, plain.yaml_text + text))
    rotors = {name: 2e-5 / 0.002**2 for name in plain.driven_joints}
    masses = ClosedChainModel(pkm_description.with_drive_terms(
        plain, {name: {'rotor': value} for name, value in rotors.items()}
    ))  # fmt: skip
    motion = random_motion(screws, 5, seed=1)
    expected = masses.inverse_dynamics(motion)
    np.testing.assert_allclose(screws.inverse_dynamics(motion), expected, rtol=1e-10)


def test_the_coupling_separates_rotors_from_what_the_joints_have():
    """Own rotors of both joints, or inertias about their axes, cannot make the coupled term."""
    model = model_of('geared_arm')
    base = model.base_parameters()
    assert base.rank > bare('geared_arm').base_parameters().rank
    [two] = [text for text in base.expressions if 'two.rotor' in text]
    assert two == 'two.rotor'


def test_motors_across_branches_are_modelled_but_not_simulated():
    plain = mechanisms.five_bar()
    crossed = pkm_description.loads(plain.urdf, plain.yaml_text + CROSSED)
    model, other = ClosedChainModel(crossed), ClosedChainModel(plain)
    motion = random_motion(model, 10, seed=2)
    states = model.actuator_states(motion)
    side = MotorSide.of(crossed)
    order = [crossed.actuated_joints.index(name) for name in ('shoulder1', 'shoulder2')]
    rates, rates_dot = (
        side.motor_rates(each)[:, order[0]] for each in (states.velocities, states.accelerations)
    )
    dry = np.clip(rates / (3 * crossed.transition_velocity), -1, 1)
    torque = 0.01 * rates_dot + 0.1 * dry + 0.02 * rates
    added = (model.inverse_dynamics(motion) - other.inverse_dynamics(motion))[:, order]
    np.testing.assert_allclose(added, torque[:, None] * [3.0, 2.0], atol=1e-9)
    with pytest.raises(SimulationError, match="rotor of motor 'a', whose joints shoulder1, shou"):
        SimulatedPlant(crossed)


def test_the_plant_accelerates_as_the_model():
    """Motors rub and turn in the plant: its first step after a push is that of the model."""
    model = model_of('geared_arm')
    robot = model.description
    plant = SimulatedPlant(robot, PlantEffects.from_description(robot).switched(saturation=False))
    forces = np.array([8.0, -30.0, 6.0])
    rate = np.array([0.5, -0.8, 1.2])
    addresses = [int(plant.mujoco_model.joint(name).dofadr[0]) for name in model.actuated_joints]
    plant.mujoco_data.qvel[addresses] = rate
    start = np.array(plant.mujoco_data.qpos)
    plant.step(forces)
    moved = np.array(plant.mujoco_data.qvel[addresses]) - rate
    middle = 0.5 * (start + np.array(plant.mujoco_data.qpos))[addresses]
    state = model.motion_from_actuators(middle[None], rate[None] + 0.5 * moved, np.zeros((1, 3)))
    expected = model.forward_dynamics(state, forces[None]).actuators[0]
    # 1 ms of a smooth motion: what is left is of second order in the step
    np.testing.assert_allclose(moved / 1e-3, expected, rtol=2e-3, atol=2e-2)


def test_stiff_friction_of_a_motor_needs_a_shorter_substep():
    arm = mechanisms.serial_arm()
    text = '\ntransmissions: {a: {joints: [joint3], motors: {m: {friction: {coulomb: 9}}}, '
    robot = pkm_description.loads(arm.urdf, f'{arm.yaml_text}{text}reduction: 50}}}}')
    with pytest.raises(SimulationError, match="the friction of motor 'm' needs a substep below"):
        SimulatedPlant(robot)
