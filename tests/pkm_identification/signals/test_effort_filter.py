"""Efforts behind a low pass of the drive, which SciPy's simulation of its analogue form makes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from pkm_description.errors import DatasetError
from pkm_identification import identify
from pkm_identification.datasets import Recording, load
from pkm_identification.datasets.effort_filter import EffortFilter
from pkm_identification.validation.validate import validate

CUTOFF = 10.0  # [Hz] of the drives; the motion has harmonics up to 3 Hz


@pytest.fixture
def behind(record):
    """The function that records efforts, without noise, behind a low pass."""

    def make(order, periods=6, **options):
        data = record(periods=periods, force_noise=0.0, position_noise=0.0, **options)
        system = signal.butter(order, 2 * np.pi * CUTOFF, analog=True)
        # begun a period before the record: the filter has settled
        before = np.concatenate([data.efforts[:1000], data.efforts])
        time = 1e-3 * np.arange(len(before))
        filtered = [signal.lsim(system, column, time)[1][1000:] for column in before.T]
        return data.changed(efforts=np.transpose(filtered))

    return make


@pytest.mark.parametrize('order', [1, 2, 4])
@pytest.mark.parametrize(
    'signals', [{'method': 'fourier'}, {'method': 'filter', 'cutoff': 8.0}], ids=['period', 'time']
)
def test_delay_and_gain_are_undone(behind, slider_model, order, signals):
    data = behind(order)
    truth = slider_model.nominal_parameters
    drive = {'order': order, 'cutoff': CUTOFF}
    plain = identify(data, slider_model, 'wls', **signals)
    result = identify(data, slider_model, 'wls', effort_filter=drive, **signals)
    error, before = (np.abs(each.values / truth - 1).max() for each in (result, plain))
    # steps of friction lie between samples
    assert error < 0.01 < 0.1 < before
    recorded = data.changed(effort_filter=EffortFilter(order, CUTOFF))
    again = identify(recorded, slider_model, 'wls', **signals)
    np.testing.assert_array_equal(again.values, result.values)
    found = validate(recorded, result, slider_model, **signals)
    # of a period, what the drives left of the fastest steps of friction is not restored
    share = 0.01 if signals['method'] == 'filter' else 0.1
    size = np.sqrt(np.mean(found.measured**2, axis=0))
    assert (found.against_measured.residual_rms < share * size).all()
    without = validate(data, result, slider_model, **signals).against_measured
    assert (found.against_measured.residual_rms < 0.3 * without.residual_rms).all()


@pytest.mark.parametrize('order', range(1, 9))
def test_the_response_is_that_of_a_butterworth_filter(order):
    drive = EffortFilter(order, CUTOFF)
    frequency = np.array([0.0, 1.0, 9.0, 50.0])
    _, expected = signal.freqs(
        *signal.butter(order, 2 * np.pi * CUTOFF, analog=True), worN=2 * np.pi * frequency
    )
    np.testing.assert_allclose(drive.response(frequency), expected, rtol=1e-9)
    slow = 1e-3
    phase = np.angle(drive.response(np.array([slow])))[0]
    assert drive.delay == pytest.approx(-phase / (2 * np.pi * slow), rel=1e-4)


def test_a_time_constant_is_a_first_order(tmp_path):
    drive = EffortFilter.of({'time_constant': 0.02}, 'here')
    assert drive == EffortFilter(1, pytest.approx(1 / (2 * np.pi * 0.02)))
    assert drive.delay == pytest.approx(0.02)
    time = 1e-3 * np.arange(50)
    values = np.random.default_rng(0).normal(size=(50, 1))
    arrays = {'joint_names': ['a'], 'positions': values, 'efforts': values, 'time': time}
    np.savez(tmp_path / 'data.npz', effort_filter=[2, 50.0], **arrays)
    data: Recording = load(tmp_path / 'data.npz')
    assert data.effort_filter == EffortFilter(2, 50.0)


@pytest.mark.parametrize(
    'wrong',
    [
        50.0,
        {'cutoff': -1},
        {'order': 2},
        {'order': 9, 'cutoff': 3},
        {'order': 2, 'time_constant': 0.1},
        {'cutoff': 5, 'time_constant': 0.1},
        {'cut': 5},
    ],
)
def test_what_is_no_filter_is_refused(wrong):
    with pytest.raises(DatasetError, match='here: .*effort_filter'):
        EffortFilter.of(wrong, 'here')
