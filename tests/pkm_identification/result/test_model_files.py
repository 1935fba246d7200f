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
from pkm_identification.result.provenance import description_path
from pkm_identification.validation.validate import compare, relative_absolute_error


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
    assert pkm_description.load(loaded.path).digest == own.digest == loaded.digest


def rewrite(path, content):
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def changed(value):
    """Return an edit that puts a value in place of the one that a path of keys leads to."""

    def edit(content, *keys):
        for key in keys[:-1]:
            content = content[key]
        if value is None:
            del content[keys[-1]]
        else:
            content[keys[-1]] = value

    return edit


@pytest.mark.parametrize(
    ('keys', 'edit', 'message'),
    [
        (('robot',), changed(None), "lacks 'robot'"),
        (('format',), changed(None), 'not an identified model'),
        (('version',), changed(99), 'version 99; this release reads versions up to 3: read it'),
        (('estimator',), changed(3), "'estimator' must be a text, not 3"),
        (('is_physical',), changed('no'), "'is_physical' must be true or false, not 'no'"),
        (('p_value_physical',), changed(1.5), "'p_value_physical' must be a number from 0 to 1"),
        (('actuated_joints', 1), changed('left'), "'actuated_joints' names 'left' twice"),
        (('residual_rms',), changed([1.0]), r"'residual_rms' has shape \(1,\)"),
        (('covariance', 0), changed(None), r"'covariance' has shape \(6, 7\)"),
        (('covariance', 0, 1), changed(1e9), "'covariance' holds a correlation beyond one"),
        (('covariance', 0, 0), changed(-1.0), "'covariance' has a negative variance"),
        (('parameters', 0, 'value'), changed(float('nan')), r"'parameters\[0\].value' is not fin"),
        (('parameters', 0, 'value'), changed('x'), r"'parameters\[0\].value' must be a number"),
        (('parameters', 0, 'unit'), changed(None), r"lacks 'parameters\[0\].unit'"),
        (('parameters', 0, 'value'), changed(7.0), "do not have the value of parameter 'a.m'"),
        (
            ('parameters', 1, 'standard_deviation'),
            changed(7.0),
            r"'parameters\[1\].standard_deviation' is 7, but the variance",
        ),
        (('standard_parameters', 'c.m'), changed([]), "'standard_parameters.c.m' must be a num"),
        (('standard_parameters', 'c.m'), changed(None), "unknown standard parameter 'c.m'"),
        (('base_matrix', 0), changed({'nobody.m': 1.0}), "unknown standard parameter 'nobody.m'"),
        (('base_columns', 0, 'a.m'), changed(None), r"'base_matrix\[0\]' and 'base_columns\[0\]'"),
        (('residual_analysis', 0, 'rms'), changed('x'), r"'residual_analysis\[0\].rms' must be"),
        (('diagnostics',), changed([]), "'diagnostics' must be a mapping"),
        (
            ('diagnostics', 'force_errors', 'holding'),
            changed(None),
            "'diagnostics.force_errors' was written by an earlier release, .*: identify again",
        ),
    ],
)
def test_edited_files(tmp_path, result, keys, edit, message):
    content = yaml.safe_load(result.save(tmp_path / 'model.yaml').read_text())
    edit(content, *keys)
    with pytest.raises(ModelFileError, match=message):
        load_result(rewrite(tmp_path / 'bad.yaml', content))


def test_sorted_file(tmp_path, result, slider_model):
    content = yaml.safe_load(result.save(tmp_path / 'model.yaml').read_text())
    bodies = content['standard_parameters']
    content['standard_parameters'] = dict(reversed(bodies.items()))
    path = rewrite(tmp_path / 'sorted.yaml', content)
    with pytest.raises(ModelFileError, match='standard parameters.*their order is another'):
        load_result(path, slider_model)


def test_cut_off_files(tmp_path, result, slider_model):
    text = result.save(tmp_path / 'model.yaml').read_text()
    path = tmp_path / 'cut.yaml'
    accepted = 0
    for end in [*range(40, len(text), 1000), *range(len(text) - 60, len(text))]:
        path.write_text(text[:end])
        try:
            loaded = load_result(path, slider_model)
        except ModelFileError as error:
            assert 'cut.yaml' in str(error)
            continue
        accepted += 1
        np.testing.assert_array_equal(loaded.columns, result.columns)
    assert accepted <= 3  # the last line break, and the last zero of 1.0


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
    rms = np.sqrt((2 * 0.5**2 + 2 * 1.0**2) / (1.0 + 4.0 + 9.0))
    assert compare(reference + [0.5, -1.0], reference).relative_rms == pytest.approx(rms)


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
    wrong = validate(heavier.changed(efforts=heavier.efforts * [1.5, 1.0]), result, slider_model)
    assert not wrong.is_unbiased[0] and wrong.is_unbiased[1]
