"""Motions through points with given velocities and accelerations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BPoly, CubicHermiteSpline

from pkm_description.errors import TrajectoryError
from pkm_dynamics.trajectories import ThroughStates

TIME = np.array([0.5, 0.9, 1.0, 2.3])
NAMES = ['a', 'b']


@pytest.fixture
def states():
    random = np.random.default_rng(3)
    positions, velocities, accelerations = random.normal(size=(3, 4, 2))
    velocities[[0, -1]] = accelerations[[0, -1]] = 0.0
    return positions, velocities, accelerations


def test_quintics_through_all_three(states):
    """The same as SciPy's Bernstein polynomials from derivatives."""
    motion = ThroughStates(TIME, *states, 'actuators', NAMES)
    rows = [list(point) for point in zip(*states, strict=True)]
    spline = BPoly.from_derivatives(TIME - TIME[0], rows)
    t = np.linspace(0.0, motion.duration, 173)
    for k, found in enumerate(motion.evaluate(t)):
        expected = spline.derivative(k)(t) if k else spline(t)
        np.testing.assert_allclose(found, expected, atol=1e-10)
    for t in (-1.0, 9.0):
        x, xd, xdd = motion.evaluate([t])
        np.testing.assert_allclose(x[0], states[0][0 if t < 0 else -1])
        assert not xd.any() and not xdd.any()


def test_accelerations_are_the_means_of_cubics(states):
    motion = ThroughStates(TIME, *states[:2], None, 'actuators', NAMES)
    cubic = CubicHermiteSpline(TIME, *states[:2]).derivative(2)
    means = 0.5 * (cubic(TIME[1:-1] - 1e-12) + cubic(TIME[1:-1] + 1e-12))
    np.testing.assert_allclose(motion.accelerations[1:-1], means, atol=1e-7)
    assert not motion.accelerations[[0, -1]].any()
    _, velocities, _ = motion.evaluate(TIME - TIME[0])
    np.testing.assert_allclose(velocities, states[1], atol=1e-12)


def test_a_motion_of_one_cubic_is_met(states):
    """Positions and velocities of a rest-to-rest quintic give nearly that quintic."""
    t = np.linspace(0.0, 1.0, 41)
    x, xd = t**3 * (10 - 15 * t + 6 * t**2), 30 * t**2 * (1 - t) ** 2
    motion = ThroughStates(t, x[:, None], xd[:, None], None, 'actuators', ['a'])
    fine = np.linspace(0.0, 1.0, 997)
    exact = 60 * fine * (1 - fine) * (1 - 2 * fine)
    found = motion.evaluate(fine)[2][:, 0]
    assert np.abs(found - exact).max() < 0.02 * np.abs(exact).max()


def test_ends_rest_whatever_their_accelerations_are(states):
    positions, velocities, accelerations = states
    motion = ThroughStates(TIME, positions, velocities, accelerations + 1.0, 'actuators', NAMES)
    _, xd, xdd = motion.evaluate([0.0, motion.duration])
    np.testing.assert_allclose([xd, xdd], 0.0, atol=1e-12)
    np.testing.assert_array_equal(motion.accelerations[1:-1], accelerations[1:-1] + 1.0)
    for end, where in ((0, 'first'), (-1, 'last')):
        moving = velocities.copy()
        moving[end, 1] = 0.3
        with pytest.raises(TrajectoryError, match=f'velocities: 0.3 in the {where} point'):
            ThroughStates(TIME, positions, moving, None, 'actuators', NAMES)


def test_joints_are_matched_by_name(states):
    motion = ThroughStates(TIME, *states, 'actuators', NAMES)
    for found, expected in zip(
        motion.ordered(['b', 'a']).evaluate([0.7]), motion.evaluate([0.7]), strict=True
    ):
        np.testing.assert_array_equal(found, expected[:, ::-1])


def test_unfit_numbers_are_named(states):
    positions, velocities, accelerations = states
    with pytest.raises(TrajectoryError, match='velocities: shape'):
        ThroughStates(TIME, positions, velocities[:3], None, 'actuators', NAMES)
    with pytest.raises(TrajectoryError, match='accelerations: not finite'):
        ThroughStates(TIME, positions, velocities, accelerations * np.nan, 'actuators', NAMES)
    with pytest.raises(TrajectoryError, match='overflows'):
        huge = np.where(velocities, 1e308, 0.0)
        ThroughStates(100 * TIME, positions, huge, None, 'actuators', NAMES)
