"""Inverse dynamics against an independent closed-chain computation on Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest

import pkm_description
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.random_motion import random_motion

pytest.importorskip('pinocchio')

import mechanisms
from pinocchio_oracle import PinocchioOracle

ROBOTS = {
    'palida': lambda: pkm_description.load('palida'),
    'skew_hexapod': mechanisms.skew_hexapod,
    'hexapod_13_bodies': lambda: mechanisms.skew_hexapod(rings=False),
    'tripod': mechanisms.tripod,
    'five_bar': mechanisms.five_bar,
    'four_bar_revolute': mechanisms.four_bar,
    'four_bar_universal': lambda: mechanisms.four_bar('universal'),
    'serial_arm': mechanisms.serial_arm,
}


@pytest.mark.parametrize('name', ROBOTS)
def test_forces_agree(name):
    description = ROBOTS[name]()
    model = ClosedChainModel(description)
    motion = random_motion(model, 20, seed=11)
    rigid = np.where(model.parameter_mask('rigid_body'), model.nominal_parameters, 0.0)
    ours = model.inverse_dynamics(motion, rigid)
    oracle = PinocchioOracle(description)
    theirs = np.array([oracle.forces(model, motion, k) for k in range(len(motion))])
    scale = np.max(np.abs(theirs))
    assert scale > 0.1
    assert np.max(np.abs(ours - theirs)) < 1e-9 * scale


@pytest.mark.parametrize('name', ['skew_hexapod', 'tripod', 'five_bar', 'serial_arm'])
def test_platform_twist_agrees(name):
    model = ClosedChainModel(ROBOTS[name]())
    motion = random_motion(model, 5, seed=2)
    oracle = PinocchioOracle(model.description)
    for k in range(len(motion)):
        oracle.forces(model, motion, k)
        np.testing.assert_allclose(oracle.platform_twist, motion.twist[k], atol=1e-8)


def test_strut_spin_matters():
    """Leaving out the inertia about the strut's axis must show: the check above sees it."""
    model = ClosedChainModel(mechanisms.skew_hexapod())
    motion = random_motion(model, 20, seed=11)
    rigid = np.where(model.parameter_mask('rigid_body'), model.nominal_parameters, 0.0)
    without = rigid.copy()
    for k, name in enumerate(model.parameter_names):
        if name.startswith(('stator', 'slider')) and name.endswith('.Izz'):
            without[k] = 0.0
    full = model.inverse_dynamics(motion, rigid)
    change = np.max(np.abs(model.inverse_dynamics(motion, without) - full))
    assert change > 1e-5 * np.abs(full).max()


def test_platform_motion_alone_is_enough_where_the_mechanism_can_follow():
    model = ClosedChainModel(mechanisms.tripod())
    motion = random_motion(model, 10, seed=4)
    bare = PlatformMotion(motion.position, motion.rotation, motion.twist, motion.acceleration)
    np.testing.assert_allclose(
        model.inverse_dynamics(bare), model.inverse_dynamics(motion), rtol=1e-6, atol=1e-6
    )
