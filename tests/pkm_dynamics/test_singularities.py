"""Measures of singularity against geometry that is singular by construction."""

from __future__ import annotations

from functools import lru_cache

import hexapods
import mechanisms
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pkm_description
from pkm_description import KinematicsError
from pkm_description.assembly import Assembly, Configuration
from pkm_description.description import Pose
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.analysis.singularities import (
    characteristic_length,
    singularities,
    singularities_of_joints,
)

MAKERS = {
    'skew_hexapod': mechanisms.skew_hexapod,
    'tripod': mechanisms.tripod,
    'five_bar': mechanisms.five_bar,
    'four_bar': mechanisms.four_bar,
    'serial_arm': mechanisms.serial_arm,
}


@lru_cache(maxsize=16)
def model_of(name: str) -> ClosedChainModel:
    make = MAKERS.get(name)
    return ClosedChainModel(make() if make else pkm_description.load(name))


def at_rest(model, q):
    still = np.zeros_like(q)
    return model.motion_from_actuators(q, still, still)


def forced(model, joints, position, rotation, hold):
    """Measures where the loops close at given joints and pose, singular or not.

    `hold` are the joints that stay as they are ('platform' holds the platform).
    """
    assembly = Assembly(model.description)
    free = np.ones(assembly.tree.n_v, dtype=bool)
    for name in hold:
        if name == 'platform':
            first = assembly.tree.coordinate[assembly.tree.floating_body]
            free[first : first + 6] = False
        else:
            free[assembly.tree.coordinate_of(name)] = False
    found = assembly.close(Configuration(np.array(joints), Pose(position, rotation)), free)
    assert found.gap < 1e-9
    place = assembly.platform_pose(found.configuration)
    return singularities_of_joints(
        model, found.configuration.joints[None], place.position[None], place.rotation[None]
    )


@pytest.mark.parametrize('name', ['palida', *MAKERS])
def test_measures_are_those_of_the_differenced_kinematics(name):
    """Platform twists by finite differences of forward kinematics; then plain algebra."""
    model = model_of(name)
    rng = np.random.default_rng(4)
    half = np.minimum(0.05, 0.1 * (model.upper - model.lower))
    q = model.home_actuators + half * rng.uniform(-1, 1, (3, model.n_a))
    found = singularities(model, at_rest(model, q), length=0.3)
    prismatic = model.description.joint(model.actuated_joints[0]).type == 'prismatic'
    h = 1e-5
    jacobian = np.empty((len(q), 6, model.n_a))
    for k in range(model.n_a):
        (p0, r0), (p1, r1) = (
            model.forward_kinematics(q + s * h * np.eye(model.n_a)[k]) for s in (-1, 1)
        )
        jacobian[:, :3, k] = (p1 - p0) / (2 * h)
        turn = Rotation.from_matrix(r1 @ r0.transpose(0, 2, 1)).as_rotvec()
        jacobian[:, 3:, k] = turn / (2 * h)
    jacobian[:, 3:] *= 0.3  # to m/s
    gains = np.linalg.svd(jacobian, compute_uv=False)[:, : model.n_a]
    scaled = gains / (1.0 if prismatic else 0.3)
    np.testing.assert_allclose(found.parallel, 1 / np.sqrt(1 + scaled[:, 0] ** 2), rtol=1e-5)
    np.testing.assert_allclose(
        found.serial, scaled[:, -1] / np.sqrt(1 + scaled[:, -1] ** 2), rtol=1e-5
    )
    assert np.all(found.smallest > 0.0) and np.all(found.smallest <= found.parallel)


def test_hexapod_turned_a_quarter_turn_about_its_axis():
    """Fichter's singularity: a symmetric hexapod turned by 90 degrees about z."""
    model = ClosedChainModel(hexapods.hexapod(symmetric=True))
    values = []
    for angle in np.radians([0.0, 60.0, 89.0, 90.0]):
        turn = Rotation.from_rotvec([0, 0, angle]).as_matrix()
        found = forced(model, model.home_joints, np.array(model.home_position), turn, ('platform',))
        values.append(found.parallel[0])
        assert found.serial[0] > 0.1 and found.constraint[0] > 0.1
    assert values[0] > 0.3 and values[3] < 1e-9
    np.testing.assert_allclose(values[2], values[1] * np.cos(np.radians(89)) / 0.5, rtol=0.5)


def test_griffis_duffy_platform_is_singular_wherever_it_stands():
    """Joints at the middle of the triangles' sides: a self-motion through every pose."""
    with pytest.raises(pkm_description.DescriptionError, match='singular'):
        hexapods.griffis_duffy(0.5)
    values = []
    for fraction in (0.3, 0.49, 0.499):
        model = ClosedChainModel(hexapods.griffis_duffy(fraction))
        rng = np.random.default_rng(0)
        worst = []
        for _ in range(5):
            p = model.home_position + 0.03 * rng.uniform(-1, 1, 3)
            r = Rotation.from_rotvec(0.05 * rng.uniform(-1, 1, 3)).as_matrix()
            found = forced(model, model.home_joints, p, r, ('platform',))
            worst.append(found.parallel[0])
        values.append(np.median(worst))
    assert values[0] > 0.3
    # The determinant vanishes with the distance from the middle.
    np.testing.assert_allclose(values[1:], values[1] * np.array([1.0, 0.1]), rtol=0.3)


def five_bar_at(tip, elbows):
    """Joints of the five-bar of `mechanisms` with the tip (2,) there and elbows of given signs."""
    angles = []
    for x, turn, bend, side in ((-0.1, 2.2, -1.6, elbows[0]), (0.1, 0.9, 1.6, elbows[1])):
        d = np.array(tip) - [x, 0.0]
        reach = np.linalg.norm(d)
        cosine = (reach**2 - 0.25**2 - 0.3**2) / (2 * 0.25 * 0.3)
        elbow = side * np.arccos(np.clip(cosine, -1.0, 1.0))
        shoulder = np.arctan2(d[1], d[0]) - np.arctan2(
            0.3 * np.sin(elbow), 0.25 + 0.3 * np.cos(elbow)
        )
        angles += [shoulder - turn, elbow - bend]
    return dict(zip(('shoulder1', 'elbow1', 'shoulder2', 'elbow2'), angles, strict=True))


def test_five_bar_stretched_and_lined_up():
    """An outstretched arm is serial-singular; forearms in one line are parallel-singular."""
    model = model_of('five_bar')

    def measures(joints):
        values = np.array([joints[name] for name in model.joint_names])
        return forced(
            model, values, model.home_position, model.home_rotation, tuple(model.joint_names)
        )

    angle = np.radians(70.0)
    reach = 0.55
    regular = measures(five_bar_at((0.03, 0.3), (-1, 1)))
    assert regular.parallel[0] > 0.1 and regular.serial[0] > 0.1
    for less, limit in ((1e-3, 0.2), (1e-7, 2e-3)):
        tip = np.array([-0.1, 0.0]) + (reach - less) * np.array([np.cos(angle), np.sin(angle)])
        stretched = measures(five_bar_at(tip, (-1, 1)))
        assert stretched.serial[0] < limit, less
        assert stretched.parallel[0] > 0.05
    for width, limit in ((0.58, 0.6), (0.599, 0.2), (0.6 - 1e-9, 1e-3)):  # elbows that far apart
        shoulder = np.arccos((0.5 * width - 0.1) / 0.25)
        elbow_y = 0.25 * np.sin(shoulder)
        tip = (0.0, elbow_y + np.sqrt(max(0.09 - 0.25 * width**2, 0.0)))
        joints = five_bar_at(tip, (-1, 1))
        lined_up = measures(joints)
        assert lined_up.parallel[0] < limit, width
    assert lined_up.serial[0] > 0.05


def test_a_parallelogram_laid_flat_can_fold_both_ways():
    """Constraint singularity: a parallelogram on its own line has one freedom too many."""
    model = ClosedChainModel(hexapods.parallelogram())
    home = at_rest(model, model.home_actuators[None])
    np.testing.assert_allclose(singularities(model, home).constraint, 1.0)
    values = []
    for angle in (1.0, 0.1, 0.01, 0.0):
        joints = dict(crank_joint=angle, coupler_joint=-angle, rocker_joint=angle)
        found = forced(
            model,
            [joints[n] for n in model.joint_names],
            model.home_position,
            model.home_rotation,
            tuple(model.joint_names),
        )
        values.append(found.constraint[0])
    assert values[0] > 0.3 and values[3] < 1e-12
    np.testing.assert_allclose(values[2] / values[1], 0.1, rtol=0.1)


def test_characteristic_length_weighs_translation_and_rotation_alike():
    model = model_of('palida')
    length = characteristic_length(model)
    jacobian = model.jacobian(model.home_position[None], model.home_rotation[None])[0]
    assert np.isclose(np.linalg.norm(jacobian[:, 3:]), length * np.linalg.norm(jacobian[:, :3]))
    home = at_rest(model, model.home_actuators[None])
    assert singularities(model, home).length == length
    with pytest.raises(KinematicsError, match='length must be positive'):
        singularities(model, home, length=0.0)
