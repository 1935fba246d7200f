"""Positions of library robots against closed forms of their geometry."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from pose_pairs import pose_pairs
from scipy.spatial.transform import Rotation

import pkm_description
from pkm_dynamics import ClosedChainModel

COUNT = 80


@lru_cache(maxsize=8)
def model_of(name: str) -> ClosedChainModel:
    return ClosedChainModel(pkm_description.load(name))


def workspace_positions(name):
    """Actuator positions (N, n_a) within all limits, and the platform's poses by the model."""
    model = model_of(name)
    start, target = pose_pairs(model, COUNT, seed=6)
    q = target.joints[:, [model.joint_names.index(joint) for joint in model.actuated_joints]]
    position, rotation = model.forward_kinematics(q, initial=start.joints)
    assert np.all(np.ptp(q, axis=0) > 0.1 * (model.upper - model.lower))
    return model, q, position, rotation


def arm_elbows(q, pivots, angles, arm):
    """Ends (N, n, 3) of arms that turn from outwards (at 0) downwards in vertical planes."""
    out = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    return pivots + arm * (np.cos(q)[..., None] * out - np.sin(q)[..., None] * [0.0, 0.0, 1.0])


def test_delta_is_where_three_spheres_meet():
    model, q, position, rotation = workspace_positions('delta')
    angles = np.radians([0.0, 120.0, 240.0])
    out = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    centres = arm_elbows(q, 0.15 * out, angles, 0.35)  # less the platform's radius
    # |x - c_k| = 0.8: two planes from differences, then a quadratic along their line.
    normals = centres[:, 1:] - centres[:, :1]
    right = 0.5 * (np.sum(centres[:, 1:] ** 2, 2) - np.sum(centres[:, :1] ** 2, 2))
    line = np.cross(normals[:, 0], normals[:, 1])
    line /= np.linalg.norm(line, axis=1, keepdims=True)
    system = np.concatenate([normals, line[:, None]], axis=1)
    foot = np.linalg.solve(system, np.column_stack([right, np.zeros(len(q))])[..., None])[..., 0]
    away = foot - centres[:, 0]
    b = np.einsum('ni,ni->n', away, line)
    root = np.sqrt(b**2 - np.einsum('ni,ni->n', away, away) + 0.8**2)
    both = foot[None] + np.stack([-b - root, -b + root])[..., None] * line
    below = np.where((both[0, :, 2] < both[1, :, 2])[:, None], both[0], both[1])
    np.testing.assert_allclose(position, below, atol=1e-9)
    np.testing.assert_allclose(rotation, np.repeat(np.eye(3)[None], len(q), axis=0), atol=1e-9)
    # And back: each arm turns by the angle of a triangle.
    reach = position[:, None] - 0.15 * out
    x = np.einsum('nki,ki->nk', reach, out)
    c = (0.8**2 - np.sum(reach**2, axis=2) - 0.35**2) / (-2 * 0.35)
    expected = np.arctan2(-reach[..., 2], x) - np.arccos(c / np.hypot(x, reach[..., 2]))
    np.testing.assert_allclose(model.inverse_kinematics(position, rotation), expected, atol=1e-8)
    np.testing.assert_allclose(q, expected, atol=1e-8)


def test_h4_rods_keep_their_length_and_its_nacelle_stays_level():
    _, q, position, rotation = workspace_positions('h4')
    h, d, radius = 0.06, 0.06, 0.14
    pivots = np.array(
        [[h + radius, d, 0], [-h - radius, d, 0], [-h, -d - radius, 0], [h, -d - radius, 0]]
    )
    angles = np.array([0.0, np.pi, 1.5 * np.pi, 1.5 * np.pi])
    elbows = arm_elbows(q, pivots, angles, 0.26)
    ends = position[:, None] + h * np.array([1, -1, -1, 1])[None, :, None] * rotation[:, None, :, 0]
    ends = ends + np.array([[0, d, 0], [0, d, 0], [0, -d, 0], [0, -d, 0]])
    np.testing.assert_allclose(np.linalg.norm(ends - elbows, axis=2), 0.48, atol=1e-9)
    np.testing.assert_allclose(rotation[:, 2, 2], 1.0, atol=1e-9)
    assert np.ptp(np.arctan2(rotation[:, 1, 0], rotation[:, 0, 0])) > 0.2
    assert np.all(position[:, 2] < elbows[..., 2].max(axis=1))


def test_3_rps_limbs_stay_in_their_planes():
    _, q, position, rotation = workspace_positions('rps_upv')
    side = 0.4563
    b = np.array([[0, 0, 0], [side, 0, 0], [side / 2, side * np.sqrt(3) / 2, 0]])
    angles = np.radians([90, 210, 330])
    radial = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    tangential = np.stack([-np.sin(angles), np.cos(angles), 0 * angles], axis=1)
    limbs = position[:, None] + np.einsum('nij,kj->nki', rotation, b) - 0.4 * radial
    np.testing.assert_allclose(np.linalg.norm(limbs, axis=2), q, atol=1e-9)
    np.testing.assert_allclose(np.einsum('nki,ki->nk', limbs, tangential), 0.0, atol=1e-9)
    assert np.all(limbs[..., 2] > 0.5)  # above the base, the first of the assemblies


def test_four_bar_is_where_two_circles_meet():
    model, q, position, rotation = workspace_positions('four_bar')
    crank = 0.2 * np.stack([np.cos(q[:, 0]), np.sin(q[:, 0])], axis=1)
    across = np.array([0.5, 0.0]) - crank
    distance = np.linalg.norm(across, axis=1)
    along = (0.45**2 - 0.3**2 + distance**2) / (2 * distance)
    height = np.sqrt(0.45**2 - along**2)
    normal = across[:, ::-1] * [-1.0, 1.0] / distance[:, None]
    end = crank + along[:, None] * across / distance[:, None] + height[:, None] * normal
    np.testing.assert_allclose(position[:, [0, 2]], crank, atol=1e-9)
    np.testing.assert_allclose((end - crank) / 0.45, rotation[:, [0, 2], 0], atol=1e-9)
    # Freudenstein's equation of the crank and the rocker.
    still = np.zeros_like(q)
    joints = model.motion_from_actuators(q, still, still).joint_positions
    rocker = joints[:, model.joint_names.index('rocker_joint')]
    k1, k2, k3 = 0.5 / 0.2, 0.5 / 0.3, (0.2**2 - 0.45**2 + 0.3**2 + 0.5**2) / (2 * 0.2 * 0.3)
    np.testing.assert_allclose(
        k1 * np.cos(rocker) - k2 * np.cos(q[:, 0]) + k3, np.cos(q[:, 0] - rocker), atol=1e-9
    )


@pytest.mark.parametrize('name', ['msi', 'uf_pkm', 'hexel', 'ford', 'palida'])
def test_hexapod_struts_are_distances(name):
    model, q, position, rotation = workspace_positions(name)
    description = model.description
    for k, actuator in enumerate(description.actuated_joints):
        slider = description.joint(actuator).child
        closure = next(c for c in description.constraints if slider in (c.parent, c.child))
        base = description.joint(actuator).parent
        while (parent := next(j for j in description.joints if j.child == base)).parent != (
            'base_link'
        ):
            base = parent.parent
        top = closure.child_origin if closure.child == 'platform' else closure.parent_origin
        ends = position + np.einsum('nij,j->ni', rotation, top.position)
        lengths = np.linalg.norm(ends - parent.origin.position, axis=1)
        np.testing.assert_allclose(q[:, k] - q[0, k], lengths - lengths[0], atol=1e-9)


@pytest.mark.parametrize('name', pkm_description.library())
def test_jacobians_are_derivatives(name):
    """Of the platform's pose by the actuators, by differences all over the workspace."""
    model = model_of(name)
    _, target = pose_pairs(model, 4, seed=8)
    index = [model.joint_names.index(joint) for joint in model.actuated_joints]
    at = model.motion_from_actuators(
        target.joints[:, index], *2 * [np.zeros((4, model.n_a))], target.joints
    )
    h = 1e-5
    q = model.actuator_states(at).positions
    jacobian = np.einsum('nij->nij', model.platform_jacobian(q))
    for k in range(model.n_a):
        step = h * np.eye(model.n_a)[k]
        (p0, r0), (p1, r1) = (
            model.forward_kinematics(q + s * step, initial=target.joints) for s in (-1, 1)
        )
        twist = np.concatenate(
            [p1 - p0, Rotation.from_matrix(r1 @ r0.transpose(0, 2, 1)).as_rotvec()], axis=1
        ) / (2 * h)
        scale = 1.0 + np.abs(jacobian[:, :, k]).max()
        np.testing.assert_allclose(jacobian[:, :, k], twist, atol=1e-6 * scale)
