"""Clearances against distances that are found another way, and limits of feasibility."""

from pathlib import Path

import numpy as np
import pytest

import pkm_description
from pkm_description.errors import TrajectoryError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.clearances import BodyDistances, segment_distances
from pkm_dynamics.feasibility import check_feasibility
from pkm_dynamics.trajectories import FourierTrajectory

STRUT = '<cylinder radius="0.02" length="0.8"/>'
DISC = '<cylinder radius="0.05" length="0.2"/>'


def collision(geometry, z):
    return (
        f'<collision><origin xyz="0 0 {z}" rpy="0 0 0"/><geometry>{geometry}</geometry></collision>'
    )


@pytest.fixture(scope='module')
def model():
    """PaLiDA with collision cylinders: six sliders and the platform's tool rod."""
    description = pkm_description.load('palida')
    text = description.urdf
    for leg in range(1, 7):
        link = f'<link name="leg{leg}_slider">'
        assert link in text
        text = text.replace(link, link + collision(STRUT, -0.4))
    text = text.replace('<link name="platform">', '<link name="platform">' + collision(DISC, 0.0))
    sidecar = Path(pkm_description.__file__).parent / 'robots' / 'palida' / 'palida.yaml'
    return ClosedChainModel(pkm_description.loads(text, sidecar.read_text()))


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


@pytest.mark.parametrize('kind', ['skew', 'parallel', 'crossing', 'point', 'points'])
def test_distance_of_segments(kind):
    rng = np.random.default_rng(3)
    for _ in range(10):
        a, b, c, d = rng.uniform(-1.0, 1.0, (4, 3))
        if kind == 'parallel':
            d = c + rng.uniform(0.5, 2.0) * (b - a)
        elif kind == 'crossing':
            d = 2.0 * (0.4 * a + 0.6 * b) - c
        elif kind == 'point':
            d = c
        elif kind == 'points':
            b, d = a, c
        expected = sampled_distance(a, b, c, d)
        assert segment_distances(a, b, c, d) == pytest.approx(expected, abs=6e-3)
        assert segment_distances(a, b, c, d) <= expected + 1e-12
        assert segment_distances(c, d, b, a) == pytest.approx(segment_distances(a, b, c, d))


def test_clearances_of_struts_and_platform(model):
    """Struts run from the platform's joints towards the base's, whose places are known."""
    distances = BodyDistances(model)
    assert 'leg1_slider-leg2_slider' in distances.pairs
    assert not any('platform' in pair for pair in distances.pairs)  # closures join them
    motion = wave(model, x=0.05, roll=0.2, yaw=0.3).motion(np.array([0.1, 0.4, 1.1]), model)
    joints = model.joint_states(motion).positions
    found = distances.clearances(joints, motion.position, motion.rotation)
    body = model.body_motion(motion)
    for name, values in zip(distances.pairs, found.T, strict=True):
        ends = []
        for link in name.split('-'):
            i = body.names.index(link)
            axis = body.rotation[:, i, :, 2]
            ends += [body.position[:, i], body.position[:, i] - 0.8 * axis]
        expected = [sampled_distance(*(e[k] for e in ends)) - 0.04 for k in range(3)]
        assert values == pytest.approx(expected, abs=4e-3)


@pytest.mark.parametrize(
    ('constraint', 'options', 'motion'),
    [
        ('clearance', {'clearance': 0.01}, {'yaw': 0.6}),
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
