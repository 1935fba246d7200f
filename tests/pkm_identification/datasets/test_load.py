"""One entry for all formats: options, units, constants, where the data come from."""

from __future__ import annotations

import hashlib
import re

import numpy as np
import pytest

from pkm_description.errors import DatasetError
from pkm_identification.datasets import load
from pkm_identification.datasets.data_file import file_hash

TIME = 0.1 * np.arange(20)
Q, F = np.random.default_rng(0).normal(size=(2, 20, 2))


@pytest.fixture
def saved(tmp_path):
    """The function that writes an NPZ file."""

    def save(**fields):
        content = {'time': TIME, 'joint_names': ['b', 'a'], 'positions': Q, 'efforts': F} | fields
        path = tmp_path / 'data.npz'
        np.savez(path, **{name: value for name, value in content.items() if value is not None})
        return path

    return save


@pytest.mark.parametrize('interval', [100.0, 101.0])
def test_stamps_in_another_unit_are_refused(saved, interval):
    path = saved(time=interval * np.arange(20))
    if interval == 100.0:
        assert load(path).interval == interval
        return
    with pytest.raises(DatasetError, match=r'time goes on by 101 from sample to .* times 1e-9\)'):
        load(path)


def test_options_of_other_formats_are_refused(saved, tmp_path):
    with pytest.raises(
        DatasetError,
        match=r"^unknown option 'topic' for '.*'; valid are joints, effort_unit, force_constants, ",
    ):
        load(saved(), topic='/joint_states', zero=1)
    (tmp_path / 'bag').mkdir()
    for name in ('bag', 'a.mcap', 'a.db3'):
        (tmp_path / name).touch()
        valid = 'topic, allow_incomplete, .*, side, forces$'
        with pytest.raises(DatasetError, match=f"'rate' for .* {valid}"):
            load(tmp_path / name, rate=1)
    (tmp_path / 'a.txt').touch()
    with pytest.raises(DatasetError, match="'rate' for .* valid are joints"):
        load(tmp_path / 'a.txt', rate=1)
    with pytest.raises(DatasetError, match="^unknown effort_unit 'mA'; valid are N, A$"):
        load(saved(), effort_unit='mA')


def test_joints_are_renamed_and_constants_are_of_the_new_names(saved):
    path = saved(efforts=None, currents=F, force_constants=[25.0, np.nan])
    data = load(path, joints={'a': 'left', 'b': 'right'}, force_constants={'left': (20.0, 0.5)})
    assert data.joint_names == ('left', 'right')
    np.testing.assert_array_equal(data.currents, F[:, ::-1])
    assert data.force_constants == {'right': 25.0, 'left': 20.0}
    assert data.force_constant_deviations == {'left': 0.5}
    assert load(path).joint_names == ('b', 'a')


def test_given_constants_must_be_those_of_the_file(saved):
    path = saved(
        efforts=None, currents=F, force_constants=[25.0, 20.0], force_constant_deviations=[0.1, 0.2]
    )
    data = load(path, force_constants={'a': 20.0})
    assert data.force_constants == {'b': 25.0, 'a': 20.0}
    assert data.force_constant_deviations == {'b': 0.1, 'a': 0.2}
    data = load(path, force_constants={'b': (25.2, 0.3)})  # within what is given as uncertain
    assert data.force_constants == {'b': 25.2, 'a': 20.0}
    assert data.force_constant_deviations == {'b': 0.3, 'a': 0.2}
    with pytest.raises(
        DatasetError,
        match=rf"^'{re.escape(str(path))}': force constant of 'b' is 20 in force_constants= "
        'and 25 in the file',
    ):
        load(path, force_constants={'b': 20.0})


def test_efforts_that_are_currents_may_have_constants(saved):
    path = saved()
    data = load(path, effort_unit='A', force_constants={'a': 3.0})
    np.testing.assert_array_equal(data.currents, F)
    assert data.efforts is None and data.force_constants == {'a': 3.0}
    assert load(path, effort_unit='N').has_efforts
    with pytest.raises(
        DatasetError, match=rf"^'{re.escape(str(path))}' holds no currents: force_constants have"
    ):
        load(path, force_constants={'a': 3.0})


def test_files_and_folders_are_known_by_their_contents(saved, tmp_path):
    path = saved()
    expected = hashlib.sha256(path.read_bytes()).hexdigest()
    assert load(path).provenance['sha256'] == file_hash(path) == expected
    folder = tmp_path / 'folder'
    (folder / 'inner').mkdir(parents=True)
    (folder / 'b').write_text('1')
    (folder / 'inner' / 'a').write_text('2')
    parts = (('b', b'1'), ('inner/a', b'2'))
    text = ''.join(f'{name}\0{hashlib.sha256(data).hexdigest()}\0' for name, data in parts)
    assert file_hash(folder) == hashlib.sha256(text.encode()).hexdigest()
