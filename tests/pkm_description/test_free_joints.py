"""Degrees of freedom without a drive: what the loader accepts and what the rest makes of them."""

from __future__ import annotations

import numpy as np
import pytest
from urdf_builder import control, inertial, joint, robot

from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import no_feedforward
from pkm_description import DescriptionError, UnderactuatedError, export, loads
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.joint_servo.gains import ServoGains
from pkm_dynamics.simulation import SimulatedPlant
from pkm_identification import design_excitation

CART, BOB, ARM, SPIN = 2.0, 0.7, 0.4, 0.003
YAML = """
free_joints: [swing]
home: {joints: {swing: 0.0}}
simulation:
  force_noise: {standard_deviation: 1.0}
  cogging: {amplitude: 2.0, period: 0.1}
"""


def cart_pendulum(yaml_text: str = YAML):
    """A cart along x with a pendulum that hangs down about y, its bob at ARM below."""
    parts = [
        '<link name="base_link"/>',
        '<link name="cart">',
        inertial(CART, (0, 0, 0), np.eye(3) * 0.01),
        '</link>',
        '<link name="platform">',
        inertial(BOB, (0, 0, -ARM), np.diag([SPIN] * 3)),
        '</link>',
        joint('slide', 'prismatic', 'base_link', 'cart', axis=(1, 0, 0), limit=(-1, 1, 5, 50)),
        joint(
            'swing',
            'revolute',
            'cart',
            'platform',
            (0, 0, 0.3),
            axis=(0, 1, 0),
            limit=(-2, 2, 20, 99),
        ),
        control(['slide']),
    ]
    return loads(robot('cart', parts), yaml_text)


def test_a_free_joint_is_measured_but_not_driven():
    cart = cart_pendulum()
    assert cart.actuated_joints == ['slide', 'swing']
    assert (cart.driven_joints, cart.free_joints) == (['slide'], ['swing'])
    assert [a.free for a in cart.actuators] == [False, True]
    assert np.isnan(cart.actuators[1].force_constant)
    assert cart.joint('swing').limit.effort == 0.0
    assert cart.joint('swing').limit.velocity == 20
    model = ClosedChainModel(cart)
    assert model.free_joints == ['swing']
    assert model.force_limit.tolist() == [50.0, 0.0]
    assert 'swing' not in export(cart, 'mjcf').split('<actuator>')[1]


def test_forces_of_the_cart_are_those_of_the_textbook():
    model = ClosedChainModel(cart_pendulum())
    rng = np.random.default_rng(2)
    q, v, a = (rng.normal(size=(7, 2)) for _ in range(3))
    forces = model.inverse_dynamics(model.motion_from_actuators(q * [0.3, 0.5], v, a))
    angle = 0.5 * q[:, 1]  # about y: the bob is at -ARM (sin, cos) in x and z
    pull = BOB * ARM * (a[:, 1] * np.cos(angle) - v[:, 1] ** 2 * np.sin(angle))
    torque = (SPIN + BOB * ARM**2) * a[:, 1] + BOB * ARM * (
        9.81 * np.sin(angle) - np.cos(angle) * a[:, 0]
    )
    coulomb = {name: k for k, name in enumerate(model.parameter_names) if 'slide' in name}
    assert set(coulomb) == {'slide.coulomb', 'slide.viscous'}  # none declared for the free joint
    np.testing.assert_allclose(forces[:, 0], (CART + BOB) * a[:, 0] - pull, rtol=1e-11)
    np.testing.assert_allclose(forces[:, 1], torque, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    'yaml_text, message',
    [
        ('free_joints: [swing, swing]', "'swing' twice"),
        ('free_joints: [swung]', "'swung', which is no joint with one.*without a drive are swing"),
        ('free_joints: [slide]', "'slide', which has an effort command interface"),
        ('free_joints: swing', 'must be a list of joint names'),
        ('{}', r'mobility 2 at home but 1 actuated joint \(slide\).*free_joints'),
        ('{free_joints: [swing], rotor_inertia: {swing: 1}}', "rotor_inertia names 'swing'"),
    ],
)
def test_mistakes_about_free_joints_are_named(yaml_text, message):
    with pytest.raises(DescriptionError, match=message):
        cart_pendulum(yaml_text)


def test_the_simulated_robot_applies_no_force_at_a_free_joint():
    cart = cart_pendulum()
    plant = SimulatedPlant(cart, seed=1)
    for effects in (plant.effects, plant.effects.switched(saturation=False)):
        plant.effects = effects
        sample = plant.step([0.0, 1000.0])
        assert sample.truth_forces.tolist() == [0.0, 0.0]
        assert sample.currents[1] == 0.0 and sample.currents[0] != 0.0


def test_the_free_pendulum_swings_at_its_natural_frequency():
    cart = cart_pendulum()
    plant = SimulatedPlant(cart)
    plant.effects = plant.effects.ideal()
    for _ in range(5):
        plant.step([40.0, 0.0])  # a push that leaves the pendulum swinging
    swing = []
    for _ in range(1500):
        swing.append(plant.step([0.0, 0.0]).truth_positions[1])
    times = 1e-3 * np.flatnonzero(np.diff(np.sign(swing)))
    # w^2 (J - (m l)^2 / (M + m)) = m g l for small angles, the cart being free to roll
    ml = BOB * ARM
    frequency = np.sqrt(ml * 9.81 / (SPIN + BOB * ARM**2 - ml**2 / (CART + BOB)))
    assert np.max(np.abs(swing)) < 0.2
    np.testing.assert_allclose(np.mean(np.diff(times)), np.pi / frequency, rtol=5e-3)


def test_a_robot_with_a_free_joint_is_not_commanded():
    model = ClosedChainModel(cart_pendulum())
    gains = ServoGains(np.ones(2), np.ones(2), np.ones(2), 1.0, 1.0, 1.0)
    for build in (
        lambda: TrajectoryController(model, gains, no_feedforward()),
        lambda: design_excitation(model),
    ):
        with pytest.raises(UnderactuatedError, match="'cart'.*'swing' is free"):
            build()
