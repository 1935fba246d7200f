"""Verdicts on models: how good, limited by what, what to do."""

from dataclasses import replace

import numpy as np
import pytest

import pkm_description
from pkm_dynamics import ClosedChainModel
from pkm_identification import Recording, identify, load_result, validate
from pkm_identification.result.verdict import Grade, Limit, driven_by_friction, verdict_of


def with_forces(data, forces):
    return Recording.from_arrays(
        np.asarray(data.time), data.joint_names, np.asarray(data.positions), forces
    )


def test_a_right_model_of_noisy_forces_is_good_and_limited_by_noise(record, slider_model):
    found = verdict_of(identify(record(periods=8, force_noise=2.0), slider_model))
    assert found.grade is Grade.GOOD and found.limit is Limit.NOISE_OF_FORCES
    assert found.noise == pytest.approx(found.error, rel=0.2)
    assert found.model_error < 0.03


def test_an_effect_that_the_model_lacks_is_named(record, slider_model):
    """Ripple of 30 N in the first axis, of forces of about 40 N."""
    data = record(periods=8, force_noise=1.0)
    forces = np.array(data.efforts)
    forces[:, 0] += 30.0 * np.sin(2 * np.pi * np.asarray(data.positions)[:, 0] / 0.03)
    for options in ({}, {'method': 'filter', 'cutoff': 25.0}):
        found = verdict_of(identify(with_forces(data, forces), slider_model, **options))
        assert found.limit is Limit.MISSING_EFFECT
        assert found.grade is Grade.POOR
        assert found.worst == 'left'
        assert found.line().startswith('poor model: forces of held-out parts')
        size = np.sqrt(np.mean(forces**2, axis=0))  # of measured forces, not of the predicted ones
        of_all = np.linalg.norm(found.axis_errors * size) / np.linalg.norm(size)
        assert found.error == pytest.approx(of_all, rel=0.05)


def test_the_error_is_that_of_other_data(record, slider_model):
    """What is held out is as wrong as a recording that the estimate never saw."""
    signals = {'method': 'filter', 'cutoff': 25.0}
    result = identify(record(periods=8, force_noise=8.0, seed=1), slider_model, **signals)
    other = record(periods=8, period=1.17, force_noise=8.0, seed=2)
    checked = validate(other, result, slider_model, **signals)
    size = np.sqrt(np.mean(checked.measured**2, axis=0))
    relative = checked.against_measured.residual_rms / size
    assert verdict_of(result).axis_errors == pytest.approx(relative, rel=0.25)


def with_band_choice(result, **changes):
    """The result as if its band had been chosen otherwise."""
    choice = {**result.diagnostics.data[0].signals['band_choice'], **changes}
    signals = {**result.diagnostics.data[0].signals, 'band_choice': choice}
    entry = replace(result.diagnostics.data[0], signals=signals)
    return replace(result, diagnostics=replace(result.diagnostics, data=(entry,)))


def test_noise_of_the_motion_is_named(record, slider_model):
    data = record(periods=20, position_noise=3e-4, force_noise=0.1, rate=500.0)
    result = identify(data, slider_model, method='filter')
    bias = [0.5 * verdict_of(result).error] * 2
    assert verdict_of(with_band_choice(result, noise_bias=bias)).limit is Limit.NOISE_OF_MOTION


def test_parts_that_tell_nothing_of_each_other_are_named(record, slider_model):
    """As axes that move one after the other: whatever the band, no part predicts another."""
    data = record(periods=20, force_noise=1.0, rate=500.0)
    result = identify(data, slider_model, method='filter')
    assert verdict_of(result).limit is not Limit.EXCITATION
    found = verdict_of(with_band_choice(result, parts_agree=False))
    assert found.limit is Limit.EXCITATION
    assert found.advice == ('excite all axes together (pkm excite design)',)


def test_forces_of_the_opposite_sign_make_the_data_doubtful(record, slider_model):
    data = record(periods=8, force_noise=1.0)
    assert verdict_of(identify(data, slider_model)).grade is Grade.GOOD
    found = verdict_of(identify(with_forces(data, data.efforts * [-1, 1]), slider_model))
    assert found.grade is Grade.DOUBTFUL and found.limit is Limit.WRONG_DATA
    assert found.doubts == (
        'forces of left: they have the opposite sign of those of the description',
    )


def with_wrong_sign(data, model, motion):
    """Friction drives the left axis; the masses are not those described, nothing else tells it."""
    parameters = model.nominal_parameters * [0.1, 1.0, 0.1, -3.0, -3.0, 1.0, 1.0]
    noise = data.efforts - model.inverse_dynamics(motion(data.time))
    return with_forces(data, model.inverse_dynamics(motion(data.time), parameters) + noise)


def test_forces_of_the_wrong_sign_are_named_by_their_friction(record, slider_model, motion):
    data = with_wrong_sign(record(periods=8, force_noise=1.0), slider_model, motion)
    found = verdict_of(identify(data, slider_model))
    assert found.grade is Grade.DOUBTFUL and found.limit is Limit.SIGNS
    assert found.reasons == ('friction would drive left',)


@pytest.mark.parametrize('estimator', ['feasible', 'nonlinear_friction'])
def test_limits_that_keep_friction_positive_hide_no_wrong_sign(
    estimator, record, slider_model, motion, tmp_path
):
    data = record(periods=8, force_noise=1.0)
    result = identify(with_wrong_sign(data, slider_model, motion), slider_model, estimator)
    found = verdict_of(result)
    assert found.grade is Grade.DOUBTFUL and found.limit is Limit.SIGNS
    assert found.reasons == ('friction would drive left',)
    result.save(tmp_path / 'model.yaml')
    assert verdict_of(load_result(tmp_path / 'model.yaml', slider_model)).line() == found.line()
    assert verdict_of(identify(data, slider_model, estimator)).limit is not Limit.SIGNS


def test_a_fixed_value_that_the_data_contradict_is_named(record, slider_model):
    data = record(periods=8)
    fixed = {'a.m': 1.0, 'left.coulomb': (4.0, 0.5)}
    found = identify(data, slider_model, fixed=fixed).diagnostics.parameters.contradicted
    free = identify(data, slider_model, fixed={'left.coulomb': (4.0, 0.5)})
    assert [each.name for each in found] == ['a.m']
    assert found[0].value == 1.0 and found[0].deviations > 4
    assert found[0].wanted == pytest.approx(free.values[0], abs=3 * free.standard_deviation[0])


def test_right_fixed_values_and_what_is_left_out_are_not_named(record, slider_model):
    data = record(periods=8)
    right = identify(data, slider_model, fixed={'a.m': 2.0, 'left.coulomb': 4.0})
    assert right.diagnostics.parameters.contradicted == ()
    without = identify(data, slider_model, left_out=['a.m'])
    assert without.diagnostics.parameters.contradicted == ()


def test_contradictions_are_in_the_file(record, slider_model, tmp_path):
    result = identify(record(periods=4), slider_model, fixed={'a.m': 1.0})
    result.save(tmp_path / 'model.yaml')
    loaded = load_result(tmp_path / 'model.yaml', slider_model)
    assert loaded.diagnostics.parameters.contradicted == result.diagnostics.parameters.contradicted
    assert verdict_of(loaded).line() == verdict_of(result).line()


def test_friction_beside_that_of_loads_is_no_wrong_sign(record, slider_model):
    """Coulomb friction alone may be negative then: what grows with the load makes up for it."""
    data = record(periods=8, force_noise=1.0)
    found = identify(with_forces(data, data.efforts * [-1, 1]), slider_model)
    assert driven_by_friction(found) == ['left']
    assert driven_by_friction(replace(found, load_friction={'left': 0.1})) == []


def test_a_model_of_too_little_data_is_unproven(record, slider_model):
    """A motion of 8 s, and its first eighth: most is in one of three parts alone there."""
    whole = record(periods=1, period=8.0, force_noise=0.05, position_noise=1e-7)
    signals = {'method': 'filter', 'cutoff': 10.0}
    for data, grade in ((whole, Grade.GOOD), (whole.between(0.0, 1.0), Grade.UNPROVEN)):
        result = identify(data, slider_model, **signals)
        found, errors = verdict_of(result), result.diagnostics.force_errors
        assert found.grade is grade and found.error < 0.03
        assert len(errors.parts) == 3
        # the filter takes 0.2 s off either end
        assert 0.5 * data.duration < sum(errors.parts) < data.duration
    assert found.line().startswith('unproven model: the data are too short to judge it: ')
    assert found.advice == ('record longer, or several motions',)


def test_a_model_of_a_motion_that_shows_little_is_unproven():
    """However well it predicts that motion: one joint of an arm moves, or all of them."""
    model = ClosedChainModel(pkm_description.load('serial_arm'))
    time, random = np.arange(4000) * 2e-3, np.random.default_rng(4)
    for moving, grade in (([0], Grade.UNPROVEN), (range(model.n_a), Grade.GOOD)):
        q = np.tile(model.home_actuators, (len(time), 1))
        for axis in moving:
            q[:, axis] += 0.3 * np.sin((3.0 + axis) * time) + 0.1 * np.sin((9.0 + axis) * time)
        qd = np.gradient(q, time, axis=0)
        motion = model.motion_from_actuators(q, qd, np.gradient(qd, time, axis=0))
        forces = model.inverse_dynamics(motion)
        forces += 0.005 * forces.std(axis=0).max() * random.normal(size=forces.shape)
        data = Recording.from_arrays(time, model.actuated_joints, q, forces)
        found = verdict_of(identify(data, model, method='filter', cutoff=10.0))
        assert found.model_error < 0.03 and found.grade is grade, moving
        if grade is Grade.UNPROVEN:
            assert found.limit is Limit.EXCITATION
            assert 'parameters are not determined' in found.doubts[0]
            assert found.line().count('not determined') == 1


def test_an_error_that_nobody_feels_has_no_cause_to_look_for(record, slider_model):
    """Forces off by a three-thousandth of a sine, where there is no noise."""
    data = record(periods=4, force_noise=0.0, position_noise=0.0)
    off = 3e-4 * data.efforts.std() * np.sin(7.0 * data.time)[:, None]
    found = verdict_of(identify(data.changed(efforts=data.efforts + off), slider_model))
    assert found.error < 0.005 and found.limit in (Limit.NOTHING, Limit.NOISE_OF_FORCES)
