"""Studies of the Kalman filters, at a small size."""

from __future__ import annotations

import numpy as np
import pytest

import pkm_description
from pkm_bringup.studies.hexapod_masses import estimate_masses
from pkm_bringup.studies.pendulum import compare, equations, free_fall, true_parameters
from pkm_dynamics import ClosedChainModel


@pytest.fixture(scope='module')
def pendulum():
    return ClosedChainModel(pkm_description.load('cart_pendulum'))


def test_equations_are_those_of_the_library_robot(pendulum):
    """Zero on a free fall that the multibody model integrates, and only with its parameters."""
    truth = true_parameters(pendulum)
    np.testing.assert_allclose(truth, [0.5, 0.75, 0.75, 0.5, 1.5])
    states = free_fall(pendulum, 1.0, 0.02)
    assert np.abs(equations(truth, states.T)).max() < 1e-9
    assert np.abs(equations(3 * truth, states.T)).max() > 1.0
    masses = truth * [1, 1, 3, 3, 3]
    assert np.abs(equations(masses, states.T)).max() < 1e-9  # free fall does not show a scale


def test_pendulum(pendulum):
    """[O] chapter 3: all within 1 % without noise; better than least squares with noise."""
    found = compare(pendulum, duration=3.0)
    cases = {(c['noise'], c['weighed'], c['estimator']): c for c in found['cases']}
    assert np.abs(cases[0.0, True, 'ukf']['errors']).max() < 0.01
    for estimator in ('ls', 'ukf'):
        alone = cases[0.0, False, estimator]
        assert np.abs(alone['errors'][:2]).max() < 0.01
        assert np.abs(alone['ratio_errors']).max() < 0.01
        assert np.abs(alone['errors'][2:]).max() < 0.15
    noisy = np.abs(cases[0.01, True, 'ukf']['errors']).max()
    assert noisy < 0.02 < np.abs(cases[0.01, True, 'ls']['errors']).max()
    assert all(case['time'] > 0 for case in found['cases'])


def test_masses_of_the_uf_pkm():
    """[O] chapter 4, force-based: within 0.1 % without and 6 % with 1 % noise."""
    model = ClosedChainModel(pkm_description.load('uf_pkm'))
    for noise, limit in ((0.0, 1e-3), (0.01, 0.06)):
        found = estimate_masses(model, noise, samples=600)
        assert max(map(abs, found['errors'].values())) < limit
