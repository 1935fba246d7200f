"""Noise of the simulated robot: its covariance, and that no choice of axes is in it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import sqrtm

import pkm_description
from pkm_dynamics.simulation import PlantEffects, correlated_noise
from pkm_dynamics.simulation.sensors import noise_root


def test_covariance_of_many_samples():
    covariance = np.array([[4.0, 1.0, 0.0], [1.0, 2.0, -0.5], [0.0, -0.5, 1.0]])
    samples = correlated_noise(np.random.default_rng(1), covariance, 200_000)
    assert np.abs(samples.mean(axis=0)).max() < 0.02
    np.testing.assert_allclose(np.cov(samples.T), covariance, atol=0.05)


def test_a_covariance_without_full_rank():
    direction = np.array([1.0, 2.0, -1.0])
    samples = correlated_noise(np.random.default_rng(2), np.outer(direction, direction), 50)
    np.testing.assert_allclose(samples, samples[:, :1] * direction, atol=1e-6)


@pytest.mark.parametrize('name', ['force_covariance', 'position_covariance'])
def test_root_does_not_depend_on_axes_of_equal_eigenvalues(name):
    """Processors choose eigenvectors of equal eigenvalues, and their signs, differently."""
    covariance = getattr(PlantEffects.from_description(pkm_description.load('palida')), name)
    root = noise_root(covariance)
    size = np.abs(root).max()
    np.testing.assert_allclose(root, sqrtm(covariance), atol=1e-9 * size)
    order = [3, 0, 5, 1, 4, 2]
    shuffled = noise_root(covariance[np.ix_(order, order)])
    np.testing.assert_allclose(shuffled, root[np.ix_(order, order)], atol=1e-9 * size)
