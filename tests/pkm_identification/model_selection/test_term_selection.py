"""Terms of drives that the data ask for: found where they are, none where the model is right."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from slides import slides, three_sines

from pkm_control.feedforward import identified_feedforward
from pkm_description import loads
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.friction_laws import DriveFriction
from pkm_identification import identify, load_result, reduce_model
from pkm_identification.datasets import Recording
from pkm_identification.model_selection import term_selection
from pkm_identification.model_selection.candidate_terms import (
    Candidate,
    candidate_columns,
    candidates_of,
    in_time,
    time_rows,
)
from pkm_identification.model_selection.friction_choice import why_no_laws
from pkm_identification.model_selection.ripple_screen import ripple_peak
from pkm_identification.model_selection.term_equations import Equations
from pkm_identification.model_selection.term_selection import select_terms
from pkm_identification.regression.problem import build_problem
from pkm_identification.regression.solution import solve_problem
from pkm_identification.result.drive_terms import Term
from pkm_identification.signals import SignalOptions, process
from pkm_identification.signals.bands import HarmonicBand
from pkm_identification.validation.validate import validate

RATE, PERIOD, PERIODS, NOISE = 250.0, 4.0, 4, 0.3  # [Hz, s, 1, N]
RIPPLE = {'period': 0.06, 'harmonics': 1, 'cosine': 3.0, 'sine': -2.0}
TERMS = {
    'across': {'ripple': RIPPLE},
    'along': {'offset': 4.0},
    'lift': {'offset': -2.0, 'stiffness': 60.0, 'rest': 0.1},
}
STRIBECK = np.array([6.0, 0.08, 1.0])  # [N, m/s, 1] of `across`


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(slides())


@pytest.fixture(scope='module')
def truth(model):
    return model.with_drive_terms(TERMS)


@pytest.fixture(scope='module')
def law(model):
    laws = tuple('stribeck' if name == 'across' else 'coulomb_viscous' for name in ORDER)
    return DriveFriction(ORDER, laws, STRIBECK, model.description.transition_velocity)


ORDER = tuple(ClosedChainModel(slides()).actuated_joints)


motion_at = partial(three_sines, period=PERIOD)


def recording_of(robot, seed, law=None, **options):
    time = np.arange(round(PERIODS * PERIOD * RATE)) / RATE
    motion = motion_at(robot, time, 1)
    states = robot.actuator_states(motion)
    noise = NOISE * np.random.default_rng(100 + seed).normal(size=(len(time), robot.n_a))
    forces = robot.inverse_dynamics(motion) + noise
    forces = forces if law is None else forces + law.forces(states.velocities)
    return Recording.from_arrays(
        time, robot.actuated_joints, states.positions, forces, **{'period': PERIOD, **options}
    )


def problem_of(robot, data, **options):
    return build_problem(process(data.for_model(robot), SignalOptions(**options)), robot)


@pytest.fixture(scope='module')
def found(truth, model):
    return identify(recording_of(truth, 1), model, friction='auto')


def taken(result):
    return {
        (str(e.term), e.joints) for e in result.diagnostics.drive_terms.tried_terms if e.is_taken
    }


def test_the_terms_of_the_robot_are_found(found):
    """Its offset, ripple and spring, and beyond them what a test at one per cent takes: nothing."""
    assert taken(found) == {
        ('ripple', ('across',)),
        ('offset', ('along',)),
        ('spring', ('lift',)),
    } or taken(found) == {
        ('ripple', ('across',)),
        ('offset', ('along',)),
        ('offset', ('lift',)),
        ('spring', ('lift',)),
    }
    ripple = found.drive_terms['across']['ripple']
    assert abs(ripple['period'] - 0.06) < 0.001
    values = dict(zip(found.names, found.values, strict=True))
    amplitude = np.hypot(values['across.ripple_cos1'], values['across.ripple_sin1'])
    assert abs(amplitude - np.hypot(3.0, 2.0)) < 0.3
    assert found.diagnostics.drive_terms.asked_for is None
    assert found.provenance.options['friction'] == 'auto'


def test_the_table_tells_what_each_brought(found):
    rows = found.diagnostics.drive_terms.tried_terms
    for row in rows:
        if row.is_taken:
            assert row.error_after < row.error_before and row.gain > row.deviation
            assert row.p_value < 0.01 and row.f > 1.0
    assert not rows[-1].is_taken and rows[-1].step > max(e.step for e in rows if e.is_taken)


def test_a_model_file_brings_terms_and_table(found, model, tmp_path):
    loaded = load_result(found.save(tmp_path / 'model.yaml'), model)
    assert loaded.diagnostics.drive_terms == found.diagnostics.drive_terms
    motion = motion_at(model, np.linspace(0.0, 1.0, 20), 3)
    np.testing.assert_allclose(loaded.predict(motion), found.predict(motion), rtol=1e-9)


def test_validation_takes_the_plain_model(found, truth, model):
    plain = identify(recording_of(truth, 1), model)
    other = recording_of(truth, 2)
    better, worse = (
        validate(other, each, model).against_measured.overall for each in (found, plain)
    )
    assert better < 0.5 * worse


@pytest.mark.parametrize('options', [{}, {'method': 'filter', 'cutoff': 15.0}])
def test_a_right_model_gets_no_term(model, options):
    """Each draw takes one in less than a hundred cases; these draws are fixed."""
    for seed in range(5):
        problem = problem_of(model, recording_of(model, seed), **options)
        assert select_terms(problem).taken == ()


def test_residuals_name_what_they_ask_for(truth, model):
    alone = model.with_drive_terms({'across': TERMS['across']})
    asked = identify(recording_of(alone, 1), model).diagnostics.drive_terms.asked_for
    assert asked.term is Term.RIPPLE and asked.joints == ('across',)
    assert asked.sentence().startswith('across: residuals periodic in position with')
    assert 'mm' in asked.sentence() and abs(asked.period - 0.06) < 0.005
    assert identify(recording_of(model, 1), model).diagnostics.drive_terms.asked_for is None


def test_what_makes_held_out_forces_worse_is_not_asked_for(model, monkeypatch):
    """The tests weigh recordings by their residuals, users count newtons."""

    def judged(before, after):
        row = SimpleNamespace(error_before=before, error_after=after)
        return SimpleNamespace(passes=True, row=lambda *_: row)

    search = SimpleNamespace(judged=lambda: iter([judged(0.9, 1.8), judged(1.9, 1.7)]))
    monkeypatch.setattr(term_selection, 'Search', lambda *_: search)
    problem = problem_of(model, recording_of(model, 0))
    assert term_selection.asked_for(problem).error_after == 1.7
    search.judged = lambda: iter([judged(0.9, 1.8)])
    assert term_selection.asked_for(problem) is None


def test_chosen_terms_are_estimated_beside_those_that_are_named(found, truth, model):
    """Names in `estimate` are those of the description, which has none of the terms."""
    names = model.base_parameters().names
    named = identify(recording_of(truth, 1), model, friction='auto', estimate=names)
    assert taken(named) == taken(found) and named.names == found.names
    assert named.values == pytest.approx(found.values)
    assert named.provenance.options['estimate'] == names


@pytest.fixture(scope='module')
def with_law(model, law):
    return identify(recording_of(model, 3, law), model, friction='auto')


def test_stribeck_friction_is_found(with_law, model, law):
    """Of its drive alone, and the forces of another recording are predicted better."""
    assert taken(with_law) == {('stribeck', ('across',))}
    assert with_law.drive_friction.names[0] == 'across.stribeck_force'
    data = recording_of(model, 4, law)
    plain = identify(recording_of(model, 3, law), model)
    better, worse = (validate(data, each, model).against_measured for each in (with_law, plain))
    assert better.overall < 0.9 * worse.overall


def test_laws_among_physical_bodies_go_to_nonlinear_friction(model, law):
    data = recording_of(model, 3, law)
    found = identify(data, model, 'feasible', friction='auto')
    assert found.estimator == 'nonlinear_friction' and found.is_physical
    names = [f'across.stribeck_{each}' for each in ('force', 'velocity', 'exponent')]
    assert found.drive_friction.names == names
    # five standard deviations: once in a million draws; this one is fixed
    off = np.abs(found.drive_friction.values - STRIBECK)[:2]
    assert (off < 5 * found.drive_friction.standard_deviation[:2]).all()
    plain = identify(recording_of(model, 3), model, 'nonlinear_friction', friction='auto')
    assert plain.estimator == 'feasible'
    with pytest.raises(EstimationError, match='leave law= out'):
        identify(data, model, 'nonlinear_friction', law='atan', friction='auto')


def test_a_law_goes_through_file_and_controller(with_law, model, tmp_path):
    loaded = load_result(with_law.save(tmp_path / 'model.yaml'), model)
    motion = motion_at(model, np.linspace(0.0, 2.0, 30), 4)
    np.testing.assert_allclose(loaded.predict(motion), with_law.predict(motion), rtol=1e-9)
    values = loaded.controller_parameters
    given = identified_feedforward(model, 'm', list(values), list(values.values()))
    np.testing.assert_allclose(
        given.forces(model, motion), loaded.as_physical().predict(motion), rtol=0, atol=1e-9
    )


def rubbing(friction, transition_velocity):
    """Slides of which `along` rubs as the description says; the sign of slow ones is smoothed."""
    text = f'transition_velocity: {transition_velocity}\nfriction: {{along: {friction}}}\n'
    return ClosedChainModel(loads(slides().urdf, slides().yaml_text + text))


LOPSIDED = '{coulomb: 5, coulomb_negative: 2, viscous: 3}'
EVEN = '{coulomb: 3.5, viscous: 3}'


@pytest.mark.parametrize(
    ('truth', 'slow', 'term', 'words'),
    [
        (LOPSIDED, 0.1, 'asymmetry', 'differs by direction: asymmetry'),
        (LOPSIDED, 1e-6, 'offset', 'do not tell apart: offset'),
        (EVEN, 0.1, 'offset', 'a constant force: offset'),
    ],
)
def test_friction_by_direction_is_named_where_the_data_tell_it(truth, slow, term, words, tmp_path):
    """An offset has the same force at standstill too; its sign is the other way in `EVEN`."""
    robot, described = rubbing(truth, slow), rubbing(EVEN, slow)
    if truth is EVEN:
        robot = robot.with_drive_terms({'along': {'offset': 1.5}})
    found = identify(recording_of(robot, 5), described, friction='auto')
    assert taken(found) == {(term, ('along',))}
    assert found.diagnostics.drive_terms.tried_terms[0].sentence().endswith(words)
    values = dict(zip(found.names, found.values, strict=True))
    if term == 'asymmetry':
        # many standard deviations; this draw is fixed
        assert abs(values['along.coulomb_positive'] - 5.0) < 0.3
        assert abs(values['along.coulomb_negative'] - 2.0) < 0.3
        loaded = load_result(found.save(tmp_path / 'model.yaml'), described)
        motion = motion_at(described, np.linspace(0.0, 1.0, 20), 3)
        np.testing.assert_allclose(loaded.predict(motion), found.predict(motion), rtol=1e-9)
    else:
        assert values['along.offset'] == pytest.approx(1.5, abs=0.3)


def test_friction_by_direction_never_drives():
    """An offset larger than the friction is none of it, whatever the data tell."""
    described = rubbing('{coulomb: 1, viscous: 3}', 1e-6)
    robot = described.with_drive_terms({'along': {'offset': 3.0}})
    found = identify(recording_of(robot, 5), described, friction='auto')
    assert found.diagnostics.drive_terms.tried_terms[0].sentence().endswith('force: offset')


@pytest.mark.parametrize('estimator', ['wls', 'feasible'])
def test_a_power_law_takes_the_place_of_viscous_friction(estimator):
    """Friction c s(v) + d s(v) |v|^0.4 has three parameters, and the model has as many."""
    laws = tuple('power' if name == 'along' else 'coulomb_viscous' for name in ORDER)
    model = rubbing('{coulomb: 4, viscous: 0}', 0.002)
    law = DriveFriction(ORDER, laws, np.array([9.0, 0.4]), 0.002)
    found = identify(recording_of(model, 6, law), model, estimator, friction='auto')
    assert taken(found) == {('power', ('along',))}
    row = found.diagnostics.drive_terms.tried_terms[0]
    assert row.replaces == ('along.viscous',) and row.gain > row.deviation
    values = dict(zip(found.names, found.values, strict=True))
    assert values['along.viscous'] == 0.0 and not found.diagnostics.parameters.contradicted
    force, exponent = found.drive_friction.values
    assert abs(exponent - 0.4) < 0.1 and abs(force - 9.0) < 1.0
    assert found.provenance.options.get('left_out') is None


def test_viscous_friction_beside_a_law_stays_where_the_data_need_it(with_law):
    """Stribeck friction has its viscous part: no power law stands for both."""
    assert with_law.diagnostics.drive_terms.tried_terms[0].replaces == ()


@pytest.mark.parametrize(
    ('estimator', 'options'),
    [
        *((each, {}) for each in ('irls', 'iv', 'ekf', 'ukf', 'staged', 'recursive')),
        *((each, {'method': 'filter', 'cutoff': 25.0}) for each in ('irls', 'staged', 'recursive')),
    ],
)
def test_linear_estimators_take_a_law_of_given_shape(model, law, estimator, options):
    """The same amplitude as by weighted least squares, within what noise makes of both."""
    problem = problem_of(model, recording_of(model, 3, law), **options)
    laws = {'across': ('stribeck', tuple(STRIBECK[1:]))}
    found, plain = (solve_problem(problem, each, {}, laws=laws) for each in (estimator, 'wls'))
    assert found.drive_friction.names == plain.drive_friction.names
    deviation = plain.drive_friction.standard_deviation[0]
    # Huber's estimate and the filters weigh samples otherwise: five deviations of this draw
    assert abs(found.drive_friction.values[0] - STRIBECK[0]) < 5 * deviation
    assert plain.drive_friction.values[0] == pytest.approx(STRIBECK[0], abs=5 * deviation)


def test_estimators_that_take_no_law_say_why(model, law):
    found = identify(recording_of(model, 3, law), model, 'ellipsoid', friction='auto')
    terms = found.diagnostics.drive_terms
    assert found.drive_friction is None and not any(each.term.is_law for each in terms.tried_terms)
    assert terms.refused.startswith("friction laws were not tried: 'ellipsoid' bounds")
    assert why_no_laws('ukf', {'measurement': 'energy'}) and not why_no_laws('ukf', {})


def test_a_reduction_takes_terms_first(truth, model):
    """What the data ask for is in the model before parameters are dropped, and stays known."""
    data = recording_of(truth, 1)
    found = reduce_model(data, model, friction='auto', validation=recording_of(truth, 2))
    plain = reduce_model(data, model, validation=recording_of(truth, 2))
    assert ('ripple', ('across',)) in taken(found.result)
    assert {'across.ripple_cos1', 'along.offset'} <= set(found.kept)
    assert found.steps[-1].held_out['measured'] < 0.5 * plain.steps[-1].held_out['measured']
    assert found.result.provenance.options['friction'] == 'auto'
    assert 'a reduction drops' in found.result.diagnostics.drive_terms.refused
    with pytest.raises(EstimationError, match='friction'):
        reduce_model(data, model, friction='all')


def test_trials_are_those_of_fits(truth, model):
    """Falls of the held-out error and of the residuals, by elimination and by fits of all rows."""
    problem = problem_of(model, recording_of(truth, 1), method='filter', cutoff=12.0)
    rows = time_rows(problem, 5)
    offset = Candidate(Term.OFFSET, (3,), (ORDER[3],))
    spring = Candidate(Term.SPRING, (0,), (ORDER[0],), with_offset=True)
    candidates = [offset, spring]
    equations = Equations.of(rows, candidate_columns(problem, candidates), candidates)
    root = np.sqrt(equations.weights)

    def held_out(columns):
        design = np.concatenate([rows.regressor, columns], axis=2) * root[:, None]
        forces, falls, whole = rows.forces * root, [], []
        for k in np.unique(rows.parts):
            rest, here = rows.parts != k, rows.parts == k
            flat = design[rest].reshape(-1, design.shape[2])
            values = np.linalg.lstsq(flat, forces[rest].ravel(), rcond=None)[0]
            falls.append(np.sum((forces[here] - design[here] @ values) ** 2))
        flat = design.reshape(-1, design.shape[2])
        values, *_ = np.linalg.lstsq(flat, forces.ravel(), rcond=None)
        whole = np.sum((forces.ravel() - flat @ values) ** 2)
        return np.array(falls), whole

    nothing = np.zeros((*rows.forces.shape, 0))
    before, left = held_out(nothing)
    for trial, columns in zip(equations.trials([0, 1]), ([3], [0, 0]), strict=True):
        own = np.zeros((*rows.forces.shape, len(columns)))
        own[:, columns[0], -1] = 1.0
        if len(columns) == 2:
            positions = problem.signals.positions[problem.signals.band.row_samples(4000)]
            own[:, 0, 0] = positions[:, 0]
        after, less = held_out(own)
        assert trial.fall == pytest.approx((before - after).sum(), rel=1e-3)
        spread = np.sqrt(5) * (before - after).std(ddof=1)
        assert trial.deviation == pytest.approx(spread, rel=1e-2)
        assert trial.taken == pytest.approx(left - less, rel=1e-3)


def test_a_rotor_of_the_first_drive_is_the_inertia_of_its_bodies(model):
    """A drive of a slide moves masses: its rotor is one of the model's own columns."""
    problem = problem_of(model, recording_of(model, 1))
    rotors = [each for each in candidates_of(problem) if each.term is Term.ROTOR]
    rows = time_rows(problem, 10)
    equations = Equations.of(rows, candidate_columns(problem, rotors), rotors)
    assert len(rotors) == 4
    tried = {rotors[each.candidate].joints[0] for each in equations.trials(range(4))}
    assert 'across' not in tried


def test_friction_that_follows_a_state_is_not_by_the_sign_of_the_speed(model):
    """Presliding moves Coulomb friction along the path: no candidate has that force."""
    sliding = model.with_drive_terms('along:presliding(0.001)')
    found = candidates_of(problem_of(sliding, recording_of(sliding, 1)))
    joints = {each.joints[0] for each in found if each.term is Term.ASYMMETRY}
    assert joints == set(ORDER) - {'along'}


def test_fourier_rows_in_time_are_rotated():
    rows = np.random.default_rng(1).normal(size=(21, 3))
    samples = in_time(rows, True)
    assert np.sum(samples**2) == pytest.approx(np.sum(rows**2))
    np.testing.assert_allclose(HarmonicBand(10, 1.0).rows(samples), rows, atol=1e-12)


def test_the_screen_sees_the_wave_number_of_a_ripple():
    rng = np.random.default_rng(3)
    time = np.arange(4000) / 200.0
    q = 0.1 * np.sin(0.7 * time) + 0.05 * np.sin(2.3 * time + 1.0)
    left = np.cos(2 * np.pi * q / 0.012) + rng.normal(size=4000)
    peak = ripple_peak([q], [left])
    assert abs(1 / peak.wave - 0.012) < 0.012**2 / 0.3
    assert ripple_peak([np.zeros(100)], [left[:100]]) is None


def test_unknown_words_and_long_recordings_are_refused(model, truth):
    data = recording_of(truth, 1)
    with pytest.raises(EstimationError, match='friction'):
        identify(data, model, friction='all')
    problem = problem_of(model, data)
    with pytest.raises(EstimationError, match='in memory'):
        select_terms(replace(problem, runs=(_Long(problem.runs[0]),)))


class _Long:
    is_long = True

    def __init__(self, run):
        self._run = run

    def __getattr__(self, name):
        return getattr(self._run, name)
