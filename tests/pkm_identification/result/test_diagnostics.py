"""Typed diagnostics: fields, the same as plain values by key, also from a file."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from pkm_description.errors import ModelFileError
from pkm_identification import identify, load_result
from pkm_identification.estimators.set_membership.parameter_ellipsoid import EllipsoidDiagnostics
from pkm_identification.result.diagnostics import Diagnostics, NoiseSource, RecordedDescription


def test_fields_and_keys_say_the_same(record, slider_model):
    found = identify(record(periods=4), slider_model, fixed={'b.m': 3.0}).diagnostics
    assert found['noise_from'] == 'spread over periods'
    assert found.fit.noise_from == (NoiseSource.SPREAD,)
    assert found['fixed'] == ['b.m'] and found.parameters.fixed == ('b.m',)
    assert found['signals']['periods'] == found.data[0].signals['periods'] == 4
    np.testing.assert_array_equal(found['force_noise'], found.data[0].force_noise)
    assert found['recorded_description'] == 'none'
    assert found.data[0].recorded_description is RecordedDescription.NONE
    assert 'delay' not in found and 'runs' not in found and 'dropped' not in found
    assert found['degrees_of_freedom'] == found['equations'] - 6


@pytest.mark.parametrize('several', [False, True])
def test_files_keep_the_types(tmp_path, record, slider_model, several):
    data = [record(periods=3, seed=seed) for seed in range(1 + several)]
    result = identify(data, slider_model, delay='estimate')
    loaded = load_result(result.save(tmp_path / 'model.yaml')).diagnostics
    assert loaded == result.diagnostics and dict(loaded) == dict(result.diagnostics)
    assert loaded.condition == result.diagnostics.condition
    assert loaded.parameters == result.diagnostics.parameters
    assert [each.delay for each in loaded.data] == [each.delay for each in result.diagnostics.data]
    assert len(loaded.fit.runs) == (2 if several else 0)
    for one, other in zip(loaded.data, result.diagnostics.data, strict=True):
        np.testing.assert_array_equal(one.force_noise_correlation, other.force_noise_correlation)


def test_what_an_estimator_alone_tells_is_its_dataclass(tmp_path, record, slider_model):
    result = identify(record(periods=3), slider_model, 'ellipsoid', force_bound=100.0, passes=3)
    loaded = load_result(result.save(tmp_path / 'model.yaml')).diagnostics
    made = result.diagnostics.own_as(EllipsoidDiagnostics)
    read = loaded.own_as(EllipsoidDiagnostics)
    assert read.outliers == made.outliers == loaded['outliers']
    assert read.strips == made.strips and read.half_axis == pytest.approx(made.half_axis)
    with pytest.raises(ValueError, match='lacks'):
        identify(record(periods=3), slider_model).diagnostics.own_as(EllipsoidDiagnostics)


def test_a_malformed_entry_is_named(tmp_path, record, slider_model):
    result = identify(record(periods=3), slider_model)
    content = yaml.safe_load(result.save(tmp_path / 'model.yaml').read_text())
    content['diagnostics']['covariance_scale'] = 'wide'
    (tmp_path / 'wrong.yaml').write_text(yaml.safe_dump(content))
    with pytest.raises(ModelFileError, match="'diagnostics.covariance_scale' must be a number"):
        load_result(tmp_path / 'wrong.yaml')


def test_few_entries_are_enough():
    assert dict(Diagnostics.from_mapping({'outliers': 3}))['outliers'] == 3
    assert Diagnostics().fit is None and Diagnostics()['warnings'] == []
