"""Arrays put together part by part, in memory or in a file."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_identification.datasets import stored_array
from pkm_identification.datasets.stored_array import StoredArray, in_parts, stored, with_columns


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(stored_array, 'IN_MEMORY', 12)
    monkeypatch.setattr(stored_array, 'ROWS_AT_ONCE', 4)


def table(rows, columns=3):
    return np.arange(rows * columns, dtype=float).reshape(rows, columns)


@pytest.mark.parametrize(('rows', 'in_file'), [(1, False), (4, False), (5, True), (40, True)])
@pytest.mark.parametrize('size', [1, 3, 50])
def test_more_numbers_than_fit_go_to_a_file(rows, in_file, size):
    whole = table(rows)
    array = StoredArray()
    for begin in range(0, rows, size):
        array.append(whole[begin : begin + size])
        assert len(array) == min(begin + size, rows)
    found = array.array()
    assert isinstance(found, np.memmap) == in_file
    np.testing.assert_array_equal(found, whole)


@pytest.mark.parametrize('kind', [bool, np.int64, np.float32])
def test_type_and_shape_stay(kind):
    whole = (np.arange(60) % 7 > 2).astype(kind)
    for shape in ((60,), (10, 6), (5, 4, 3)):
        found = stored(iter(np.array_split(whole.reshape(shape), 3)))
        assert isinstance(found, np.memmap) and found.dtype == kind
        np.testing.assert_array_equal(found, whole.reshape(shape))


def test_rows_may_follow_after_a_look():
    whole = table(20)
    array = StoredArray()
    for begin in range(0, 20, 2):
        array.append(whole[begin : begin + 2])
        np.testing.assert_array_equal(array.array(), whole[: begin + 2])


def test_columns_in_another_order_of_memory():
    whole = np.asfortranarray(table(20))
    np.testing.assert_array_equal(stored([whole[:9, ::-1], whole[9:, ::-1]]), whole[:, ::-1])


@pytest.mark.parametrize('rows', [0, 1, 3, 4, 5, 8, 9])
def test_parts_hold_every_row_once(rows):
    parts = list(in_parts(table(rows)))
    assert [len(part) for part in parts] == [4] * (rows // 4) + [rows % 4] * (rows % 4 > 0)
    if rows:
        np.testing.assert_array_equal(np.concatenate(parts), table(rows))


@pytest.mark.parametrize('columns', [[0, 1, 2], [2, 0, 1], [1], [0, 1]])
def test_columns_of_memory_and_of_files(columns):
    in_memory, in_file = table(4), stored([table(20)])
    chosen = np.array(columns)
    for rows in (in_memory, in_file):
        found = with_columns(rows, chosen)
        np.testing.assert_array_equal(found, np.asarray(rows)[:, chosen])
        assert (found is rows) == (columns == [0, 1, 2])
        if len(columns) > 1:
            assert isinstance(found, np.memmap) == (rows is in_file)
