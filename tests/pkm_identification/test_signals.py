"""Periods, noise, Fourier refit and filtering against motions differentiated by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from chances import spread_range
from scipy.stats import chi2

import pkm_description
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification import identify, validate
from pkm_identification.datasets import Recording
from pkm_identification.datasets.source import Source
from pkm_identification.quality import Quality
from pkm_identification.signals import SignalOptions, process
from pkm_identification.signals.averaging import average
from pkm_identification.signals.bands import BLOCK, HarmonicBand
from pkm_identification.signals.folding import fold, low_harmonics, settling_spectra
from pkm_identification.signals.fourier import fit
from pkm_identification.signals.noise import (
    DEGREES,
    DRIFT,
    SIGNIFICANCE,
    noise_from_blocks,
    smoothed_spectrum,
)
from pkm_identification.signals.period_search import find_period

NAMES = ('left', 'right')


def in_blocks(data):
    """Return a recording in memory as one that is read in blocks."""
    return replace(data, source=Source.of(data.source.whole, is_long=True))


def relative_error(values, reference):
    return np.abs(values - reference).max() / np.abs(reference).max()


def test_fourier_derivatives(motion):
    time = np.arange(1000) * 1e-3
    refit = fit(motion(time).q, 1.0, 3)
    anywhere = np.random.default_rng(0).uniform(-3, 3, 50)
    reference = motion(anywhere)
    for order, values in enumerate((reference.q, reference.qd, reference.qdd)):
        np.testing.assert_allclose(refit.evaluate(anywhere, order), values, rtol=1e-9, atol=1e-9)
    delayed = motion(time + 0.37e-3)
    np.testing.assert_allclose(refit.sampled(1000, 0.37e-3, 2), delayed.qdd, atol=1e-9)


def test_noisy_periodic_motion(record, motion):
    signals = process(record(periods=10, delay=-0.5e-3))
    reference = motion(signals.time)
    assert signals.averaged == 10
    assert signals.diagnostics.significant_harmonics == 3
    assert relative_error(signals.velocities, reference.qd) < 1e-4
    assert relative_error(signals.accelerations, reference.qdd) < 1e-3


def test_noise_covariance_is_found_with_its_correlation(record):
    signals = process(record(periods=20, force_noise=5.0, position_noise=2e-5))
    noise = signals.force_noise
    assert noise.is_white
    np.testing.assert_allclose(np.sqrt(np.diag(noise.covariance)), [5.0, 15.0], rtol=0.02)
    assert noise.correlation[0, 1] == pytest.approx(0.8, abs=0.02)
    position = signals.position_noise
    np.testing.assert_allclose(np.sqrt(np.diag(position.covariance)), 2e-5, rtol=0.02)
    assert position.correlation[0, 1] == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize('delay', [-0.5e-3, 4e-3])
def test_some_periods_keep_the_delay(record, motion, slider_model, delay):
    """Motion at the stamps of the forces, from the chosen periods and no others."""
    data = record(periods=4, delay=delay, force_noise=2.0, position_noise=1e-8)
    positions, efforts = np.array(data.positions), np.array(data.efforts)
    positions[1000:2000] += 1e-3 * np.sin(2 * np.pi * data.time[:1000, None])
    signals = process(data.changed(positions=positions), SignalOptions(period=1.0, skip_periods=0))
    assert signals.delay == delay
    some = signals.with_periods(np.array([True, False, True, True]))
    assert (some.averaged, some.delay, len(some)) == (3, delay, 1000)
    reference = motion(some.time)
    np.testing.assert_array_equal(some.time, signals.time)
    # 4 ms and 0.5 ms of motion are 40 and more times these
    np.testing.assert_allclose(some.positions, reference.q, rtol=0, atol=1e-7)
    np.testing.assert_allclose(some.velocities, reference.qd, rtol=0, atol=1e-5)
    np.testing.assert_allclose(some.accelerations, reference.qdd, rtol=0, atol=1e-3)
    chosen = efforts.reshape(4, 1000, 2)[[0, 2, 3]].mean(axis=0)
    np.testing.assert_allclose(some.forces, chosen, rtol=1e-12)
    whole = signals.with_periods(np.ones(4, dtype=bool))
    np.testing.assert_allclose(whole.accelerations, signals.accelerations, rtol=0, atol=1e-9)
    np.testing.assert_allclose(whole.forces, signals.forces, rtol=1e-12)


@pytest.mark.parametrize('periods', [2, 3])
@pytest.mark.parametrize('lost', [False, True])
def test_noise_of_few_periods_has_one_degree_of_freedom_less(record, periods, lost):
    """A mean over P periods leaves P - 1 of freedom at each phase that all of them show."""
    data = record(periods=periods, correlation=0.0, force_noise=5.0, position_noise=2e-5)
    valid = np.ones(data.positions.shape, dtype=bool)
    valid[:400] = not lost
    data = data.changed(position_valid=valid, effort_valid=valid)
    signals = process(data, SignalOptions(period=1.0, skip_periods=0, bad_samples='keep'))
    assert signals.averaged == periods
    low, high = spread_range((periods - 1) * 1000 - 400 * lost, figures=4)
    for noise, true in ((signals.force_noise, [5.0, 15.0]), (signals.position_noise, 2e-5)):
        spread = np.sqrt(np.diag(noise.covariance)) / true
        assert ((low < spread) & (spread < high)).all(), spread
        assert noise.periods == periods


@pytest.mark.parametrize('periods', [2, 3])
def test_degrees_of_freedom_of_spectra_of_few_periods(periods):
    """When a mean drifts, when a band is coloured, and over how many harmonics to smooth."""
    freedom = periods - 1
    limit = chi2.isf(DRIFT, freedom) / freedom
    for ratio, drifts in ((0.95 * limit, False), (1.05 * limit, True)):
        outer = np.ones((200, 1, 1))
        outer[0] = ratio
        spectrum = smoothed_spectrum(outer, periods)
        assert spectrum[0, 0, 0] == pytest.approx(ratio if drifts else 1.0)
    impulse = np.zeros((200, 1, 1))
    impulse[100] = 1.0
    harmonics = np.count_nonzero(smoothed_spectrum(impulse, periods))
    assert DEGREES <= harmonics * freedom <= DEGREES + 2 * freedom
    random = np.random.default_rng(0)
    limit = SIGNIFICANCE / np.sqrt(freedom)  # of the excess of one harmonic
    for excess, is_white in ((0.95 * limit, True), (1.05 * limit, False)):
        size = np.ones(2001)
        size[[0, -1]] = 0.0
        size[1] = np.sqrt(1 + excess)
        phase = np.exp(2j * np.pi * random.random((periods, 2001)))
        block = np.fft.irfft(size * phase, axis=1)[..., None]
        assert noise_from_blocks([block]).is_white == is_white


def test_coloured_noise_is_recognised():
    random = np.random.default_rng(3)
    steps = random.normal(size=(12, 4000, 2))
    coloured = np.empty_like(steps)
    coloured[:, 0] = steps[:, 0]
    for i in range(1, 4000):
        coloured[:, i] = 0.9 * coloured[:, i - 1] + steps[:, i]
    samples = coloured[:, 2000:]
    noise = noise_from_blocks([(samples - samples.mean(axis=0)) * np.sqrt(12 / 11)])
    assert not noise.is_white
    # AR(1): power 1 / (1 - a)^2 at low frequencies
    low = np.einsum('kaa->ka', noise.spectrum[1:20]).mean()
    assert low == pytest.approx(100.0, rel=0.15)


@pytest.mark.parametrize('coloured', [False, True])
@pytest.mark.parametrize('drift', [0.0, 0.3, 2.0])
def test_means_that_drift_from_period_to_period(drift, coloured):
    """The spread of the mean is that of the means of the periods, not that of fast noise."""
    random = np.random.default_rng(0)
    periods, count, claimed, spread = 12, 200, [], []
    for _ in range(100):
        samples = random.normal(size=(periods, count, 2)) * [1.0, 2.0]
        if coloured:
            samples += np.roll(samples, 1, axis=1)
        samples += drift * random.normal(size=(periods, 1, 2))
        off = samples - samples.mean(axis=0)
        noise = noise_from_blocks([off * np.sqrt(periods / (periods - 1))])
        claimed.append(np.diag(noise.spectrum[0]))
        spread.append(count * samples.mean(axis=1).var(axis=0, ddof=1))
        if drift == 2.0:
            assert not noise.is_white
    np.testing.assert_allclose(np.mean(claimed, axis=0), np.mean(spread, axis=0), rtol=0.25)


def test_friction_steps_stay_in_the_refit():
    """A triangular velocity has harmonics far above the excitation; they are kept."""
    time = np.arange(10000) * 1e-3
    phase = (time % 1.0) * 4
    velocity = np.where(phase < 2, 1 - phase, phase - 3)
    position = np.cumsum(np.roll(velocity, 1)) * 1e-3 * 0.2
    random = np.random.default_rng(0)
    q = np.column_stack([position, position]) + 1e-6 * random.normal(size=(10000, 2))
    signals = process(Recording.from_arrays(time, NAMES, q, np.column_stack([velocity, velocity])))
    assert signals.diagnostics.significant_harmonics > 15


@pytest.mark.parametrize('period', [1.0, 0.9425])
def test_period_is_found(record, period):
    data = record(periods=5, period=period)
    assert find_period(data.time, data.positions) == pytest.approx(period, rel=1e-4)


def test_one_closed_period_and_none(motion):
    time = np.arange(1000) * 1e-3
    assert find_period(time, motion(time).q) == pytest.approx(1.0)
    closed = np.arange(1001) * 1e-3
    assert find_period(closed, motion(closed).q) == pytest.approx(1.0)
    assert find_period(time, motion(time * 0.77).q) is None
    assert find_period(time, np.zeros((1000, 2))) is None


def test_folding_with_lost_samples_and_odd_periods(motion):
    period = 0.3337
    time = np.delete(np.arange(2000) * 1e-3, [100, 700, 701])
    positions = motion(time, period).q
    folded = average(Recording.from_arrays(time, NAMES, positions, positions), period, 0).positions
    np.testing.assert_allclose(fold(time, positions, period), folded.samples, atol=1e-12)
    assert not folded.interpolated
    assert folded.samples.shape == (5, 334, 2)
    assert 3 <= np.count_nonzero(~folded.valid[..., 0]) <= 6  # 334 points on 333.7 samples
    grid = period / 334 * np.arange(334)
    for samples in folded.samples:
        np.testing.assert_allclose(samples, motion(grid, period).q, atol=2e-6)


@pytest.mark.parametrize('periods', [3, 4, 12])
def test_strays_are_those_beyond_the_noise(periods):
    """Eight standard deviations, of however few periods."""
    random = np.random.default_rng(0)
    samples = random.normal(size=(periods, 20_000, 2))
    valid = np.ones((periods * 20_000, 2), dtype=bool)
    valid[7, 0] = False

    def averaged():
        efforts = samples.reshape(-1, 2)
        data = Recording.from_arrays(
            1e-3 * np.arange(len(efforts)), NAMES, efforts, efforts, effort_valid=valid
        )
        examined = replace(data, quality=Quality(len(data), 1e-3, (), {}, {}))
        return average(examined, 20.0, 0)

    assert averaged().strays == 0
    samples[1, ::200] = 20.0
    found = averaged()
    assert found.strays == 200 and not found.forces.valid[1, ::200].any()
    assert found.positions.valid is None  # nothing was lost among them


def test_rows_keep_the_variance_of_white_noise():
    samples = np.random.default_rng(1).normal(size=(1001, 30))
    rows = HarmonicBand(100, 1.0).rows(samples)
    assert rows.shape == (201, 30)
    assert rows.var() == pytest.approx(1.0, rel=0.05)
    full = HarmonicBand(500, 1.0).rows(samples)
    np.testing.assert_allclose(full.T @ full, samples.T @ samples, atol=1e-8)


def test_filtered_motion(motion):
    time = np.arange(4000) * 1e-3
    moving = motion(time * 0.9 + 0.01 * np.sin(time))
    q = moving.q + 1e-6 * np.random.default_rng(0).normal(size=(4000, 2))
    signals = process(
        Recording.from_arrays(time, NAMES, q, moving.qd), SignalOptions(method='filter')
    )
    rate = 0.9 + 0.01 * np.cos(signals.time)
    reference = motion(signals.time * 0.9 + 0.01 * np.sin(signals.time))
    acceleration = reference.qdd * rate[:, None] ** 2 - reference.qd * (
        0.01 * np.sin(signals.time)[:, None]
    )
    inside = slice(signals.band.trim, -signals.band.trim)
    assert relative_error(signals.velocities[inside], (reference.qd * rate[:, None])[inside]) < 5e-3
    assert relative_error(signals.accelerations[inside], acceleration[inside]) < 0.02


@pytest.mark.parametrize('method', ['filter', 'local_cubic'])
def test_friction_steps_are_filtered_as_often_as_the_forces(slider_model, motion, method):
    """The rows of exact forces are those of the regressor times the true parameters."""
    time = np.arange(8400) * 1e-3
    moving = motion(time)
    forces = slider_model.inverse_dynamics(moving)
    data = Recording.from_arrays(time, NAMES, moving.q, forces)
    signals = process(data, SignalOptions(method=method, cutoff=14.0, bad_samples='keep'))
    truth = slider_model.nominal_parameters
    (rows, measured), *others = signals.row_blocks(
        lambda part, samples: slider_model.regressor(part.motion(slider_model, samples))
    )
    assert not others
    error = (rows @ truth - measured).std(axis=0)
    coulomb = np.array([4.0, 6.0])
    assert (error < 0.02 * coulomb).all()


@pytest.mark.parametrize('count', [900, 12000])
def test_short_signals_keep_their_motion(motion, count):
    """That of the last model and of these samples alone; of many samples it would be large."""
    model, other = (ClosedChainModel(pkm_description.load('rps_upv')) for _ in range(2))
    time = np.arange(count) * 1e-3
    q = model.home_actuators + 1e-2 * np.sin(time[:, None] * np.arange(3, 3 + model.n_a))
    data = Recording.from_arrays(time, model.actuated_joints, q, np.ones_like(q))
    signals = process(data, SignalOptions(method='filter', cutoff=14.0, bad_samples='keep'))
    first = signals.motion(model)
    assert (signals.motion(model, slice(0, len(signals))) is first) == (len(signals) <= BLOCK)
    part = signals.motion(model, slice(10, 20))
    assert np.allclose(part.position, signals.motion(model).position[10:20], rtol=0, atol=1e-9)
    late = signals.with_samples(positions=signals.positions[::-1])
    assert not np.allclose(late.motion(model).position, first.position)
    assert signals.motion(other) is not first
    assert signals.motion(model) is not first


@pytest.mark.parametrize('delay', [-0.3, 0.2])
def test_no_rows_of_motion_that_was_not_recorded(record, motion, delay):
    data = record(periods=4, delay=delay)
    signals = process(data, SignalOptions(method='filter', cutoff=30.0))
    inside = signals.usable
    assert relative_error(signals.positions[inside], motion(signals.time[inside]).q) < 1e-3


def test_blocks_give_the_same_rows():
    from pkm_identification.signals.filtering import low_pass

    samples = np.random.default_rng(2).normal(size=(50000, 3)).cumsum(axis=0)
    band = low_pass(20.0, 1e-3, len(samples))
    blocks = band.evaluate(lambda rows: samples[rows], len(samples))
    whole = band.rows(samples)
    assert blocks.shape == whole.shape
    assert np.abs(blocks - whole).max() < 1e-3 * np.abs(whole).max()


@pytest.mark.parametrize('long', [False, True])
@pytest.mark.parametrize(
    ('origin', 'kind', 'rate'), [(1.7e9, float, 1e3), (1.7e9, float, 4e3), (60.0, 'f4', 1e3)]
)
def test_rounded_stamps(record, motion, origin, kind, rate, long):
    """Seconds since 1970, and stamps of 32 bits: no difference of two tells the interval."""
    data = record(periods=6, rate=rate, position_noise=1e-7)
    moved = data.changed(time=(data.time + origin).astype(kind))
    given = in_blocks(moved) if long else moved
    for options in ({}, {'period': 1.0}):
        signals = process(given, SignalOptions(**options))
        assert signals.diagnostics.period == pytest.approx(1.0, rel=2e-6)
        assert signals.diagnostics.samples_a_period == rate
        reference = motion(signals.time - origin)
        assert relative_error(signals.accelerations, reference.qdd) < 0.02
    filtered = process(given, SignalOptions(method='filter', cutoff=20.0))
    samples = filtered.diagnostics.interval * rate
    assert samples == pytest.approx(round(samples), rel=1e-5)


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'method': 'spline'}, "option 'method' must be auto, fourier, filter"),
        ({'period': -1.0}, "'period' must be a positive number"),
        ({'harmonics': 0}, "'harmonics' must be a whole number >= 1"),
        ({'skip_periods': -1}, 'skip_periods'),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(EstimationError, match=message):
        SignalOptions(**options)


def test_options_that_do_not_fit_the_data(record, motion):
    data = record(periods=3)
    for options, message in (
        ({'period': 5.0}, 'no whole period of 5 s'),
        ({'harmonics': 600}, 'valid are 1 to 499'),
        ({'method': 'filter', 'cutoff': 600.0}, 'half the sampling rate'),
        ({'skip_periods': 3}, 'no whole period'),
    ):
        with pytest.raises(EstimationError, match=message):
            process(data, SignalOptions(**options))
    time = np.arange(1000) * 1e-3
    drifting = Recording.from_arrays(time, NAMES, motion(time * 0.77).q, np.zeros((1000, 2)))
    with pytest.raises(EstimationError, match='no period that could be found'):
        process(drifting, SignalOptions(method='fourier'))


def test_rows_of_a_long_period_need_few_samples():
    angle = 2 * np.pi * np.arange(60000) / 60000
    samples = np.column_stack([np.cos(7 * angle), np.sin(30 * angle) + 2])
    band = HarmonicBand(50, 60.0)
    used = []

    def function(rows):
        used.append(len(samples[rows]))
        return samples[rows]

    rows = band.evaluate(function, len(samples))
    np.testing.assert_allclose(rows, band.rows(samples), atol=1e-9)
    assert sum(used) <= 1000


@pytest.mark.parametrize('noise', [0.0, 1e-5])
def test_periods_in_which_the_servo_settles_are_left_out(noise):
    rng = np.random.default_rng(3)
    time = 1e-3 * np.arange(5000)
    wave = 0.1 * np.sin(2 * np.pi * time)[:, None] * np.array([1.0, -0.5])
    transient = 1e-3 * np.exp(-time / 0.2)[:, None] * np.array([1.0, 0.3])
    jitter = noise * rng.normal(size=wave.shape)

    def settling(positions):
        return settling_spectra(low_harmonics(fold(time, positions, 1.0)))

    assert settling(wave + jitter) == 0
    found = settling(wave + transient + jitter)
    assert found == (1 if noise else 2)  # exp(-5) mm stands out of no noise, but not of 10 um


@pytest.mark.parametrize('name', ['period', 'cutoff', 'harmonics', 'skip_periods'])
@pytest.mark.parametrize('value', ['some', [1, 2], True])
def test_options_of_a_wrong_type_are_named(name, value):
    kind = 'positive number' if name in ('period', 'cutoff') else 'whole number'
    with pytest.raises(EstimationError, match=f"option '{name}' must be a {kind}"):
        SignalOptions(**{name: value})


@pytest.mark.parametrize(
    ('method', 'unused'),
    [
        ('auto', ['cutoff= is not used: the motion has a period']),
        ('filter', ['harmonics= is not used: the motion is filtered', 'skip_periods= is not used']),
    ],
)
@pytest.mark.parametrize('long', [False, True])
def test_options_that_mean_nothing_are_named(record, method, unused, long):
    data = record(periods=4)
    options = SignalOptions(method=method, cutoff=40.0, harmonics=5, skip_periods=1)
    signals = process(in_blocks(data) if long else data, options)
    warnings = signals.warnings
    assert len(warnings) == len(unused)
    assert all(text.startswith(each) for text, each in zip(warnings, unused, strict=True))


@pytest.mark.parametrize(('periods', 'method'), [(2, 'filter'), (3, 'fourier')])
def test_a_motion_repeats_that_is_seen_three_times(record, periods, method):
    """A period that is found; one that is given counts as it is."""
    data = record(periods=periods)
    assert process(data).diagnostics.method == method
    assert process(data, SignalOptions(period=1.0)).diagnostics.method == 'fourier'


@pytest.mark.parametrize('long', [False, True])
def test_a_recorded_period_that_the_motion_does_not_have_is_left_out(record, long):
    """The motion has a period of 1 s; one of 0.9 s was written down."""
    data = replace(record(periods=4), period=0.9)
    signals = process(in_blocks(data) if long else data)
    assert signals.diagnostics.method == 'filter'
    assert 'does not repeat after 0.9 s, the period that was recorded' in signals.warnings[0]
    for options in (SignalOptions(period=0.9), SignalOptions(method='fourier')):
        with pytest.raises(EstimationError, match='does not repeat after 0.9 s'):
            process(data, options)
    right = process(replace(data, period=1.0))
    assert right.diagnostics.method == 'fourier' and not right.warnings


def test_a_ramp_at_the_end_of_a_periodic_motion_is_no_contradiction(record):
    data = replace(record(periods=5), period=1.0)
    fades = np.clip(5.0 - data.time, 0.0, 1.0)[:, None]
    home = data.positions[0]
    ended = data.changed(positions=home + fades * (data.positions - home))
    assert process(ended).diagnostics.method == 'fourier'


@pytest.mark.parametrize(
    ('periods', 'given', 'methods'),
    [
        ((5, 4), None, ['fourier', 'fourier']),
        ((5, 2), None, ['filter', 'filter']),  # the second shows no period
        ((5, 2), 1.0, ['fourier', 'fourier']),
    ],
)
def test_found_periods_count_where_all_recordings_have_one(
    record, slider_model, periods, given, methods
):
    options = {} if given is None else {'period': given}
    data = [record(periods=count, seed=count, force_noise=0.5) for count in periods]
    result = identify(data, slider_model, **options)
    assert [each.signals['method'] for each in result.diagnostics.data] == methods
    other = record(periods=4, seed=7, force_noise=0.5)
    method = validate(other, result, slider_model).diagnostics['method']
    assert method == methods[0]  # a motion whose period is found is treated like the model's data
    told = validate(other, result, slider_model, period=1.0).diagnostics['method']
    assert told == 'fourier'
