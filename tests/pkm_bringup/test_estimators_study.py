"""The comparison of [A] Table III in small, and its statistics against known numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pkm_bringup import cli
from pkm_bringup.studies.estimators import BEST, Estimates, Study, report


def made(deviations, bias, runs=200, size=6, seed=0):
    """Return estimates around ones, with a bias in the first parameter."""
    values = 1 + deviations * np.random.default_rng(seed).normal(size=(runs, size))
    values[:, 0] += bias
    return Estimates(values, np.full((runs, size), 0.1))


def test_figures_of_known_estimates():
    names = list('abcdef')
    estimates = {
        'ls': made(0.2, 0.1),
        'gauss_markov': made(0.15, 0.0, seed=1),
        BEST: made(0.1, 0.0, seed=2),
    }
    root = np.diag([1.0, 2, 3, 4, 5, 6])
    content = report(Study(names, np.ones(6), 1e-3, 5.0, estimates, root))
    assert content['well_determined'] == names
    assert content['ls']['bias_p'] < 1e-6 and content['ls']['biased_parameters'] >= 1
    assert content[BEST]['bias_p'] > 0.01 and content[BEST]['biased_parameters'] == 0
    for name, ratio in (('ls', 0.5), ('gauss_markov', 2 / 3), (BEST, 1.0)):
        assert content[name]['reported_to_observed'] == pytest.approx(ratio, rel=0.05)
        assert content[name]['error'] == pytest.approx(1 / ratio, rel=0.15)
    assert content[BEST]['relative_error'] == pytest.approx(0.1 * np.sqrt(2 / np.pi), rel=0.05)
    expected = 0.1 * np.sqrt(91.0)  # independent errors of 0.1 through the diagonal
    assert content[BEST]['force_error'] == pytest.approx(expected, rel=0.1)
    for pair in content['paired'].values():
        assert pair['error']['p'] < 1e-6 and pair['error']['decrease'] > 0
        assert 100 < pair['force_error']['runs'] < 200
    same = report(
        Study(names, np.ones(6), 1e-3, 5.0, {**estimates, 'ls': made(0.15, 0.0, seed=3)}, root)
    )
    assert same['paired']['gauss_markov below ls']['error']['p'] > 1e-3


def test_the_command(tmp_path):
    path = tmp_path / 'study.json'
    arguments = ['study', 'estimators', '--runs', '4', '--periods', '2', '--scale', '500']
    assert cli.main([*arguments, '--workers', '1', '--output', str(path)]) == 0
    (content,) = json.loads(path.read_text())['levels']
    assert content['position_noise'] == pytest.approx(0.01) and content['runs'] == 4
    assert len(content['parameters']) == len(content['ls']['bias']) == 24
    assert 0.6 < content[BEST]['error'] < 1.5 and content[BEST]['error'] < content['ls']['error']


def test_output_error_under_the_servo(capsys):
    """Knows the reference from the recording and the servo from its defaults."""
    names = ['ls', 'output_error']
    options = ['--runs', '4', '--periods', '4', '--plant', 'servo', '--scale', '5']
    options += ['--workers', '1', '--robot', 'five_bar', '--estimators', *names, '--json']
    assert cli.main(['study', 'estimators', *options]) == 0
    written = json.loads(capsys.readouterr().out)
    (content,) = written['levels']
    assert content['plant'] == 'servo'
    assert written['origin']['options']['estimators'] == names
    assert {'numpy', 'pkm_identification'} <= set(written['origin']['versions'])
    assert content['output_error']['error'] < 2.0
    assert set(content['paired']) == {'output_error below ls'}
