"""Studies of the Kalman filters, at a small size."""

from __future__ import annotations

from argparse import Namespace

import numpy as np
import pytest
from every_model import model_of

from pkm_bringup import cli
from pkm_bringup.runner import Runner
from pkm_bringup.studies import pendulum_study, uf_pkm_study
from pkm_bringup.studies.pendulum_study import equations, record, true_parameters
from pkm_bringup.views.study_views.study_tables import print_uf_pkm


@pytest.fixture(scope='module')
def pendulum():
    return model_of('cart_pendulum')


def test_equations_are_those_of_the_library_robot(pendulum):
    """Zero on a free fall that the multibody model integrates, and only with its parameters."""
    truth = true_parameters(pendulum)
    np.testing.assert_allclose(truth, [0.5, 0.75, 0.75, 0.5, 1.5])
    states = record(1.0, 'start').states
    assert np.abs(equations(truth, states.T)).max() < 1e-9
    assert np.abs(equations(3 * truth, states.T)).max() > 1.0
    masses = truth * [1, 1, 3, 3, 3]
    assert np.abs(equations(masses, states.T)).max() < 1e-9  # free fall does not show a scale
    pushed = record(1.0, 'pushed')
    forces = equations(truth, pushed.states.T)
    np.testing.assert_allclose(forces, pushed.forces, atol=1e-8)
    assert np.ptp(pushed.forces[:, 0]) > 19.0
    assert np.abs(equations(masses, pushed.states.T) - pushed.forces).max() > 10.0


def test_pendulum():
    """[O] chapter 3: all within 1 % without noise; better than least squares with noise."""
    options = Namespace(noise=0.01, duration=3.0, runs=3, seed=0)
    found = pendulum_study.run(options, Runner(1))
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


def test_masses_of_the_uf_pkm(monkeypatch, capsys):
    """[O] chapter 4: what its tables say, case by case."""
    monkeypatch.setattr(uf_pkm_study, 'SAMPLES', 500)
    content = uf_pkm_study.run(Namespace(noise=0.01, runs=3, seed=0), Runner(1))
    tables = {}
    for case in content['cases']:
        assert case['runs'] == (3 if case['noise'] else 1)
        assert all(0 < case['errors'][name] <= worst for name, worst in case['worst'].items())
        tables.setdefault(case['table'], []).append(case)
    # without noise, whatever the motion, the order of the samples and known friction: [O] has 0.04
    # to 16.5 %, and 56 % at random
    for table in ('4.4', '4.10', '4.12'):
        assert len(tables[table]) == 4
        assert all(max(case['worst'].values()) < 1e-6 for case in tables[table])
    known, neglected = (
        [max(case['worst'].values()) for case in tables['4.6'] if case['friction'] == friction]
        for friction in ('known', 'neglected')
    )
    assert len(known) == 4 and max(known) < 1e-6
    assert len(neglected) == 3 and min(neglected) > 1e-3
    # energy is integrated between samples, and needs exact positions
    assert all(1e-9 < max(case['worst'].values()) < 1e-3 for case in tables['4.8'])
    assert [case['noise'] for case in tables['4.14']] == [0.01, 0.05]
    for case, limit in zip(tables['4.14'], (0.06, 0.1), strict=True):
        assert max(case['worst'].values()) < limit
    assert max(tables['4.16'][0]['worst'].values()) > 0.3
    # sines without rotation show the masses, and the inertia of the stators across; of that of
    # the platform nothing: it stays at its start, as uncertain as there
    for table in ('4.5', '4.11', '4.13'):
        assert len(tables[table]) == 3
        for case in tables[table]:
            assert max(case['worst'][mass] for mass in uf_pkm_study.BODIES) < 1e-6
            assert case['worst']['Izzb'] < 0.01
            for name in ('Ixxp', 'Iyyp', 'Izzp'):
                assert case['worst'][name] == pytest.approx(0.1, rel=1e-3)
                told = case['standard_deviation'][name] / case['true'][name]
                assert told == pytest.approx(case['start_deviation'], rel=1e-3)
    falling = next(case for case in tables['4.7'] if case['motion'] == 'fall')
    assert max(falling['worst'][name] for name in ('Ixxp', 'Iyyp', 'Izzp')) < 1e-3  # it turns
    print_uf_pkm(content)
    out = capsys.readouterr().out
    assert out.count('neglected') == 9 and 'Iyye' in out
