"""Options of the excitation design: free period, prior, mixes, limits, workers, refusals."""

import re
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from mechanisms import tripod

import pkm_description
from pkm_description.errors import FeasibilityError, TrajectoryError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.limits.feasibility import check_feasibility
from pkm_dynamics.simulation.closed_tree import saturated
from pkm_identification.excitation import DesignLimits, ExcitationDesign, design_excitation
from pkm_identification.excitation.design import build_design_problem
from pkm_identification.excitation.request_check import (
    most_informative_motion,
    require_information,
    shortest_period,
)
from pkm_identification.excitation.search.criteria import CRITERIA, mixed
from pkm_identification.excitation.search.design_problem import DesignProblem
from pkm_identification.excitation.search.starts import random_unknowns, repair

QUICK = {'harmonics': 2, 'starts': 1, 'iterations': 3, 'candidates': 2, 'workers': 1}
OPTIONS = {**QUICK, 'period': 1.5, 'sampling_rate': 50.0}


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(pkm_description.load('palida'))


@pytest.fixture(scope='module')
def base(model):
    return model.base_parameters(shared=True, reduced=True)


@pytest.fixture(scope='module')
def design(model):
    return design_excitation(model, seed=2, **OPTIONS)


def number_after(words, caught):
    """Return the number that an error message names."""
    return float(re.search(rf'{words} ([\d.e+-]+)', str(caught.value))[1])


def problem_of(model, base, **options):
    return build_design_problem(model, base, {'d_optimal': 1.0}, 2, None, DesignLimits(), **options)


def test_a_longer_record_is_no_gain_of_the_period(model, base):
    """The criterion is that of a fixed time: a motion twice as slow differs by its motion only."""
    problem = problem_of(model, base, measuring_time=2.0)
    z = repair(problem, random_unknowns(problem, np.random.default_rng(1)))
    fine = problem.refined(4)
    trajectory = problem.trajectory(z)
    time = np.arange(1000) / 1000 * trajectory.period
    W = base.regressor(trajectory.motion(time, model)).reshape(-1, base.rank)
    expected = -np.linalg.slogdet(W.T @ W * (2.0 * 1000.0 / 1000))[1]
    assert fine.value(z)[0] == pytest.approx(expected, rel=2e-3)


def test_a_free_period_finds_more_than_the_suggested_one(model):
    options = {**QUICK, 'iterations': 12, 'seed': 5}
    free = design_excitation(model, **options)
    fixed = design_excitation(model, period=1.5, **options)
    assert free.period != pytest.approx(1.5, rel=1e-3)
    samples = free.period * options.get('sampling_rate', 1000.0)
    assert abs(samples - round(samples)) < 1e-9
    assert free.figures['d_optimal_per_second'] < fixed.figures['d_optimal_per_second']


def test_no_harmonic_is_above_the_highest_frequency(model):
    limits = DesignLimits(frequency=1.25)
    options = {**QUICK, 'iterations': 4, 'limits': limits}
    design = design_excitation(model, **options)
    assert design.trajectory.harmonics / design.period <= 1.25 * (1 + 1e-9)
    with pytest.raises(FeasibilityError, match='above the frequency') as caught:
        design_excitation(model, period=0.5, **options)
    least = number_after('must be at least', caught)
    assert design_excitation(model, period=least, **options).period == least


def test_unknowns_and_trajectory_are_each_others_inverse(model, base):
    problem = problem_of(model, base)
    z = 0.3 * random_unknowns(problem, np.random.default_rng(0))
    assert problem.unknowns(problem.trajectory(z)) == pytest.approx(z)
    slower = problem.slowed(z, 1.5)
    assert problem.trajectory(slower).period == pytest.approx(1.5 * problem.trajectory(z).period)
    assert problem.states(slower)[:, 0] == pytest.approx(problem.states(z)[:, 0])


def test_the_prior_is_added(model, base, design):
    found = design_excitation(model, prior=design, initial=design, **{**OPTIONS, 'starts': 0})
    time = np.arange(75) / 50.0
    rows = [base.regressor(d.motion(time)).reshape(-1, base.rank) for d in (design, found)]
    information = sum(W.T @ W for W in rows)
    expected = np.sqrt(np.diag(np.linalg.inv(information)))
    assert list(found.figures['standard_deviation'].values()) == pytest.approx(expected, rel=1e-6)
    assert list(found.standard_deviation(1).values()) == pytest.approx(expected, rel=1e-6)
    twice = np.linalg.inv(rows[0].T @ rows[0] + 2.0 * rows[1].T @ rows[1])
    assert list(found.standard_deviation(2).values()) == pytest.approx(np.sqrt(np.diag(twice)))
    assert found.figures['d_optimal'] == pytest.approx(-np.linalg.slogdet(information)[1])


def test_standard_deviations_of_many_periods(design):
    once, often = design.standard_deviation(1), design.standard_deviation(25)
    assert list(once.values()) == pytest.approx(list(design.figures['standard_deviation'].values()))
    assert [5.0 * v for v in often.values()] == pytest.approx(list(once.values()))
    with pytest.raises(TrajectoryError, match='periods'):
        design.standard_deviation(0)


def test_priors_that_make_no_sense(model, design):
    with pytest.raises(TrajectoryError, match=r'\(24, 24\)'):
        design_excitation(model, prior=np.eye(3), **OPTIONS)
    with pytest.raises(TrajectoryError, match='negative eigenvalues'):
        design_excitation(model, prior=-np.eye(24), **OPTIONS)
    with pytest.raises(TrajectoryError, match='other parameters'):
        design_excitation(model, prior=design, shared=False, **OPTIONS)


def independent_regressor(oracle, model, motion, k):
    """Rigid bodies by Pinocchio, friction from its joint rates (n_a, n_p)."""
    _, v, _, transfer = oracle._driven(model, motion, k)
    out = np.zeros((model.n_a, model.n_p))
    out[:, model.parameter_mask('rigid_body')] = oracle.regressor(model, motion, k)
    for column in np.flatnonzero(model.parameter_mask('friction')):
        joint, _, kind = model.parameter_names[column].rpartition('.')
        at = oracle.model.joints[oracle.model.getJointId(joint)].idx_v
        width = model.description.transition_velocity
        rate = {'coulomb': saturated(v[at], width), 'viscous': v[at]}[kind]
        out[:, column] = transfer[at] * rate
    return out


def test_figures_are_those_of_pinocchio(model, base, design):
    pytest.importorskip('pinocchio')
    from pinocchio_oracle import PinocchioOracle

    oracle = PinocchioOracle(model.description)
    motion = design.motion(np.arange(75) / 50.0)
    rows = [independent_regressor(oracle, model, motion, k) for k in range(75)]
    W = np.concatenate(rows) @ base.columns
    eigenvalues = np.linalg.eigvalsh(W.T @ W)
    figures = design.figures
    assert figures['d_optimal'] == pytest.approx(-np.sum(np.log(eigenvalues)), rel=1e-6)
    assert figures['a_optimal'] == pytest.approx(np.sum(1.0 / eigenvalues), rel=1e-6)
    assert figures['e_optimal'] == pytest.approx(eigenvalues[0], rel=1e-6)
    assert figures['condition_number'] == pytest.approx(np.linalg.cond(W), rel=1e-6)
    unit = W / np.linalg.norm(W, axis=0)
    assert figures['condition_number_scaled'] == pytest.approx(np.linalg.cond(unit), rel=1e-6)


def test_a_mix_is_the_weighted_sum(model):
    rng = np.random.default_rng(0)
    W = rng.standard_normal((30, 5))
    mix = {'d_optimal': 0.3, 'condition_number_scaled': 2.0}
    value, _ = mixed(mix, W)
    assert value == pytest.approx(sum(w * CRITERIA[name](W)[0] for name, w in mix.items()))
    found = design_excitation(model, mix, **OPTIONS)
    assert found.criterion == mix
    for wrong, match in (({}, 'empty'), ({'best': 1.0}, 'unknown'), ({'d_optimal': -1}, 'weight')):
        with pytest.raises(TrajectoryError, match=match):
            design_excitation(model, wrong, **OPTIONS)


def test_further_limits_are_kept(model):
    limits = DesignLimits(acceleration=4.0, aperture=0.12, force_uncertainty=0.2)
    found = design_excitation(model, limits=limits, seed=2, **OPTIONS)
    motion = found.motion(np.linspace(0.0, 1.5, 1501))
    assert np.abs(model.actuator_states(motion).accelerations).max() <= 4.0
    assert np.abs(model.inverse_dynamics(motion)).max() * 1.2 <= 0.75 * 230.0 + 1e-6
    report = check_feasibility(model, found.trajectory, aperture=0.12, acceleration=4.0)
    assert report.feasible, report.message
    assert {'acceleration', 'aperture'} <= set(found.margins)


def test_the_number_of_processes_does_not_matter(model):
    options = {**OPTIONS, 'starts': 3, 'iterations': 1}
    here = design_excitation(model, seed=4, **options)
    there = design_excitation(model, seed=4, **{**options, 'workers': 2})
    assert np.array_equal(here.coefficients, there.coefficients)
    assert here.origin['start_objectives'] == there.origin['start_objectives']


def test_progress_tells_the_time_left(model):
    told = []
    design_excitation(model, **OPTIONS, progress=lambda *state: told.append(state))
    fractions = [fraction for _, fraction, *_ in told]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0
    assert np.isfinite(told[-2][3])
    assert np.isfinite(told[-2][2]) and told[-1][2] == 0.0


def test_a_cancelled_search_gives_the_best_so_far_or_says_so(model, design):
    stop = threading.Event()

    def progress(text, fraction, left, criterion):
        if fraction > 0.3:
            stop.set()

    options = {**OPTIONS, 'starts': 3, 'iterations': 4}
    found = design_excitation(model, progress=progress, cancel=stop, **options)
    assert found.origin['cancelled'] and len(found.origin['start_objectives']) < 3
    assert check_feasibility(model, found.trajectory).feasible
    assert not design.origin['cancelled']


def test_warm_start_with_fewer_harmonics(model, design, tmp_path):
    design.save(tmp_path / 'first.yaml')
    first = ExcitationDesign.load(tmp_path / 'first.yaml', model)
    assert first.information() == pytest.approx(design.information())
    options = {**OPTIONS, 'harmonics': 3, 'starts': 0}
    found = design_excitation(model, initial=first, **options)
    assert found.trajectory.harmonics == 3
    assert found.figures['d_optimal'] < design.figures['d_optimal']
    other = ClosedChainModel(tripod())
    with pytest.raises(TrajectoryError, match="for robot 'palida'"):
        ExcitationDesign.load(tmp_path / 'first.yaml', other)


def test_a_period_too_short_names_the_shortest(model):
    least, kind, name = shortest_period(model, DesignLimits().options(3.0), 0.005)
    with pytest.raises(FeasibilityError, match=f'{kind} limit of {name} leaves') as caught:
        limits = DesignLimits(frequency=1e3)
        design_excitation(model, period=0.9 * least, harmonics=1, limits=limits)
    assert number_after('period of at least', caught) == pytest.approx(least, rel=1e-5)
    with pytest.raises(TrajectoryError, match='at least 0.08 s'):
        design_excitation(model, period=0.05, harmonics=2, sampling_rate=100.0, limits=limits)
    with pytest.raises(FeasibilityError, match="the servo's bandwidth of 10 Hz: .* at least 0.2 s"):
        design_excitation(model, period=0.05, harmonics=2)


def test_fewer_samples_than_parameters_name_the_rate(model):
    options = {'shared': False, 'harmonics': 1, 'period': 1.0}
    rank = model.base_parameters(shared=False, reduced=True).rank
    match = rf'{rank} parameters .* 5 samples of 6 forces .* at least {-(-rank // 6)} Hz'
    with pytest.raises(TrajectoryError, match=match):
        design_excitation(model, sampling_rate=5.0, **options)


def test_parameters_that_no_motion_shows_are_named(model, base):
    """The same parameter twice: no motion tells the two apart, with any harmonics."""
    twice = SimpleNamespace(
        rank=base.rank + 1,
        names=[*base.names, 'twin'],
        columns=np.column_stack([base.columns, base.columns[:, 0]]),
    )
    problem = problem_of(model, base)
    assert most_informative_motion(problem)[:2] == (base.rank, [])
    either = f'({base.names[0]}|twin)'  # both hide to the same degree
    match = rf'only {base.rank} of .*{either}.* give a prior, or leave these parameters out'
    with pytest.raises(FeasibilityError, match=match):
        require_information(DesignProblem(model, twice, problem.task))


def test_margins_that_exclude_home_name_the_largest(model):
    with pytest.raises(FeasibilityError, match='rest at home .* force_margin of at most') as caught:
        design_excitation(model, limits=DesignLimits(force_margin=0.9), **OPTIONS)
    allowed = number_after('force_margin of at most', caught)
    home = model.home_actuators[None]
    still = model.motion_from_actuators(home, 0 * home, 0 * home)
    share = np.max(np.abs(model.inverse_dynamics(still)[0]) / model.force_limit)
    assert 1.0 - share - 2e-4 < allowed <= 1.0 - share
