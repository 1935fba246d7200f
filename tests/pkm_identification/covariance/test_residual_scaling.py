"""Residual scaling: what the correlation of residuals in time makes of a covariance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from pkm_identification import identify
from pkm_identification.covariance.residual_scaling import correlation_time, residual_spectrum


@pytest.mark.parametrize(('memory', 'expected'), [(0.0, 1.0), (0.5, 3.0), (0.7, 17 / 3)])
def test_correlation_time_of_an_autoregressive_series(memory, expected):
    """(1 + a) / (1 - a) for x_k = a x_(k-1) + e_k, whose autocorrelation is a^k.

    The deviation of the estimate, about sqrt(80 / samples) = 2 %, is a fifth of the limit.
    """
    noise = np.random.default_rng(1).normal(size=(100_000, 2))
    series = lfilter([1.0], [1.0, -memory], noise, axis=0)
    assert correlation_time([series]) == pytest.approx(expected, rel=0.1)
    assert correlation_time(np.split(series, 50)) == pytest.approx(expected, rel=0.1)


def test_stretches_of_rows_are_not_neighbours():
    """Pairs of equal values: 2 within a stretch; each value alone: nothing to see."""
    values = np.random.default_rng(2).normal(size=(20_000, 1))
    pairs = np.repeat(values, 2, axis=0)
    assert correlation_time([pairs]) == pytest.approx(2.0, rel=0.05)
    assert correlation_time(list(pairs[:, None])) == 1.0


def test_correlated_rows_widen_the_covariance_by_their_number(record, slider_model):
    """Rows that are closer than half a period of the cutoff carry the information of fewer."""
    result = identify(record(seed=1), slider_model, 'gauss_markov', method='filter', cutoff=15.0)
    fit = result.diagnostics.fit
    assert fit.residual_correlation_time > 1.2
    assert fit.covariance_scale == pytest.approx(fit.residual_correlation_time, rel=1e-9)


def test_spectrum_of_residuals_is_a_mean_over_neighbours():
    """Of rows whose variance rises: each is the mean over 8 rows to either side."""
    rows = np.arange(40.0)[:, None] * np.array([1.0, -2.0])
    spectrum = residual_spectrum(rows)
    for k in (0, 3, 20, 39):
        near = rows[max(k - 8, 0) : k + 9]
        np.testing.assert_allclose(spectrum[k], near.T @ near / len(near), rtol=1e-12)
