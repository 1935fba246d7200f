"""Recordings that lie about their size, block, or hold more than one recording."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from pkm_description.errors import DatasetError, EstimationError
from pkm_identification import load, load_result
from pkm_identification.options import written_options

HUGE = 600_000_000  # numbers: 4.8 GB
COUNT = 200


def arrays() -> dict[str, np.ndarray]:
    time = np.arange(COUNT) / 100
    wave = np.sin(time)[:, None]
    return {'time': time, 'joint_names': np.array(['a']), 'positions': wave, 'efforts': wave}


def npy_header(count: int) -> bytes:
    stream = io.BytesIO()
    header = {'descr': '<f8', 'fortran_order': False, 'shape': (count,)}
    np.lib.format.write_array_header_1_0(stream, header)
    return stream.getvalue()


@pytest.mark.parametrize('name', ['time', 'efforts', 'anything'])
def test_declared_array_that_is_not_there(tmp_path: Path, name: str) -> None:
    path = tmp_path / 'data.npz'
    np.savez(path, **{key: value for key, value in arrays().items() if key != name})
    with zipfile.ZipFile(path, 'a') as file:
        file.writestr(f'{name}.npy', npy_header(HUGE))
    with pytest.raises(DatasetError, match='declares an array of 4800000000 bytes'):
        load(path)


def test_archive_packed_too_densely(tmp_path: Path) -> None:
    path = tmp_path / 'data.npz'
    np.savez_compressed(path, **arrays(), more=np.zeros(20_000_000))
    with pytest.raises(DatasetError, match='packed so densely'):
        load(path)


def test_constant_channels_are_no_bomb(tmp_path: Path) -> None:
    path = tmp_path / 'data.npz'
    np.savez_compressed(path, **arrays(), more=np.zeros(100_000))
    assert len(load(path)) == COUNT


@pytest.mark.parametrize('compressed', [True, False])
def test_element_of_a_mat_file_larger_than_the_file(tmp_path: Path, compressed: bool) -> None:
    path = tmp_path / 'data.mat'
    savemat(path, {'t': np.arange(50.0)}, do_compression=compressed)
    data = bytearray(path.read_bytes())
    data[132:136] = (4_800_000_000 % 2**32).to_bytes(4, 'little')
    path.write_bytes(data)
    names = {'time': {'column': 't'}, 'joints': {'a': {'position': 't', 'effort': 't'}}}
    (tmp_path / 'columns.yaml').write_text(str(names))
    with pytest.raises(DatasetError):
        load(path)
    from pkm_identification.datasets.tables.mat_elements import check_elements

    with pytest.raises(DatasetError, match='are left'):
        check_elements(path)


@pytest.mark.parametrize('suffix', ['.csv', '.npz', '.mcap', '.db3'])
def test_pipes_and_devices_are_no_recordings(tmp_path: Path, suffix: str) -> None:
    os.mkfifo(tmp_path / f'pipe{suffix}')
    (tmp_path / f'zero{suffix}').symlink_to('/dev/zero')
    for name in ('pipe', 'zero'):
        with pytest.raises(DatasetError, match='not a regular file'):
            load(tmp_path / f'{name}{suffix}')


def test_an_empty_name_names_nothing() -> None:
    with pytest.raises(DatasetError, match='empty name'):
        load('')


def test_folder_with_two_bags_names_both(tmp_path: Path) -> None:
    for name in ('one', 'two'):
        (tmp_path / name).mkdir()
        (tmp_path / name / 'metadata.yaml').write_text('x: 1')
        (tmp_path / name / f'{name}.db3').write_bytes(b'')
    with pytest.raises(DatasetError, match="several recordings: name one of '.*one', '.*two'"):
        load(tmp_path)


def test_model_file_of_brackets(tmp_path: Path) -> None:
    path = tmp_path / 'model.yaml'
    path.write_text('[' * 100_000)
    with pytest.raises(Exception, match='nested more than 50 levels'):
        load_result(path)
    with pytest.raises(EstimationError, match='nested more than 50 levels'):
        written_options([('cutoff', '[' * 100_000)])
