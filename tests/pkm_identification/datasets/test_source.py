"""Samples read by rows: blocks, margins, scans and probes are those of the whole."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_identification.datasets import source as source_module
from pkm_identification.datasets.source import Block, Source, collected, joined

COUNT = 23
FLAGS = ('position_valid', 'effort_valid')


@pytest.fixture
def small(monkeypatch):
    """Blocks of five samples, a head of seven, three probes of two."""
    for name, value in (('BLOCK', 5), ('HEAD', 7), ('PROBES', 3), ('PROBE', 2)):
        monkeypatch.setattr(source_module, name, value)


def samples(count=COUNT, time=None, **parts) -> Block:
    """Two joints, all numbers different; stamps 0.5 s apart, from 3 s on."""
    time = 3.0 + 0.5 * np.arange(count) if time is None else np.asarray(time, dtype=float)
    random = np.random.default_rng(count)
    q, f = random.normal(size=(2, len(time), 2))
    return Block(**{'time': time, 'positions': q, 'efforts': f} | parts)


def reader(block: Block, asked: list[slice]):
    """Read rows of a block, and note which."""

    def read(rows: slice) -> Block:
        asked.append(rows)
        return block.rows(rows)

    return read


def assert_same(found: Block, expected: Block) -> None:
    for name, one, other in zip(Block._fields, found, expected, strict=True):
        assert (one is None) == (other is None), name
        if one is not None:
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other, err_msg=name)


def test_rows_and_columns_of_a_block():
    flags = np.arange(2 * COUNT).reshape(COUNT, 2) % 3 > 0
    block = samples(effort_valid=flags)
    part = block.rows(slice(4, 9)).columns([1, 0])
    np.testing.assert_array_equal(part.time, block.time[4:9])
    np.testing.assert_array_equal(part.positions, block.positions[4:9, ::-1])
    np.testing.assert_array_equal(part.efforts, block.efforts[4:9, ::-1])
    np.testing.assert_array_equal(part.effort_valid, flags[4:9, ::-1])
    assert part.currents is None and part.position_valid is None
    np.testing.assert_array_equal(block.rows(np.array([7, 2])).time, block.time[[7, 2]])
    assert block.columns([1]).positions.shape == (COUNT, 1)


@pytest.mark.parametrize('given', [(), ('position_valid',), ('effort_valid',), FLAGS])
def test_positions_and_efforts_side_by_side(given):
    flags = {
        name: np.random.default_rng(k).random((COUNT, 2)) > 0.4 for k, name in enumerate(given)
    }
    block = samples(**flags)
    values, good = block.together()
    np.testing.assert_array_equal(values[:, :2], block.positions)
    np.testing.assert_array_equal(values[:, 2:], block.efforts)
    assert (good is None) == (not given)
    for k, name in enumerate(FLAGS):
        if good is not None:
            expected = flags.get(name, np.ones((COUNT, 2), bool))
            np.testing.assert_array_equal(good[:, 2 * k : 2 * k + 2], expected)


def test_blocks_are_joined_with_the_flags_of_each():
    flags = np.random.default_rng(0).random((COUNT, 2)) > 0.4
    block = samples(effort_valid=flags)
    first, rest = block.rows(slice(0, 9))._replace(effort_valid=None), block.rows(slice(9, None))
    whole = joined([first, rest])
    flags = flags.copy()
    flags[:9] = True
    assert_same(whole, block._replace(effort_valid=flags))
    assert_same(joined([rest, first]).rows(slice(COUNT - 9, None)), whole.rows(slice(0, 9)))
    assert joined([first]) is first
    plain = samples()
    assert_same(joined([plain.rows(slice(0, 1)), plain.rows(slice(1, None))]), plain)


def test_what_is_long_follows_from_all_numbers_of_a_sample(monkeypatch):
    """A stamp, positions and efforts: seven numbers of three joints."""
    monkeypatch.setattr(source_module, 'LONG', 70)
    asked: list[slice] = []
    read = reader(samples(), asked)
    assert not Source(read, 10, 3).is_long and Source(read, 11, 3).is_long
    assert Source(read, 10, 3, is_long=True).is_long
    assert not Source(read, 11, 3, is_long=False).is_long
    assert Source.opened(read, 15, 2).is_long and not asked
    few = Source.opened(read, 14, 2)
    assert not few.is_long and asked == [slice(0, 14)]
    np.testing.assert_array_equal(few.read(slice(3, 5)).time, samples().time[3:5])
    assert (few.count, few.width) == (14, 2) and len(asked) == 1


@pytest.mark.parametrize('long', [False, True])
@pytest.mark.parametrize(
    'rows',
    [
        slice(3, 9),
        slice(None),
        slice(-4, None),
        slice(None, None, 3),
        slice(2, 20, 4),
        slice(9, 3),
        slice(20, 99),
        slice(COUNT, None),
    ],
)
def test_any_rows_can_be_read(long, rows):
    block, asked = samples(), []
    source = Source(reader(block, asked), COUNT, 2, is_long=long)
    assert_same(source.read(rows), block.rows(rows))
    assert all(0 <= each.start <= each.stop and each.step is None for each in asked)


@pytest.mark.parametrize('margin', [0, 1, 4, 5, 12, 40])
@pytest.mark.parametrize('count', [1, 4, 5, 6, 20, COUNT])
def test_windows_hold_every_sample_once_and_their_margins(small, count, margin):
    block = samples(count)
    source = Source.of(block, is_long=True)
    begin = 0
    for part, own, rows in source.windows(margin):
        assert rows == slice(begin, min(begin + 5, count))
        low = max(0, rows.start - margin)
        assert own == slice(rows.start - low, rows.stop - low)
        assert_same(part, block.rows(slice(low, rows.stop + margin)))
        begin = rows.stop
    assert begin == count
    assert_same(joined(list(source.blocks())), block)
    ((part, own, rows),) = Source.of(block, is_long=False).windows(margin)
    assert own == rows == slice(0, count)
    assert_same(part, block)


def test_an_empty_source_has_no_windows():
    assert list(Source.of(samples(0), is_long=False).windows(3)) == []


def test_head_and_probes(small, monkeypatch):
    block = samples()
    long, short = (Source.of(block, is_long=each) for each in (True, False))
    assert_same(long.head, block.rows(slice(0, 7)))
    assert_same(short.head, block)
    (probe,) = short.probes()
    assert_same(probe, block)
    # of 23 samples, thirds begin at 0, 7.3 and 14.7: in the blocks from 0, 5 and 10 on
    for found, begin in zip(long.probes(), (0, 5, 10), strict=True):
        assert_same(found, block.rows(slice(begin, begin + 2)))
    monkeypatch.setattr(source_module, 'PROBE', 8)  # more than a block
    assert [len(each.time) for each in long.probes()] == [5, 5, 5]
    monkeypatch.setattr(source_module, 'PROBES', 20)  # more than there are blocks
    assert [each.time[0] for each in long.probes()] == block.time[::5].tolist()
    (probe,) = Source.of(samples(1), is_long=True).probes()
    assert len(probe.time) == 1


@pytest.mark.parametrize('scanned', [False, True])
@pytest.mark.parametrize('long', [False, True])
def test_a_change_holds_for_all_that_is_read(small, long, scanned):
    """Efforts scaled by joint, joints swapped, an offset that depends on the row."""
    block = samples()
    source = Source.of(block, is_long=long)
    if scanned:
        assert source.scan.is_tidy

    def change(part, rows):
        efforts = part.efforts * [-2.0, 3.0]
        return part._replace(efforts=efforts).columns([1, 0])

    def late(part, rows):
        return part._replace(time=part.time + np.arange(rows.start, rows.stop) ** 2)

    other = source.changed(change)
    expected = block._replace(
        positions=block.positions[:, ::-1], efforts=block.efforts[:, ::-1] * [3.0, -2.0]
    )
    assert other.is_long == long and other.width == 2
    assert_same(other.whole, expected)
    assert_same(other.read(slice(4, 12)), expected.rows(slice(4, 12)))
    np.testing.assert_array_equal(
        other.scan.effort_range, [expected.efforts.min(axis=0), expected.efforts.max(axis=0)]
    )
    assert other.scan.interval == source.scan.interval and other.scan.is_tidy
    moved = Source.of(block, is_long=long).changed(late)
    np.testing.assert_array_equal(
        moved.read(slice(4, 12)).time, block.time[4:12] + np.arange(4, 12) ** 2
    )
    one = source.changed(lambda part, rows: part.columns([1]), 1)
    assert (one.width, one.count, one.is_long) == (1, COUNT, long)
    np.testing.assert_array_equal(one.whole.positions, block.positions[:, 1:])


@pytest.mark.parametrize('scanned', [False, True])
@pytest.mark.parametrize('long', [False, True])
@pytest.mark.parametrize('bad', [(), (0,), (1,), (0, 1)])
def test_marks_follow_their_rows(small, long, scanned, bad):
    source = Source.of(samples(), is_long=long)
    if scanned:
        assert source.scan.all_valid
    flags = np.ones((2, COUNT, 2), dtype=bool)
    for k in bad:
        flags[k, 11 + k, k] = False
    marked = source.marked(*flags)
    assert marked.scan.all_valid == (not bad) and source.scan.all_valid
    assert_same(marked.whole._replace(position_valid=None, effort_valid=None), source.whole)
    for k, name in enumerate(FLAGS):
        found = getattr(marked.read(slice(10, 14)), name)
        if k in bad:
            np.testing.assert_array_equal(found, flags[k, 10:14])
        else:
            assert found is None or found.all()
        if long:
            assert getattr(marked.read(slice(0, 5)), name) is None  # nothing is marked there


def test_samples_are_found_by_their_stamps(small):
    block = samples()
    long, short = (Source.of(block, is_long=each) for each in (True, False))
    for row in (0, 1, 5, 21, 22):
        assert long.row_at(block.time[row]) == row
        assert long.row_at(block.time[row] - 0.1) == row
        assert long.row_at(block.time[row] + 0.1) == row + 1
    time = block.time
    np.testing.assert_array_equal(long.between(time[6], time[9], 2).time, time[4:12])
    np.testing.assert_array_equal(long.between(time[6], time[9], 0).time, time[6:10])
    np.testing.assert_array_equal(long.between(time[2], time[20], 4).time, time)
    assert_same(short.between(time[6], time[9], 2), block)


def test_a_scan_sees_first_last_and_extremes_of_all_blocks(small):
    """The extremes of each column lie in blocks of their own."""
    block = samples()
    currents = np.array(block.efforts)
    for column, (low, high) in enumerate([(3, 22), (17, 8)]):
        block.positions[low, column], block.positions[high, column] = -9.0 - column, 7.0 + column
        block.efforts[high, column], block.efforts[low, column] = -5.0 - column, 4.0 + column
        currents[12 + column, column], currents[column, column] = -50.0 - column, 40.0 + column
    for long in (True, False):
        scan = Source.of(block._replace(currents=currents), is_long=long).scan
        assert (scan.first, scan.last) == (3.0, 14.0)
        assert scan.interval == pytest.approx(0.5)
        assert scan.is_even and scan.is_tidy and scan.all_valid
        np.testing.assert_array_equal(scan.extremes.positions, [[-9, -10], [7, 8]])
        np.testing.assert_array_equal(scan.effort_range, [[-5, -6], [4, 5]])
        np.testing.assert_array_equal(scan.extremes.currents, [[-50, -51], [40, 41]])


@pytest.mark.parametrize('row', [1, 4, 5, 9, 10, 21, 22])  # in a block and at its borders
@pytest.mark.parametrize('long', [False, True])
def test_a_scan_finds_stamps_that_do_not_increase(small, long, row):
    for earlier in (0.0, 0.1):
        time = np.array(samples().time)
        time[row:] -= time[row] - time[row - 1] + earlier
        scan = Source.of(samples(time=time), is_long=long).scan
        assert not scan.is_tidy and np.isnan(scan.interval) and not scan.is_even
        assert (scan.first, scan.last) == (time[0], time[-1])


@pytest.mark.parametrize('name', ['time', 'positions', 'efforts', 'currents', *FLAGS])
@pytest.mark.parametrize('row', [0, 4, 5, 22])
@pytest.mark.parametrize('long', [False, True])
def test_a_scan_finds_what_is_no_number_or_not_valid(small, long, row, name):
    flags = np.ones((COUNT, 2), dtype=bool)
    block = samples(
        currents=np.ones((COUNT, 2)), position_valid=flags, effort_valid=np.array(flags)
    )
    assert Source.of(block, is_long=long).scan.all_valid
    part = np.array(getattr(block, name))
    if name in FLAGS:
        part[row, 1] = False
    else:
        part[row] = np.inf
    scan = Source.of(block._replace(**{name: part}), is_long=long).scan
    assert scan.is_tidy == (name in FLAGS)
    assert scan.all_valid == (name not in FLAGS)


@pytest.mark.parametrize('row', [60, 70, 143, 199])  # blocks of ten begin at 60 and 70
@pytest.mark.parametrize(
    ('step', 'even'), [(1.015, True), (0.985, True), (1.025, False), (0.975, False), (2.0, False)]
)
def test_stamps_are_even_within_two_percent(monkeypatch, row, step, even):
    monkeypatch.setattr(source_module, 'BLOCK', 10)
    monkeypatch.setattr(source_module, 'HEAD', 50)
    time = 0.25 * np.arange(200)
    time[row:] += 0.25 * (step - 1)
    long = Source.of(samples(time=time), is_long=True).scan
    assert long.is_tidy and long.is_even == even
    assert long.interval == pytest.approx(0.25, rel=1e-9)
    assert Source.of(samples(time=time), is_long=False).scan.is_even == even


def test_the_head_of_a_long_recording_shows_how_a_motion_repeats():
    """A minute and more at 1 kHz, and no more than is read into memory."""
    assert 60_000 <= source_module.HEAD <= source_module.LONG


def test_a_single_sample_is_tidy():
    scan = Source.of(samples(1)).scan
    assert scan.is_tidy and np.isnan(scan.interval)
    assert scan.first == scan.last == 3.0
    scan = Source.of(samples(2)).scan
    assert scan.is_tidy and scan.is_even and scan.interval == pytest.approx(0.5)


@pytest.mark.parametrize('marked', [(), ('position_valid',), ('effort_valid',), FLAGS])
def test_samples_are_collected_from_blocks(marked):
    """Flags that only some blocks have count for these; flags that none has stay away."""
    flags = {name: np.ones((COUNT, 2), dtype=bool) for name in marked}
    for k, name in enumerate(marked):
        flags[name][8 + k, k] = False
    block = samples(**flags)
    parts = [block.rows(slice(0, 6)), block.rows(slice(6, 10)), block.rows(slice(10, None))]
    parts = [parts[k]._replace(**dict.fromkeys(FLAGS)) if k != 1 else parts[k] for k in range(3)]
    found = collected(iter(parts))
    assert (found.count, found.width) == (COUNT, 2)
    assert_same(found.whole, block)
