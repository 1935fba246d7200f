"""Forward kinematics over the whole workspace: every pose recovered, no wrong assembly.

By default a few hundred poses a robot; PKM_POSES=10000 for the full study:
`make test ARGS="tests/pkm_dynamics/test_forward_kinematics.py -k neighbours"`.
"""

from __future__ import annotations

import os
from functools import lru_cache

import closed_chains
import mechanisms
import numpy as np
import pytest
from continuation import follow_actuators
from pose_pairs import pose_pairs
from scipy.spatial.transform import Rotation

import pkm_description
from pkm_description import ConvergenceError, KinematicsError, TrajectoryError
from pkm_description.assembly import Assembly, Configuration
from pkm_description.description import Pose
from pkm_dynamics import ClosedChainModel, PlatformMotion

POSES = int(os.environ.get('PKM_POSES', '200'))
MAKERS = {
    'skew_hexapod': mechanisms.skew_hexapod,
    'tripod': mechanisms.tripod,
    'skew_five_bar': mechanisms.five_bar,
    'skew_four_bar': mechanisms.four_bar,
    'skew_arm': mechanisms.serial_arm,
}
NAMES = [*pkm_description.library(), *MAKERS]


@lru_cache(maxsize=32)
def model_of(name: str) -> ClosedChainModel:
    if name.startswith('chain_'):
        return ClosedChainModel(closed_chains.closed_chain(name[6:]))
    make = MAKERS.get(name)
    return ClosedChainModel(make() if make else pkm_description.load(name))


def actuators(model, joints):
    return joints[:, [model.joint_names.index(name) for name in model.actuated_joints]]


def solved(model, q, initial):
    """Poses of the samples that assemble, and their indices; starts (N, ...) each."""
    index = np.arange(len(q))
    for _ in range(2):
        start = tuple(a[index] for a in initial) if isinstance(initial, tuple) else initial[index]
        try:
            return *model.forward_kinematics(q[index], initial=start), index
        except ConvergenceError as error:
            index = np.delete(index, error.samples)
    raise AssertionError('samples that assembled do not assemble without the others')


@pytest.mark.parametrize('name', NAMES)
def test_poses_are_recovered_from_their_neighbours(name):
    """From a neighbour 5 % of the workspace away; the pose itself comes from elsewhere.

    With six degrees of freedom from inverse kinematics, else from home in one go.
    """
    model = model_of(name)
    start, target = pose_pairs(model, POSES, seed=1)
    q = actuators(model, target.joints)
    initial = start.joints
    if model.platform_determines_joints:
        initial = (start.position, start.rotation)
    position, rotation, index = solved(model, q, initial)
    np.testing.assert_allclose(position, target.position[index], rtol=0, atol=1e-10)
    np.testing.assert_allclose(rotation, target.rotation[index], rtol=0, atol=1e-9)
    assert len(index) >= 0.999 * POSES, f'{POSES - len(index)} of {POSES} reported'


def walked(model, count, seed):
    """Configurations all over home's assembly, up to its singularities: random straight ways."""
    rng = np.random.default_rng(seed)
    joints = np.repeat(np.array(model.home_joints)[None], count, axis=0)
    unit = 0.15 * np.where(
        [model.description.joint(n).type == 'prismatic' for n in model.actuated_joints],
        model.length_scale,
        1.6,
    )
    for _ in range(10):
        q = actuators(model, joints) + unit * rng.normal(size=(count, model.n_a))
        while len(q):
            try:
                still = np.zeros_like(q)
                joints = model.motion_from_actuators(q, still, still, joints).joint_positions
                break
            except ConvergenceError as error:  # these stay where they are
                q[error.samples] = actuators(model, joints)[error.samples]
    still = np.zeros((count, model.n_a))
    at = model.motion_from_actuators(actuators(model, joints), still, still, joints)
    return at, unit, rng


@pytest.mark.parametrize('name', ['tripod', 'skew_hexapod', 'chain_universal'])
def test_no_jump_to_another_assembly(name):
    """Far targets, from starts near singularities too, against many small steps.

    These mechanisms have several assemblies at most targets, also with the same signs of
    all determinants (the 3-RPS and the 6-UPS change assembly without a singularity).
    """
    model = model_of(name)
    count = 25
    at, unit, rng = walked(model, count, seed=3)
    q = model.actuator_states(at).positions
    q = q + 0.7 * unit * rng.normal(size=q.shape)
    position, rotation, index = solved(model, q, np.array(at.joint_positions))
    start = (at.joint_positions, at.position, at.rotation)
    path = follow_actuators(model, start, q)
    rough = index[path.regularity[index] == 0.0]  # so close to a singularity that it needs more
    finer = follow_actuators(model, tuple(a[rough] for a in start), q[rough], 2000)
    for coarse, fine in zip(path, finer, strict=True):
        coarse[rough] = fine
    ended = path.regularity[index] == 0.0
    assert not np.any(ended), f'samples {index[ended]} went through a singularity'
    np.testing.assert_allclose(position, path.position[index], atol=1e-6)
    np.testing.assert_allclose(rotation, path.rotation[index], atol=1e-6)
    reported = np.setdiff1d(np.arange(count), index)
    assert len(index) > 0.1 * count and len(reported) > 0, 'the targets do not test both'
    needless = path.regularity[reported] > 1e-2 * np.median(path.regularity)
    assert not np.any(needless), f'samples {reported[needless]} could be followed'


def test_five_bar_against_circles():
    """The tip is where two circles meet: on which side, and whether they meet all the way."""
    model = model_of('skew_five_bar')
    at, unit, rng = walked(model, 400, seed=5)
    q0 = model.actuator_states(at).positions
    q1 = q0 + 4.0 * unit * rng.normal(size=q0.shape)

    def elbows(q):
        ends = []
        for k, (x, turn) in enumerate(((-0.1, 2.2), (0.1, 0.9))):
            angle = q[..., k] + turn
            ends.append(np.stack([x + 0.25 * np.cos(angle), 0.25 * np.sin(angle)], axis=-1))
        return ends

    s = np.linspace(0.0, 1.0, 3000)[:, None, None]
    one, other = elbows(q0 + s * (q1 - q0))
    distance = np.linalg.norm(other - one, axis=2)
    connected = np.all((distance < 0.6 - 1e-6) & (distance > 1e-4), axis=0)
    still = np.zeros_like(q1)
    index = np.arange(len(q1))
    try:
        found = model.motion_from_actuators(q1, still, still, at.joint_positions)
    except ConvergenceError as error:
        index = np.delete(index, error.samples)
        found = model.motion_from_actuators(
            q1[index], still[index], still[index], at.joint_positions[index]
        )
    close = np.min(0.6 - distance, axis=0) < 1e-5
    np.testing.assert_array_equal(np.isin(np.arange(len(q1)), index) | close, connected | close)
    one, other = elbows(q1[index])
    middle = 0.5 * (one + other)
    across = (other - one)[:, ::-1] * [-1.0, 1.0]
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    height = np.sqrt(np.maximum(0.09 - 0.25 * np.sum((other - one) ** 2, axis=1), 0.0))
    home = np.array(elbows(np.array(model.home_actuators)))
    tip = found.position + np.einsum('nij,j->ni', found.rotation, [0.3, 0.0, 0.0])
    tip_at_home = model.home_position + model.home_rotation @ [0.3, 0.0, 0.0]
    base, out = home[1] - home[0], tip_at_home[:2] - home[0]
    side = np.sign(base[0] * out[1] - base[1] * out[0])
    np.testing.assert_allclose(tip[:, :2], middle + side * height[:, None] * across, atol=1e-8)


@pytest.mark.parametrize('name', ['tripod', 'skew_five_bar', 'skew_hexapod'])
def test_other_assemblies_are_not_taken_for_that_of_home(name):
    """Assemblies found by random restarts, all with the same actuators."""
    model = model_of(name)
    assembly = Assembly(model.description)
    free = np.ones(assembly.tree.n_v, dtype=bool)
    free[assembly.actuated_coordinates] = False
    rng = np.random.default_rng(2)
    others = []
    for _ in range(60):
        joints = np.array(model.home_joints) + rng.uniform(-2.0, 2.0, len(model.joint_names))
        for k, joint in enumerate(model.joint_names):
            if joint in model.actuated_joints:
                joints[k] = model.home_joints[k]
        pose = Pose(
            model.home_position * rng.uniform(-1.2, 1.2, 3),
            Rotation.random(random_state=rng).as_matrix(),
        )
        found = assembly.close(Configuration(joints, pose), free)
        place = assembly.platform_pose(found.configuration)
        away = np.abs(place.rotation - model.home_rotation).max()
        away += np.abs(place.position - model.home_position).max()
        if found.gap < 1e-10 and away > 1e-3:
            others.append((found.configuration, place))
    assert len(others) >= 3
    home = model.home_actuators[None]
    position, rotation = model.forward_kinematics(home)
    np.testing.assert_allclose(position[0], model.home_position, atol=1e-10)
    refused = 0
    for configuration, place in others:
        near = home + 1e-3
        try:
            position, rotation = model.forward_kinematics(near, initial=configuration.joints)
        except (ConvergenceError, KinematicsError):
            refused += 1
            continue
        # Not refused: of the same signs as home, and then it stays where it started.
        assert np.abs(position[0] - place.position).max() < 0.05
        assert np.abs(rotation[0] - place.rotation).max() < 0.2
    assert refused > 0


@pytest.mark.parametrize('name', ['palida', 'tripod', 'skew_five_bar'])
def test_starts_at_poses_and_at_joints_are_the_same(name):
    model = model_of(name)
    start, target = pose_pairs(model, 20, seed=4)
    q = actuators(model, target.joints)
    by_joints = model.forward_kinematics(q, initial=start.joints)
    by_poses = model.forward_kinematics(q, initial=(start.position, start.rotation))
    np.testing.assert_allclose(by_joints[0], by_poses[0], atol=1e-10)
    np.testing.assert_allclose(by_joints[1], by_poses[1], atol=1e-9)


def test_each_sample_is_named_that_its_start_does_not_lead_to():
    model = model_of('palida')
    q = np.repeat(np.array(model.home_actuators)[None], 5, axis=0)
    q[[1, 3], 0] += 0.3
    starts = np.repeat(np.array(model.home_joints)[None], 5, axis=0)
    with pytest.raises(ConvergenceError, match=r'2 of 5 samples \(1, 3\)') as caught:
        model.forward_kinematics(q, initial=starts)
    assert caught.value.samples.tolist() == [1, 3]
    with pytest.raises(TrajectoryError, match='initial has 3 samples where there are 5'):
        model.forward_kinematics(q, initial=starts[:3])
    with pytest.raises(TrajectoryError, match='18 finite joint positions'):
        model.forward_kinematics(q, initial=starts[:, :4])


def test_inverse_kinematics_never_turns_a_strut_inside_out():
    """Half a turn of both cardan joints and a negative length close as well, with equal signs."""
    model = model_of('palida')
    rng = np.random.default_rng(7)
    count = 300
    p = model.home_position + 0.1 * rng.uniform(-1, 1, (count, 3))
    r = Rotation.from_rotvec(0.3 * rng.uniform(-1, 1, (count, 3))).as_matrix()
    lengths = model.inverse_kinematics(p, r)
    assert lengths.min() > 0.4
    guess = np.array(model.home_joints) + rng.uniform(-2, 2, (count, len(model.joint_names)))
    zero = np.zeros((count, 6))
    try:
        states = model.joint_states(PlatformMotion(p, r, zero, zero, guess))
    except ConvergenceError as error:
        keep = np.delete(np.arange(count), error.samples)
        p, r, zero, guess, lengths = p[keep], r[keep], zero[keep], guess[keep], lengths[keep]
        states = model.joint_states(PlatformMotion(p, r, zero, zero, guess))
    assert len(p) > 0.5 * count
    np.testing.assert_allclose(actuators(model, states.positions), lengths, atol=1e-10)
