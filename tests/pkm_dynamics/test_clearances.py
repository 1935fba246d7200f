"""Clearances against distances that are found another way, and limits of feasibility."""

import dataclasses

import numpy as np
import pytest
from every_model import model_of
from mujoco_capsules import MujocoCapsules

from pkm_description.errors import TrajectoryError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.analysis.clearances import BodyDistances
from pkm_dynamics.kernels.distances import segment_distance
from pkm_dynamics.limits.feasibility import check_feasibility
from pkm_dynamics.trajectories import FourierTrajectory

SOLID = ('delta', 'ford', 'h4', 'hexel', 'msi', 'palida', 'serial_arm', 'uf_pkm')


@pytest.fixture(scope='module')
def model():
    return model_of('palida')


def wave(model, period=2.0, **amplitudes):
    names = ['x', 'y', 'z', 'roll', 'pitch', 'yaw']
    sine = np.zeros((6, 1))
    for name, value in amplitudes.items():
        sine[names.index(name), 0] = value
    return FourierTrajectory(period, [*model.home_position, 0, 0, 0], sine, 0 * sine)


def sampled_distance(a, b, c, d, count=400):
    """Smallest distance between points of two segments, by sampling both."""
    s = np.linspace(0.0, 1.0, count)[:, None]
    first, second = a + s * (b - a), c + s * (d - c)
    return np.linalg.norm(first[:, None] - second, axis=2).min()


@pytest.mark.parametrize(
    'kind', ['skew', 'parallel', 'nearly parallel', 'crossing', 'point', 'points']
)
def test_distance_of_segments(kind):
    rng = np.random.default_rng(3)
    for _ in range(10):
        a, b, c, d = rng.uniform(-1.0, 1.0, (4, 3))
        if kind.endswith('parallel'):
            d = c + rng.uniform(0.5, 2.0) * (b - a)
            d += 1e-8 * rng.uniform(-1.0, 1.0, 3) * (kind != 'parallel')
        elif kind == 'crossing':
            d = 2.0 * (0.4 * a + 0.6 * b) - c
        elif kind == 'point':
            d = c
        elif kind == 'points':
            b, d = a, c
        expected, found = sampled_distance(a, b, c, d), segment_distance(a, b - a, c, d - c)
        assert found == pytest.approx(expected, abs=6e-3) and found <= expected + 1e-8
        assert segment_distance(c, d - c, b, a - b) == pytest.approx(found, abs=1e-8)


@pytest.mark.parametrize('name', SOLID)
def test_clearances_against_mujoco(name):
    """Every pair of bodies, those that are joined only where they stand apart at home."""
    model = model_of(name)
    distances, capsules = BodyDistances(model), MujocoCapsules(model.description)
    rng = np.random.default_rng(5)
    moves = 0.08 * rng.uniform(-1.0, 1.0, (3, model.n_a)) * (model.upper - model.lower)
    moves[0] = 0.0
    motion = model.motion_from_actuators(model.home_actuators + moves, 0 * moves, 0 * moves)
    joints = model.joint_states(motion).positions
    found = distances.clearances(joints, motion.position, motion.rotation)
    assert found[0].min() > 0.005  # the least distance that designs keep
    counted = {}
    joints_and_closures = *model.description.joints, *model.description.constraints
    joined = [{item.parent, item.child} for item in joints_and_closures]
    for k in range(3):
        placed = dict(zip(model.joint_names, joints[k], strict=True))
        capsules.place(placed, motion.position[k], motion.rotation[k])
        for column, pair in enumerate(distances.pairs):
            gaps = capsules.gaps(*pair.split('-'))
            if k == 0:
                in_joint = set(pair.split('-')) in joined or min(gaps.values()) <= 0.0
                counted[pair] = [
                    (i, j)
                    for (i, j), gap in gaps.items()
                    if not in_joint or gap > min(capsules.radii[i], capsules.radii[j])
                ]
            expected = min(gaps[key] for key in counted[pair])
            assert found[k, column] == pytest.approx(expected, abs=1e-7), pair


def test_joined_bodies_touch_only_in_their_joint():
    distances = BodyDistances(model_of('palida'))
    assert 'leg1_stator-leg1_slider' not in distances.pairs
    assert {'leg1_stator-leg2_stator', 'leg3_slider-leg4_slider'} <= set(distances.pairs)
    assert {'platform-leg1_slider', 'platform-leg1_stator'} <= set(distances.pairs)
    assert not BodyDistances(model_of('rps_upv')).pairs


@pytest.mark.parametrize(
    ('constraint', 'options', 'motion'),
    [
        ('clearance', {'clearance': 0.023}, {'yaw': 0.4}),
        ('aperture', {'aperture': 0.2}, {'roll': 0.3}),
        ('acceleration', {'acceleration': 0.05}, {'z': 0.05}),
        ('force', {'force_uncertainty': 9.0}, {'z': 0.05}),
    ],
)
def test_each_limit_is_found_and_named(model, constraint, options, motion):
    trajectory = wave(model, **motion)
    assert check_feasibility(model, trajectory, rate=200.0, clearance=None).feasible
    report = check_feasibility(model, trajectory, rate=200.0, **options)
    assert [margin.constraint for margin in report.violations] == [constraint]
    assert report.violations[0].name in report.message


def test_acceleration_is_that_of_the_actuators(model):
    trajectory = wave(model, x=0.04, pitch=0.1)
    report = check_feasibility(model, trajectory, acceleration=10.0)
    motion = trajectory.motion(np.linspace(0.0, 2.0, 2001), model)
    largest = np.abs(model.actuator_states(motion).accelerations).max()
    assert report.margins['acceleration'].margin == pytest.approx(10.0 - largest, abs=1e-4)


def test_uncertain_parameters_widen_the_forces(model):
    """Three standard deviations of one mass, against the forces of that heavier robot."""
    trajectory = wave(model, period=0.6, z=0.05)
    index = model.parameter_names.index('platform.m')
    covariance = np.zeros((model.n_p, model.n_p))
    covariance[index, index] = 0.5**2
    plain = check_feasibility(model, trajectory).margins['force']
    wide = check_feasibility(model, trajectory, force_uncertainty=covariance).margins['force']
    motion = trajectory.motion(np.linspace(0.0, 0.6, 2001), model)
    force = np.abs(model.inverse_dynamics(motion))
    share = 1.5 * np.abs(model.regressor(motion)[:, :, index])
    assert wide.margin == pytest.approx((model.force_limit - force - share).min(), abs=1.5)
    assert wide.margin < plain.margin - 1.0
    with pytest.raises(TrajectoryError, match='covariance'):
        check_feasibility(model, trajectory, force_uncertainty=np.eye(3))


def test_an_aperture_adds_to_that_of_the_description(model):
    """The narrower of both counts: an option cannot widen a joint."""
    sidecar = {**model.description.sidecar, 'workspace': {'aperture': 0.2}}
    narrow = ClosedChainModel(dataclasses.replace(model.description, sidecar=sidecar))
    trajectory = wave(narrow, roll=0.1)
    for given, expected in ((None, 0.18), (0.5, 0.18), (0.15, 0.15)):
        report = check_feasibility(narrow, trajectory, aperture=given, stroke_margin=0.1)
        assert report.margins['aperture'].limit == pytest.approx(expected)
