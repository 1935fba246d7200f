"""Samples of two streams that belong together by their stamps."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_description.errors import DatasetError
from pkm_identification.datasets.bags import pairing
from pkm_identification.datasets.bags.pairing import clock_drift, pair_by_stamp

STEP = 1_000_000  # [ns]
FIRST = 10**15 + STEP * np.arange(40)
ROWS = np.arange(40)


@pytest.fixture(params=[2**18, 16, 7])
def parts(request, monkeypatch):
    """However many stamps are read at once."""
    monkeypatch.setattr(pairing, 'AT_ONCE', request.param)
    return request.param


@pytest.mark.parametrize('delay', [0, 1, 200_000, -200_000, 480_000, -480_000])
def test_constant_delays_of_either_sign(parts, delay):
    pairs = pair_by_stamp(FIRST, FIRST + delay, 'data')
    np.testing.assert_array_equal(pairs.first, ROWS)
    np.testing.assert_array_equal(pairs.second, ROWS)
    assert pairs.delay == pytest.approx(delay * 1e-9, abs=1e-12)
    assert pairs.jitter == pytest.approx(0.0, abs=1e-12)


def test_delays_beyond_half_an_interval_are_the_rest(parts):
    """Nothing in the stamps tells which of the samples was meant."""
    pairs = pair_by_stamp(FIRST, FIRST + 5 * STEP + 300_000, 'data')
    np.testing.assert_array_equal(pairs.first, ROWS[5:])
    np.testing.assert_array_equal(pairs.second, ROWS[:35])
    assert pairs.delay == pytest.approx(3e-4, abs=1e-12)
    pairs = pair_by_stamp(FIRST, FIRST - 5 * STEP - 300_000, 'data')
    np.testing.assert_array_equal(pairs.first, ROWS[:35])
    np.testing.assert_array_equal(pairs.second, ROWS[5:])
    assert pairs.delay == pytest.approx(-3e-4, abs=1e-12)


@pytest.mark.parametrize('lost', [0, 6, 7, 15, 39])
def test_a_sample_without_a_partner_is_left_out(parts, lost):
    rest = np.delete(ROWS, lost)
    pairs = pair_by_stamp(FIRST, FIRST[rest] + 100_000, 'data')
    np.testing.assert_array_equal(pairs.first, rest)
    np.testing.assert_array_equal(pairs.second, ROWS[:39])
    pairs = pair_by_stamp(FIRST[rest], FIRST + 100_000, 'data')
    np.testing.assert_array_equal(pairs.first, ROWS[:39])
    np.testing.assert_array_equal(pairs.second, rest)


@pytest.mark.parametrize(('off', 'paired'), [(240_000, True), (260_000, False)])
@pytest.mark.parametrize('row', [7, 20, 33])
def test_partners_lie_within_a_quarter_of_the_interval(parts, row, off, paired):
    """Scattered stamps; two of them lie off to either side, so that the centre stays."""
    second = np.array(FIRST)
    second[row] += off
    second[row + 3] -= off
    pairs = pair_by_stamp(FIRST, second, 'data')
    expected = ROWS if paired else np.delete(ROWS, [row, row + 3])
    np.testing.assert_array_equal(pairs.first, expected)
    np.testing.assert_array_equal(pairs.second, expected)
    assert pairs.delay == pytest.approx(0.0, abs=1e-12)
    assert pairs.jitter == pytest.approx(off * 1e-9 if paired else 0.0, abs=1e-12)


def test_jitter_is_the_largest_deviation_of_either_sign(parts):
    for sign in (1, -1):
        second = FIRST + 50_000
        second[[5, 25]] += [sign * 90_000, -sign * 30_000]
        pairs = pair_by_stamp(FIRST, second, 'data')
        assert pairs.delay == pytest.approx(5e-5, abs=1e-12)
        assert pairs.jitter == pytest.approx(9e-5, abs=1e-12)


def test_of_two_partners_the_first_sample_gets_one(parts):
    """No sample is used twice: of two near stamps of the first stream one remains."""
    first = np.sort(np.append(FIRST, FIRST[20] + 1000))
    pairs = pair_by_stamp(first, FIRST, 'data')
    np.testing.assert_array_equal(pairs.second, ROWS)
    np.testing.assert_array_equal(pairs.first, np.delete(np.arange(41), 21))


def test_at_least_half_of_the_samples_need_a_partner(parts):
    pairs = pair_by_stamp(FIRST, FIRST[::2], 'data')
    np.testing.assert_array_equal(pairs.first, ROWS[::2])
    np.testing.assert_array_equal(pairs.second, ROWS[:20])
    with pytest.raises(
        DatasetError,
        match='^data: only 19 of 40 samples have a partner within 0.250 ms; are the rates equal',
    ):
        pair_by_stamp(FIRST, FIRST[2::2], 'data')


def test_streams_that_do_not_meet(parts):
    for other in (FIRST - 10**9, FIRST + 10**9):
        with pytest.raises(DatasetError, match='only [01] of 40 samples'):
            pair_by_stamp(FIRST, other, 'data')


def test_single_samples():
    """Without an interval a millisecond is taken."""
    pairs = pair_by_stamp(FIRST[:1], FIRST[:1] + 240_000, 'data')
    assert (pairs.first.tolist(), pairs.second.tolist()) == ([0], [0])
    assert pairs.delay == pytest.approx(2.4e-4, abs=1e-12)
    pairs = pair_by_stamp(FIRST[:1], FIRST[:1] - 240_000, 'data')
    assert pairs.delay == pytest.approx(-2.4e-4, abs=1e-12)


def test_the_rate_is_found_from_the_stamps(parts):
    """At 50 Hz a delay of 4 ms is a fifth of the interval, no multiple of a millisecond."""
    first = 10**15 + 20 * STEP * np.arange(40)
    pairs = pair_by_stamp(first, first - 4 * STEP, 'data')
    np.testing.assert_array_equal(pairs.second, ROWS)
    assert pairs.delay == pytest.approx(-4e-3, abs=1e-12)


@pytest.mark.parametrize('drift', [1e-4, -2e-4, 1e-5])
def test_clocks_that_drift(drift):
    """A minute at 1 kHz: six or twelve intervals at the end, in which samples changed partners."""
    random = np.random.default_rng(0)
    taken = np.flatnonzero(random.random(60_000) > 0.01)
    first = np.round(1e6 * taken + 5e4 * random.random(len(taken))).astype(np.int64)
    kept = np.flatnonzero(random.random(60_000) > 0.01)
    second = np.round((1 + drift) * 1e6 * kept + 2e5 + 5e4 * random.random(len(kept)))
    pairs = pair_by_stamp(first, second.astype(np.int64), 'test')
    np.testing.assert_array_equal(taken[pairs.first], kept[pairs.second])
    assert len(pairs.first) > 0.98 * len(first) - 60
    assert pairs.drift == pytest.approx(drift, abs=1e-7)
    assert pairs.delay == pytest.approx(2e-4, abs=2e-5)


def test_another_rate_is_no_drift():
    """One clock for both, the second sampled a little less often: what lies together is paired."""
    first = 1_000_000 * np.arange(60_000)
    second = np.round(1_000_050.0 * np.arange(59_997)).astype(np.int64)
    assert clock_drift(first, second) == 0.0
    assert clock_drift(first, first + 300_000) == 0.0
