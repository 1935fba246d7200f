"""Files of designs: what is written is read, bit for bit; what is malformed is named."""

import dataclasses

import numpy as np
import pytest
import yaml
from every_model import model_of

from pkm_description.errors import TrajectoryError
from pkm_identification.excitation import DesignLimits, ExcitationDesign, design_excitation

OPTIONS = {'harmonics': 2, 'period': 1.0, 'starts': 1, 'iterations': 1, 'candidates': 1}
OPTIONS |= {'workers': 1, 'sampling_rate': 100.0}


@pytest.fixture(scope='module')
def model():
    return model_of('five_bar')


@pytest.fixture(scope='module')
def design(model):
    return design_excitation(
        model,
        {'d_optimal': 1 / 3, 'condition_number': 0.1},
        prior=np.eye(6),
        limits=DesignLimits(acceleration=[3.0, np.inf]),
        **OPTIONS,
    )


@pytest.fixture
def saved(design, tmp_path):
    design.save(tmp_path / 'design.yaml')
    return tmp_path / 'design.yaml'


def test_everything_comes_back_bit_for_bit(model, design, saved, tmp_path):
    again = ExcitationDesign.load(saved, model)
    for field in dataclasses.fields(ExcitationDesign):
        mine, other = getattr(design, field.name), getattr(again, field.name)
        if field.name == 'trajectory':
            assert mine.to_dict() == other.to_dict()
        elif isinstance(mine, np.ndarray):
            assert np.array_equal(mine, other)
        else:
            assert mine == other, field.name
    assert again.standard_deviation(7) == design.standard_deviation(7)
    time = np.linspace(0.0, 1.0, 7)
    assert np.array_equal(again.motion(time).position, design.motion(time).position)
    again.save(tmp_path / 'again.yaml')
    assert (tmp_path / 'again.yaml').read_bytes() == saved.read_bytes()


def test_a_failed_write_leaves_nothing(design, tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr('os.fsync', full)
    with pytest.raises(TrajectoryError, match='No space left'):
        design.save(tmp_path / 'new.yaml')
    assert list(tmp_path.iterdir()) == []


def test_without_a_model_there_are_figures_but_no_motion(saved, design):
    alone = ExcitationDesign.load(saved)
    assert alone.figures == design.figures and alone.period == 1.0
    with pytest.raises(TrajectoryError, match='without a model'):
        alone.motion([0.0])


def test_designs_of_other_robots_are_named(saved):
    with pytest.raises(TrajectoryError, match=r"design.yaml: .* 'five_bar', not 'delta'"):
        ExcitationDesign.load(saved, model_of('delta'))


def test_matrices_are_the_designs_own(design):
    with pytest.raises(ValueError, match='read-only'):
        design.period_information[0, 0] = 0.0


@pytest.mark.parametrize(
    ('path', 'value', 'match'),
    [
        (['format'], 'other', 'not an excitation design'),
        (['version'], 99, 'version 99'),
        (['figures'], None, 'figures'),
        (['figures'], [1, 2], 'figures'),
        (['figures', 'standard_deviation'], None, 'standard_deviation'),
        (['figures', 'd_optimal'], 'low', 'd_optimal'),
        (['figures', 'd_optimal'], float('nan'), 'd_optimal'),
        (['margins'], 'wide', 'margins'),
        (['margins', 'stroke'], 3.0, 'margins: stroke'),
        (['criterion'], 'best', "criterion 'best'"),
        (['criterion'], 7, 'criterion'),
        (['ramp_time'], 'long', 'ramp_time'),
        (['ramp_time'], -1.0, 'ramp_time'),
        (['origin'], 'Hannover', 'origin'),
        (['trajectory'], None, 'trajectory'),
        (['trajectory', 'sine'], [[1.0]], 'sine'),
        (['trajectory', 'period'], 'x', 'period'),
        (['trajectory', 'coordinate_names'], ['a', 'b'], 'coordinate_names'),
        (['trajectory', 'type'], 'circle', 'unknown key|Fourier'),
        (['period_information'], [[1.0]], 'period_information'),
        (['period_information'], 'much', 'period_information'),
        (['prior'], [[float('nan')] * 6] * 6, 'prior'),
    ],
)
def test_malformed_files_are_named_with_what_is_wrong(model, saved, tmp_path, path, value, match):
    content = yaml.safe_load(saved.read_text())
    table = content
    for key in path[:-1]:
        table = table[key]
    table[path[-1]] = value
    broken = tmp_path / 'broken.yaml'
    broken.write_text(yaml.safe_dump(content))
    with pytest.raises(TrajectoryError, match=match) as caught:
        ExcitationDesign.load(broken, model)
    assert 'broken.yaml' in str(caught.value)
    del table[path[-1]]
    if path[-1] in ('figures', 'margins', 'criterion', 'trajectory'):
        broken.write_text(yaml.safe_dump(content))
        with pytest.raises(TrajectoryError, match=f'broken.yaml: lacks {path[-1]}'):
            ExcitationDesign.load(broken, model)


@pytest.mark.parametrize('text', ['', '[1, 2', '- a', 'x: !!python/object:os.system 1', '\x00'])
def test_files_that_are_no_designs(tmp_path, text):
    (tmp_path / 'odd.yaml').write_text(text)
    with pytest.raises(TrajectoryError, match='odd.yaml'):
        ExcitationDesign.load(tmp_path / 'odd.yaml')
    with pytest.raises(TrajectoryError, match='nowhere'):
        ExcitationDesign.load(tmp_path / 'nowhere')
    with pytest.raises(TrajectoryError, match=tmp_path.name):
        ExcitationDesign.load(tmp_path)
