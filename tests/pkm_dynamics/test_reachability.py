"""Which poses can be reached and why others cannot, against closed forms."""

from __future__ import annotations

from functools import lru_cache

import hexapods
import mechanisms
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pkm_description
from pkm_description import ConvergenceError, DescriptionError, KinematicsError
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.analysis.apertures import apertures_of_joints
from pkm_dynamics.analysis.reachability import CRITERIA, reachable, reachable_actuators
from pkm_dynamics.analysis.workspace import largest_box, region, workspace, workspace_slice

MAKERS = {
    'hexapod': lambda: hexapods.hexapod(aperture=0.6),
    'tripod': mechanisms.tripod,
    'serial_arm': mechanisms.serial_arm,
    'skew_five_bar': mechanisms.five_bar,
    'palida': lambda: pkm_description.load('palida'),
}


@lru_cache(maxsize=8)
def model_of(name: str) -> ClosedChainModel:
    return ClosedChainModel(MAKERS[name]())


def random_poses(model, count, reach, turn, seed=0):
    rng = np.random.default_rng(seed)
    p = model.home_position + reach * rng.uniform(-1, 1, (count, 3))
    return p, Rotation.from_rotvec(turn * rng.uniform(-1, 1, (count, 3))).as_matrix()


def palida_lengths(p, r):
    base, top = np.radians([-8, 8, 112, 128, -128, -112]), np.radians([-45, 45, 75, 165, -165, -75])
    a = 0.55 * np.stack([np.cos(base), np.sin(base), 0 * base], axis=1)
    b = np.stack([0.09 * np.cos(top), 0.09 * np.sin(top), 0 * top + 0.105], axis=1)
    return np.linalg.norm(p[:, None] + np.einsum('nij,kj->nki', r, b) - a, axis=2)


def test_strokes_of_the_hexapod_are_distances():
    model = model_of('palida')
    p, r = random_poses(model, 400, 0.25, 0.4)
    found = reachable(model, p, r, singularity_limit=0.0)
    lengths = palida_lengths(p, r)
    assert not np.any(found.failed['assembly'])
    beyond = np.any((lengths < model.lower) | (lengths > model.upper), axis=1)
    assert 0.1 < beyond.mean() < 0.9
    np.testing.assert_array_equal(found.failed['stroke'], beyond)
    margin = np.minimum(lengths - model.lower, model.upper - lengths)
    np.testing.assert_allclose(found.margins['stroke'], margin.min(axis=1), atol=1e-9)
    k = int(np.flatnonzero(beyond & ~found.failed['workspace'])[0])
    assert found.reason(k) == f'stroke of {model.actuated_joints[int(np.argmin(margin[k]))]}'
    workspace_box = np.any(np.abs(p[:, :2]) > 0.2, axis=1) | (p[:, 2] < -0.93) | (p[:, 2] > -0.58)
    tilted = np.arccos(r[:, 2, 2]) > 0.6
    np.testing.assert_array_equal(found.failed['workspace'], workspace_box | tilted)


def test_apertures_are_angles_between_strut_and_platform():
    """The pin is the strut at home; the platform turns away from it, spin apart."""
    model = model_of('hexapod')
    p, r = random_poses(model, 60, 0.1, 0.5, seed=2)
    zero = np.zeros((60, 6))
    joints = model.joint_states(PlatformMotion(p, r, zero, zero)).positions
    found = apertures_of_joints(model, joints, p, r)
    assert found.names == tuple(f'top{n}' for n in range(1, 7))
    base, top = np.radians([-10, 10, 110, 130, 230, 250]), np.radians([-50, 50, 70, 170, 190, 290])
    a = 0.6 * np.stack([np.cos(base), np.sin(base), 0 * base], axis=1)
    b = 0.3 * np.stack([np.cos(top), np.sin(top), 0 * top], axis=1)

    def struts(position, rotation):
        along = position[:, None] + np.einsum('nij,kj->nki', rotation, b) - a
        return along / np.linalg.norm(along, axis=2, keepdims=True)

    at_home = struts(np.array(model.home_position)[None], np.eye(3)[None])[0]
    turned = np.einsum('nij,kj->nki', r, at_home)
    expected = np.arccos(np.clip(np.einsum('nki,nki->nk', struts(p, r), turned), -1, 1))
    np.testing.assert_allclose(found.angles, expected, atol=1e-7)
    verdict = reachable(model, p, r, singularity_limit=0.0)
    np.testing.assert_array_equal(verdict.failed['aperture'], expected.max(axis=1) > 0.6)
    assert 0 < verdict.counts['aperture'] < 60
    at_rest = apertures_of_joints(
        model, model.home_joints[None], model.home_position[None], np.eye(3)[None]
    )
    np.testing.assert_allclose(at_rest.angles, 0.0, atol=1e-9)
    np.testing.assert_array_equal(at_rest.limits, 0.6)


def test_no_pose_raises_and_each_failure_has_a_name():
    model = model_of('hexapod')
    turn = Rotation.from_rotvec([0, 0, np.pi / 2]).as_matrix()
    tilt = Rotation.from_rotvec([0.7, 0, 0]).as_matrix()
    home = np.array(model.home_position)
    p = np.stack([home, home, home, home + [0, 0, 9.0], home + [1.4, 0, 0]])
    r = np.stack([np.eye(3), turn, tilt, np.eye(3), np.eye(3)])
    found = reachable(model, p, r)
    assert found.reachable.tolist() == [True, False, False, False, False]
    # A quarter turn is singular: beyond it the assembly is another one.
    assert found.first_failure[1] in ('assembly', 'singularity')
    assert found.reason(2).startswith('aperture of top')
    assert found.reason(3).startswith('stroke of drive')
    assert set(found.failed) == set(found.margins) == set(CRITERIA)
    lost = found.failed['assembly']
    assert np.all(np.isnan(found.joints[lost])) and np.all(np.isfinite(found.joints[~lost]))


def test_near_singular_poses_are_named():
    model = model_of('hexapod')
    turns = Rotation.from_rotvec(np.radians([[0, 0, 80.0], [0, 0, 89.0]])).as_matrix()
    p = np.repeat(np.array(model.home_position)[None], 2, axis=0)
    found = reachable(model, p, turns, singularity_limit=0.02)
    assert found.failed['singularity'].tolist() == [False, True]
    assert found.margins['singularity'][0] > 0 > found.margins['singularity'][1]


def test_poses_that_a_tripod_has_not_the_freedom_for():
    model = model_of('tripod')
    rng = np.random.default_rng(5)
    q = model.home_actuators + 0.1 * rng.uniform(-1, 1, (40, 3))
    at, rotation = model.forward_kinematics(q)
    p = at.copy()
    p[::4] += [0.05, 0.0, 0.0]
    found = reachable(model, p, rotation, singularity_limit=0.0)
    np.testing.assert_array_equal(found.failed['assembly'], np.arange(40) % 4 == 0)
    np.testing.assert_allclose(found.position[1::4], p[1::4], atol=1e-9)
    with pytest.raises(ConvergenceError, match='10 of 40 samples') as caught:
        model.inverse_kinematics(p, rotation)
    assert caught.value.samples.tolist() == list(range(0, 40, 4))
    np.testing.assert_allclose(model.inverse_kinematics(at, rotation), q, atol=1e-9)
    near = reachable(model, p, rotation, singularity_limit=0.0, nearest='pose')
    assert not np.any(near.failed['assembly'])
    here = np.linalg.norm(near.position - p, axis=1)
    assert np.all(here[::4] < 0.05 + 1e-9) and np.all(here[1::4] < 1e-9)
    with pytest.raises(KinematicsError, match="'pose' or 'position'"):
        reachable(model, p, rotation, nearest='joint')


def test_inverse_kinematics_goes_on_along_the_samples():
    """A turret that turns by more than half a turn keeps on turning."""
    model = model_of('serial_arm')
    s = np.linspace(-1.0, 1.0, 160)[:, None]
    q = np.array([0.2, 0.4, -0.6]) + s * [2.3, 0.4, 0.3]
    start = np.linspace(0, 1, 80)[:, None] * (q[0] - model.home_actuators) + model.home_actuators
    q = np.concatenate([start[:-1], q])
    zero = np.zeros_like(q)
    motion = model.motion_from_actuators(q, zero, zero)
    found = model.inverse_kinematics(motion.position, motion.rotation)
    np.testing.assert_allclose(found, q, atol=1e-9)


def test_volume_of_a_workspace_is_that_of_a_fine_grid():
    model = model_of('palida')
    found = workspace(model, count=3000, seed=3, tilt=0.0, singularity_limit=0.0)
    low, high = region(model, 'platform')
    ticks = [np.linspace(a, b, 61)[:-1] + (b - a) / 120 for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*ticks, indexing='ij'), axis=-1).reshape(-1, 3)
    lengths = palida_lengths(grid, np.broadcast_to(np.eye(3), (len(grid), 3, 3)))
    inside = np.all((lengths >= model.lower) & (lengths <= model.upper), axis=1)
    volume = inside.mean() * np.prod(high - low)
    assert abs(found.volume - volume) < 4.0 * found.volume_deviation
    again = workspace(model, count=3000, seed=3, tilt=0.0, singularity_limit=0.0)
    assert again.share == found.share
    assert workspace(model, count=200, seed=4).share != found.share


def test_every_point_of_the_largest_box_and_no_more():
    model = model_of('palida')
    lower, upper = largest_box(model, points=9, singularity_limit=0.0)
    corner = np.array(np.meshgrid(*zip(lower, upper, strict=True))).reshape(3, -1).T
    lengths = palida_lengths(corner, np.broadcast_to(np.eye(3), (8, 3, 3)))
    assert np.all((lengths >= model.lower) & (lengths <= model.upper))
    assert np.all(lower < model.home_position) and np.all(model.home_position < upper)
    wide = workspace_slice(
        model, 'z', points=11, lower=[-1, -1, -1.2], upper=[1, 1, -0.4], singularity_limit=0.0
    )
    assert wide.verdict[5, 5] == 0 and wide.verdict[0, 0] != 0
    for row, y in enumerate(wide.rows):
        for column, x in enumerate(wide.columns):
            inside = palida_lengths(np.array([[x, y, wide.height]]), np.eye(3)[None])[0]
            good = np.all((inside >= model.lower) & (inside <= model.upper))
            if not good:
                assert wide.verdict[row, column] != 0


def test_workspace_in_actuator_coordinates():
    """The five-bar assembles where its two elbows are close enough: two circles."""
    model = model_of('skew_five_bar')
    found = workspace(model, count=1500, seed=1, lower=[-0.8, -0.8], upper=[0.8, 0.8])
    assert found.coordinates == 'actuators' and np.isnan(found.volume)
    q = np.random.default_rng(1).uniform([-0.8, -0.8], [0.8, 0.8], (1500, 2))
    one = np.stack([-0.1 + 0.25 * np.cos(q[:, 0] + 2.2), 0.25 * np.sin(q[:, 0] + 2.2)], axis=1)
    other = np.stack([0.1 + 0.25 * np.cos(q[:, 1] + 0.9), 0.25 * np.sin(q[:, 1] + 0.9)], axis=1)
    distance = np.linalg.norm(one - other, axis=1)
    # Straight from home the elbows only move apart or together here.
    assert np.mean(found.samples.failed['assembly'] != (distance > 0.6)) < 0.01
    again = reachable_actuators(model, q[:50])
    np.testing.assert_array_equal(again.reachable, found.samples.reachable[:50])


def test_wrong_questions_are_named():
    model = model_of('skew_five_bar')
    with pytest.raises(KinematicsError, match="'joints'.*platform, actuators"):
        workspace(model, coordinates='joints')
    with pytest.raises(KinematicsError, match="region of 'shoulder1'"):
        workspace(model, lower=[1.0, 0.0], upper=[0.0, 1.0])
    with pytest.raises(KinematicsError, match="axis 'w'"):
        workspace_slice(model_of('palida'), 'w')
    with pytest.raises(DescriptionError, match='aperture'):
        hexapods.hexapod(aperture=-1.0)
