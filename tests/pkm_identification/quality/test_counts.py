"""Positions as counts of an encoder: the steps are noise, no defect of the sensor."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_identification.datasets import Recording
from pkm_identification.quality.examine import examined
from pkm_identification.signals import SignalOptions, process

TIME = 1e-3 * np.arange(12_000)
COUNT = 2 * np.pi / 2**16
NAMES = ('fast', 'slow', 'late')


@pytest.fixture
def counted():
    """The function that records a fast, a slow and a late joint in counts, with noise in counts."""

    def make(slow, noise, seed=0):
        random = np.random.default_rng(seed)
        q = np.column_stack(
            [
                0.5 * np.sin(5 * TIME),
                slow * TIME + 0.02 * slow * np.sin(3 * TIME),
                0.3 * np.cos(2 * TIME) * np.clip(TIME - 4, 0, 1),
            ]
        )
        efforts = 20 * np.sin(3 * q) + 0.1 * random.normal(size=q.shape)
        q = q + noise * COUNT * random.normal(size=q.shape)
        return Recording.from_arrays(TIME, NAMES, np.round(q / COUNT) * COUNT, efforts)

    return make


@pytest.mark.parametrize('slow', [0.002, 0.01, 0.05])
@pytest.mark.parametrize('noise', [0.0, 0.3, 1.0])
def test_slow_motion_in_counts_is_neither_stuck_nor_repeated(counted, slow, noise):
    for seed in range(2):
        data = counted(slow, noise, seed)
        found = examined(data)
        assert set(found.quality.kinds) <= {'quantisation'}
        assert len(found) == len(data) and found.source.scan.all_valid


def test_steps_are_in_the_noise_and_in_the_report(counted):
    data = counted(0.01, 0.1)
    signals = process(data, SignalOptions(method='filter', cutoff=10.0))
    variance = np.diag(signals.position_covariance)
    assert (variance >= 0.999 * COUNT**2 / 12).all()
    assert (variance < 1.5 * COUNT**2 / 12).all()
    reported = {each.joint: each.figures for each in signals.quality.of_kind('quantisation')}
    assert set(reported) == set(NAMES)
    for figures in reported.values():
        assert figures['step'] == pytest.approx(COUNT, rel=1e-6)
        assert 0.5 < figures['share_of_variance'] <= 1.0


def test_an_axis_that_a_brake_holds_is_not_stuck():
    """The first axis moves with noise over some counts, stops softly and is held without noise."""
    random = np.random.default_rng(2)
    eased = 0.5 - 0.5 * np.cos(np.pi * np.clip(TIME / 9, 0, 1))
    noise = np.where(TIME < 9, random.normal(size=len(TIME)), 0.0)
    q = np.column_stack([eased + 3 * COUNT * noise, 0.5 * np.sin(5 * TIME), 0.4 * np.cos(3 * TIME)])
    efforts = 20 * np.sin(3 * q) + 0.1 * random.normal(size=q.shape)
    data = Recording.from_arrays(TIME, NAMES, np.round(q / COUNT) * COUNT, efforts)
    assert 'stuck' not in examined(data).quality.kinds


def test_a_small_current_of_some_counts_is_not_stuck():
    """What a light axis draws is below a count most of the time, with a few counts now and then."""
    random = np.random.default_rng(3)
    q = np.column_stack([0.5 * np.sin(5 * TIME), 0.3 * np.sin(3 * TIME), 0.4 * np.cos(2 * TIME)])
    efforts = 20 * np.sin(3 * q) + 0.1 * random.normal(size=q.shape)
    bursts = np.repeat(random.random(len(TIME) // 20) < 0.2, 20)
    efforts[:, 1] = np.where(bursts, np.sign(q[:, 1]) * random.integers(6, 12, len(TIME)), 0)
    data = Recording.from_arrays(TIME, NAMES, q, efforts)
    assert 'stuck' not in examined(data).quality.kinds
