"""The study of set membership in small."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pkm_bringup import cli
from pkm_bringup.studies.ellipsoid_study import ERRORS, bounded_noise
from pkm_bringup.studies.runs.ellipsoid_forms import compare_forms, root_form


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
    assert case['truth_in_intervals'] == len(content['controlled_robot']['parameters']) == 14
    known = [value for value in content['controlled_robot']['nominal'] if value is not None]
    assert sorted(known) == [0.0008, 0.012, 0.012, 0.012, 0.012, 1.0]  # [P Table I]
    assert {form['lost_at'] for form in case['forms']} == {None}
    assert all(each['centre_off'] < 1e-6 for each in case['forms'])


def strips(size, count, spread, width, seed=0):
    """Strips around a point, in directions of unequal lengths, with errors that stay inside."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(count, size)) * np.geomspace(1.0, spread, size)
    point = 0.3 * random.normal(size=size) / np.sqrt(size)
    middles = rows @ point + width * random.uniform(-1, 1, count)
    return rows / width, middles / width, point


def test_both_forms_of_the_update_agree_until_the_plain_one_is_indefinite():
    """The plain form squares the condition of the rows, and rounding with it."""
    easy = compare_forms(*strips(6, 400, 1e-1, 0.1)[:2])
    by_form = {(each['form'], each['kept']): each for each in easy}
    assert by_form['plain', 'double']['centre_off'] < 1e-9
    assert abs(by_form['plain', 'double']['log_volume_off']) < 1e-9
    rows, middles, point = strips(6, 400, 1e-3, 1e-6)
    hard = {(each['form'], each['kept']): each for each in compare_forms(rows, middles)}
    assert hard['plain', 'single']['lost_at'] is not None
    assert hard['plain', 'single']['centre_off'] is None
    root = root_form(rows, middles, np.float64)
    assert (point - root.centre) @ root.information @ (point - root.centre) <= 1
    assert hard['square root', 'single']['lost_at'] is None
