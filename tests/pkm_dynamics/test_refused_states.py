"""States for which no forces exist, or that contradict themselves, are errors and not numbers."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of
from scipy.spatial.transform import Rotation

from pkm_description import ConvergenceError, KinematicsError
from pkm_dynamics import PlatformMotion
from pkm_dynamics.random_motion import random_motion


def at_rest(position, rotation, joints=None):
    rest = None if joints is None else np.zeros_like(joints)
    return PlatformMotion(
        position,
        rotation,
        np.zeros((len(position), 6)),
        np.zeros((len(position), 6)),
        joints,
        rest,
        rest,
    )


@pytest.mark.parametrize('name', ['palida', 'msi', 'hexel', 'ford', 'uf_pkm'])
def test_a_quarter_turn_of_a_hexapod_is_singular(name):
    """Platform and base of mirror symmetry: no strut resists a turn of 90 degrees (Fichter)."""
    model = model_of(name)
    turn = Rotation.from_euler('z', [[89.0], [90.0], [-90.0]], degrees=True).as_matrix()
    position = np.repeat(model.home_position[None], 3, axis=0)
    motion = at_rest(position, turn @ model.home_rotation)
    assert np.all(np.isfinite(model.inverse_dynamics(motion[:1])))
    with pytest.raises(ConvergenceError, match='singular') as caught:
        model.inverse_dynamics(motion)
    assert caught.value.samples.tolist() == [1, 2]


def five_bar_in_line(model, short):
    """Joints of the five-bar, motors turned outwards, their forearms almost in one line."""
    motors = np.array([np.pi - short, short])
    side = np.array([-0.1, 0.1])
    elbows = np.stack([side + 0.25 * np.cos(motors), 0.25 * np.sin(motors)], axis=1)
    half = 0.5 * (elbows[1, 0] - elbows[0, 0])
    rise = np.sqrt(max(0.35**2 - half**2, 0.0))
    forearms = np.array([np.arctan2(rise, half), np.arctan2(rise, -half)])
    angles = np.concatenate([motors, forearms - motors])
    names = ['left_motor', 'right_motor', 'left_elbow', 'right_elbow']
    tip = np.array([0.0, elbows[0, 1] + rise, 0.0])
    return np.array([angles[[names.index(n) for n in model.joint_names]]]), tip


def test_joint_states_at_a_singularity_are_refused():
    model = model_of('five_bar')
    home = model.home_position
    for short, singular in ((0.3, False), (0.0, True)):
        joints, tip = five_bar_in_line(model, short)
        at = place(model, joints)
        np.testing.assert_allclose(at.position[0, :2], tip[:2], atol=1e-12)
        assert at.position[0, 2] == pytest.approx(home[2])
        model.joint_states(at)  # what is given is known, there too
        if singular:
            with pytest.raises(KinematicsError, match="'five_bar' is singular.*sample 0"):
                model.inverse_dynamics(at)
            with pytest.raises(KinematicsError, match='singular'):
                model.regressor(at)
        else:
            assert np.all(np.isfinite(model.inverse_dynamics(at)))


def place(model, joints):
    """State at rest, the platform where the joints put it."""
    from pkm_description.tree_geometry import TreeGeometry

    home = model.home_position[None], model.home_rotation[None]
    geometry = TreeGeometry.build(model.tree_layout, joints, *home)
    body = model.tree_layout.tree.platform_body
    return at_rest(geometry.position[:, body], geometry.rotation[:, body], joints)


def test_joints_that_put_the_platform_elsewhere_are_refused():
    model = model_of('serial_arm')
    motion = random_motion(model, 4, seed=2)
    arrays = {name: np.array(getattr(motion, name)) for name in PlatformMotion.FIELDS}
    arrays['position'][2, 1] += 1e-3
    wrong = PlatformMotion(**arrays)
    for function in (model.inverse_dynamics, model.joint_states, model.body_motion):
        with pytest.raises(KinematicsError, match='sample 2.*elsewhere by 1.00e-03'):
            function(wrong)


@pytest.mark.parametrize('name', ['palida', 'delta', 'rps_upv'])
def test_joint_states_that_open_the_loops_are_refused(name):
    model = model_of(name)
    motion = model.with_joint_states(random_motion(model, 4, seed=2))
    arrays = {name: np.array(getattr(motion, name)) for name in PlatformMotion.FIELDS}
    arrays['joint_positions'][1, 0] += 1e-2
    wrong = PlatformMotion(**arrays)
    for function in (model.joint_states, model.actuator_states, model.body_motion):
        with pytest.raises(KinematicsError, match='sample 1.*open'):
            function(wrong)
