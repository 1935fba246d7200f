"""Parts of recordings by their times: in the name, as options, in memory and in blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pkm_description.errors import DatasetError
from pkm_identification.datasets import Recording, load
from pkm_identification.datasets import source as source_module
from pkm_identification.datasets.portion import portion_of
from pkm_identification.datasets.source import Source
from pkm_identification.quality.report import Defect

COUNT, ORIGIN = 41, 1.7e9
TIME = ORIGIN + 0.25 * np.arange(COUNT)  # exact in binary
Q = np.arange(2.0 * COUNT).reshape(COUNT, 2)


@pytest.mark.parametrize(
    ('text', 'path', 'start', 'stop'),
    [
        ('run.csv:0-40', 'run.csv', 0.0, 40.0),
        ('a/bag:1.5-.75', 'a/bag', 1.5, 0.75),
        ('bag:40-', 'bag', 40.0, None),
        ('bag:-40', 'bag', None, 40.0),
        ('bag:-', 'bag:-', None, None),
        ('bag:4', 'bag:4', None, None),
        ('run-1-2.csv', 'run-1-2.csv', None, None),
        ('a:1-2:3-4', 'a:1-2', 3.0, 4.0),
    ],
)
def test_times_in_a_name(text, path, start, stop):
    found = portion_of(text)
    assert (str(found.path), found.start, found.stop) == (path, start, stop)
    assert found.is_whole == (start is None and stop is None)


def test_times_of_the_name_count_before_those_of_the_call():
    assert portion_of('bag', 1.0, 2.0).suffix == ':1-2'
    assert portion_of('bag:3-', 1.0, 2.0).suffix == ':3-'


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / 'data.npz'
    np.savez(path, time=TIME, joint_names=['a', 'b'], positions=Q, efforts=-Q)
    return path


def test_parts_that_meet_are_the_whole(saved):
    parts = [load(f'{saved}:{times}') for times in ('-2.5', '2.5-7', '7-')]
    np.testing.assert_array_equal(np.concatenate([each.time for each in parts]), TIME)
    np.testing.assert_array_equal(np.concatenate([each.efforts for each in parts]), -Q)
    assert parts[1].name == f'{saved}:2.5-7'
    assert parts[1].provenance['between'] == [2.5, 6.75]
    assert parts[1].provenance['sha256'] == load(saved).provenance['sha256']
    np.testing.assert_array_equal(load(saved, start=2.5, stop=7.0).time, parts[1].time)


def test_a_file_of_such_a_name_is_read(saved):
    other = saved.with_name('data.npz:0-1.npz')
    other.write_bytes(saved.read_bytes())
    assert len(load(other)) == COUNT


@pytest.mark.parametrize(
    ('times', 'message'),
    [
        ('5-3', 'from 5 s to 3 s is no time'),
        ('3-3', 'from 3 s to 3 s is no time'),
        ('11-', r'data.npz: from 11 s to inf s there are 0 samples; it is 10 s long'),
        ('0-.25', 'from 0 s to 0.25 s there are 1 samples'),
    ],
)
def test_times_without_samples_are_refused(saved, times, message):
    with pytest.raises(DatasetError, match=message):
        load(f'{saved}:{times}')


def test_a_long_recording_is_cut_without_being_read(monkeypatch):
    asked = []

    def read(rows):
        asked.append(rows.stop - rows.start)
        return whole.rows(rows)

    short = Recording.from_arrays(TIME, ['a', 'b'], Q, -Q)
    whole = short.source.whole
    for name, value in (('BLOCK', 5), ('LONG', 30)):
        monkeypatch.setattr(source_module, name, value)
    for name, value in (('BLOCK', 5), ('LONG', 30)):
        monkeypatch.setattr(source_module, name, value)
    long = replace(short, source=Source(read, COUNT, 2))
    assert long.is_long and not short.is_long
    part = long.between(1.0, 8.0)
    assert part.is_long and max(asked) == 1
    expected = short.between(1.0, 8.0)
    np.testing.assert_array_equal(part.time, expected.time)
    np.testing.assert_array_equal(part.positions, expected.positions)
    assert part.source.scan.first == ORIGIN + 1.0 and part.interval == 0.25
    assert not long.between(1.0, 2.0).is_long


def test_defects_elsewhere_are_left_behind():
    def defect(*where, stretches):
        times = tuple((ORIGIN + a, ORIGIN + b) for a, b in where)
        return Defect('not_finite', 3, 0.1, 'left out', where=times, stretches=stretches)

    inside, outside = defect((2.0, 3.0), stretches=1), defect((0.0, 0.5), stretches=1)
    perhaps = defect((0.0, 0.5), stretches=9)
    whole = Recording.from_arrays(TIME, 'ab', Q, Q, defects=(inside, outside, perhaps))
    assert whole.between(2.5, 5.0).defects == (inside, perhaps)


def test_the_shipped_recording_is_a_log_with_the_faults_of_a_host():
    whole = load('shipped:serial_arm')
    assert whole.joint_names == tuple(f'joint{k}' for k in range(1, 7))
    assert whole.interval == pytest.approx(0.01, rel=0.02) and 25 < whole.duration < 35
    assert np.abs(whole.positions).max() < 2.0  # [rad], written in degrees
    assert np.std(np.diff(whole.time)) > 2e-4
    part = load('shipped:serial_arm:5-10')
    assert part.name.endswith('serial_arm.csv:5-10') and 4.9 < part.duration < 5.0
    with pytest.raises(DatasetError, match="no shipped recording 'arm'; there are serial_arm"):
        load('shipped:arm')
