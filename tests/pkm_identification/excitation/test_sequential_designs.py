"""Sequential design: what is known already, and designs that add what it lacks."""

import dataclasses

import numpy as np
import pytest
from every_model import model_of

from pkm_description.errors import TrajectoryError
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification.excitation import design_excitation
from pkm_identification.excitation.design import build_design_problem
from pkm_identification.excitation.design_options import prior_information
from pkm_identification.excitation.information import information_factor
from pkm_identification.excitation.search.constraints import DesignLimits
from pkm_identification.result.result import IdentificationResult

OPTIONS = {'harmonics': 2, 'period': 1.0, 'starts': 2, 'iterations': 15, 'candidates': 2}
OPTIONS |= {'workers': 1, 'sampling_rate': 200.0}


@pytest.fixture(scope='module')
def model():
    return model_of('five_bar')


@pytest.fixture(scope='module')
def base(model):
    return model.base_parameters(shared=True, reduced=True)


@pytest.fixture(scope='module')
def first(model):
    return design_excitation(model, seed=1, **OPTIONS)


def result_of(model, base, covariance, **changes):
    """An identification that knows no more than its covariance."""
    fields = dict.fromkeys(field.name for field in dataclasses.fields(IdentificationResult))
    fields |= {
        'names': list(base.names),
        'values': np.zeros(base.rank),
        'covariance': covariance,
        'matrix': np.zeros((base.rank, model.n_p)),
        'columns': base.columns,
        'residual_rms': np.zeros(model.n_a),
        'robot': model.description.name,
    }
    return IdentificationResult(**{**fields, **changes})


def test_informations_add_up_exactly(model, base, first):
    second = design_excitation(model, seed=2, prior=first, **OPTIONS)
    own = []
    for design in (first, second):
        time = np.arange(200) / 200.0
        W = base.regressor(design.motion(time)).reshape(-1, base.rank)
        own.append(W.T @ W)
    scale = np.sqrt(np.diag(own[0] + own[1]))
    added = second.information(1) / np.outer(scale, scale)
    assert added == pytest.approx((own[0] + own[1]) / np.outer(scale, scale), abs=1e-12)
    thrice = second.information(3) / np.outer(scale, scale)
    assert thrice == pytest.approx((own[0] + 3 * own[1]) / np.outer(scale, scale), abs=1e-12)
    third = prior_information(second, model, base)
    assert np.array_equal(third, second.information(1))


def test_a_second_design_improves_what_the_first_leaves_weak(model, base):
    """A first motion, slow and small, shows friction but no inertia: the second adds that."""
    names, sine = list(model.actuated_joints), np.array([[0.1, 0.03], [0.04, -0.02]])
    slow = FourierTrajectory(3.0, model.home_actuators, sine, 0.5 * sine, 'actuators', names)
    W = base.regressor(slow.motion(np.arange(600) / 200.0, model)).reshape(-1, base.rank)
    first = W.T @ W
    second = design_excitation(model, seed=3, prior=first, **OPTIONS)
    twice = dict(zip(base.names, np.sqrt(np.diag(np.linalg.inv(2.0 * first))), strict=True))
    both = second.standard_deviation()
    assert all(both[name] < 0.2 * twice[name] for name in base.names if name.endswith('Izz'))
    assert second.figures['d_optimal'] < -np.linalg.slogdet(2.0 * first)[1] - 10.0


def test_what_is_known_needs_no_excitation(model, base):
    """All but the one that a design cares least about are known: now it cares."""
    options = {**OPTIONS, 'criterion': 'a_optimal', 'seed': 3}
    alone = design_excitation(model, **options)
    weak = min(base.names, key=alone.standard_deviation().get)
    information = np.diag([0.0 if name == weak else 1e12 for name in base.names])
    found = design_excitation(model, prior=information, **options)
    by_first = np.linalg.inv(alone.period_information + information)
    at = base.names.index(weak)
    assert found.standard_deviation()[weak] < 0.97 * np.sqrt(by_first[at, at])


def test_the_measuring_time_weighs_the_motion_against_the_prior(model, base, first):
    """The criterion of n samples is that of n/200 periods plus the prior."""
    prior = 100.0 * np.diag(np.diag(first.period_information))
    for seconds in (1.0, 7.0):
        problem = build_design_problem(
            model,
            base,
            {'d_optimal': 1.0},
            2,
            1.0,
            DesignLimits(),
            sampling_rate=200.0,
            measuring_time=seconds,
            prior=prior,
        )
        z = problem.unknowns(first.trajectory)
        time = np.arange(400) / 400.0
        W = base.regressor(first.motion(time)).reshape(-1, base.rank)
        information = W.T @ W / 400.0 * 200.0 * seconds + prior
        expected = -np.linalg.slogdet(information)[1]
        assert problem.refined(9).value(z)[0] == pytest.approx(expected, abs=2e-2)


def test_variances_that_are_infinite_tell_nothing(model, base):
    rng = np.random.default_rng(0)
    root = rng.standard_normal((base.rank, base.rank)) * 10.0 ** np.arange(-4, base.rank - 4)
    covariance = root.T @ root
    covariance[2], covariance[:, 2] = np.nan, np.nan
    covariance[2, 2] = np.inf
    found = prior_information(result_of(model, base, covariance), model, base)
    known = np.delete(np.arange(base.rank), 2)
    assert np.all(found[2] == 0.0) and np.all(found[:, 2] == 0.0)
    block = np.ix_(known, known)
    assert found[block] @ covariance[block] == pytest.approx(np.eye(len(known)), abs=1e-6)
    design = design_excitation(
        model, prior=result_of(model, base, covariance), **{**OPTIONS, 'iterations': 1}
    )
    assert np.all(np.isfinite(list(design.standard_deviation().values())))


def test_identifications_without_uncertainty_or_of_others_are_refused(model, base):
    exact = np.diag([0.0, *np.ones(base.rank - 1)])
    for result, match in (
        (result_of(model, base, exact), f"'{base.names[0]}' no uncertainty"),
        (result_of(model, base, np.eye(base.rank), robot='delta'), "for robot 'delta'"),
        (result_of(model, base, np.eye(base.rank), names=['x'] * base.rank), 'other parameters'),
    ):
        with pytest.raises(TrajectoryError, match=match):
            design_excitation(model, prior=result, **OPTIONS)


def test_designs_of_other_robots_are_no_prior(model, first):
    other = first.trajectory
    renamed = type(other)(
        other.period,
        other.offset,
        other.sine,
        other.cosine,
        'actuators',
        other.coordinate_names,
        robot='delta',
    )
    with pytest.raises(TrajectoryError, match="for robot 'delta'"):
        design_excitation(model, prior=dataclasses.replace(first, trajectory=renamed), **OPTIONS)


def test_a_prior_of_very_different_units_is_kept_in_full(base):
    """Information of 1e-8 beside 1e12: a plain eigendecomposition would lose the former."""
    scale = 10.0 ** np.linspace(-4, 6, 6)
    rng = np.random.default_rng(1)
    W = rng.standard_normal((20, 6)) * scale
    factor = information_factor(W.T @ W)
    assert factor.T @ factor / np.outer(scale, scale) == pytest.approx(
        W.T @ W / np.outer(scale, scale), rel=1e-9
    )
    singular = W[:3].T @ W[:3]
    unit = information_factor(singular) / scale
    assert np.linalg.matrix_rank(unit, tol=1e-6) == 3
    assert np.sum(np.linalg.norm(unit, axis=1) > 0.0) == 3
