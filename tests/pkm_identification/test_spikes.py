"""Where the limits of the spike detector lie: below they keep samples, above they flag them."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_identification.quality.prediction import Extrapolation
from pkm_identification.quality.spikes import NOISY, SMOOTH, Neighbours, find_spikes

TIME = np.arange(6000) * 1e-3
ROWS = np.arange(100, 5900, 90)


def flagged(values, neighbours, resolution=0.0):
    """Return which samples (N,) of one signal are spikes."""
    return find_spikes(
        TIME[: len(values)],
        values[:, None],
        np.ones((len(values), 1), dtype=bool),
        np.array([resolution]),
        neighbours,
    )[0][:, 0]


def noisy_ramp(offset, length=1):
    """Noise of one on a ramp of thousand; spikes are off it by so much, up and down in turn."""
    values = np.random.default_rng(0).normal(size=len(TIME))
    signs = np.where(np.arange(len(ROWS)) % 2, 1.0, -1.0)
    for k in range(length):
        values[ROWS + k] = offset * signs
    return values + 1000.0 * TIME / TIME[-1]


@pytest.mark.parametrize('neighbours', [NOISY[0], SMOOTH[0]])
def test_limit_in_noise(neighbours):
    """Six standard deviations of what is off, which is noise of sample and prediction."""
    neighbours = Neighbours(neighbours.reach, neighbours.degree, 0.0, neighbours.alone)
    assert not flagged(noisy_ramp(0.0), neighbours).any()
    below, above = (flagged(noisy_ramp(size), neighbours) for size in (4.7, 10.5))
    assert below[ROWS].mean() < 0.1
    assert above[ROWS].mean() > 0.9
    assert not np.delete(above, ROWS).any()


@pytest.mark.parametrize('kind', NOISY + SMOOTH)
def test_limit_in_steps_of_the_resolution(kind):
    """Three steps, where there is next to no noise."""
    neighbours = Neighbours(kind.reach, kind.degree, 0.0, kind.alone)
    deviation = _deviation(kind)
    for size, is_spike in ((2.2, False), (4.2, True)):
        values = 1e-5 * (-1.0) ** np.arange(1000)
        values[500] = size * 0.05 * deviation
        found = flagged(values, neighbours, resolution=0.05)
        assert np.flatnonzero(found).tolist() == [500] * is_spike


@pytest.mark.parametrize('kind', NOISY + SMOOTH)
def test_limit_of_what_is_negligible(kind):
    """A share of the standard deviation of the signal, where there is next to no noise."""
    deviation = _deviation(kind)
    for size, is_spike in ((0.7, False), (1.4, True)):
        values = np.linspace(-1.0, 1.0, 1000) + 1e-7 * (-1.0) ** np.arange(1000)
        values[500] += size * kind.negligible * deviation * values.std()
        found = flagged(values, kind)
        assert np.flatnonzero(found).tolist() == [500] * is_spike


def test_what_lasts_longer_than_a_sample_is_part_of_an_effort():
    """Of two alike, each is half as far off the line of its neighbours: less than 0.75."""
    neighbours = Neighbours(24, 1, 0.0, True)
    alone, pairs = (flagged(noisy_ramp(12.0, length), neighbours) for length in (1, 2))
    assert alone[ROWS].mean() > 0.9
    assert pairs.mean() < 0.1 * len(ROWS) / len(TIME)


def _deviation(kind):
    """Of what is off, for white unit noise: from one side, or, of smooth signals, from both."""
    extrapolation = Extrapolation(TIME, kind.reach, kind.degree)
    return extrapolation.deviation if kind.alone else extrapolation.off_between(TIME[:, None])[1]
