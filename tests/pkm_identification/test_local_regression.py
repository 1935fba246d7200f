"""Local cubic regression against functions that are known."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_identification.datasets import Recording
from pkm_identification.signals import SignalOptions, process
from pkm_identification.signals.local_regression import local_cubic
from pkm_identification.signals.periodic import completed

NAMES = ('left', 'right')


def test_cubics_are_exact_at_any_stamps():
    random = np.random.default_rng(0)
    time = np.sort(random.uniform(0, 1, 300))
    cubic = np.polynomial.Polynomial([0.3, -1.0, 2.0, 4.0])
    values = np.column_stack([cubic(time), -2 * cubic(time)])
    valid = random.random(values.shape) > 0.2
    values[~valid] = 1e3
    at = np.linspace(0.1, 0.9, 40)
    found = local_cubic(time, values, at, 0.1, valid)
    for order, each in enumerate(found):
        exact = cubic.deriv(order)(at) if order else cubic(at)
        np.testing.assert_allclose(each[:, 0], exact, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(each[:, 1], -2 * exact, rtol=1e-8, atol=1e-8)
    assert np.isnan(local_cubic(time, values, np.array([0.5]), 1e-4)[0]).all()


def test_motion_with_uneven_stamps(motion):
    """Stamps with half an interval of jitter and lost samples, as they are."""
    random = np.random.default_rng(1)
    time = np.arange(4000) * 1e-3 + 2.5e-4 * random.uniform(-1, 1, 4000)
    time = time[random.random(4000) > 0.05]
    true = motion(time, 1.3)
    q = true.q + 1e-6 * random.normal(size=true.q.shape)
    data = Recording.from_arrays(time, NAMES, q, true.qdd)
    signals = process(data, SignalOptions(method='local_cubic', cutoff=20.0))
    assert signals.diagnostics.method == 'local_cubic'
    inside = slice(signals.band.trim, -signals.band.trim)
    reference = motion(signals.time, 1.3)
    for found, exact, limit in (
        (signals.velocities, reference.qd, 2e-3),
        (signals.accelerations, reference.qdd, 0.03),
    ):
        error = np.abs(found - exact)[inside].max() / np.abs(exact).max()
        assert error < limit


@pytest.mark.parametrize('gap', [1, 20, 60])
def test_completed_periods_are_least_squares(gap):
    """Against the normal equations; beyond half a wave length the gap is not certain."""
    random = np.random.default_rng(2)
    count, harmonics = 400, 9
    angle = 2 * np.pi * np.arange(count)[:, None] * np.arange(harmonics + 1) / count
    basis = np.column_stack([np.cos(angle), np.sin(angle[:, 1:])])
    values = basis @ random.normal(size=2 * harmonics + 1) + 0.1 * random.normal(size=count)
    seen = random.random(count) > 0.05
    seen[100 : 100 + gap] = False
    solution = np.linalg.lstsq(basis[seen], values[seen], rcond=None)[0]
    filled, certain = completed(values[:, None] * seen[:, None], seen[:, None], harmonics)
    np.testing.assert_array_equal(filled[seen, 0], values[seen])
    np.testing.assert_allclose(filled[~seen, 0], (basis @ solution)[~seen], atol=1e-5)
    assert certain[100 : 100 + gap].all() == (gap < 0.5 * count / harmonics)


@pytest.mark.parametrize(('frequency', 'flat'), [(1.0, False), (12.0, True)])
def test_accelerations_that_cubics_flatten_are_said(frequency, flat):
    """Samples every 2 ms leave ten a window of a cubic: too few for 12 Hz."""
    time = np.arange(5000) / 500.0
    phase = 2 * np.pi * frequency * time[:, None] * np.array([1.0, 1.01])
    random = np.random.default_rng(0)
    positions = np.sin(phase) + 2e-5 * random.normal(size=(5000, 2))
    efforts = np.cos(phase) + 1e-2 * random.normal(size=(5000, 2))
    data = Recording.from_arrays(time, ('a', 'b'), positions, efforts)
    options = SignalOptions(method='local_cubic', cutoff=35.0)
    warnings = process(data, options).warnings
    assert bool(warnings) == flat
    if flat:
        found = float(warnings[0].split('accelerations ')[1].split(' %')[0]) / 100
        acceleration = process(data, options).accelerations[50:-50]
        filtered = process(data, SignalOptions(method='filter', cutoff=35.0))
        size = acceleration.std() / filtered.accelerations[50:-50].std()
        assert found == pytest.approx(1 - size, rel=0.3)
