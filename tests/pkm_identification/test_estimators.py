"""Estimators on a linear problem whose answer and noise are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pkm_description
from pkm_description.errors import DatasetError, EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification import identify
from pkm_identification.datasets import Recording
from pkm_identification.estimators.estimator_options import estimators
from pkm_identification.estimators.linear import gauss_markov, ls, noise_of_rows, wls
from pkm_identification.regression.problem import build_problem
from pkm_identification.regression.weighted_least_squares import weighted_least_squares
from pkm_identification.signals import process

LINEAR = ('ls', 'wls', 'gauss_markov')
RUNS = 60


def monte_carlo(record, model, solve, **options):
    found = []
    for seed in range(RUNS):
        problem = build_problem(process(record(seed=seed, period=1.0, **options)), model)
        found.append(solve(problem))
    values = np.array([estimate.values for estimate in found])
    deviations = np.array([np.sqrt(np.diag(estimate.covariance)) for estimate in found])
    return values, deviations


@pytest.mark.parametrize('solve', [ls, wls, gauss_markov])
def test_reported_uncertainty_is_that_of_many_runs(record, slider_model, solve):
    values, deviations = monte_carlo(record, slider_model, solve)
    truth = slider_model.nominal_parameters
    ratio = deviations.mean(axis=0) / values.std(axis=0, ddof=1)
    assert 0.85 < np.median(ratio) < 1.2
    z = (values - truth) / deviations
    assert np.abs(z.mean(axis=0)).max() < 4 / np.sqrt(RUNS)
    assert (np.abs(z) > 3).mean() < 0.02


def test_gauss_markov_is_best(record, slider_model):
    truth = slider_model.nominal_parameters
    errors = {}
    for solve in (ls, wls, gauss_markov):
        values, _ = monte_carlo(record, slider_model, solve)
        errors[solve.__name__] = np.mean(((values - truth) / truth) ** 2)
    assert errors['gauss_markov'] < 0.8 * errors['wls'] < 0.8 * errors['ls']


def test_one_period_takes_its_noise_from_the_residuals(record, slider_model):
    values, deviations = monte_carlo(record, slider_model, wls, periods=1)
    ratio = deviations.mean(axis=0) / values.std(axis=0, ddof=1)
    assert 0.8 < np.median(ratio) < 1.25


@pytest.mark.parametrize('estimator', LINEAR)
@pytest.mark.parametrize('options', [{}, {'method': 'filter'}])
def test_exact_data_give_exact_parameters(record, slider_model, estimator, options):
    data = record(periods=3, force_noise=0.0, position_noise=0.0, delay=0.2e-3)
    result = identify(data, slider_model, estimator, **options)
    tolerance = 0.01 if options else 1e-6
    np.testing.assert_allclose(result.values, slider_model.nominal_parameters, rtol=tolerance)


def test_shuffled_joints_give_the_same(record, slider_model):
    data = record(periods=3)
    shuffled = data.with_joints(['right', 'left'])
    one, other = identify(data, slider_model), identify(shuffled, slider_model)
    np.testing.assert_array_equal(one.values, other.values)


def test_ignoring_the_delay_is_seen_in_the_residuals(record, slider_model):
    data = record(delay=5e-3, force_noise=0.5)
    good = identify(data, slider_model)
    bad = identify(replace(data, effort_delay=0.0), slider_model)
    assert good.diagnostics['residual_variance_ratio'] < 1.3
    assert bad.diagnostics['residual_variance_ratio'] > 3
    assert good.diagnostics['covariance_rests_on'] == 'noise'
    assert bad.diagnostics['covariance_rests_on'] == 'residuals by frequency'
    assert bad.diagnostics['covariance_scale'] > 3


def test_undetermined_parameters_have_infinite_variance(record, slider_model, motion):
    data = record(periods=4)
    still = data.positions.copy()
    still[:, 1] = 0.4
    forces = slider_model.inverse_dynamics(
        type(motion(data.time))(
            still, motion(data.time).qd * [1, 0], motion(data.time).qdd * [1, 0]
        )
    )
    result = identify(data.changed(positions=still, efforts=forces), slider_model)
    undetermined = {'b.m', 'right.coulomb', 'right.viscous'}
    assert set(result.diagnostics['undetermined']) == undetermined
    for name, value, sd, nominal in zip(
        result.names,
        result.values,
        result.standard_deviation,
        slider_model.nominal_parameters,
        strict=True,
    ):
        assert value == pytest.approx(nominal, rel=1e-3)
        assert np.isinf(sd) == (name in undetermined)
    _, deviation = result.predict(motion(np.arange(5) * 0.1), standard_deviation=True)
    assert np.isfinite(deviation[:, 0]).all() and np.isinf(deviation[:, 1]).all()


def test_negative_friction_is_not_physical(record, slider_model):
    data = record(periods=4, force_noise=0.1)
    velocity = np.gradient(data.positions, data.time, axis=0)
    result = identify(data.changed(efforts=data.efforts - 30 * velocity), slider_model)
    assert not result.is_physical
    assert any('left.viscous' in text for text in result.consistent.violations)
    assert (result.standard_parameters[3:] >= 0).all()
    assert result.consistent.p_value < 1e-3


def test_unknown_names_list_the_valid_ones(record, slider_model):
    data = record(periods=2)
    with pytest.raises(EstimationError, match="unknown estimator 'best'; valid are ls, wls"):
        identify(data, slider_model, 'best')
    with pytest.raises(EstimationError, match="unknown option 'forgetting' of estimator 'ls'"):
        identify(data, slider_model, 'ls', forgetting=0.9)
    with pytest.raises(DatasetError, match="lacks joint 'left'"):
        identify(data.with_joints(['right']), slider_model)
    assert set(LINEAR) <= set(estimators())


def test_progress_is_reported_and_can_stop(record, slider_model):
    seen = []
    identify(record(periods=2), slider_model, progress=lambda *step: seen.append(step))
    fractions = [fraction for _, fraction in seen]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0

    def stop(phase, fraction):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        identify(record(periods=2), slider_model, progress=stop)


def test_outliers_do_not_move_the_robust_estimate(record, slider_model):
    random = np.random.default_rng(4)
    truth = slider_model.nominal_parameters
    errors = {'gauss_markov': [], 'irls': []}
    for seed in range(12):
        data = record(seed=seed)
        efforts = data.efforts.copy()
        hit = random.random(efforts.shape) < 0.005
        efforts[hit] += random.choice([-1.0, 1.0], hit.sum()) * random.uniform(200, 900, hit.sum())
        dirty = data.changed(efforts=efforts)
        clean = identify(data, slider_model, 'gauss_markov')
        for name, found in errors.items():
            result = identify(dirty, slider_model, name, bad_samples='keep')
            found.append((result.values - truth) / clean.standard_deviation)
        outliers = result.diagnostics['outliers']
        assert 0.8 * hit.sum() < outliers < 1.3 * hit.sum()
        treated = identify(dirty, slider_model, 'irls').diagnostics
        assert 0.8 * hit.sum() < treated['outliers'] < 1.3 * hit.sum()
        assert sum(treated['outliers_left_out_before']) > 0.9 * hit.sum()
    rms = {name: np.sqrt(np.mean(np.square(found))) for name, found in errors.items()}
    assert rms['irls'] < 1.5 < rms['gauss_markov']


@pytest.mark.parametrize(
    ('periods', 'rate', 'seed'), [(4, 100.0, 35), (4, 100.0, 44), (4, 200.0, 3), (6, 100.0, 19)]
)
def test_samples_at_a_limit_do_not_keep_the_robust_estimate_from_converging(
    record, slider_model, periods, rate, seed
):
    data = record(periods=periods, rate=rate, seed=seed)
    found, best = (identify(data, slider_model, name) for name in ('irls', 'gauss_markov'))
    assert found.diagnostics['iterations'] < 20
    assert np.abs((found.values - best.values) / best.standard_deviation).max() < 1.5


@pytest.mark.parametrize('estimator', ['irls', 'iv'])
def test_uncertainty_of_iterated_estimates(record, slider_model, estimator):
    truth = slider_model.nominal_parameters
    z = []
    for seed in range(25):
        result = identify(record(seed=seed), slider_model, estimator)
        z.append((result.values - truth) / result.standard_deviation)
    assert 0.75 < np.sqrt(np.mean(np.square(z))) < 1.25


def test_iterated_estimators_say_what_they_need(record, slider_model):
    with pytest.raises(EstimationError, match="'tuning' must be a positive number"):
        identify(record(), slider_model, 'irls', tuning=-1.0)


def test_contacts_in_a_filtered_recording_count_little(record, slider_model):
    """Six pushes of 150 N, 0.1 s long each, in eight seconds."""
    data = record(periods=8)
    forces = np.array(data.efforts)
    for begin in (700, 1900, 3100, 4400, 5500, 6800):
        forces[begin : begin + 100, 0] += 150.0
    pushed = Recording.from_arrays(
        np.asarray(data.time), data.joint_names, np.asarray(data.positions), forces
    )
    signals = {'method': 'filter', 'cutoff': 25.0}
    errors = {
        name: np.abs(identify(pushed, slider_model, name, **signals).values[3:5] - [4.0, 10.0])
        for name in ('gauss_markov', 'irls')
    }
    assert (errors['irls'] < 0.4 * errors['gauss_markov']).all()


def test_uncertainty_of_robust_estimates_of_filtered_recordings(record, slider_model):
    z = []
    for seed in range(25):
        data = record(seed=seed)
        result = identify(data, slider_model, 'irls', method='filter', cutoff=40.0)
        z.append((result.values - slider_model.nominal_parameters) / result.standard_deviation)
    assert 0.75 < np.sqrt(np.mean(np.square(z))) < 1.3


def test_reduced_models_by_name():
    """[M] Table 2 on data without noise: what each model keeps is estimated as it is."""
    model = ClosedChainModel(pkm_description.load('rps_upv'))
    random = np.random.default_rng(0)
    time = np.arange(0, 4, 0.004)
    q = np.tile(model.home_actuators, (len(time), 1))
    qd, qdd = np.zeros_like(q), np.zeros_like(q)
    for k in range(1, 5):
        w = k * np.pi / 2
        sine, cosine = np.sin(w * time)[:, None], np.cos(w * time)[:, None]
        a, b = 0.012 * random.normal(size=(2, 3))
        q += a * sine + b * cosine
        qd += w * (a * cosine - b * sine)
        qdd -= w**2 * (a * sine + b * cosine)
    forces = model.inverse_dynamics(model.motion_from_actuators(q, qd, qdd))
    dataset = Recording.from_arrays(time, model.actuated_joints, q, forces, period=4.0)
    for level, rigid in (('model_2', 15), ('model_3', 9)):
        result = identify(dataset, model, estimator='wls', shared=False, reduced=level)
        base = model.base_parameters(reduced=level)
        assert result.names == base.names and int(base.is_rigid_body.sum()) == rigid
        index = result.names.index('platform.m')
        assert result.values[index] == pytest.approx(base.values()[index], rel=1e-2)


def test_what_the_model_lacks_of_one_axis_bends_the_others_less(record, slider_model):
    """A force on one slider that comes back with the motion: the spread does not show it."""
    data = record(periods=6, period=1.0)
    efforts = np.array(data.efforts)
    efforts[:, 0] += 10.0 * np.sin(2 * np.pi * np.asarray(data.time) + 0.3)
    problem = build_problem(process(data.changed(efforts=efforts)), slider_model)
    noise = noise_of_rows(problem)
    roots = [np.sqrt(np.diagonal(each, axis1=-2, axis2=-1)) for each in noise]
    by_noise = weighted_least_squares(
        problem, [np.eye(2) / each[..., None] for each in roots], noise
    )
    truth = slider_model.nominal_parameters
    of_other = [slider_model.parameter_names.index(name) for name in ('b.m', 'right.viscous')]
    errors = [np.abs(each.values / truth - 1)[of_other] for each in (wls(problem), by_noise)]
    assert errors[0].max() < 0.5 * errors[1].max()
