"""Recordings put in order: in memory, and in blocks across their borders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pkm_description.errors import DatasetError
from pkm_identification.datasets import Recording, tidied
from pkm_identification.datasets import source as source_module
from pkm_identification.datasets.source import Source
from pkm_identification.datasets.tidying import held

COUNT = 40
NAMES = ('a', 'b')
TIME = 5.0 + 0.5 * np.arange(COUNT)
BORDERS = (7, 8, 16, 39)  # rows in blocks of eight

nan, inf = np.nan, np.inf


@pytest.fixture(params=['memory', 'blocks'])
def recording(request, monkeypatch):
    """The function that makes a recording, in memory or in blocks of eight samples."""
    monkeypatch.setattr(source_module, 'BLOCK', 8)

    def make(time=TIME, order=slice(None), **arrays):
        random = np.random.default_rng(0)
        q, f = random.normal(size=(2, COUNT, 2))
        arrays = {'positions': q, 'efforts': f} | arrays
        own = {k: None if v is None else np.array(v)[order] for k, v in arrays.items()}
        provenance = {'source': 'data.csv'}
        data = Recording.from_arrays(time[order], NAMES, **own, provenance=provenance)
        if request.param == 'blocks':
            data = replace(data, source=Source.of(data.source.whole, is_long=True))
        return data

    return make


def soiled(bad, value=nan):
    """Numbers with something else in some places, and these places."""
    values = np.random.default_rng(1).normal(size=(COUNT, 2))
    where = np.zeros((COUNT, 2), dtype=bool)
    for row, column in bad:
        where[row, column] = True
    return np.where(where, value, values), where


def filled(values, where):
    """The last number before each bad one, else the next, one by one."""
    found = np.array(values)
    for column in range(2):
        good = np.flatnonzero(~where[:, column])
        for row in np.flatnonzero(where[:, column]):
            before = good[good < row]
            found[row, column] = values[before[-1] if len(before) else good[0], column]
    return found


def test_tidy_recordings_stay_as_they_are(recording):
    data = recording()
    assert tidied(data) is data


@pytest.mark.parametrize('name', ['positions', 'efforts', 'currents'])
@pytest.mark.parametrize('value', [nan, inf, -inf])
@pytest.mark.parametrize(
    'bad',
    [
        [(7, 1)],
        [(8, 1)],
        [(39, 0)],
        [(0, 0), (1, 0), (0, 1)],
        [(6, 0), (7, 0), (8, 0), (9, 0), (9, 1)],
        [(row, 1) for row in range(7, 25)],
    ],
)
def test_numbers_before_stand_for_what_is_no_number(recording, name, value, bad):
    values, where = soiled(bad, value)
    data = recording(**({'efforts': None} if name == 'currents' else {}) | {name: values})
    tidy = tidied(data)
    np.testing.assert_array_equal(getattr(tidy, name), filled(values, where))
    own, other = 'position_valid', 'effort_valid'
    own, other = (own, other) if name == 'positions' else (other, own)
    np.testing.assert_array_equal(getattr(tidy, own), ~where)
    assert getattr(tidy, other) is None
    assert not tidy.source.scan.all_valid and tidy.source.scan.is_tidy
    np.testing.assert_array_equal(tidy.time, TIME)
    assert {each.joint for each in tidy.defects} == {NAMES[column] for _, column in bad}
    for each in tidy.defects:
        rows = np.flatnonzero(where[:, NAMES.index(each.joint)])
        assert (each.kind, each.signal) == ('not_finite', name[:-1])
        assert each.count == len(rows) and each.share == pytest.approx(len(rows) / COUNT)
        assert each.where[0][0] == TIME[rows[0]]


def test_marks_add_up(recording):
    """Those that were given, and those of efforts and currents of one sample."""
    flags = np.random.default_rng(2).random((2, COUNT, 2)) > 0.3
    efforts, first = soiled([(3, 0), (12, 1)])
    currents, second = soiled([(20, 0), (12, 0)])
    positions, third = soiled([(20, 1)])
    tidy = tidied(
        recording(
            positions=positions,
            efforts=efforts,
            currents=currents,
            position_valid=flags[0],
            effort_valid=flags[1],
        )
    )
    np.testing.assert_array_equal(tidy.effort_valid, flags[1] & ~first & ~second)
    np.testing.assert_array_equal(tidy.position_valid, flags[0] & ~third)
    counts = {(each.signal, each.joint): each.count for each in tidy.defects}
    assert counts == {
        ('effort', 'a'): 1,
        ('effort', 'b'): 1,
        ('current', 'a'): 2,
        ('position', 'b'): 1,
    }


@pytest.mark.parametrize('row', BORDERS)
def test_samples_are_sorted_by_their_stamps(recording, row):
    """Two are swapped, in a block or across its border."""
    order = np.arange(COUNT)
    order[[row - 1, row]] = order[[row, row - 1]]
    tidy, expected = tidied(recording(order=order)), recording()
    np.testing.assert_array_equal(tidy.time, TIME)
    np.testing.assert_array_equal(tidy.positions, expected.positions)
    np.testing.assert_array_equal(tidy.efforts, expected.efforts)
    (defect,) = tidy.defects
    assert (defect.kind, defect.count) == ('out_of_order', 1)
    assert defect.figures['largest_step_back_s'] == pytest.approx(0.5)


@pytest.mark.parametrize('row', BORDERS)
@pytest.mark.parametrize('equal', [True, False])
def test_samples_of_one_stamp(recording, row, equal):
    """Equal ones are merged; of different ones nobody knows which is right."""
    order = np.insert(np.arange(COUNT), row, row - 1)[:COUNT]
    positions = np.random.default_rng(0).normal(size=(COUNT, 2))
    if equal:
        tidy, kept = tidied(recording(order=order, positions=positions)), np.unique(order)
    else:
        time = TIME[order]
        tidy = tidied(recording(time=time, positions=positions))
        kept = np.flatnonzero(np.bincount(order)[order] == 1)
    np.testing.assert_array_equal(tidy.positions, positions[kept])
    assert len(tidy) == len(kept) and (np.diff(tidy.time) > 0).all()
    (defect,) = tidy.defects
    assert (defect.kind, defect.count) == ('duplicate_stamp', 1 if equal else 2)


@pytest.mark.parametrize('row', [0, 5, 8, 21])
@pytest.mark.parametrize('stamp', [nan, inf])
def test_stamps_that_are_no_number_are_refused(recording, row, stamp):
    time = np.array(TIME)
    time[row] = stamp
    with pytest.raises(DatasetError, match=f'^data.csv: time of sample {row} is {stamp}'):
        tidied(recording(time=time))


@pytest.mark.parametrize('name', ['positions', 'efforts', 'currents'])
def test_most_samples_of_a_joint_must_be_numbers(recording, name):
    """Half of them suffice."""
    more = {'currents': np.ones((COUNT, 2))}
    for lost in (20, 21):
        bad = [(row, 1) for row in range(39, 39 - 2 * lost, -2) if row > 0]
        bad += [(row, 1) for row in range(2, 2 + 2 * (lost - len(bad)), 2)]
        values, where = soiled(bad)
        assert where.sum() == lost
        data = recording(**more | {name: values})
        if lost == 20:
            np.testing.assert_array_equal(getattr(tidied(data), name), filled(values, where))
            continue
        row = int(np.argmax(where[:, 1]))
        with pytest.raises(
            DatasetError,
            match=rf"^data.csv: {name[:-1]} of joint 'b' is nan in 21 of 40 samples, first at "
            rf'sample {row} \(t = {TIME[row]:.6f} s\)',
        ):
            tidied(data)


def test_the_first_lost_sample_is_named(recording):
    """It lies in a later block; its value and stamp are told."""
    values, _ = soiled([(row, 0) for row in range(10, 40)], inf)
    with pytest.raises(
        DatasetError, match=r"'a' is inf in 30 of 40 samples, first at sample 10 \(t = 10.000000 s"
    ):
        tidied(recording(efforts=values))


@pytest.mark.parametrize('other', [False, True])
def test_joints_that_nothing_was_measured_of_are_dropped(recording, other):
    values, _ = soiled([(row, 0) for row in range(COUNT)])
    efforts, currents = values, None
    if other:  # neither efforts nor currents
        currents = np.array(values)
    data = tidied(recording(efforts=efforts, currents=currents))
    assert data.joint_names == ('b',) and data.provenance['left_out'] == ['a']
    assert data.defects == ()
    np.testing.assert_array_equal(data.efforts, values[:, 1:])


def test_joints_of_which_something_was_measured_stay(recording):
    values, _ = soiled([(row, 0) for row in range(COUNT)])
    with pytest.raises(DatasetError, match="effort of joint 'a' is nan in 40 of 40 samples, first"):
        tidied(recording(efforts=values, currents=np.ones((COUNT, 2))))
    nothing = np.full((COUNT, 2), nan)
    with pytest.raises(DatasetError, match="effort of joint 'a' is nan in 40 of 40 samples"):
        tidied(recording(efforts=nothing))
    almost = np.array(values)
    almost[30, 0] = 1.0
    with pytest.raises(DatasetError, match="effort of joint 'a' is nan in 39 of 40 samples"):
        tidied(recording(efforts=almost))


def test_what_was_left_out_before_stays_named(recording):
    values, _ = soiled([(row, 1) for row in range(COUNT)])
    data = recording(efforts=values)
    data = replace(data, provenance={'source': 'x', 'left_out': ['other'], 'format': 'csv'})
    found = tidied(data).provenance
    assert found == {'source': 'x', 'left_out': ['other', 'b'], 'format': 'csv'}


def test_defects_that_were_known_stay(recording):
    values, _ = soiled([(3, 1)])
    first = tidied(recording(efforts=values))
    again = tidied(replace(recording(positions=values), defects=first.defects))
    assert [(each.signal, each.joint, each.count) for each in again.defects] == [
        ('effort', 'b', 1),
        ('position', 'b', 1),
    ]


# -- in blocks alone --------------------------------------------------------------


@pytest.fixture
def long_recording(monkeypatch):
    monkeypatch.setattr(source_module, 'BLOCK', 8)

    def make(time=TIME, **arrays):
        ones = np.ones((COUNT, 2))
        data = Recording.from_arrays(time, NAMES, **({'positions': ones, 'efforts': ones} | arrays))
        return replace(data, source=Source.of(data.source.whole, is_long=True))

    return make


def test_a_block_without_numbers_at_the_beginning_is_refused(long_recording):
    """There is nothing that could stand for them."""
    values, _ = soiled([(row, 1) for row in range(8)])
    for name in ('positions', 'efforts'):
        with pytest.raises(
            DatasetError,
            match=r"dataset: joint 'b' has no numbers in some of the time \(about t = 5.000000 s\)",
        ):
            tidied(long_recording(**{name: values}))


def test_stamps_may_be_late_by_a_block_but_not_by_more(long_recording):
    order = np.insert(np.delete(np.arange(COUNT), 6), 9, 6)
    order[[23, 24]] = order[[24, 23]]
    np.testing.assert_array_equal(tidied(long_recording(TIME[order])).time, TIME)
    late = np.array(TIME)
    late[30] = TIME[2] + 0.1
    with pytest.raises(
        DatasetError, match=r'dataset: time does not increase at sample \d+ \(.* s, then 6.1000'
    ):
        tidied(long_recording(late))


# -- numbers in the place of bad ones ---------------------------------------------


def test_held_values():
    values = np.array([[nan, 1, nan], [nan, nan, nan], [3, nan, nan], [nan, 4, nan], [nan, 5, nan]])
    bad = np.isnan(values)
    expected = [[3, 1], [3, 1], [3, 1], [3, 4], [3, 5]]
    np.testing.assert_array_equal(held(values, bad)[:, :2], expected)
    assert np.isnan(held(values, bad)[:, 2]).all()
    before = np.array([7.0, 8.0, 9.0])
    found = held(values, bad, before)
    np.testing.assert_array_equal(found, [[7, 1, 9], [7, 1, 9], [3, 1, 9], [3, 4, 9], [3, 5, 9]])
