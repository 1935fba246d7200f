"""Time between positions and efforts, found from the data alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from chances import spread_range

from pkm_description.errors import EstimationError
from pkm_identification import identify
from pkm_identification.datasets import Recording
from pkm_identification.estimators.delay import estimate_delay
from pkm_identification.signals import SignalOptions, process


def unknown(data):
    """The same recording that says nothing of the delay."""
    return replace(data, effort_delay=0.0)


@pytest.mark.parametrize('delay', [-4.3e-3, 0.5e-3, 12e-3])
def test_periodic_motion(record, slider_model, delay):
    data = unknown(record(periods=6, delay=delay, force_noise=2.0))
    found = estimate_delay(data, slider_model)
    assert abs(found.value - delay) < 4 * found.standard_deviation < 1e-3
    assert found.recorded == 0.0


def aperiodic(motion, model, count=6000, delay=7.4e-3, seed=1):
    """Three sines that never repeat, and forces of the motion a while later."""
    time = np.arange(count) * 1e-3
    random = np.random.default_rng(seed)

    def state(at):
        first, second = motion(at, 1.0), motion(at, 1.6180339)
        return replace(
            first, q=first.q + second.q, qd=first.qd + second.qd, qdd=first.qdd + second.qdd
        )

    forces = model.inverse_dynamics(state(time + delay))
    return Recording.from_arrays(
        time,
        model.actuated_joints,
        state(time).q + 1e-6 * random.normal(size=(count, 2)),
        forces + 8.0 * random.normal(size=(count, 2)),
    )


@pytest.mark.parametrize('count', [5990, 5994, 5996, 6000])
def test_other_motions(motion, slider_model, count):
    """Filtered: the ends that are left out depend on the delay, the rows that are compared not."""
    data = aperiodic(motion, slider_model, count)
    found = estimate_delay(data, slider_model, SignalOptions(method='filter', cutoff=40.0))
    assert abs(found.value - 7.4e-3) < 5 * found.standard_deviation < 2e-3


def test_deviation_is_the_spread_of_filtered_motions(motion, slider_model):
    options = SignalOptions(method='filter', cutoff=40.0)
    found = [
        estimate_delay(aperiodic(motion, slider_model, 3000, seed=seed), slider_model, options)
        for seed in range(20)
    ]
    z = [(each.value - 7.4e-3) / each.standard_deviation for each in found]
    low, high = spread_range(np.size(z))
    assert low < np.sqrt(np.mean(np.square(z))) < high


def test_deviation_is_the_spread(record, slider_model):
    found = [
        estimate_delay(unknown(record(3, seed=seed, delay=2e-3, force_noise=3.0)), slider_model)
        for seed in range(20)
    ]
    z = [(each.value - 2e-3) / each.standard_deviation for each in found]
    low, high = spread_range(np.size(z))
    assert low < np.sqrt(np.mean(np.square(z))) < high


def test_identify_estimates_it_too(record, slider_model):
    data = record(periods=6, delay=6e-3, force_noise=1.0)
    known = identify(data, slider_model, 'gauss_markov')
    result = identify(unknown(data), slider_model, 'gauss_markov', delay='estimate')
    without = identify(unknown(data), slider_model, 'gauss_markov')
    assert result.diagnostics['delay']['value'] == pytest.approx(6e-3, abs=2e-4)
    error = np.abs(result.values - known.values) / known.standard_deviation
    assert (
        error.max() < 1.0 < (np.abs(without.values - known.values) / known.standard_deviation).max()
    )
    given = identify(unknown(data), slider_model, 'gauss_markov', delay=6e-3)
    np.testing.assert_allclose(given.values, known.values, rtol=1e-10)


def test_errors(record, slider_model):
    data = record(periods=3)
    with pytest.raises(EstimationError, match="delay='estimate' needs the mechanism"):
        process(data, SignalOptions(delay='estimate'))
    with pytest.raises(EstimationError, match="'delay' must be a number or estimate .*not 'soon'"):
        SignalOptions(delay='soon')
    still = data.changed(positions=np.full(data.positions.shape, 0.3), period=1.0)
    with pytest.raises(EstimationError, match='no harmonic of the motion'):
        estimate_delay(still, slider_model)
