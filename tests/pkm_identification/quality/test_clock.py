"""The clock of a robot behind the stamps of a host, with the cycles that were lost and repeated."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_identification import identify
from pkm_identification.datasets import Recording, tidied
from pkm_identification.quality.clock import stale_rows
from pkm_identification.quality.examine import examined

NAMES = ('left', 'right')
INTERVAL = 1e-3
PERIODS = 4


@pytest.fixture
def sampled(record):
    """The function that gives the cycles (N,) of a robot and its samples, some of them lost."""

    def make(lost=0.01, seed=0, force_noise=2.0, **options):
        data = record(
            periods=PERIODS, seed=seed, position_noise=3e-6, force_noise=force_noise, **options
        )
        random = np.random.default_rng(seed + 100)
        cycles = np.flatnonzero(random.random(len(data)) >= lost)
        return cycles, data.positions[cycles], data.efforts[cycles], random

    return make


@pytest.fixture
def polled(sampled):
    """The function that records the latest sample of a robot with the clock of a host."""

    def make(rate=1.0, jitter=0.4, seed=0, **options):
        cycles, positions, efforts, random = sampled(lost=0.0, seed=seed, **options)
        late = jitter * np.abs(random.normal(size=len(cycles)))
        polls = np.sort(np.arange(20, len(cycles) - 20) * rate + late[20:-20])
        polls = polls[polls < len(cycles) - 1]
        latest = np.floor(polls).astype(int)
        time = INTERVAL * polls
        return latest, Recording.from_arrays(time, NAMES, positions[latest], efforts[latest])

    return make


def wrong_cycles(time, cycles):
    """Share of the samples (N,) that stamps (N,) put into another cycle."""
    off = time / INTERVAL - cycles
    return np.mean(np.abs(off - np.median(off)) > 0.3)


# a host as fast as the robot, slower and twice as fast
@pytest.mark.parametrize('rate', [1.0, 1.3, 0.5])
def test_the_latest_sample_at_the_time_of_a_host(polled, rate):
    latest, data = polled(rate)
    again = np.append(False, np.diff(latest) == 0)
    assert np.count_nonzero(again) > 0.005 * len(latest)
    stale, found = stale_rows(data.source.whole), examined(data)
    # where all joints turn at once, a repeat cannot be told from standing still
    assert not (stale & ~again).any()
    assert np.count_nonzero(stale & again) > 0.99 * np.count_nonzero(again)
    kept = latest[~stale]
    # the stamps as they are put far more samples elsewhere
    assert wrong_cycles(data.time[~stale], kept) > 0.1
    assert wrong_cycles(found.time, kept) < 0.01
    defects = {each.kind: each for each in found.quality.defects}
    # a cycle that is off looks like an outlier
    assert set(defects) <= {'stale', 'jitter', 'gap', 'outlier'}
    assert len(data) - len(found) == defects['stale'].count
    assert defects['stale'].share == pytest.approx(stale.mean())
    assert defects['jitter'].figures['interval_s'] == pytest.approx(INTERVAL, rel=1e-4)
    lost = kept[-1] - kept[0] + 1 - len(kept)
    assert lost < 3 or abs(defects['gap'].count - lost) <= 0.01 * len(kept)
    as_they_are = examined(data, 'stamps')
    np.testing.assert_array_equal(as_they_are.time, data.time)
    assert 'stale' not in as_they_are.quality.kinds


@pytest.mark.parametrize('leap', [0.5, -0.05, -2.0])
def test_the_clock_of_the_stamps_leaps(sampled, leap):
    """Forth, back, and to its beginning, while the motion goes on."""
    cycles, positions, efforts, _ = sampled()
    time = INTERVAL * cycles
    time[len(time) // 2 :] += leap
    found = examined(tidied(Recording.from_arrays(time, NAMES, positions, efforts)))
    np.testing.assert_allclose(np.diff(found.time), INTERVAL * np.diff(cycles), atol=1e-6)
    assert 'clock_leap' in found.quality.kinds
    lost = cycles[-1] - cycles[0] + 1 - len(cycles)
    assert found.quality.of_kind('gap')[0].count == lost


def test_a_pause_is_no_leap(sampled):
    """The clock begins anew after samples were lost for a time that nothing tells."""
    cycles, positions, efforts, _ = sampled()
    kept = np.delete(np.arange(len(cycles)), slice(1500, 2200))
    time = INTERVAL * cycles[kept]
    paused = examined(Recording.from_arrays(time, NAMES, positions[kept], efforts[kept]))
    np.testing.assert_array_equal(paused.time, time)
    time = np.where(kept < 1500, time, time - INTERVAL * cycles[2200])
    found = examined(tidied(Recording.from_arrays(time, NAMES, positions[kept], efforts[kept])))
    assert found.quality.of_kind('clock_leap')[0].count == 1
    assert np.diff(found.time)[1499] > 0.9  # no filter goes over that


@pytest.mark.parametrize('together', [2, 4, 10])
@pytest.mark.parametrize('apart', [0.0, 0.02])
def test_samples_that_come_together(sampled, together, apart):
    """With the stamp of the last one, or stamped one after the other."""
    cycles, positions, efforts, random = sampled()
    number = np.arange(len(cycles))
    last = np.minimum((number // together + 1) * together - 1, len(cycles) - 1)
    time = INTERVAL * (cycles[last] + apart * (number % together))
    found = examined(tidied(Recording.from_arrays(time, NAMES, positions, efforts)))
    assert len(found) == len(cycles)
    assert wrong_cycles(found.time, cycles) < 0.01
    assert ('coarse_stamp' in found.quality.kinds) == (not apart)


@pytest.mark.parametrize('digits', [2.0, 5.0])
def test_stamps_with_few_digits(sampled, digits):
    cycles, positions, efforts, _ = sampled()
    time = digits * INTERVAL * np.floor(cycles / digits)
    found = examined(tidied(Recording.from_arrays(time, NAMES, positions, efforts)))
    assert len(found) == len(cycles)
    assert wrong_cycles(found.time, cycles) < 0.01


@pytest.mark.parametrize('jitter', [0.05, 0.3])
def test_samples_that_were_taken_unevenly_keep_their_stamps(slider_model, motion, jitter):
    random = np.random.default_rng(0)
    time = np.sort(INTERVAL * (np.arange(3000) + jitter * random.normal(size=3000)))
    exact = motion(time)
    noisy = exact.q + 3e-6 * random.normal(size=exact.q.shape)
    efforts = slider_model.inverse_dynamics(exact) + random.normal(size=exact.q.shape)
    found = examined(Recording.from_arrays(time, NAMES, noisy, efforts))
    np.testing.assert_array_equal(found.time, time)


@pytest.mark.parametrize('quantum', [0.0, 2e-4])
@pytest.mark.parametrize('noise', [0.0, 3e-6])
def test_standstill_and_coarse_positions_are_no_repeats(motion, quantum, noise):
    """A motion that stops at once, without noise and in steps of 16 bits, and a slow one."""
    random = np.random.default_rng(0)
    time = INTERVAL * np.arange(3000)
    for instants in (np.clip(time, 0.5, 2.0), 0.02 * time):
        q = motion(instants).q
        q = q + noise * random.normal(size=q.shape)
        q = np.round(q / quantum) * quantum if quantum else q
        efforts = 10 * np.round(motion(instants).qdd, 1)
        data = Recording.from_arrays(time, NAMES, q, efforts)
        assert not stale_rows(data.source.whole).any()
        assert len(examined(data)) == len(data)


def test_estimates_are_those_of_the_true_stamps(polled, slider_model):
    """What the stamps of the host spoil is mended; the bound is a fifth above the true ones."""
    errors = {'true': [], 'auto': [], 'stamps': []}
    for seed in range(4):
        latest, data = polled(seed=seed, jitter=0.6)
        own = np.flatnonzero(np.append(True, np.diff(latest) > 0))
        true = Recording.from_arrays(
            INTERVAL * latest[own], NAMES, data.positions[own], data.efforts[own]
        )
        for name, each in (('true', true), ('auto', data), ('stamps', data)):
            clock = 'stamps' if name == 'stamps' else 'auto'
            options = {'method': 'filter', 'cutoff': 60.0, 'clock': clock}
            result = identify(each, slider_model, 'wls', **options)
            errors[name].append(result.values[:3] / slider_model.nominal_parameters[:3] - 1)
    size = {name: np.sqrt(np.mean(np.square(each))) for name, each in errors.items()}
    assert size['auto'] < 1.2 * size['true']
    assert size['stamps'] > 5 * size['true']
