"""The study of set membership in small."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pkm_bringup import cli
from pkm_bringup.studies.ellipsoid_study import ERRORS, bounded_noise


@pytest.mark.parametrize('kind', ERRORS)
def test_errors_stay_in_their_bounds(kind):
    noise = bounded_noise(kind, 400, 3, np.random.default_rng(0))
    assert noise.shape == (400, 3) and np.abs(noise).max() <= 1
    assert np.abs(noise).max(axis=0).min() > 0.1


def test_truth_is_inside_and_outliers_are_few(capsys, tmp_path):
    output = tmp_path / 'study.json'
    options = ['--runs', '3', '--bounds', '15', '--periods', '1', '--workers', '1']
    assert cli.main(['study', 'ellipsoid', *options, '--output', str(output)]) == 0
    assert 'truth inside' in capsys.readouterr().out
    content = json.loads(output.read_text())
    bounded = content['bounded_errors']
    for use in ('mean', 'each'):
        assert bounded[use]['inside'] == 3 and bounded[use]['forces_inside'] == 1.0
        assert bounded[use]['outliers'] == 0
    assert bounded['each']['relative_half_width'] < 0.2 * bounded['mean']['relative_half_width']
    case = content['controlled_robot']['cases'][0]
    assert case['outlier_share'] < 3e-4 and case['distance_of_truth'] < 1
    assert case['noise_free_inside'] == case['measured_inside'] == 1.0
