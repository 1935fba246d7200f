"""CSV and NPZ files: columns by name, in any order, in memory or in blocks."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pkm_description.errors import DatasetError
from pkm_identification.datasets import load, stored_array
from pkm_identification.datasets import source as source_module
from pkm_identification.datasets.tables import text_table

COUNT = 30
TIME = 0.1 * np.arange(COUNT)
Q, F, C = np.random.default_rng(0).normal(size=(3, COUNT, 2))
HEADER = 'b.current,idle.position,a.effort,time,b.position,a.current,a.position,b.effort'
TABLE = np.column_stack([C[:, 1], TIME, F[:, 0], TIME, Q[:, 1], C[:, 0], Q[:, 0], F[:, 1]])


@pytest.fixture(params=['memory', 'blocks'])
def layout(request, monkeypatch):
    """Files that are read at once, and such that are read in blocks of eight samples."""
    if request.param == 'blocks':
        for module, name, value in (
            (source_module, 'LONG', 20),
            (source_module, 'BLOCK', 8),
            (stored_array, 'IN_MEMORY', 20),
            (stored_array, 'ROWS_AT_ONCE', 7),
            (text_table, 'ROWS', 11),
        ):
            monkeypatch.setattr(module, name, value)
    return request.param


def csv(path, header=HEADER, table=TABLE, end=''):
    lines = [','.join(f'{x:.17g}' for x in row) for row in np.asarray(table)]
    path.write_text('\n'.join([header, *lines]) + '\n' + end)
    return path


def npz(path, **fields):
    content = {'time': TIME, 'joint_names': ['b', 'a'], 'positions': Q, 'efforts': F} | fields
    np.savez(path, **{name: value for name, value in content.items() if value is not None})
    return path


def test_columns_of_a_csv_file_by_their_names(tmp_path, layout):
    data = load(csv(tmp_path / 'a.csv'))
    assert data.joint_names == ('b', 'a') and data.is_long == (layout == 'blocks')
    np.testing.assert_array_equal(data.time, TIME)
    np.testing.assert_array_equal(data.positions, Q[:, ::-1])
    np.testing.assert_array_equal(data.efforts, F[:, ::-1])
    np.testing.assert_array_equal(data.currents, C[:, ::-1])
    assert data.provenance['left_out'] == ['idle'] and data.provenance['format'] == 'csv'


@pytest.mark.parametrize('kinds', [('effort',), ('current',)])
def test_csv_files_with_efforts_or_currents_alone(tmp_path, layout, kinds):
    header = ' time , "a.position",' + ','.join(f'a.{kind}' for kind in kinds)
    data = load(csv(tmp_path / 'a.csv', header, np.column_stack([TIME, Q[:, 0], F[:, 0]])))
    assert data.has_efforts == ('effort' in kinds) and data.has_currents == ('current' in kinds)
    values = data.efforts if data.has_efforts else data.currents
    np.testing.assert_array_equal(values, F[:, :1])


def test_empty_lines_and_marks_of_an_encoding(tmp_path, layout):
    path = tmp_path / 'a.csv'
    text = 'time,a.position,a.effort\n' + '\n' * 15 + '0,1,2\n\n1,3,4\n' + '\n' * 12
    path.write_bytes(b'\xef\xbb\xbf' + text.encode())
    data = load(path)
    np.testing.assert_array_equal(data.time, [0, 1])
    np.testing.assert_array_equal(data.efforts, [[2], [4]])


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('time,time,a.position,a.effort\n0,1,2,3\n', "needs exactly one column 'time'"),
        ('time,a.position,a.position,a.effort\n0,1,2,3\n', "column 'a.position' appears twice"),
        ('time,a.position\n0,1\n', 'no joint with a position and an effort or current column'),
        ('time,a.position,a.effort,b.current\n0,1,2,3\n', "'b.current' has no column 'b.position'"),
        ('time,.position,.effort\n0,1,2\n', "unknown column '.position'"),
        (
            'time,a.position,a.effort,b.position,b.current\n0,1,2,3,4\n',
            "column 'b.effort' is missing, other joints have one",
        ),
        ('time,a.position,a.effort\n0,1\n', "line 2: 2 values, but 'a.effort' is column 3"),
        ('time,a.position,a.effort\n0,1,2,3\n', 'line 2: 4 values, but the header has 3 names'),
        ('time,a.position,a.effort\n0,1,2\n1,3,4,5\n2,3,4\n', 'line 3: 4 values'),
        ('time,a.position,a.effort\n0,1,2\n0.1,1\n1,2,3\n', 'line 3: 2 values'),
        ('time,a.position,a.effort\n0,1,ok\n', "line 2, column 'a.effort': 'ok' is not a number"),
        ('', 'has no line with a header'),
        ('time,a.position,a.effort\n\n\n', 'has a header but no samples'),
        ('a.position,a.effort\n0,1\n', 'the header is a.position,a.effort'),
    ],
)
def test_csv_files_that_say_too_little_or_too_much(tmp_path, text, message):
    path = tmp_path / 'a.csv'
    path.write_text(text)
    with pytest.raises(DatasetError, match=rf"^'{re.escape(str(path))}'.*{message}"):
        load(path)


def test_the_lines_of_a_long_table_are_counted(tmp_path, layout):
    path = csv(tmp_path / 'a.csv', end='1,2,x,4,5,6,7,8\n')
    with pytest.raises(DatasetError, match=f"line {COUNT + 2}, column .*: 'x' is not a number"):
        load(path)


def test_empty_cells_are_lost_samples(tmp_path, layout):
    path = tmp_path / 'a.csv'
    path.write_text('time,a.position,a.effort\n0,1,2\n1,,4\n2,5,nan\n3,7,8\n')
    data = load(path)
    assert {(each.kind, each.signal, each.count) for each in data.defects} == {
        ('not_finite', 'position', 1),
        ('not_finite', 'effort', 1),
    }
    np.testing.assert_array_equal(data.positions[:, 0], [1, 1, 5, 7])


@pytest.mark.parametrize(('end', 'left'), [('99.2', 1), ('99,3.4,-5.6e-', 3), ('99,3.4,', 3)])
def test_a_last_line_that_is_cut_off_is_left_out(tmp_path, layout, end, left):
    header = 'time,a.position,a.effort'
    whole = np.column_stack([TIME, Q[:, 0], F[:, 0]])
    data = load(csv(tmp_path / 'a.csv', header, whole, end=end))
    if end.endswith(','):  # may be an empty cell as well
        assert data.defects[0].kind == 'not_finite' and len(data) == COUNT + 1
        return
    np.testing.assert_array_equal(data.time, TIME)
    (defect,) = data.defects
    assert defect.line() == (
        f'the last line of the file: cut off after {left} of 3 values; left out'
    )


def test_arrays_of_an_npz_file(tmp_path, layout):
    path = npz(
        tmp_path / 'a.npz',
        currents=C,
        period=1.5,
        effort_delay=-2e-3,
        force_constants=[25.0, np.nan],
        force_constant_deviations=[np.nan, 0.0],
        payload='{mass: 2.0, centre: [0, 0, 0.1]}',
        something=[1],
    )
    data = load(path)
    assert data.is_long == (layout == 'blocks') and data.joint_names == ('b', 'a')
    for found, expected in ((data.positions, Q), (data.efforts, F), (data.currents, C)):
        np.testing.assert_array_equal(found, expected)
    assert (data.period, data.effort_delay) == (1.5, -2e-3)
    assert (data.force_constants, data.force_constant_deviations) == ({'b': 25.0}, {'a': 0.0})
    assert data.payload is not None and data.payload.mass == 2.0
    assert data.truth is None
    assert data.provenance['left_out'] == ['something'] and data.provenance['format'] == 'npz'


@pytest.mark.parametrize('order', ['C', 'F'])
@pytest.mark.parametrize('kind', [np.float64, np.float32, np.int32])
@pytest.mark.parametrize('joints', [1, 2, 3])
def test_any_layout_of_numbers(tmp_path, layout, order, kind, joints):
    values = np.asarray(100 * np.random.default_rng(joints).normal(size=(2, COUNT, joints)), kind)
    positions, efforts = (np.array(each, order=order) for each in values)
    path = npz(
        tmp_path / 'a.npz',
        joint_names=[f'j{k}' for k in range(joints)],
        positions=positions,
        efforts=efforts,
    )
    data = load(path)
    assert data.positions.dtype == float
    np.testing.assert_array_equal(data.positions, positions)
    np.testing.assert_array_equal(data.efforts, efforts)
    np.testing.assert_array_equal(data.time, TIME)


def test_which_arrays_are_many_numbers(tmp_path, monkeypatch):
    """Times, positions, efforts and currents count, and these alone."""
    few, many = npz(tmp_path / 'few.npz'), npz(tmp_path / 'many.npz', currents=C)
    other = npz(tmp_path / 'other.npz', something=np.zeros(1000))
    monkeypatch.setattr(source_module, 'LONG', 5 * COUNT)
    monkeypatch.setattr(stored_array, 'IN_MEMORY', 1)
    for path, spooled in ((few, False), (other, False), (many, True)):
        assert isinstance(load(path).source.read(slice(0, 9)).positions.base, np.memmap) == spooled


@pytest.mark.parametrize(
    ('fields', 'message'),
    [
        ({'time': None, 'efforts': None}, 'lacks time; it holds joint_names, positions'),
        ({'period': [1.0, 2.0]}, r'period must be one finite number, got shape \(2,\)'),
        ({'period': np.inf}, 'period must be one finite number'),
        ({'effort_delay': np.nan}, 'effort_delay must be one finite number'),
        ({'force_constants': [20.0]}, r'force_constants have shape \(1,\), expected \(2,\)'),
        ({'force_constants': [20.0, np.inf]}, 'must be finite and other than 0 .* got .20.0, inf'),
        ({'force_constants': [0.0, 1.0]}, 'force_constants must be finite and other than 0'),
        ({'force_constant_deviations': [0.1, -1e-9]}, 'deviations must be finite and not negative'),
        ({'force_constant_deviations': [np.inf, 0.1]}, 'deviations must be finite and not neg'),
        ({'joint_names': [['b', 'a']]}, r'joint_names must be a list of texts, got <U1 of shape'),
        ({'payload': ['a', 'b']}, r'payload must be one text in YAML, got <U1 of shape \(2,\)'),
        ({'truth_time': TIME}, 'has truth_time but lacks truth_positions, truth_velocities, tr'),
        ({'truth_forces': F}, 'has truth_forces but lacks truth_time, truth_positions, truth_vel'),
    ],
)
def test_npz_files_that_are_inconsistent(tmp_path, fields, message):
    path = npz(tmp_path / 'a.npz', **fields)
    with pytest.raises(DatasetError, match=rf"^'{re.escape(str(path))}'.*{message}"):
        load(path)


def test_zero_is_a_deviation_and_a_negative_constant_is_one(tmp_path):
    path = npz(tmp_path / 'a.npz', force_constants=[-3.0, 2], force_constant_deviations=[0.0, 0.1])
    data = load(path)
    assert data.force_constants == {'b': -3.0, 'a': 2.0}
    assert data.force_constant_deviations == {'b': 0.0, 'a': 0.1}


def test_noise_free_signals_of_an_npz_file(tmp_path, layout):
    time = TIME[::3] + 0.01
    names = ('positions', 'velocities', 'forces')
    signals = dict(zip(names, np.random.default_rng(1).normal(size=(3, len(time), 2)), strict=True))
    fields = {'truth_time': time, **{f'truth_{name}': each for name, each in signals.items()}}
    truth = load(npz(tmp_path / 'a.npz', **fields)).truth
    np.testing.assert_array_equal(truth.time, time)
    for name, each in signals.items():
        np.testing.assert_array_equal(getattr(truth, name), each)
    assert load(tmp_path / 'a.npz', truth=False).truth is None
    for name in ('truth_time', 'truth_velocities', 'truth_forces'):
        endless = np.array(fields[name])
        endless[-1] = np.inf
        for wrong in (fields[name][1:], endless):
            with pytest.raises(DatasetError, match='truth_.* must be finite and'):
                load(npz(tmp_path / 'b.npz', **(fields | {name: wrong})))
