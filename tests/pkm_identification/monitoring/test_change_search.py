"""Contrasts against least squares in full, false alarms against their chance, courses in time."""

import numpy as np
import pytest
from scipy.stats import binom

from pkm_description.errors import EstimationError
from pkm_identification.monitoring.causes import Cause, Kind
from pkm_identification.monitoring.change_search import Search, _Sums, spreads_of, windows_before
from pkm_identification.monitoring.contrast import Contrast, Evidence
from pkm_identification.monitoring.shape_in_time import Course, shape_in_time

SIZE = 6
CHANCE = 1e-4  # of a test to fail by its seed, had it not been tried


def evidence(random, truth, rows=12, excess=1.0, shown=SIZE):
    """What rows with noise of variance `excess`, taken for 1, tell of parameters."""
    design = random.normal(size=(rows, SIZE))
    design[:, shown:] = 0.0
    target = design @ truth + np.sqrt(excess) * random.normal(size=rows)
    square = design.T @ design
    return Evidence(square, design.T @ target, square), design, target


def single(place, kind=Kind.FRICTION):
    column = np.eye(SIZE)[:, [place]]
    return Cause(kind, f'joint{place}', ('coulomb',), column, column[:, :0], kind.value)


def test_a_contrast_is_least_squares_with_all_parameters_free():
    random = np.random.default_rng(1)
    before, first, one = evidence(random, np.ones(SIZE))
    after, second, two = evidence(random, np.arange(SIZE))
    changes = np.eye(SIZE)[:, [1, 4]]
    contrast = Contrast.between(before, after).along(changes)
    fit = contrast.fitted(np.array([0, 1]), np.zeros(0, dtype=int))
    whole = np.block([[first, np.zeros((12, 2))], [second, second @ changes]])
    expected = np.linalg.lstsq(whole, np.concatenate([one, two]), rcond=None)[0][-2:]
    np.testing.assert_allclose(fit.values, expected, rtol=1e-8)
    covariance = np.linalg.inv(whole.T @ whole)[-2:, -2:]
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-8)
    beside = contrast.fitted(np.array([0]), np.array([1]))
    np.testing.assert_allclose(beside.values, expected[:1], rtol=1e-8)
    np.testing.assert_allclose(beside.covariance, covariance[:1, :1], rtol=1e-8)


def test_what_one_of_both_does_not_show_is_not_compared():
    random = np.random.default_rng(2)
    before = evidence(random, np.zeros(SIZE), shown=4)[0]
    after = evidence(random, np.full(SIZE, 100.0), shown=6)[0]
    contrast = Contrast.between(before, after).along(np.eye(SIZE))
    for place in range(SIZE):
        fit = contrast.fitted(np.array([place]), np.zeros(0, dtype=int))
        assert fit.rank == (place < 4)


def test_windows_double_and_are_sums_of_their_recordings():
    assert windows_before(1) == [1]
    assert windows_before(9) == [1, 2, 4]
    assert windows_before(12) == [1, 2, 4, 8]
    random, sums = np.random.default_rng(6), _Sums()
    series = [evidence(random, np.ones(SIZE))[0] for _ in range(70)]
    for end, each in enumerate(series, start=1):
        sums.add(each)
        windows = sums.windows()
        assert list(windows) == windows_before(end)
        for size, found in windows.items():
            expected = Evidence.of(series[end - size : end])
            np.testing.assert_allclose(found.score, expected.score)
            np.testing.assert_allclose(found.information, expected.information)


def test_healthy_series_alarm_as_often_as_promised_at_most():
    """40 series of 12, whose scatter is 4 times what each recording tells of itself."""
    random, promised, series = np.random.default_rng(3), 0.2, 40
    causes = [single(place) for place in range(SIZE)]
    alarms = 0
    for _ in range(series):
        each = [evidence(random, np.ones(SIZE), excess=4.0)[0] for _ in range(20)]
        spreads = spreads_of(causes, each[:8])
        search = Search(causes, Evidence.of(each[:8]), spreads, promised)
        alarms += bool(search.detections(each[8:]))
    assert alarms <= binom.isf(CHANCE, series, promised)


def test_the_spread_of_the_references_is_found():
    random = np.random.default_rng(4)
    causes = [single(place) for place in range(SIZE)]
    each = [evidence(random, np.ones(SIZE), excess=9.0)[0] for _ in range(40)]
    factors = np.array([spread.factor for spread in spreads_of(causes, each)])
    # some 240 degrees of freedom together: four of their deviations
    assert abs(factors.mean() / 9.0 - 1) < 4 * np.sqrt(2 / 240)
    with pytest.raises(EstimationError, match='2 reference recordings show no spread'):
        spreads_of(causes, each[:2])


def test_two_changes_are_found_and_nothing_else():
    random = np.random.default_rng(5)
    causes = [single(place) for place in range(SIZE)]
    healthy, changed = np.ones(SIZE), np.ones(SIZE)
    changed[[2, 5]] += (5.0, -4.0)
    each = [evidence(random, healthy)[0] for _ in range(14)]
    each += [evidence(random, changed)[0] for _ in range(6)]
    search = Search(causes, Evidence.of(each[:8]), spreads_of(causes, each[:8]), 1e-3)
    found = {each.cause.joint: each for each in search.detections(each[8:])}
    assert set(found) == {'joint2', 'joint5'}
    assert all(alarm.recording >= 6 and alarm.chance < 1e-3 for alarm in found.values())


@pytest.mark.parametrize(
    ('values', 'course', 'first', 'last'),
    [
        ([0, 0, 0, 5, 5, 5, 5, 5], Course.STEP, 3, 7),
        ([0, 0, 5, 5, 5, 0, 0, 0], Course.PASSING, 2, 4),
        ([0, 0, 0, 2, 4, 6, 8, 10], Course.GROWTH, 3, 7),
        ([5, 5, float('nan'), 5, 5, 5, 5, 5], Course.STEP, 0, 7),
    ],
)
def test_the_course_of_a_change_is_told(values, course, first, last):
    deviations = np.full(len(values), 0.5)
    found = shape_in_time(np.array(values, dtype=float), deviations)
    assert (found.course, found.first, found.last) == (course, first, last)
    assert found.value == pytest.approx(10 if course == Course.GROWTH else 5)
    if course == Course.GROWTH:
        assert found.slope == pytest.approx(2)


@pytest.mark.parametrize('alike', [0.995, 0.0])
def test_what_explains_a_change_as_well_is_named_with_it(alike):
    """Forces of joint 1 are those of joint 0 but for a little, or others."""
    random = np.random.default_rng(8)

    def recorded(change):
        design = random.normal(size=(200, SIZE))
        design[:, 1] = alike * design[:, 0] + np.sqrt(1 - alike**2) * design[:, 1]
        target = design @ (np.ones(SIZE) + change * np.eye(SIZE)[0]) + random.normal(size=200)
        square = design.T @ design
        return Evidence(square, design.T @ target, square)

    causes = [single(place) for place in range(SIZE)]
    references = [recorded(0.0) for _ in range(10)]
    search = Search(causes, Evidence.of(references), spreads_of(causes, references), 0.01)
    series = [recorded(0.5)]
    (found,) = search.detections(series)
    rivals = search.rivals(series[0], found.cause, [found.cause])
    assert {found.cause.joint, *(each.joint for each in rivals)} == (
        {'joint0', 'joint1'} if alike else {'joint0'}
    )
