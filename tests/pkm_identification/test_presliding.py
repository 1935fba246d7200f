"""Drives that yield before they slip: identified, validated, commanded, in long recordings."""

from __future__ import annotations

import numpy as np
import pytest
from slides import rubbing_slides

from pkm_control.feedforward import identified_feedforward, nominal_feedforward
from pkm_description import EstimationError
from pkm_identification import identify, load_result
from pkm_identification.datasets import Recording
from pkm_identification.signals import SignalOptions
from pkm_identification.signals.process import examine
from pkm_identification.validation.validate import validate

PERIOD, RATE, NOISE = 4.0, 500.0, 0.1  # [s, Hz, N]
DEPTH = 2e-3  # [m, rad]: a slow reversal takes tens of milliseconds
TERMS = {name: {'presliding': DEPTH} for name in ('lift', 'along')}
TEXTS = [f'{name}:presliding({DEPTH})' for name in TERMS]
FRICTION = {'lift': (20.0, 5.0), 'along': (12.0, 8.0), 'across': (6.0, 3.0), 'tip': (0.4, 0.1)}


@pytest.fixture(scope='module')
def model():
    return rubbing_slides(FRICTION)


@pytest.fixture(scope='module')
def truth(model):
    return model.with_drive_terms(TERMS)


def motion_of(model, time, seed):
    """A slow stroke with a shiver of fractions of a deflection, and its exact derivatives."""
    rng = np.random.default_rng(seed)
    w = 2 * np.pi * np.array([1, 2, 7]) / PERIOD
    size = np.array([0.1, 0.04, 1.5 * DEPTH])[:, None] * rng.uniform(0.7, 1.0, (3, model.n_a))
    angle = time[:, None, None] * w[:, None] + rng.uniform(0, 6, (3, model.n_a))
    centre = 0.5 * (model.upper + model.lower)
    return (
        centre + np.sum(size * np.sin(angle), axis=1),
        np.sum(size * w[:, None] * np.cos(angle), axis=1),
        -np.sum(size * w[:, None] ** 2 * np.sin(angle), axis=1),
    )


@pytest.fixture(scope='module')
def recording(truth):
    def make(seed, periods=4, period=PERIOD):
        time = np.arange(round(periods * PERIOD * RATE)) / RATE
        states = motion_of(truth, time, seed)
        motion = truth.motion_from_actuators(*states)
        motion = truth.with_drive_states(motion, time, settled=period is not None)
        noise = NOISE * np.random.default_rng(100 + seed).normal(size=(len(time), truth.n_a))
        forces = truth.inverse_dynamics(motion) + noise
        return Recording.from_arrays(time, truth.actuated_joints, states[0], forces, period=period)

    return make


@pytest.mark.parametrize('options', [{}, {'method': 'filter', 'cutoff': 25.0}])
def test_friction_is_found_where_drives_yield(recording, model, truth, options):
    """Within three standard deviations; the inputs are fixed."""
    found = identify(recording(1), model, drive_terms=TEXTS, **options)
    expected = found.matrix @ truth.nominal_parameters
    off = np.abs(found.values - expected) / found.standard_deviation
    assert off.max() < 4.0
    for name in ('lift.coulomb', 'along.coulomb'):
        i = found.names.index(name)
        assert off[i] < 3.0 and found.standard_deviation[i] < 0.01 * expected[i], name


@pytest.fixture(scope='module')
def found(recording, model):
    return identify(recording(1), model, drive_terms=TEXTS)


def test_other_motions_are_predicted_better(recording, model, found):
    plain = identify(recording(1), model)
    errors = [
        validate(recording(2), each, model).against_measured.overall for each in (plain, found)
    ]
    assert errors[1] < 0.2 * errors[0]


def test_the_model_file_and_the_controller_know_it(found, model, truth, tmp_path):
    path = found.save(tmp_path / 'model.yaml')
    # readers of version 1 and 2 know no terms of drives, and would let this one slide
    assert path.read_text().count('\nversion: 3\n') == 1
    loaded = load_result(path, model)
    assert loaded.drive_terms == {name: {'presliding': DEPTH} for name in TERMS}
    time = np.arange(1000) / RATE
    motion = truth.with_drive_states(truth.motion_from_actuators(*motion_of(truth, time, 4)), time)
    predicted = loaded.as_physical().predict(motion)
    values = loaded.controller_parameters
    assert values['lift.presliding'] == DEPTH
    given = identified_feedforward(model, 'm', list(values), list(values.values()))
    np.testing.assert_allclose(given.forces(model, motion), predicted, rtol=0, atol=1e-9)
    # cycle by cycle, as a controller goes
    before, forces = None, []
    for row in range(200):
        now = model.motion_from_actuators(
            *(each[row : row + 1] for each in motion_of(model, time, 4))
        )
        forces.append(given.along(model, now, before, 1.0 / RATE)[1][0])
        before = now
    np.testing.assert_allclose(forces[1:], predicted[1:200], rtol=0, atol=1e-9)


def test_the_nominal_feedforward_is_the_description(truth):
    time = np.arange(300) / RATE
    motion = truth.with_drive_states(truth.motion_from_actuators(*motion_of(truth, time, 3)), time)
    given = nominal_feedforward(truth)
    expected = truth.inverse_dynamics(motion)
    np.testing.assert_allclose(given.forces(truth, motion), expected, atol=1e-9)


def test_blocks_of_a_recording_go_on_where_the_one_before_ended(recording, truth):
    """A drive that stands at the end of a block still holds what it was wound up by."""
    data = recording(1, periods=10, period=None)
    signals = examine(data, SignalOptions(method='filter', cutoff=25.0)).signals(
        SignalOptions(method='filter', cutoff=25.0)
    )
    whole = signals.motion(truth).drive_states
    parts = [(part.motion(truth).drive_states, samples) for part, samples, _ in signals._parts()]
    assert len(parts) > 1
    for states, samples in parts:
        np.testing.assert_allclose(states, whole[samples], rtol=0, atol=1e-12)
    assert np.abs(whole[parts[1][1].start]).max() > 0.5


@pytest.mark.parametrize('estimator', ['maximum_likelihood', 'output_error'])
def test_estimators_with_motions_of_their_own_refuse_it(recording, model, estimator):
    with pytest.raises(EstimationError, match='knows no friction with a past'):
        identify(recording(1), model, estimator, drive_terms=TEXTS)


def test_energy_counts_what_bristles_take_and_give_back(recording, model, truth):
    """Within three standard deviations; without the states a mass is six of them off."""
    found = identify(recording(1), model, 'ekf', drive_terms=TEXTS, measurement='energy')
    off = np.abs(found.values - found.matrix @ truth.nominal_parameters) / found.standard_deviation
    assert off.max() < 3.0


def test_the_data_ask_for_it(recording, model):
    """Of drives that yield, at a deflection near theirs; the grid is coarse."""
    found = identify(recording(1), model, friction='auto')
    depths = {name: own.get('presliding') for name, own in found.drive_terms.items()}
    assert set(depths) == set(TERMS)
    for depth in depths.values():
        assert 0.5 * DEPTH < depth < 2.0 * DEPTH
    plain = identify(recording(1), model)
    errors = [
        validate(recording(2), each, model).against_measured.overall for each in (plain, found)
    ]
    assert errors[1] < 0.5 * errors[0]
