"""Total least squares where noise attenuates the regressor, and what it says where it fails."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from chances import deviation_range, mean_limit
from scipy.stats import chi2

from pkm_description.errors import EstimationError
from pkm_identification import identify
from pkm_identification.datasets import Recording
from pkm_identification.estimators.linear import gauss_markov, ls
from pkm_identification.estimators.maximum_likelihood.likelihood import maximum_likelihood
from pkm_identification.estimators.maximum_likelihood.motion_model import MotionModel
from pkm_identification.estimators.maximum_likelihood.motion_noise import motion_noise
from pkm_identification.estimators.total_least_squares import RegressorNoise, tls
from pkm_identification.regression.problem import build_problem
from pkm_identification.signals import SignalOptions, process

RUNS = 40
SMOOTH = {'*.coulomb': 0.0}
MIXING = np.linalg.cholesky([[1.0, 0.8], [0.8, 1.0]])


def record(model, motion, seed, position_noise=1e-3, force_noise=1.0, periods=8):
    """Return noisy periods of sliders without Coulomb friction, at 100 Hz."""
    random = np.random.default_rng(seed)
    time = np.arange(periods * 100) / 100.0
    exact = motion(time)
    forces = model.regressor(exact) @ (model.nominal_parameters * [1, 1, 1, 0, 1, 0, 1])
    noise = [random.normal(size=forces.shape) @ MIXING.T for _ in range(2)]
    return Recording.from_arrays(
        time,
        ('left', 'right'),
        exact.q + position_noise * noise[0],
        forces + force_noise * noise[1],
        period=1.0,
    )


def problem_of(data, model, **options):
    """Return a problem with twelve harmonics unknown, three of them excited."""
    signals = process(data, SignalOptions(harmonics=12))
    whole = replace(signals, measured_harmonics=np.ones(13, dtype=bool))
    return build_problem(whole.with_periods(np.ones(8, dtype=bool)), model, **options)


def test_no_attenuation(slider_model, motion):
    """The bias of least squares goes, and the reported deviations are the spread."""
    found = {solve: [] for solve in (ls, gauss_markov, tls, maximum_likelihood)}
    for seed in range(RUNS):
        problem = problem_of(record(slider_model, motion, seed), slider_model, fixed=SMOOTH)
        for solve, each in found.items():
            estimate = solve(problem)
            each.append((estimate.values, np.sqrt(np.diag(estimate.covariance))))
    truth = problem.nominal
    means, spreads = {}, {}
    for solve, each in found.items():
        values, deviations = np.moveaxis(np.array(each), 1, 0)
        means[solve] = np.abs(np.mean((values - truth) / deviations, axis=0)).max()
        spreads[solve] = np.std((values - truth) / deviations, axis=0, ddof=1)
    limit, (low, high) = mean_limit(RUNS, len(truth)), deviation_range(RUNS, len(truth))
    assert max(means[tls], means[maximum_likelihood]) < limit < means[ls]
    assert (low < spreads[tls]).all() and (spreads[tls] < high).all()


def test_noise_of_the_regressor_by_sampling(slider_model, motion):
    """N is the mean product of what noise does to the regressor."""
    problem = problem_of(
        record(slider_model, motion, 0, position_noise=1e-4), slider_model, fixed=SMOOTH
    )
    run = problem.runs[0]
    noise = motion_noise(run.signals)
    model = MotionModel(run)
    random = np.random.default_rng(1)
    here = run.rows_of(model.moved(model.measured)).regressor
    sampled = 0.0
    for _ in range(600):
        parts = random.normal(size=(2, *model.measured.shape, 1))
        unit = parts[0] + 1j * parts[1] * (model.harmonics > 0)[:, None, None]
        moved = model.measured + (noise.position_root[model.harmonics] @ unit)[..., 0]
        change = (run.rows_of(model.moved(moved)).regressor - here).reshape(-1, problem.size)
        sampled = sampled + change.T @ change / 600
    gram = RegressorNoise(run, noise, np.eye(2)).gram[np.ix_(problem.free, problem.free)]
    size = np.sqrt(np.diag(gram))
    scale = np.outer(size, size)
    np.testing.assert_allclose(sampled / scale, gram / scale, atol=0.2)


def test_without_position_noise_it_is_gauss_markov(slider_model, motion):
    """All columns are exact."""
    problem = problem_of(
        record(slider_model, motion, 0, position_noise=0.0), slider_model, fixed=SMOOTH
    )
    np.testing.assert_allclose(tls(problem).values, gauss_markov(problem).values, rtol=1e-6)


def test_fixed_parameters_and_priors_count(slider_model, motion):
    data = record(slider_model, motion, 0, position_noise=1e-3)
    shift = {}
    for value in (2.9, 3.1):
        shift[value] = identify(
            data, slider_model, 'tls', harmonics=5, fixed=SMOOTH | {'b.m': (value, 0.1)}
        )
    slope = (shift[3.1].values - shift[2.9].values) / 0.2
    cross = shift[2.9].covariance[:, 1] / 0.1**2
    np.testing.assert_allclose(cross, slope, atol=0.1 * np.abs(slope).max())
    free = identify(data, slider_model, 'tls', harmonics=5, fixed=SMOOTH)
    deviation = float(free.standard_deviation[1])
    held = identify(
        data, slider_model, 'tls', harmonics=5, fixed=SMOOTH, prior={'b.m': (3.0, deviation)}
    )
    assert held.standard_deviation[1] == pytest.approx(deviation / np.sqrt(2), rel=0.1)


def test_the_noise_ratio_is_that_of_residuals_to_their_noise(slider_model, motion):
    """Of one run exactly; of many their mean, within a chance of 1e-8 of chi-squared."""
    ratios = []
    for seed in range(RUNS):
        problem = problem_of(record(slider_model, motion, seed), slider_model, fixed=SMOOTH)
        found = tls(problem)
        weights, residuals = (
            gauss_markov(problem).weights[0],
            problem.runs[0].residuals(found.values),
        )
        white = weights @ found.noise[0] @ np.swapaxes(weights, -1, -2)
        explained = np.einsum('kaa->', white) * problem.degrees_of_freedom / problem.equations
        expected = np.sum((weights @ residuals[..., None]) ** 2) / explained
        ratios.append(found.diagnostics.noise_ratio)
        assert ratios[-1] == pytest.approx(expected, rel=1e-3)
    freedom = RUNS * problem.degrees_of_freedom
    low, high = chi2.ppf([5e-9, 1 - 5e-9], freedom) / freedom
    assert low < np.mean(ratios) < high


def test_wrong_noise_is_a_warning(slider_model, motion):
    data = record(slider_model, motion, 0)
    options = {'harmonics': 12, 'fixed': SMOOTH}
    fine = identify(data, slider_model, 'tls', **options)
    assert not any('not consistent' in text for text in fine.diagnostics['warnings'])
    wrong = identify(data, slider_model, 'tls', position_noise=4e-2, **options)
    assert wrong.diagnostics['noise_ratio'] < 0.3
    assert any('not consistent' in text for text in wrong.diagnostics['warnings'])


def test_what_it_needs_is_said(slider_model, motion):
    data = record(slider_model, motion, 0)
    with pytest.raises(EstimationError, match="'tls' needs periodic data"):
        identify(data, slider_model, 'tls', method='filter')
