"""Statistics of spreads: tables of textbooks, Wishart matrices, Monte Carlo."""

import numpy as np
import pytest
from scipy import stats

from pkm_bringup.studies.comparison import (
    agreement,
    bias,
    compare,
    deviation_interval,
    independence,
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
    found = compare(['a'], gaussian(np.ones(1), 20, rng), gaussian(np.ones(1), 20, rng))
    spread = np.sqrt(2.526)
    np.testing.assert_allclose(
        found.ratio_interval[0], found.ratio[0] * np.array([1 / spread, spread]), rtol=1e-3
    )


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Correlated estimates of very different sizes, sets of different numbers of runs."""
    rng = np.random.default_rng(0)
    truth = np.array([1.0, 1e-3, 50.0])
    root = np.linalg.cholesky(np.array([[1.0, 0.9, 0.5], [0.9, 1.0, 0.3], [0.5, 0.3, 1.0]]))
    held, ratios, volumes = [], [], []
    for _ in range(400):
        first = gaussian(truth, 40, rng, root)
        second = gaussian(0.5 * truth, 25, rng)
        found = compare(['a', 'b', 'c'], first, second)
        held.append((found.first_interval[:, 0] < truth) & (truth < found.first_interval[:, 1]))
        ratios.append((found.ratio_interval[:, 0] < 0.5) & (0.5 < found.ratio_interval[:, 1]))
        volume = 3 * np.log(0.5) - np.log(np.linalg.det(root))
        low, high = found.log_volume_interval
        volumes.append((low < volume < high, found.log_volume_ratio - volume))
    assert np.mean(held) == pytest.approx(0.95, abs=0.02)
    assert np.mean(ratios) == pytest.approx(0.95, abs=0.02)
    assert np.mean([inside for inside, _ in volumes]) == pytest.approx(0.95, abs=0.03)
    assert np.mean([error for _, error in volumes]) == pytest.approx(0.0, abs=0.04)


def test_the_volume_of_many_parameters_against_wishart_matrices():
    """24 parameters, 100 runs: without its correction a determinant is much too small."""
    draws = stats.wishart(99, np.eye(24) / 99).rvs(400, random_state=3)
    logs = 0.5 * np.linalg.slogdet(draws)[1]
    rng = np.random.default_rng(4)
    found = [
        compare(list('abcdefghijklmnopqrstuvwx'), *(rng.standard_normal((100, 24)) for _ in '12'))
        for _ in range(60)
    ]
    width = np.mean([one.log_volume_interval[1] - one.log_volume_ratio for one in found])
    assert width == pytest.approx(1.96 * np.sqrt(2) * logs.std(), rel=0.1)
    assert np.std([one.log_volume_ratio for one in found]) == pytest.approx(width / 1.96, rel=0.3)
    longer = compare(
        list('abcdefghijklmnopqrstuvwx'),
        rng.standard_normal((20000, 24)),
        rng.standard_normal((100, 24)),
    )
    assert logs.mean() < -1.4
    assert abs(longer.log_volume_ratio) < 3 * logs.std()


def test_too_few_runs_have_no_volume_and_one_has_no_spread():
    rng = np.random.default_rng(5)
    found = compare(list('abcd'), rng.standard_normal((5, 4)), rng.standard_normal((9, 4)))
    assert np.isnan(found.log_volume_ratio) and found.ratio.shape == (4,)
    with pytest.raises(EstimationError, match='one run'):
        compare(['a'], np.zeros((1, 1)), np.zeros((9, 1)))
    with pytest.raises(EstimationError, match='2 parameters'):
        compare(['a', 'b'], np.zeros((9, 1)), np.zeros((9, 1)))


def test_equal_sets_are_not_surely_different():
    rng = np.random.default_rng(1)
    found = compare(list('abcdefgh'), *(gaussian(np.ones(8), 60, rng) for _ in range(2)))
    assert found.surely_smaller + found.surely_larger <= 2


def test_what_chance_leaves_of_an_exact_prediction():
    rng = np.random.default_rng(6)
    fits = [
        agreement(np.ones(24), rng.standard_normal((30, 24)).std(axis=0, ddof=1), 30)
        for _ in range(200)
    ]
    assert np.mean([fit['within'] for fit in fits]) == pytest.approx(
        fits[0]['expected_within'], abs=0.5
    )
    assert np.mean([fit['covered'] for fit in fits]) == pytest.approx(0.95 * 24, abs=0.3)
    wrong = agreement(np.full(24, 0.7), rng.standard_normal((200, 24)).std(axis=0, ddof=1), 200)
    assert wrong['median'] == pytest.approx(1 / 0.7, abs=0.06) and wrong['within'] < 4


def test_runs_that_follow_from_one_another_are_seen():
    rng = np.random.default_rng(7)
    white = rng.standard_normal((100, 24))
    found = independence(white)
    assert abs(found['lag_1']) < 0.06 and abs(found['strongest']) < found['chance']
    drifting = white.copy()
    for row in range(1, 100):
        drifting[row] = 0.5 * drifting[row - 1] + white[row]
    found = independence(drifting)
    assert found['lag_1'] == pytest.approx(0.5, abs=0.1) and found['strongest'] > found['chance']


def test_bias_in_its_own_standard_error():
    rng = np.random.default_rng(8)
    error, uncertainty = bias(3.0 + 0.1 * rng.standard_normal((50, 400)), np.full(400, 2.0))
    np.testing.assert_allclose(error, 1.0, atol=0.06)
    assert np.std(error) == pytest.approx(np.mean(uncertainty), rel=0.15)
