"""Physical estimates: against a second solver, variational conditions and sampling."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import truncnorm

import pkm_description
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.parameters.pseudo_inertia import pseudo_inertia
from pkm_dynamics.parameters.standard_parameters import body_indices
from pkm_identification import identify, load_result
from pkm_identification.covariance.at_constraints import covariance_at_constraints, inward_variance
from pkm_identification.datasets import Recording
from pkm_identification.estimators.consistent.nominal_prior import prior_share
from pkm_identification.estimators.consistent.physically_consistent import feasible
from pkm_identification.estimators.linear import gauss_markov, noise_of_rows
from pkm_identification.excitation.excitation_design import load_excitation
from pkm_identification.physical.nearest import smallest_eigenvalues
from pkm_identification.regression.problem import build_problem
from pkm_identification.regression.weighted_least_squares import whitened_rows
from pkm_identification.signals import SignalOptions, process


@pytest.fixture(scope='module')
def rps():
    return ClosedChainModel(pkm_description.load('rps_upv'))


def recording(model, parameters=None, noise=20.0, periods=3, seed=0, jitter=1e-6):
    """Periods of the shipped excitation, every 10 ms, with noise on the forces."""
    trajectory = load_excitation(model.description.name)
    count = round(trajectory.period / 0.01)
    time = np.arange(count) * trajectory.period / count
    motion = trajectory.motion(time, model)
    q = np.tile(model.actuator_states(motion).positions, (periods, 1))
    forces = np.tile(model.inverse_dynamics(motion, parameters), (periods, 1))
    random = np.random.default_rng(seed)
    return Recording.from_arrays(
        np.arange(len(q)) * trajectory.period / count,
        tuple(model.actuated_joints),
        q + jitter * random.normal(size=q.shape),
        forces + noise * random.normal(size=forces.shape),
        period=trajectory.period,
    )


def problem_of(model, data, **options):
    signals = process(data.for_model(model), SignalOptions(method='fourier'))
    return build_problem(signals, model, **options)


@pytest.fixture(scope='module')
def noisy(rps):
    """So much noise that the best estimate is far from physical."""
    return problem_of(rps, recording(rps, noise=400.0))


def changed(model, **factors):
    values = np.array(model.nominal_parameters)
    for i, name in enumerate(model.parameter_names):
        for pattern, factor in factors.items():
            if name.endswith(pattern.replace('__', '.')):
                values[i] *= factor
    return values


def assert_physical(model, standard):
    """All bodies and coefficients, by their own numbers."""
    assert min(smallest_eigenvalues(model, standard).values()) > 0
    others = model.parameter_mask('friction') | model.parameter_mask('rotor')
    assert (standard[others] >= 0).all()


def test_physical_estimates_are_kept(rps):
    problem = problem_of(rps, recording(rps, noise=1e-3, jitter=1e-10))
    free, held = gauss_markov(problem), feasible(problem)
    sd = np.sqrt(np.diag(free.covariance))
    assert np.abs((held.values - free.values) / sd).max() < 1e-3
    np.testing.assert_allclose(np.sqrt(np.diag(held.covariance)), sd, rtol=1e-3)
    assert held.diagnostics.active_constraints == ()
    assert_physical(rps, held.standard_parameters)
    np.testing.assert_allclose(
        problem.base.matrix @ held.standard_parameters, held.values, rtol=1e-9, atol=1e-12
    )


def second_solver(problem):
    """The same optimum in the standard parameters themselves, by SCS (operator splitting)."""
    cp = pytest.importorskip('cvxpy')
    model, base = problem.model, problem.base
    nominal = np.asarray(model.nominal_parameters)
    size = np.maximum(np.abs(nominal), 1e-2)
    p = cp.multiply(size, cp.Variable(model.n_p))
    design, target = whitened_rows(problem, noise_of_rows(problem))
    factor = np.linalg.qr(np.column_stack([design, target]), mode='r')[: problem.size]
    inside = base.space.expand @ base.space.average
    conditions = [(np.eye(model.n_p) - inside) @ p == 0]
    for index in body_indices(model.parameter_names).values():
        m, x, y, z, xx, xy, xz, yy, yz, zz = (p[int(i)] for i in index)
        half = (xx + yy + zz) / 2
        matrix = cp.bmat(
            [
                [half - xx, -xy, -xz, x],
                [-xy, half - yy, -yz, y],
                [-xz, -yz, half - zz, z],
                [x, y, z, m],
            ]
        )
        conditions.append(matrix >> 0)
    conditions.append(p[model.parameter_mask('friction') | model.parameter_mask('rotor')] >= 0)
    cost = cp.sum_squares(factor[:, :-1] @ (base.matrix @ p) - factor[:, -1])
    program = cp.Problem(cp.Minimize(cost), conditions)
    program.solve(solver=cp.SCS, eps=1e-6, max_iters=50000)
    return float(program.value), np.asarray(base.matrix @ p.value)


def cost_of(problem, values):
    design, target = whitened_rows(problem, noise_of_rows(problem))
    best = np.linalg.lstsq(design, target, rcond=None)[0]
    return float(np.sum((design @ (values - best)) ** 2))


def test_optimum_is_that_of_another_solver(noisy):
    found = feasible(noisy)
    assert found.diagnostics.distance_from_unconstrained > 0.5
    cost, values = second_solver(noisy)
    own = cost_of(noisy, found.values)
    assert own == pytest.approx(found.diagnostics.distance_from_unconstrained**2, rel=1e-6)
    assert own == pytest.approx(cost, rel=1e-3)
    assert cost_of_difference(noisy, found.values - values) < 0.03


def cost_of_difference(problem, difference):
    """Length of a difference in standard deviations of the data."""
    design, _ = whitened_rows(problem, noise_of_rows(problem))
    return float(np.linalg.norm(design @ difference))


def test_no_physical_robot_fits_better(noisy, rps):
    """The gradient points away from every physical set: enough for a convex problem."""
    found = feasible(noisy)
    design, target = whitened_rows(noisy, noise_of_rows(noisy))
    gradient = design.T @ (design @ found.values - target)
    random = np.random.default_rng(1)
    space = noisy.base.space
    others = [found.standard_parameters, rps.nominal_parameters]
    for _ in range(300):
        scale = random.lognormal(sigma=0.03, size=len(space.labels)) * random.lognormal()
        p = space.expand @ (space.reduce(np.asarray(others[random.integers(2)])) * scale)
        if (
            min(
                np.linalg.eigvalsh(pseudo_inertia(p[i]))[0]
                for i in body_indices(rps.parameter_names).values()
            )
            > 0
        ):
            others.append(p)
    assert len(others) > 10
    slopes = [gradient @ (noisy.base.matrix @ p - found.values) for p in others]
    assert min(slopes) > -1e-3


@pytest.mark.parametrize('seed', range(4))
def test_always_physical_also_as_read_from_a_file(rps, tmp_path, seed):
    result = identify(recording(rps, noise=1000.0, periods=2, seed=seed), rps, 'feasible')
    read = load_result(result.save(tmp_path / 'model.yaml'), rps)
    for each in (result, read):
        assert each.is_physical and each.consistent.violations == ()
        assert_physical(rps, each.standard_parameters)
        np.testing.assert_allclose(each.matrix @ each.standard_parameters, each.values, rtol=1e-9)
    outside = result.diagnostics['distance_from_unconstrained'] > 0.03
    assert outside == bool(result.diagnostics['active_constraints'])


def test_masses_are_kept_in_their_bounds(rps):
    problem = problem_of(rps, recording(rps, noise=50.0))
    free = feasible(problem)
    mass = dict(zip(rps.parameter_names, free.standard_parameters, strict=True))
    total = sum(value for name, value in mass.items() if name.endswith('.m'))
    high = 0.9 * mass['leg1_slider.m']
    held = feasible(problem, masses={'leg*_slider': (0.1, high)}, total_mass=1.2 * total)
    found = dict(zip(rps.parameter_names, held.standard_parameters, strict=True))
    assert found['leg1_slider.m'] == found['leg2_slider.m'] <= high * (1 + 1e-6)
    masses = [value for name, value in found.items() if name.endswith('.m')]
    assert sum(masses) == pytest.approx(1.2 * total, rel=1e-6)
    heavy = feasible(problem, masses={'platform': (20.0, 30.0)})
    active = heavy.diagnostics.active_constraints
    assert 'platform.m >= 20' in active and heavy.standard_parameters[
        rps.parameter_names.index('platform.m')
    ] == pytest.approx(20.0, rel=1e-6)


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'masses': {'arm*': 1.0}}, "no link with a mass matches 'arm\\*'; there are"),
        ({'masses': {'platform': (2.0, 1.0)}}, 'lowest, highest'),
        ({'masses': {'platform': -1.0}}, 'lowest, highest'),
        ({'masses': {'*': (1.0, 2.0)}, 'total_mass': 50.0}, 'total mass'),
    ],
)
def test_what_cannot_be_is_refused(noisy, options, message):
    with pytest.raises(EstimationError, match=message):
        feasible(noisy, **options)


def test_exact_data():
    """Weights of a thousand million times the noise of a measurement."""
    arm = ClosedChainModel(pkm_description.load('serial_arm'))
    found = feasible(problem_of(arm, recording(arm, noise=0.0, periods=2, jitter=0.0)))
    base = arm.base_parameters(shared=True, reduced=True)
    truth = base.matrix @ arm.nominal_parameters
    np.testing.assert_allclose(found.values, truth, rtol=1e-5, atol=1e-7 * np.abs(truth).max())


def test_fixed_parameters_stay(rps):
    data = recording(rps, noise=100.0)
    result = identify(data, rps, 'feasible', fixed={'platform.m': (10.0, 0.5)})
    i = result.names.index('platform.m')
    assert result.values[i] == 10.0 and result.standard_deviation[i] == 0.5
    assert result.is_physical
    np.testing.assert_allclose(result.matrix @ result.standard_parameters, result.values, rtol=1e-6)


def test_nominal_bodies_as_a_prior(rps):
    problem = problem_of(rps, recording(rps, noise=200.0))
    rigid = problem.base.is_rigid_body
    nominal = problem.nominal
    loose, tight = feasible(problem), feasible(problem, nominal_spread=1e-3)
    middle = feasible(problem, nominal_spread=0.3)
    np.testing.assert_allclose(tight.values[rigid], nominal[rigid], rtol=2e-2)
    off = [np.linalg.norm((e.values - nominal)[rigid]) for e in (loose, middle, tight)]
    assert off[0] > off[1] > off[2]
    sd = [np.sqrt(np.diag(e.covariance))[rigid] for e in (gauss_markov(problem), middle, tight)]
    assert (sd[0] > sd[1]).all() and (sd[1] > sd[2]).all()


@pytest.mark.parametrize(('along_pull', 'noise', 'spread'), [(0, 200.0, 0.3), (1, 50.0, 0.2)])
def test_posterior_is_how_the_estimate_follows_the_data(rps, along_pull, noise, spread):
    """A change d of the whitened data moves the estimate by C Psi^T d: true of no other C.

    Also where the change is the one that the prior has made.
    """
    truth = changed(rps, __m=1.2, __Izz=1.3) if along_pull else None
    problem = problem_of(rps, recording(rps, truth, noise=noise))
    middle = feasible(problem, nominal_spread=spread)
    assert not any('>= 0' in name for name in middle.diagnostics.active_constraints)
    run = problem.runs[0]
    root = np.linalg.inv(np.linalg.cholesky(run.covariance))
    pull = gauss_markov(problem).values - middle.values
    k = problem.base.names.index('platform.m')
    one = 0.02 * problem.nominal[k] * np.eye(problem.size)[k]
    direction = run.regressor @ (along_pull * 0.1 * pull + (1 - along_pull) * one)
    rows = replace(run.rows, forces=run.rows.forces + direction)
    moved = replace(problem, runs=(run.with_rows(rows),))
    step = feasible(moved, nominal_spread=spread).values - middle.values
    design = (root @ run.regressor).reshape(-1, problem.size)
    expected = middle.covariance @ design.T @ (root @ direction[..., None]).ravel()
    sd = np.sqrt(np.diag(middle.covariance))
    scale = np.abs(expected / sd).max()
    assert np.abs((step - expected) / sd).max() < 0.1 * scale


def test_inward_variance():
    for outside in (0.0, 0.3, 1.0, 3.0, 10.0, 29.0, 31.0, 200.0):
        if outside < 25:
            exact = truncnorm(outside, np.inf, loc=-outside).moment(2)
            assert inward_variance(outside) == pytest.approx(exact, rel=1e-5)
    assert inward_variance(29.99) == pytest.approx(inward_variance(30.01), rel=1e-2)
    assert inward_variance(0.0) == 1.0


def test_limits_take_uncertainty_away_as_sampling_says(record, slider_model):
    """One active limit: mean square about the estimate over all robots that keep it."""
    data = record(periods=4)
    velocity = np.gradient(data.positions, data.time, axis=0)
    drag = np.array([10.6, 0.0]) * velocity
    problem = build_problem(process(data.changed(efforts=data.efforts - drag)), slider_model)
    free, held = gauss_markov(problem), feasible(problem)
    k = problem.names.index('left.viscous')
    assert free.values[k] < 0 and held.values[k] == pytest.approx(0.0, abs=1e-9)
    assert held.diagnostics.active_constraints == ('left.viscous >= 0',)
    random = np.random.default_rng(0)
    samples = random.multivariate_normal(free.values, free.covariance, 400000)
    inside = samples[samples[:, k] >= 0] - held.values
    expected = inside.T @ inside / len(inside)
    sd = np.sqrt(np.diag(free.covariance))
    assert len(inside) > 3000
    np.testing.assert_allclose(
        held.covariance / np.outer(sd, sd), expected / np.outer(sd, sd), atol=0.05
    )
    assert held.covariance[k, k] < 0.7 * free.covariance[k, k]


def test_covariance_without_limits_is_untouched(record, slider_model):
    problem = build_problem(process(record(periods=4)), slider_model)
    free = gauss_markov(problem)
    covariance, rests_on, distance = covariance_at_constraints(problem, free, free.values)
    np.testing.assert_allclose(covariance, free.covariance, rtol=1e-9)
    assert rests_on == 'noise' and distance == pytest.approx(0.0, abs=1e-9)


def test_several_recordings_and_a_prior(record, slider_model):
    data = [record(seed=1), record(seed=2, periods=3)]
    truth = slider_model.nominal_parameters
    prior = {'c.m': (truth[2], 1e-3)}
    held = identify(data, slider_model, 'feasible', prior=prior)
    free = identify(data, slider_model, 'gauss_markov', prior=prior)
    np.testing.assert_allclose(held.values, free.values, rtol=1e-5)
    np.testing.assert_allclose(held.covariance, free.covariance, rtol=1e-4, atol=1e-12)


def error_of(model, problem, estimate, truth):
    """Error of the forces of a faster motion than the recorded one, relative."""
    trajectory = load_excitation(model.description.name)
    motion = trajectory.motion(1.7 * np.linspace(0, trajectory.period, 200), model)
    regressor = problem.base.regressor(motion)
    off = problem.expand(estimate.values) - problem.base.matrix @ truth
    return np.linalg.norm(regressor @ off) / np.linalg.norm(model.inverse_dynamics(motion, truth))


@pytest.mark.parametrize(('factor', 'noise'), [(1.0, 400.0), (3.0, 400.0), (1.1, 1.0)])
def test_spread_by_evidence(rps, factor, noise):
    """A prior by evidence helps where data are poor, and harms nowhere."""
    rigid = rps.parameter_mask('rigid_body')
    truth = np.where(rigid, factor, 1.0) * rps.nominal_parameters
    errors, likely = {None: [], 'evidence': []}, []
    for seed in range(3):
        problem = problem_of(rps, recording(rps, truth, noise=noise, periods=2, seed=seed))
        for spread, found in errors.items():
            estimate = feasible(problem, nominal_spread=spread)
            found.append(error_of(rps, problem, estimate, truth))
        figures = estimate.diagnostics
        assert f'{figures.nominal_spread:g}' == max(
            figures.log_evidence, key=figures.log_evidence.get
        )
        likely.append(figures.log_evidence['0.01'] - figures.log_evidence['10'])
        told = f'bring {100 * figures.prior_share:.2g} % of the precision'
        assert told in estimate.covariance_rests_on
    assert np.mean(errors['evidence']) < (0.85 if noise > 1 else 1.05) * np.mean(errors[None])
    if factor == 1.0:
        assert np.mean(likely) > 0  # the nominal bodies are the true ones
    if noise == 1.0:
        assert np.mean(likely) > 0 and figures.prior_share < 0.5


def test_share_of_a_prior():
    """Of a parameter that data and prior know alike, one that data alone know, and neither."""
    before = np.diag([4.0, 1.0, np.inf])
    assert prior_share(before, np.diag([2.0, 1.0, 9.0])) == pytest.approx(0.5)
    assert prior_share(before, before) == pytest.approx(1 / 3)


@pytest.mark.parametrize('estimator', ['feasible', 'nonlinear_friction'])
@pytest.mark.parametrize('options', [{}, {'method': 'filter', 'cutoff': 15.0}])
def test_an_axis_that_nothing_physical_explains_bends_the_others_little(
    record, slider_model, motion, options, estimator
):
    """The left drive pushes in proportion to its speed, as no passive one does.

    The mass that both axes carry, and all of the right one, is told by the right one.
    """
    data = record(periods=6, force_noise=0.5)
    pushed = data.efforts.copy()
    pushed[:, 0] -= 300 * motion(data.time).qd[:, 0]
    wrong = Recording.from_arrays(
        data.time, data.joint_names, data.positions, pushed, period=data.period
    )
    result = identify(wrong, slider_model, estimator, **options)
    assert result.values[result.names.index('left.viscous')] == pytest.approx(0.0, abs=1e-6)
    known = dict(zip(slider_model.parameter_names, slider_model.nominal_parameters, strict=True))
    for name in ('c.m', 'b.m', 'right.coulomb', 'right.viscous'):
        index = result.names.index(name)
        # of normal errors, chance leaves more in one of 16,000
        assert abs(result.values[index] - known[name]) < 4 * result.standard_deviation[index]
