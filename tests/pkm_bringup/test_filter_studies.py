"""Studies of the Kalman filters, at a small size."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of

from pkm_bringup import cli
from pkm_bringup.studies.hexapod_masses import study_masses
from pkm_bringup.studies.pendulum import compare, equations, record, true_parameters


@pytest.fixture(scope='module')
def pendulum():
    return model_of('cart_pendulum')


def test_equations_are_those_of_the_library_robot(pendulum):
    """Zero on a free fall that the multibody model integrates, and only with its parameters."""
    truth = true_parameters(pendulum)
    np.testing.assert_allclose(truth, [0.5, 0.75, 0.75, 0.5, 1.5])
    states = record(pendulum, 1.0, 0.02).states
    assert np.abs(equations(truth, states.T)).max() < 1e-9
    assert np.abs(equations(3 * truth, states.T)).max() > 1.0
    masses = truth * [1, 1, 3, 3, 3]
    assert np.abs(equations(masses, states.T)).max() < 1e-9  # free fall does not show a scale
    pushed = record(pendulum, 1.0, 0.02, pushed=True)
    forces = equations(truth, pushed.states.T)
    np.testing.assert_allclose(forces, pushed.forces, atol=1e-8)
    assert np.ptp(pushed.forces[:, 0]) > 19.0
    assert np.abs(equations(masses, pushed.states.T) - pushed.forces).max() > 10.0


def test_pendulum(pendulum):
    """[O] chapter 3: all within 1 % without noise; better than least squares with noise."""
    found = compare(pendulum, duration=3.0, runs=3, workers=1)
    cases = {(c['noise'], c['scale'], c['estimator']): c for c in found['cases']}
    for estimator in ('ls', 'ekf', 'ukf'):
        for scale in ('weighed', 'pushed'):
            assert max(cases[0.0, scale, estimator]['errors']) < 0.01
        start = cases[0.0, 'start', estimator]
        assert max(*start['errors'][:2], *start['ratio_errors']) < 0.01
        np.testing.assert_allclose(start['errors'][2:], 3 / 2.75 - 1, atol=0.01)
    for scale in ('start', 'weighed', 'pushed'):
        pair = [cases[0.01, scale, name]['largest'] for name in ('ukf', 'ls')]
        assert len(pair[0]) == 3 and np.all(np.less(*pair))
    assert all(case['time'] > 0 for case in found['cases'])


def test_pendulum_command(capfd):
    arguments = ['study', 'pendulum', '--duration', '1', '--runs', '2', '--seed', '3']
    assert cli.main([*arguments, '--workers', '1']) == 0
    text = capfd.readouterr().out
    assert 'total mass weighed: smaller by the UKF than by least squares in' in text
    assert 'pushed by a known force: smaller by the UKF' in text
    assert sum(line.split()[0] in ('0', '1') for line in text.splitlines() if line.strip()) == 18


def test_masses_of_the_uf_pkm():
    """[O] chapter 4, force-based: within 0.1 % without and 6 % with 1 % noise."""
    model = model_of('uf_pkm')
    for noise, limit in ((0.0, 1e-3), (0.01, 0.06)):
        found = study_masses(model, noise, samples=400, runs=3, workers=1)
        assert found['runs'] == (3 if noise else 1)
        assert max(found['worst'].values()) < limit
        for name, worst in found['worst'].items():
            assert 0 < found['errors'][name] <= worst
            assert found['values'][name] == pytest.approx(found['true'][name], rel=limit)
