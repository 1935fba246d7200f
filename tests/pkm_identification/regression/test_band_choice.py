"""Bands chosen by the forces that are predicted of held-out parts."""

from dataclasses import replace

import numpy as np
import pytest

from pkm_identification import identify, validate
from pkm_identification.regression import band_choice
from pkm_identification.regression.held_out import parts, solved
from pkm_identification.regression.problem import build_problem
from pkm_identification.regression.run import Run
from pkm_identification.regression.selection import build_selection
from pkm_identification.result.verdict import Grade, Limit, verdict_of
from pkm_identification.signals import SignalOptions, process
from pkm_identification.signals.filtering import from_half, motion_frequency


def masses(result):
    return np.asarray(result.values[:3])


def test_a_noisy_motion_is_filtered_so_that_inertias_are_right(record, slider_model):
    """Position noise of 0.2 mm: wide bands make masses small, the chosen one does not."""
    data = record(periods=20, position_noise=2e-4, rate=500.0)
    found = identify(data, slider_model, method='filter')
    choice = found.diagnostics.data[0].signals['band_choice']
    wide = identify(data, slider_model, method='filter', cutoff=80.0)
    truth = slider_model.nominal_parameters[:3]
    assert (masses(wide) < 0.5 * truth).all()
    deviations = (masses(found) - truth) / found.standard_deviation[:3]
    assert np.abs(deviations).max() < 5
    assert 3.0 < choice['cutoff'] < 20.0
    assert [trial['cutoff'] for trial in choice['trials']] == sorted(
        trial['cutoff'] for trial in choice['trials']
    )


def test_the_widest_harmless_band_is_not_needed_where_there_is_no_noise(record, slider_model):
    """Exact data: all bands are as good, the narrowest that holds the motion is enough."""
    data = record(periods=20, position_noise=0.0, force_noise=0.0, rate=500.0)
    found = identify(data, slider_model, method='filter')
    assert masses(found) == pytest.approx(slider_model.nominal_parameters[:3], rel=2e-3)


def test_the_bias_of_the_noise_is_that_which_the_noise_makes(record, slider_model):
    """Half-sample estimate of the bias against noisy less noise-free positions."""
    options = {'periods': 20, 'rate': 500.0, 'force_noise': 0.5}
    noisy = record(position_noise=1e-4, **options)
    exact = record(position_noise=0.0, **options)
    signals = {'method': 'filter', 'cutoff': 25.0}
    difference = (
        identify(noisy, slider_model, **signals).values
        - identify(exact, slider_model, **signals).values
    )
    problem = build_problem(
        process(exact, SignalOptions(method='filter', cutoff=10.0)), slider_model
    )
    forces = np.einsum('mai,i->ma', problem.regressor, difference)
    spread = np.sum((problem.forces - problem.forces.mean(axis=0)) ** 2, axis=0)
    truth = np.sqrt(np.sum(forces**2, axis=0) / spread)
    found = _bias_at(noisy, slider_model, 25.0, 10.0)
    assert found == pytest.approx(truth, rel=0.3)
    assert (truth > 0.005).all()


def _bias_at(data, model, cutoff, scored_in):
    base = model.base_parameters()
    selection = build_selection(base.names, model.nominal_parameters)
    options = SignalOptions(method='filter')
    pieces = band_choice.pieces_of([data])

    def of(band, half=None):
        chosen = replace(options, cutoff=band)
        return [Run(each.signals(chosen, half), base, model, selection) for each in pieces]

    found, scored = (parts(of(each), [10])[0] for each in (cutoff, scored_in))
    return band_choice._noise_bias(of, cutoff, pieces, found, scored)


def test_parts_say_the_same_as_their_rows(record, slider_model):
    signals = process(record(periods=6, seed=3), SignalOptions(method='filter', cutoff=20.0))
    problem = build_problem(signals, slider_model)
    run = problem.runs[0]
    found, measured = parts([run], [5], targets=[2.0 * run.signals.forces])
    values = slider_model.nominal_parameters * 0.9
    assert found.count.sum() == run.count
    assert found.errors(values).sum(axis=0) == pytest.approx(
        np.sum(run.residuals(values) ** 2, axis=0)
    )
    assert measured.errors(2.0 * values) == pytest.approx(4.0 * found.errors(values))
    spread = np.sum((run.forces - run.forces.mean(axis=0)) ** 2, axis=0)
    assert found.spread == pytest.approx(spread)
    without, weights = found.held_out_values()
    rest = slice(int(found.count[0]), None)
    root = np.sqrt(weights)
    direct = np.linalg.lstsq(
        (root[:, None] * run.regressor[rest]).reshape(-1, 7),
        (root * run.forces[rest]).ravel(),
        rcond=None,
    )[0]
    assert without[0] == pytest.approx(direct, rel=1e-6)


def test_directions_without_information_stay_zero():
    square = np.diag([4.0, 0.0])
    assert solved(square, np.array([8.0, 0.0])) == pytest.approx([2.0, 0.0])


def test_an_axis_without_forces_spoils_nothing(record, slider_model):
    data = record(periods=6, rate=500.0)
    forces = np.array(data.efforts)
    forces[:, 1] = 0.0
    silent = data.changed(efforts=forces)
    run = build_problem(
        process(silent, SignalOptions(method='filter', cutoff=20.0)), slider_model
    ).runs[0]
    values, weights = parts([run], [5])[0].held_out_values()
    assert np.isfinite(values).all() and np.isfinite(weights).all()


def test_a_recording_without_forces_has_a_band(record, slider_model):
    silent = record(periods=6, rate=500.0)
    silent = silent.changed(efforts=np.zeros_like(np.asarray(silent.efforts)))
    base = slider_model.base_parameters()
    selection = build_selection(base.names, slider_model.nominal_parameters)
    choice = band_choice.choose_band(
        band_choice.pieces_of([silent]),
        slider_model,
        base,
        selection,
        SignalOptions(method='filter'),
    )
    assert choice.cutoff == choice.scored_in and choice.trials[0].excess == 0.0


def test_half_of_the_samples_show_the_same_motion(record):
    data = record(periods=4, position_noise=0.0)
    positions = np.asarray(data.positions)
    band = process(data, SignalOptions(method='filter', cutoff=20.0)).band
    whole = band.smooth(positions)
    for first in (0, 1):
        half = band.smooth(from_half(positions, first))
        assert np.abs(half - whole)[200:-200].max() < 1e-4 * np.ptp(whole)


def test_halves_have_noise_of_their_own():
    noise = np.random.default_rng(0).normal(size=(20_000, 1))
    noise[[0, -1]] = 0.0  # the line through the ends belongs to both halves
    halves = np.hstack([from_half(noise, first) for first in (0, 1)])
    smooth = np.apply_along_axis(np.convolve, 0, halves, np.ones(20) / 20, 'valid')[::20]
    correlation = np.corrcoef(smooth.T)[0, 1]
    assert abs(correlation) < 5 / np.sqrt(len(smooth))
    assert smooth.mean(axis=1).std() == pytest.approx(1 / np.sqrt(20), rel=0.15)


def test_the_frequency_of_a_motion_is_that_of_its_velocity():
    time = np.arange(10_000) / 100.0
    slow, fast = np.sin(2 * np.pi * 0.5 * time), 0.05 * np.sin(2 * np.pi * 4.0 * time)
    noise = 1e-4 * np.random.default_rng(1).normal(size=(len(time), 2))
    positions = np.column_stack([slow, slow + fast]) + noise
    assert motion_frequency(positions, 0.01) == pytest.approx(0.5, abs=0.05)
    assert motion_frequency(positions + 4 * fast[:, None], 0.01) == pytest.approx(4.0, abs=0.05)


def test_frequency_of_a_motion_whose_samples_slip():
    """A stroke at constant speed; now and then a sample is read twice and the next one lost."""
    random = np.random.default_rng(5)
    time = np.arange(6000) * 1e-3
    path = 2.6 * np.interp(time, [0.3, 5.7], [0.0, 1.0])
    read = np.arange(len(path))
    read[random.choice(len(path), 200, replace=False)] -= 1
    assert motion_frequency(path[read][:, None], 1e-3) < 2.0


def test_fewer_harmonics_where_the_noise_of_the_motion_bends_the_inertias(record, slider_model):
    """Vibrations of the sensors that repeat with the motion: the spread does not show them."""
    data = record(periods=4, rate=500.0, force_noise=0.2)
    time, k = np.asarray(data.time), np.arange(20, 60)
    phases = np.random.default_rng(0).uniform(0, 2 * np.pi, len(k))
    hum = np.sin(2 * np.pi * np.outer(time, k) + phases).sum(axis=1)
    shaken = data.from_arrays(
        time, data.joint_names, data.positions + 2e-5 * hum[:, None], data.efforts, period=1.0
    )
    found = identify(shaken, slider_model)
    signals = found.diagnostics.data[0].signals
    assert signals['harmonics'] < 20
    usual = identify(shaken, slider_model, harmonics=60)
    truth = slider_model.nominal_parameters[:3]
    assert np.abs(masses(found) - truth).max() < 0.2 * np.abs(masses(usual) - truth).max()


def test_steps_of_friction_are_predicted_in_a_wider_band(record, slider_model):
    """Little noise: parameters need no more than the motion, forces have the steps of friction."""
    data = record(periods=20, position_noise=2e-5, force_noise=0.05, rate=500.0)
    test = record(periods=8, position_noise=2e-5, force_noise=0.05, rate=500.0, seed=7)
    found = identify(data, slider_model, method='filter')
    choice = found.diagnostics.data[0].signals['band_choice']
    predicted = choice['prediction']
    assert choice['cutoff'] < predicted['cutoff']
    assert (predicted['error_growth'] > 0).all()

    def raw_error(cutoff):
        seen = validate(test, found, slider_model, method='filter', cutoff=cutoff)
        measured = [
            np.interp(seen.time, test.time, column) for column in np.asarray(test.efforts).T
        ]
        return np.linalg.norm(np.transpose(measured) - seen.predicted) / np.sqrt(len(seen.time))

    tried = {trial['cutoff']: raw_error(trial['cutoff']) for trial in predicted['trials']}
    assert tried[predicted['cutoff']] < 1.05 * min(tried.values())
    own = validate(test, found, slider_model, method='filter')
    assert own.diagnostics['cutoff'] == predicted['cutoff']


def test_one_leap_of_a_position_does_not_narrow_the_prediction(record, slider_model):
    data = record(periods=20, position_noise=2e-5, force_noise=0.05, rate=500.0)
    positions = np.array(data.positions)
    positions[3000:] += 2e-4
    leapt = data.changed(positions=positions)
    cutoffs = [
        identify(each, slider_model, method='filter')
        .diagnostics.data[0]
        .signals['band_choice']['prediction']['cutoff']
        for each in (data, leapt)
    ]
    assert cutoffs[1] == pytest.approx(cutoffs[0], rel=0.3)


def chosen_of(recordings, model):
    base = model.base_parameters()
    selection = build_selection(base.names, model.nominal_parameters)
    options = SignalOptions(method='filter')
    return band_choice.choose_band(
        band_choice.pieces_of(recordings), model, base, selection, options
    )


def test_recordings_about_as_long_have_the_same_parts_in_every_band(record, slider_model):
    """Four of them have 2.5 of ten parts each: one sample of a band must not make that two."""
    data = [record(periods=each / 500, rate=500.0, seed=each) for each in (3000, 3006, 2986, 2997)]
    assert len(chosen_of(data, slider_model).trials) > 2


def test_noise_of_the_motion_is_told_of_constant_forces_too(record, slider_model):
    """Relative to the forces themselves: they have no spread."""
    data = record(periods=6, rate=500.0, position_noise=1e-5)
    forces = np.array(data.efforts)
    forces[:, 1] = 7.0
    choice = chosen_of([data.changed(efforts=forces)], slider_model)
    assert choice.noise_bias.shape == (2,) and (choice.noise_bias < 10.0).all()
    assert all(trial.error < 1e3 for trial in choice.trials)


def alone(moving, data, model, motion):
    """Motion of one slider while the other trembles, and its forces with noise of 1 N."""
    time = np.asarray(data.time)
    moved = motion(time)
    share = np.full(2, 1e-5)
    share[moving] = 1.0
    centre = moved.q.mean(axis=0)
    swung = centre + share * (moved.q - centre)
    own = replace(moved, q=swung, qd=share * moved.qd, qdd=share * moved.qdd)
    noise = np.random.default_rng(moving).normal(size=(len(time), 2))
    return {'positions': own.q, 'efforts': model.inverse_dynamics(own) + noise}


def test_where_parts_tell_nothing_of_each_other_the_middle_of_the_bands_is_taken(
    record, slider_model, motion
):
    """One slider moves in one recording of ten: without it noise tells its mass, in any band."""
    together = [record(periods=4, rate=500.0, position_noise=0.0, seed=k) for k in range(10)]
    apart = [
        data.changed(**alone(int(k == 0), data, slider_model, motion))
        for k, data in enumerate(together)
    ]
    choice = chosen_of(apart, slider_model)
    cutoffs = [trial.cutoff for trial in choice.trials]
    assert not choice.parts_agree
    # all bands were tried, though none after the first gains; the middle one was taken
    assert cutoffs[-1] == pytest.approx(0.2 / 0.002)
    assert choice.cutoff == cutoffs[(len(cutoffs) - 1) // 2] and len(cutoffs) >= 4
    assert chosen_of(together, slider_model).parts_agree
    verdict = verdict_of(identify(apart, slider_model, method='filter'))
    assert verdict.limit is Limit.EXCITATION and verdict.grade is Grade.UNPROVEN


def test_an_axis_with_a_constant_force_does_not_choose_for_the_others(record, slider_model):
    """It stands still, with an offset that the model lacks: no band predicts that of its force."""
    data = record(periods=20, position_noise=2e-4, rate=500.0)
    choice = chosen_of([data], slider_model)
    positions, forces = np.array(data.positions), np.array(data.efforts)
    positions[:, 1] = 0.4 + 2e-4 * np.random.default_rng(1).normal(size=len(forces))
    forces[:, 1] = 7.0 + 0.05 * np.random.default_rng(0).normal(size=len(forces))
    held = chosen_of([data.changed(positions=positions, efforts=forces)], slider_model)
    assert held.parts_agree and held.trials[0].error > band_choice.NOTHING_SHARED
    assert held.cutoff == pytest.approx(choice.cutoff, rel=0.1)
