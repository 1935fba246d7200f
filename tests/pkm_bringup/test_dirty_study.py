"""Dirty recordings in small: every defect is named, the estimates hardly suffer."""

from __future__ import annotations

import json

import pytest

from pkm_bringup import cli

WORSE = ['--lost', '0.05', '--stuck', '0.2', '--size', '20', '60']
HOST = ['--jitter', '0', '--late', '0.5', '--repeated', '0.06']


@pytest.mark.parametrize('arguments', [[], WORSE, HOST])
def test_the_command(tmp_path, arguments):
    path = tmp_path / 'study.json'
    command = ['study', 'dirty', '--robot', 'five_bar', '--runs', '5', '--periods', '4']
    command += ['--workers', '1', *arguments]
    assert cli.main([*command, '--output', str(path)]) == 0
    (content,) = json.loads(path.read_text())['robots']
    assert all(share == 1.0 for share in content['named'].values())
    found = content['found']
    assert found['stuck_found'] > 0.9 and found['lost_found'] == pytest.approx(1.0, abs=0.02)
    assert min(found['position_outliers_found'], found['effort_outliers_found']) > 0.9
    assert found['false_alarms'] < 2e-3
    assert found['repeats_found'] == (pytest.approx(1.0, abs=0.01) if arguments is HOST else 0.0)
    errors = content['errors']
    for name in ('ls', 'wls', 'gauss_markov', 'irls'):
        assert errors[name]['ratio'] < 1.5
    assert errors['ls, nothing left out']['ratio'] > errors['ls']['ratio']


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        (['--jitter', '0.5'], 'would exchange samples'),
        (['--late', '0.5'], 'not both'),
        (['--lost', '0.9'], 'leaves no recording'),
        (['--outliers', '0.9'], 'leaves no recording'),
        (['--size', '100', '15'], '100 to 15 is no range'),
        (['--stuck', '1000'], 'stands still for 1000 s'),
    ],
)
def test_recordings_beyond_repair_are_refused(options, words, fails):
    assert words in fails('study', 'dirty', '--robot', 'five_bar', '--workers', '1', *options)
