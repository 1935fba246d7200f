"""Statistics of spreads: tables of textbooks, Wishart matrices, Monte Carlo."""

import numpy as np
import pytest
from chances import count_range, deviation_range, mean_limit, normal_limit
from scipy import stats

from pkm_bringup.studies.runs.spread_statistics import (
    agreement,
    bias,
    compare,
    deviation_interval,
    independence,
    mean_of_runs,
)
from pkm_description.errors import EstimationError


def gaussian(deviations, count, rng, root=None):
    values = rng.standard_normal((count, len(deviations)))
    return (values if root is None else values @ root.T) * deviations


def test_intervals_against_printed_tables():
    """chi^2(19): 8.907 and 32.852 at 2.5 and 97.5 %; F(19, 19) at 97.5 %: 2.526."""
    interval = deviation_interval(np.array([2.0]), 20)
    np.testing.assert_allclose(interval, 2 * np.sqrt(19 / np.array([[32.852, 8.907]])), rtol=1e-4)
    rng = np.random.default_rng(2)
    found = compare(gaussian(np.ones(1), 20, rng), gaussian(np.ones(1), 20, rng))
    spread = np.sqrt(2.526)
    np.testing.assert_allclose(
        found['ratio_interval'][0], found['ratio'][0] * np.array([1 / spread, spread]), rtol=1e-3
    )


def test_interval_of_a_mean():
    """Student's t with two degrees of freedom: 4.3027 at 97.5 %."""
    content = mean_of_runs([1.0, 2.0, 3.0])
    half = 4.3027 / np.sqrt(3)
    np.testing.assert_allclose(content['interval'], [2 - half, 2 + half], rtol=1e-4)
    assert (content['mean'], content['deviation']) == (2.0, 1.0)
    assert mean_of_runs([1.0])['interval'] is None


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Correlated estimates of very different sizes, sets of different numbers of runs."""
    rng = np.random.default_rng(0)
    truth = np.array([1.0, 1e-3, 50.0])
    root = np.linalg.cholesky(np.array([[1.0, 0.9, 0.5], [0.9, 1.0, 0.3], [0.5, 0.3, 1.0]]))
    repeats, held, ratios, volumes = 1500, [], [], []
    for _ in range(repeats):
        first = gaussian(truth, 40, rng, root)
        second = gaussian(0.5 * truth, 25, rng)
        found = compare(first, second)
        held.append(
            (found['sigma_d_interval'][:, 0] < truth) & (truth < found['sigma_d_interval'][:, 1])
        )
        ratios.append((found['ratio_interval'][:, 0] < 0.5) & (0.5 < found['ratio_interval'][:, 1]))
        volume = 3 * np.log(0.5) - np.log(np.linalg.det(root))
        low, high = found['log_volume_interval']
        volumes.append((low < volume < high, found['log_volume_ratio'] - volume))
    fewest, most = count_range(0.95, repeats, figures=6)
    for inside in (*np.sum(held, axis=0), *np.sum(ratios, axis=0)):
        assert fewest <= inside <= most
    fewest, most = count_range(0.95, repeats)
    slack = 0.01 * repeats  # the logarithm of a volume is not quite normal
    assert fewest - slack <= np.sum([inside for inside, _ in volumes]) <= most + slack
    width = 0.5 * (high - low) / 1.96
    assert abs(np.mean([error for _, error in volumes])) < mean_limit(repeats) * width


def test_the_volume_of_many_parameters_against_wishart_matrices():
    """24 parameters, 100 runs: without its correction a determinant is much too small."""
    draws = stats.wishart(99, np.eye(24) / 99).rvs(4000, random_state=3)
    logs = 0.5 * np.linalg.slogdet(draws)[1]
    rng = np.random.default_rng(4)
    found = [compare(*(rng.standard_normal((100, 24)) for _ in '12')) for _ in range(60)]
    width = (
        np.mean([one['log_volume_interval'][1] - one['log_volume_ratio'] for one in found]) / 1.96
    )
    low, high = deviation_range(4000)
    assert low < logs.std(ddof=1) * np.sqrt(2) / width < high
    low, high = deviation_range(60)
    assert low < np.std([one['log_volume_ratio'] for one in found], ddof=1) / width < high
    many = rng.standard_normal((20000, 24))
    longer = [compare(many, rng.standard_normal((100, 24))) for _ in range(30)]
    assert logs.mean() < -1.4
    limit = mean_limit(30) * logs.std() + 0.2  # of the long set itself, which is always the same
    assert abs(np.mean([one['log_volume_ratio'] for one in longer])) < limit


def test_too_few_runs_have_no_volume_and_one_has_no_spread():
    rng = np.random.default_rng(5)
    found = compare(rng.standard_normal((5, 4)), rng.standard_normal((9, 4)))
    assert found['log_volume_ratio'] is None and found['ratio'].shape == (4,)
    with pytest.raises(EstimationError, match='one run'):
        compare(np.zeros((1, 1)), np.zeros((9, 1)))
    with pytest.raises(EstimationError, match='same parameters'):
        compare(np.zeros((9, 1)), np.zeros((9, 2)))


def test_equal_sets_are_not_surely_different():
    rng = np.random.default_rng(1)
    found = compare(*(gaussian(np.ones(400), 60, rng) for _ in range(2)))
    fewest, most = count_range(0.05, 400)
    assert fewest <= found['surely_smaller'] + found['surely_larger'] <= most


def test_what_chance_leaves_of_an_exact_prediction():
    rng = np.random.default_rng(6)
    fits = [
        agreement(np.ones(24), rng.standard_normal((30, 24)).std(axis=0, ddof=1), 30)
        for _ in range(400)
    ]
    trials = 400 * 24
    for key, chance in (('within', fits[0]['expected_within'] / 24), ('covered', 0.95)):
        fewest, most = count_range(chance, trials, figures=2)
        assert fewest <= sum(fit[key] for fit in fits) <= most
    wrong = agreement(np.full(24, 0.7), rng.standard_normal((200, 24)).std(axis=0, ddof=1), 200)
    low, high = deviation_range(200, figures=24)
    assert low / 0.7 < wrong['median'] < high / 0.7 and wrong['worst'] > wrong['median']
    limits = stats.chi2.cdf(199 * (0.7 * np.array([0.8, 1.2])) ** 2, 199)
    assert wrong['within'] <= count_range(np.diff(limits)[0], 24)[1] < 12


def test_runs_that_follow_from_one_another_are_seen():
    rng = np.random.default_rng(7)
    white = rng.standard_normal((100, 24))
    found = independence(white)
    assert abs(found['lag_1']) < mean_limit(100 * 24)
    assert abs(found['strongest']) < mean_limit(100, figures=24)
    level = 0.5 * (1 + 0.95 ** (1 / 24))
    assert found['chance'] == pytest.approx(stats.norm.ppf(level) / 10)
    drifting = white.copy()
    for row in range(1, 100):
        drifting[row] = 0.5 * drifting[row - 1] + white[row]
    found = independence(drifting)
    bias_of_lag = 0.02  # (1 + 3 * 0.5 - 1) / 100
    assert found['lag_1'] == pytest.approx(0.5, abs=mean_limit(100 * 24) + bias_of_lag)
    # 24 correlations of 0.48 +- 0.09: all below by chance once in 1e40
    assert found['strongest'] > found['chance']


def test_bias_in_its_own_standard_error():
    rng = np.random.default_rng(8)
    error, uncertainty = bias(3.0 + 0.1 * rng.standard_normal((50, 400)), np.full(400, 2.0))
    np.testing.assert_allclose(error, 1.0, atol=0.1 * mean_limit(50, figures=400))
    low, high = deviation_range(400)
    assert low < np.std(error, ddof=1) / (0.1 / np.sqrt(50)) < high
    assert np.all(np.abs(uncertainty / (0.1 / np.sqrt(50)) - 1) < normal_limit(400) / np.sqrt(98))
