"""Contributions against inverse dynamics with parts of the parameters, gravity or rates."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import NAMES, model_of

import pkm_description
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.analysis.contributions import GROUPS, contributions
from pkm_dynamics.random_motion import random_motion
from pkm_dynamics.trajectories import benchmark_circle


@pytest.mark.parametrize('name', NAMES)
def test_sum_is_the_inverse_dynamics(name):
    model = model_of(name)
    motion = random_motion(model, 15, seed=3)
    found = contributions(model, motion)
    expected = model.inverse_dynamics(motion)
    assert tuple(found.forces) == GROUPS
    np.testing.assert_allclose(found.total, expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize('name', NAMES)
def test_groups_are_what_inverse_dynamics_says_of_parts(name):
    """Friction and rotors by their parameters, weights at rest, products by reversed rates."""
    model = model_of(name)
    motion = random_motion(model, 10, seed=6)
    found = contributions(model, motion).forces
    scale = np.abs(model.inverse_dynamics(motion)).max()

    def only(mask):
        return np.where(mask, model.nominal_parameters, 0.0)

    def close(group, expected):
        np.testing.assert_allclose(group, expected, atol=1e-10 * scale)

    for kind, group in (('friction', 'friction'), ('rotor', 'rotor')):
        close(found[group], model.inverse_dynamics(motion, only(model.parameter_mask(kind))))
    q, qd, qdd = model.actuator_states(motion)
    rigid = model.parameter_mask('rigid_body')
    platform = np.array([item.startswith('platform.') for item in model.parameter_names])
    rest = model.motion_from_actuators(q, 0 * q, 0 * q, motion.joint_positions)
    close(found['platform_gravity'], model.inverse_dynamics(rest, only(platform & rigid)))
    close(found['strut_gravity'], model.inverse_dynamics(rest, only(~platform & rigid)))
    pushed = model.motion_from_actuators(q, 0 * q, qdd, motion.joint_positions)
    still = model.motion_from_actuators(q, qd, 0 * q, motion.joint_positions)
    weight = model.inverse_dynamics(rest, only(rigid))
    if not model.platform_determines_joints:
        products = model.inverse_dynamics(still, only(rigid)) - weight
        close(found['coriolis'] + found['centripetal'], products)
        for mask, group in ((platform, 'platform_inertia'), (~platform, 'strut_inertia')):
            part = model.inverse_dynamics(pushed, only(mask & rigid))
            close(found[group], part - model.inverse_dynamics(rest, only(mask & rigid)))
        return
    zero = np.zeros((10, 6))
    for mask, group in ((platform, 'platform_inertia'), (~platform, 'strut_inertia')):
        at_rest = PlatformMotion(motion.position, motion.rotation, zero, motion.acceleration)
        part = model.inverse_dynamics(at_rest, only(mask & rigid))
        close(found[group], part - model.inverse_dynamics(rest, only(mask & rigid)))


def test_turntable_with_a_sliding_mass():
    """Closed form: m (2 r dr w) about the axis is Coriolis, -m r w^2 along the arm centripetal."""
    text = """<robot name="turntable"><link name="base_link"/><link name="table"/>
    <link name="platform"><inertial><origin xyz="0 0 0"/><mass value="2.0"/><inertia ixx="0.1"
    ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
    <joint name="turn" type="revolute"><parent link="base_link"/><child link="table"/>
    <axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
    <joint name="slide" type="prismatic"><parent link="table"/><child link="platform"/>
    <axis xyz="1 0 0"/><limit lower="0.1" upper="1" effort="9" velocity="9"/></joint>
    <ros2_control name="drives" type="system"><joint name="turn"><command_interface
    name="effort"/></joint><joint name="slide"><command_interface name="effort"/></joint>
    </ros2_control></robot>"""
    model = ClosedChainModel(pkm_description.loads(text, 'home: {joints: {turn: 0, slide: 0.5}}'))
    motion = model.motion_from_actuators([[0.3, 0.4]], [[1.5, 0.7]], [[2.0, -1.0]])
    found = contributions(model, motion).forces
    inertia = 0.1 + 2.0 * 0.4**2
    np.testing.assert_allclose(found['coriolis'], [[2.0 * 2 * 0.4 * 0.7 * 1.5, 0.0]], atol=1e-12)
    np.testing.assert_allclose(found['centripetal'], [[0.0, -2.0 * 0.4 * 1.5**2]], atol=1e-12)
    np.testing.assert_allclose(found['platform_inertia'], [[inertia * 2.0, -2.0]], atol=1e-12)
    np.testing.assert_allclose(found['strut_inertia'], 0.0)


def test_shares_of_the_benchmark_circle():
    model = model_of('palida')
    motion = benchmark_circle(model).motion(np.linspace(0.0, 0.9, 40), model)
    found = contributions(model, motion)
    share, spread = found.percent(), found.variation()
    assert set(share) == set(spread) == set(GROUPS)
    total = np.linalg.norm(found.total, axis=1)
    own = np.linalg.norm(found.forces['friction'], axis=1)
    assert share['friction'] == pytest.approx(100.0 * own.mean() / total.mean())
    assert spread['friction'] == pytest.approx(100.0 * np.ptp(own) / total.mean())
