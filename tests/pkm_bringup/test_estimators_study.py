"""The comparison of [A] Table III in small, and its statistics against known numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from chances import CHANCE, count_range, deviation_range, mean_limit, normal_limit
from scipy.special import gamma

from pkm_bringup import cli
from pkm_bringup.studies.estimators_study import BEST, summary

RUNS = 4000


def made(deviations, bias, seed=0):
    """Return estimates of six parameters around ones, with a bias in the first of them."""
    values = 1 + deviations * np.random.default_rng(seed).normal(size=(RUNS, 6))
    values[:, 0] += bias
    return [{'values': each, 'deviations': np.full(6, 0.1)} for each in values]


def judged(root, **estimates):
    found = [
        {'harmonics': 5, **dict(zip(estimates, each, strict=True))}
        for each in zip(*estimates.values(), strict=True)
    ]
    return summary(found, list(estimates), np.ones(6), root, list('abcdef'))


def test_figures_of_known_estimates():
    """Each within what chance may do to as many runs, see `chances`."""
    estimates = {
        'ls': made(0.2, 0.1),
        'gauss_markov': made(0.15, 0.0, seed=1),
        BEST: made(0.1, 0.0, seed=2),
    }
    root = np.diag([1.0, 2, 3, 4, 5, 6])
    content = judged(root, **estimates)
    assert content['well_determined'] == list('abcdef')
    assert content['ls']['bias_p'] < 1e-6 and content['ls']['biased_parameters'] >= 1  # t = 32
    assert content[BEST]['bias_p'] > CHANCE
    assert content[BEST]['biased_parameters'] <= count_range(0.01, 6)[1]
    low, high = deviation_range(RUNS, figures=6)
    mean_norm = (
        np.sqrt(2 / 6) * gamma(3.5) / gamma(3)
    )  # of six standard normal values, over their root
    for name, ratio in (('ls', 0.5), ('gauss_markov', 2 / 3), (BEST, 1.0)):
        assert low < ratio / content[name]['reported_to_observed'] < high
        if name != 'ls':
            error = pytest.approx(mean_norm / ratio, abs=mean_limit(RUNS) * 0.3 / ratio)
            assert content[name]['error'] == error
    magnitude, spread = 0.1 * np.sqrt(2 / np.pi), 0.1 * np.sqrt(1 - 2 / np.pi)
    expected = pytest.approx(magnitude, abs=spread * mean_limit(6 * RUNS))
    assert content[BEST]['relative_error'] == expected
    squares = 0.1**2 * np.arange(1, 7) ** 2  # independent errors of 0.1 through the diagonal
    assert 0.9 * np.sqrt(squares.sum()) < content[BEST]['force_error'] < np.sqrt(squares.sum())
    for pair in content['paired'].values():
        assert pair['error']['p'] < 1e-6 and pair['error']['decrease'] > 0
        assert RUNS / 2 < pair['force_error']['runs'] < RUNS
    same = judged(root, **{**estimates, 'ls': made(0.15, 0.0, seed=3)})
    assert same['paired']['gauss_markov below ls']['error']['p'] > CHANCE


def test_the_command(tmp_path):
    path = tmp_path / 'study.json'
    arguments = ['study', 'estimators', '--runs', '4', '--periods', '2', '--scale', '500']
    assert cli.main([*arguments, '--workers', '1', '--output', str(path)]) == 0
    (content,) = json.loads(path.read_text())['levels']
    assert content['position_noise'] == pytest.approx(0.01) and content['runs'] == 4
    assert len(content['parameters']) == len(content['ls']['bias']) == 24
    limit = normal_limit(4 * 24)  # in standard deviations, the largest of all runs
    assert 0 < content[BEST]['error'] < min(limit, content['ls']['error'])


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
    assert 0 < content['output_error']['error'] < normal_limit(4 * len(content['parameters']))
    assert set(content['paired']) == {'output_error below ls'}
