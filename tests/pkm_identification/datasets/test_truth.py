"""Noise-free signals between their samples and of some joints."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_identification.datasets import Truth

TIME = np.array([1.0, 2.0, 4.0, 5.0])
FORCES = np.array([[0.0, 5.0], [10.0, 5.0], [30.0, -5.0], [30.0, 0.0]])
TRUTH = Truth(TIME, FORCES + 100.0, FORCES + 200.0, FORCES)


@pytest.mark.parametrize(
    ('time', 'expected'),
    [
        ([1.0, 2.0, 4.0, 5.0], FORCES),
        ([1.5], [[5.0, 5.0]]),
        ([2.5, 3.0], [[15.0, 2.5], [20.0, 0.0]]),
        ([2.0, 3.0], [[10.0, 5.0], [20.0, 0.0]]),
        ([3.0, 4.0], [[20.0, 0.0], [30.0, -5.0]]),
        ([4.0, 4.5], [[30.0, -5.0], [30.0, -2.5]]),
        ([0.0, 0.5], [[0.0, 5.0], [0.0, 5.0]]),  # before the first sample: its forces
        ([0.5, 1.5], [[0.0, 5.0], [5.0, 5.0]]),
        ([4.5, 9.0], [[30.0, -2.5], [30.0, 0.0]]),
        ([7.0, 9.0], [[30.0, 0.0], [30.0, 0.0]]),
    ],
)
def test_forces_between_samples(time, expected):
    np.testing.assert_allclose(TRUTH.forces_at(np.array(time)), expected, atol=1e-12)


def test_forces_of_a_single_sample():
    single = Truth(TIME[:1], FORCES[:1], FORCES[:1], FORCES[:1])
    assert len(single) == 1 and len(TRUTH) == 4
    for time in (0.0, 1.0, 2.0):
        np.testing.assert_array_equal(single.forces_at(np.array([time])), FORCES[:1])


@pytest.mark.parametrize('columns', [[1, 0], [1], [0, 1]])
def test_signals_of_some_joints(columns):
    found = TRUTH.with_columns(columns)
    np.testing.assert_array_equal(found.time, TIME)
    np.testing.assert_array_equal(found.positions, FORCES[:, columns] + 100.0)
    np.testing.assert_array_equal(found.velocities, FORCES[:, columns] + 200.0)
    np.testing.assert_array_equal(found.forces, FORCES[:, columns])
