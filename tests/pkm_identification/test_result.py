"""Results, their files, and validation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml

import pkm_description
from pkm_description.errors import ModelFileError
from pkm_identification import identify, load_result, validate
from pkm_identification.datasets import Truth
from pkm_identification.estimators.identify import description_path
from pkm_identification.validation import relative_absolute_error


@pytest.fixture
def result(record, slider_model):
    return identify(record(seed=7), slider_model, 'gauss_markov')


def test_round_trip(tmp_path, result, slider_model, motion):
    path = result.save(tmp_path / 'model.yaml')
    loaded = load_result(path, slider_model)
    for name in (
        'values',
        'covariance',
        'matrix',
        'columns',
        'residual_rms',
        'standard_parameters',
    ):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(result, name))
    for name in ('names', 'units', 'expressions', 'estimator', 'robot', 'digest', 'is_physical'):
        assert getattr(loaded, name) == getattr(result, name)
    assert loaded.diagnostics == result.diagnostics
    some = motion(np.arange(10) * 0.07)
    np.testing.assert_array_equal(loaded.predict(some), result.predict(some))
    assert [p.name for p in tmp_path.iterdir()] == ['model.yaml']


def test_predicted_uncertainty(result, slider_model, motion):
    some = motion(np.arange(10) * 0.07)
    forces, deviation = result.predict(some, standard_deviation=True)
    regressor = slider_model.regressor(some)
    expected = [[np.sqrt(row @ result.covariance @ row) for row in rows] for rows in regressor]
    np.testing.assert_allclose(deviation, expected)
    np.testing.assert_allclose(forces, regressor @ result.values)


def test_existing_file_is_kept(tmp_path, result):
    path = tmp_path / 'model.yaml'
    path.write_text('mine')
    with pytest.raises(ModelFileError, match='exists already'):
        result.save(path)
    assert path.read_text() == 'mine'


def test_unwritable_folder(tmp_path, result):
    (tmp_path / 'file').write_text('')
    with pytest.raises(ModelFileError, match='cannot be written'):
        result.save(tmp_path / 'file' / 'model.yaml')


def test_other_robot(tmp_path, result, slider_model):
    path = result.save(tmp_path / 'model.yaml')
    content = yaml.safe_load(path.read_text())
    content['robot'] = 'crane'
    content['description_digest'] = 'e' * 64
    other = tmp_path / 'other.yaml'
    other.write_text(yaml.safe_dump(content))
    with pytest.raises(ModelFileError, match="other.yaml.*robot 'crane', not to 'sliders'"):
        load_result(other, slider_model)
    content['robot'] = 'sliders'
    other.write_text(yaml.safe_dump(content))
    with pytest.raises(ModelFileError, match=r'other\.yaml.*has changed since'):
        load_result(other, slider_model)


def test_own_robot_with_the_name_of_a_library_robot(tmp_path, monkeypatch, result):
    library = pkm_description.load('palida')
    assert description_path(library) == ''
    assert description_path(pkm_description.loads(library.urdf, library.yaml_text)) == ''
    (tmp_path / 'own.urdf').write_text(library.urdf)
    text = library.yaml_text.replace('transition_velocity', '# transition_velocity') + '\n# own\n'
    (tmp_path / 'own.yaml').write_text(text)
    monkeypatch.chdir(tmp_path)
    own = pkm_description.load('own.urdf')
    assert own.name == 'palida'
    path = description_path(own)
    assert path == str(tmp_path / 'own.urdf')
    monkeypatch.chdir('/')
    saved = replace(result, robot=own.name, digest=own.digest, path=path)
    loaded = load_result(saved.save(tmp_path / 'model.yaml'))
    assert loaded.model.description.digest == own.digest


def edit(content, key):
    if key == 'covariance':
        content['covariance'] = content['covariance'][1:]
    elif key == 'parameters':
        content['parameters'][0]['value'] = float('nan')
    elif key == 'base_matrix':
        content['base_matrix'][0] = {'nobody.m': 1.0}
    elif key == 'version':
        content['version'] = 99
    else:
        del content[key]


@pytest.mark.parametrize(
    ('key', 'message'),
    [
        ('covariance', r'covariance has shape \(6, 7\)'),
        ('parameters', 'not finite'),
        ('base_matrix', "unknown standard parameter 'nobody.m'"),
        ('version', 'version 99'),
        ('robot', "lacks 'robot'"),
        ('format', 'not an identified model'),
    ],
)
def test_malformed_files(tmp_path, result, key, message):
    content = yaml.safe_load(result.save(tmp_path / 'model.yaml').read_text())
    edit(content, key)
    path = tmp_path / 'bad.yaml'
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ModelFileError, match=message):
        load_result(path)


def test_unreadable_files(tmp_path):
    with pytest.raises(ModelFileError, match='does not exist'):
        load_result(tmp_path / 'none.yaml')
    (tmp_path / 'bad.yaml').write_text('a: [')
    with pytest.raises(ModelFileError, match='cannot be read'):
        load_result(tmp_path / 'bad.yaml')
    (tmp_path / 'evil.yaml').write_text('!!python/object/apply:os.getcwd []')
    with pytest.raises(ModelFileError, match='cannot be read'):
        load_result(tmp_path / 'evil.yaml')


def test_relative_absolute_error():
    reference = np.array([[0.0, 1.0], [2.0, 3.0]])
    per_axis, overall = relative_absolute_error(reference + [0.5, -1.0], reference)
    np.testing.assert_allclose(per_axis, [0.5, 1.0])
    assert overall == pytest.approx(0.75)


def test_validation_on_another_recording(record, slider_model, motion, result):
    data = record(seed=8, periods=5, period=1.3, delay=-0.5e-3)
    noise_free = slider_model.inverse_dynamics(motion(data.time - 0.5e-3, 1.3))
    truth = Truth(data.time - 0.5e-3, data.positions, data.positions, noise_free)
    found = validate(replace(data, truth=truth), result, slider_model)
    assert found.against_truth.overall < 0.03
    assert found.against_truth_in_band.overall < found.against_truth.overall
    assert (found.against_truth.relative_absolute_error < 0.05).all()
    assert found.is_unbiased.all()
    expected = np.sqrt(np.diag(found.noise_covariance))
    np.testing.assert_allclose(found.against_measured.residual_rms, expected, rtol=0.15)


def test_prediction_error_is_what_its_standard_deviation_says(record, slider_model, motion):
    some = motion(np.arange(1300) * 1e-3, 1.3)
    truth = slider_model.inverse_dynamics(some)
    squares = []
    for seed in range(12):
        estimate = identify(record(seed=seed), slider_model, 'gauss_markov')
        forces, deviation = estimate.predict(some, standard_deviation=True)
        squares.append(np.mean(((forces - truth) / deviation) ** 2))
    assert 0.6 < np.sqrt(np.mean(squares)) < 1.4


def test_validation_shows_a_wrong_model(record, slider_model, result):
    heavier = record(seed=9)
    wrong = validate(replace(heavier, efforts=heavier.efforts * [1.5, 1.0]), result, slider_model)
    assert not wrong.is_unbiased[0] and wrong.is_unbiased[1]
