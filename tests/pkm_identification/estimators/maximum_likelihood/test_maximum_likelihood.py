"""Maximum likelihood against finite differences, a joint optimisation and many runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from chances import deviation_range, mean_limit, normal_limit, spread_range, whitened_error
from scipy.optimize import least_squares

import pkm_description
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification import identify
from pkm_identification.datasets import Recording
from pkm_identification.estimators.linear import gauss_markov, ls
from pkm_identification.estimators.maximum_likelihood.likelihood import (
    Likelihood,
    maximum_likelihood,
)
from pkm_identification.estimators.maximum_likelihood.motion_noise import motion_noise
from pkm_identification.regression.problem import build_problem
from pkm_identification.signals import SignalOptions, process

RATE, PERIOD = 100.0, 1.0
NOISY = {'rate': RATE, 'position_noise': 2e-3, 'force_noise': 1.0}
MIXING = np.linalg.cholesky([[1.0, 0.8], [0.8, 1.0]])


def everything(signals):
    """Return the signals with the motion in all harmonics unknown."""
    whole = replace(signals, measured_harmonics=np.ones(signals.band.harmonics + 1, dtype=bool))
    return whole.with_periods(np.ones(signals.averaged, dtype=bool))


def noisy_problem(data, model, harmonics=8, **options):
    return build_problem(
        everything(process(data, SignalOptions(harmonics=harmonics))), model, **options
    )


@pytest.fixture(scope='module')
def five_bar():
    """A robot with loops, its motion of two harmonics and the forces of that."""
    model = ClosedChainModel(pkm_description.load('five_bar'))
    time = np.arange(200) / 100.0
    angle = np.pi * np.multiply.outer(time, [1.0, 2.0])
    sine, cosine = np.array([[0.5, 0.2], [0.4, -0.3]]), np.array([[0.1, -0.2], [-0.3, 0.15]])
    w = np.pi * np.array([1.0, 2.0])
    s, c = np.sin(angle), np.cos(angle)
    q = model.home_actuators + s @ sine.T + c @ cosine.T
    qd = (c * w) @ sine.T - (s * w) @ cosine.T
    qdd = -(s * w**2) @ sine.T - (c * w**2) @ cosine.T
    forces = model.inverse_dynamics(model.motion_from_actuators(q, qd, qdd))
    return model, time, q, forces


def five_bar_data(five_bar, seed, periods=6, position_noise=2e-3, force_noise=0.05):
    model, time, q, forces = five_bar
    random = np.random.default_rng(seed)
    shape = (periods * len(time), 2)
    return Recording.from_arrays(
        np.arange(shape[0]) / 100.0,
        tuple(model.actuated_joints),
        np.tile(q, (periods, 1)) + position_noise * random.normal(size=shape) @ MIXING.T,
        np.tile(forces, (periods, 1)) + force_noise * random.normal(size=shape) @ MIXING.T,
        period=2.0,
    )


def test_derivatives_against_differences(record, slider_model, five_bar):
    model = five_bar[0]
    for problem in (
        noisy_problem(record(**NOISY, delay=3e-4), slider_model),
        noisy_problem(five_bar_data(five_bar, 0), model, 5),
    ):
        likelihood = Likelihood(problem)
        run, point = likelihood.runs[0], likelihood.start()
        parameters = problem.expand(point.values)
        where = np.random.default_rng(0).normal(size=run.unknowns)

        def residuals(motion, run=run, values=point.values):
            design, target, _ = run.rows(motion)
            return target - design @ values

        step = 1e-4
        differences = np.stack(
            [
                (residuals(where + step * e) - residuals(where - step * e)) / (2 * step)
                for e in np.eye(run.unknowns)
            ],
            axis=1,
        )
        gain = run.gain(where, parameters)
        np.testing.assert_allclose(gain, differences, atol=1e-5 * np.abs(differences).max())


def joint_optimum(data, problem, harmonics):
    """Minimise over parameters and motion at once, in plain sums over explicit sines."""
    model = problem.model
    count = round(data.period * RATE)
    folded = [each.reshape(-1, count, 2) for each in (data.positions, data.efforts)]
    deviations = np.concatenate(folded, axis=2)
    periods = len(deviations)
    deviations = (deviations - deviations.mean(axis=0)).reshape(-1, 4)
    covariance = deviations.T @ deviations / (count * (periods - 1)) / periods
    root = np.linalg.inv(np.linalg.cholesky(covariance))
    w = 2 * np.pi / data.period * np.arange(1, harmonics + 1)
    angle = np.multiply.outer(np.arange(count) / RATE, w)
    norm = np.sqrt(2 / count)
    sine, cosine = norm * np.sin(angle), norm * np.cos(angle)
    mean = np.full((count, 1), 1 / np.sqrt(count))
    basis = np.concatenate([mean, cosine, sine], axis=1)
    velocity = np.concatenate([0 * mean, -sine * w, cosine * w], axis=1)
    acceleration = np.concatenate([0 * mean, -cosine * w**2, -sine * w**2], axis=1)
    positions, forces = (each.mean(axis=0) for each in folded)
    unknowns = 2 * basis.shape[1]

    def residuals(x):
        xi, values = x[:unknowns].reshape(-1, 2), x[unknowns:] * problem.nominal
        motion = model.motion_from_actuators(basis @ xi, velocity @ xi, acceleration @ xi)
        predicted = problem.base.regressor(motion) @ values
        both = np.concatenate(
            [basis.T @ (positions - basis @ xi), basis.T @ (forces - predicted)], axis=1
        )
        return (both @ root.T).ravel()

    start = np.concatenate([(basis.T @ positions).ravel(), np.ones(problem.size)])
    scale = np.concatenate([np.full(unknowns, 1e-3), np.full(problem.size, 1e-2)])
    found = least_squares(
        residuals, start, x_scale=scale, method='lm', xtol=1e-15, ftol=1e-15, gtol=1e-15
    )
    information = found.jac.T @ found.jac
    covariance = np.linalg.inv(information * np.outer(scale, scale)) * np.outer(scale, scale)
    covariance = covariance[unknowns:, unknowns:] * np.outer(problem.nominal, problem.nominal)
    return found.x[unknowns:] * problem.nominal, covariance, 2 * found.cost


def test_same_optimum_as_all_unknowns_at_once(five_bar):
    data = five_bar_data(five_bar, 1, position_noise=6e-3)
    problem = noisy_problem(data, five_bar[0], 4)
    values, covariance, cost = joint_optimum(data, problem, 4)
    found = maximum_likelihood(problem, tolerance=1e-6)
    deviation = np.sqrt(np.diag(covariance))
    assert np.abs((found.values - values) / deviation).max() < 1e-2
    np.testing.assert_allclose(
        found.covariance / np.outer(deviation, deviation),
        covariance / np.outer(deviation, deviation),
        atol=1e-2,
    )
    freedom = problem.degrees_of_freedom
    assert found.diagnostics.likelihood_variance_ratio == pytest.approx(cost / freedom, rel=1e-6)
    first = gauss_markov(problem).values
    assert np.abs((found.values - first) / deviation).max() > 0.1  # it is not the start


def runs_of(make, solvers, count):
    found = {solve.__name__: [] for solve in solvers}
    for seed in range(count):
        problem = make(seed)
        for solve in solvers:
            estimate = solve(problem)
            found[solve.__name__].append((estimate.values, np.sqrt(np.diag(estimate.covariance))))
    return {name: np.moveaxis(np.array(each), 1, 0) for name, each in found.items()}


def test_no_bias_where_least_squares_has_one(record, slider_model):
    """Harmonics with little motion and much noise: the inertia is attenuated."""
    truth, count = slider_model.nominal_parameters, 40
    found = runs_of(
        lambda seed: noisy_problem(record(seed=seed, **NOISY), slider_model),
        (ls, gauss_markov, maximum_likelihood),
        count,
    )
    bias, error = {}, {}
    for name, (values, deviations) in found.items():
        bias[name] = np.abs(np.mean((values - truth) / deviations, axis=0)).max()
        error[name] = np.sqrt(np.mean(((values - truth) / found['maximum_likelihood'][1]) ** 2))
    assert bias['maximum_likelihood'] < mean_limit(count, len(truth)) < bias['ls']
    assert error['maximum_likelihood'] < 0.8 * error['gauss_markov'] < 0.8 * error['ls']
    values, deviations = found['maximum_likelihood']
    spread = np.std((values - truth) / deviations, axis=0, ddof=1)
    low, high = deviation_range(count, len(truth))
    assert (low < spread).all() and (spread < high).all()


def test_reported_covariance_is_the_spread(five_bar):
    model, count = five_bar[0], 40
    found = runs_of(
        lambda seed: noisy_problem(five_bar_data(five_bar, seed), model, 6),
        (maximum_likelihood,),
        count,
    )['maximum_likelihood']
    values, deviations = found
    base = model.base_parameters(shared=True, reduced=True)
    truth = base.matrix @ model.nominal_parameters
    z = (values - truth) / deviations
    assert np.abs(z.mean(axis=0)).max() < mean_limit(count, z.shape[1])
    low, high = deviation_range(count, z.shape[1])
    assert (low < z.std(axis=0, ddof=1)).all() and (z.std(axis=0, ddof=1) < high).all()


def test_error_falls_with_the_root_of_the_periods(record, slider_model):
    truth, errors = slider_model.nominal_parameters, {}
    for periods in (4, 64):
        found = runs_of(
            lambda seed, periods=periods: noisy_problem(
                record(seed=seed, periods=periods, **NOISY), slider_model
            ),
            (maximum_likelihood,),
            12,
        )['maximum_likelihood'][0]
        errors[periods] = np.sqrt(np.mean(((found - truth) / truth) ** 2, axis=0))
    assert 3.0 < np.median(errors[4] / errors[64]) < 5.3


def test_noise_that_a_servo_feeds_back(record, slider_model):
    """Forces that answer to the position sensors: the correlation tells what is noise twice."""
    truth, stiffness = slider_model.nominal_parameters, 3000.0
    ratios = {True: [], False: []}
    for seed in range(20):
        options = NOISY | {'periods': 60}
        data = record(seed=seed, **(options | {'position_noise': 3e-4}))
        clean = record(seed=seed, **(options | {'position_noise': 0.0}))
        answer = -stiffness * (data.positions - clean.positions)
        problem = noisy_problem(data.changed(efforts=data.efforts + answer), slider_model)
        gain = motion_noise(problem.signals).gain[1].real
        assert np.abs(gain + stiffness * np.eye(2)).max() < 0.25 * stiffness
        for known, found in ratios.items():
            options = {} if known else {'position_noise': 3e-4}
            estimate = maximum_likelihood(problem, **options)
            found.append(whitened_error(estimate.values - truth, estimate.covariance))
    spread = {known: np.sqrt(np.mean(np.square(found))) for known, found in ratios.items()}
    low, high = spread_range(np.size(ratios[True]))
    assert low < spread[True] < high


def test_exact_data_give_exact_parameters(record, slider_model):
    data = record(periods=3, force_noise=0.0, position_noise=0.0, delay=0.2e-3)
    result = identify(data, slider_model, 'maximum_likelihood')
    np.testing.assert_allclose(result.values, slider_model.nominal_parameters, rtol=1e-6)


def test_one_period_alone(record, slider_model):
    """Noise of positions from above the motion, of forces from the residuals."""
    data = record(periods=1, position_noise=1e-4)
    result = identify(data, slider_model, 'maximum_likelihood', method='fourier')
    z = (result.values - slider_model.nominal_parameters) / result.standard_deviation
    assert np.abs(z).max() < normal_limit(z.size)
    assert 'residuals' in result.diagnostics['noise_model']


def test_several_recordings_fixed_parameters_and_priors(record, slider_model):
    names, truth = list(slider_model.parameter_names), slider_model.nominal_parameters
    data = [record(seed=seed, **(NOISY | {'position_noise': 2e-4})) for seed in range(2)]
    one, both = (
        identify(part, slider_model, 'maximum_likelihood', harmonics=5) for part in (data[0], data)
    )
    ratio = np.median(both.standard_deviation / one.standard_deviation)
    assert ratio == pytest.approx(np.sqrt(0.5), rel=0.1)
    # a fixed parameter: what its deviation adds is what moving it moves
    shift = {}
    for value in (2.9, 3.1):
        shift[value] = identify(
            data[0],
            slider_model,
            'maximum_likelihood',
            fixed={'b.m': (value, 0.1)},
            tolerance=1e-5,
            harmonics=5,
        )
    slope = (shift[3.1].values - shift[2.9].values) / 0.2
    index = names.index('b.m')
    cross = shift[2.9].covariance[:, index] / 0.1**2
    np.testing.assert_allclose(cross, slope, atol=0.02 * np.abs(slope).max())
    # a prior adds its information
    deviation = float(one.standard_deviation[index])
    held = identify(
        data[0],
        slider_model,
        'maximum_likelihood',
        harmonics=5,
        prior={'b.m': (truth[index], deviation)},
    )
    assert held.standard_deviation[index] == pytest.approx(deviation / np.sqrt(2), rel=0.05)


def test_undetermined_parameters_stay_nominal(record, slider_model):
    data = record(periods=4)
    still = data.positions.copy()
    still[:, 1] = 0.4
    result = identify(data.changed(positions=still), slider_model, 'maximum_likelihood')
    assert {'right.coulomb', 'right.viscous'} <= set(result.diagnostics['undetermined'])
    index = result.names.index('right.viscous')
    assert np.isinf(result.standard_deviation[index])
    assert result.values[index] == slider_model.nominal_parameters[index]


def test_what_it_needs_is_said(record, slider_model):
    with pytest.raises(EstimationError, match="'maximum_likelihood' needs periodic data"):
        identify(record(), slider_model, 'maximum_likelihood', method='filter')
    with pytest.raises(EstimationError, match="'tolerance' must be a positive number"):
        identify(record(), slider_model, 'maximum_likelihood', tolerance=0.0)
    with pytest.raises(EstimationError, match='position_noise must be a positive'):
        identify(record(), slider_model, 'maximum_likelihood', position_noise=[1e-5] * 3)
