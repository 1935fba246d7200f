"""Margins, their reports, and extrema of sampled signals, against numbers worked out by hand."""

import dataclasses

import numpy as np
import pytest

from pkm_description.errors import FeasibilityError
from pkm_dynamics.limits.margins import FeasibilityReport, Margin, largest, peaks, smallest
from pkm_dynamics.limits.robot_limits import LimitOptions, worst_and_broken


def margin(left, constraint='stroke', **others):
    values = {'value': 1.5 - left, 'limit': 1.5, 'name': 'lift', 'time': 0.25, 'unit': 'm'}
    return Margin(constraint, left, **{**values, **others})


def report(*margins):
    return FeasibilityReport({m.constraint: m for m in margins}, 10, 1.0)


@pytest.mark.parametrize(
    ('left', 'limit', 'size', 'expected'),
    [
        (0.5, 2.0, None, 0.25),
        (0.5, -2.0, None, 0.25),
        (-0.5, 2.0, 4.0, -0.125),
        (0.5, 0.0, None, 0.5e12),
        (0.5, 2.0, 0.0, 0.5e12),
    ],
)
def test_a_share_is_of_the_range_else_of_the_limits_magnitude(left, limit, size, expected):
    found = margin(left, limit=limit, size=size)
    assert found.relative == pytest.approx(expected, rel=1e-12)


def test_a_margin_in_words_names_joint_time_value_limit_and_unit():
    found = margin(-0.125, 'joint_velocity', name='elbow', unit='rad/s')
    assert str(found) == (
        'joint velocity of elbow at t = 0.2500 s: 1.625 rad/s, limit 1.5 rad/s '
        '(margin -0.125 rad/s)'
    )
    bare = margin(0.5, 'conditioning', name='platform', unit='')
    assert str(bare) == 'conditioning of platform at t = 0.2500 s: 1, limit 1.5 (margin 0.5)'
    open_loops = margin(-np.inf, 'kinematics')
    assert str(open_loops) == 'kinematics: no closed configuration at t = 0.2500 s'


def test_a_margin_as_plain_values():
    assert margin(0.5).to_dict() == {
        'margin': 0.5,
        'value': 1.0,
        'limit': 1.5,
        'name': 'lift',
        'time': 0.25,
        'unit': 'm',
    }


def test_a_limit_that_is_just_met_is_kept():
    assert report(margin(0.0)).feasible
    assert report(margin(0.0)).violations == []
    assert not report(margin(0.0), margin(-1e-15, 'force')).feasible


def test_margins_reports_and_options_stay_what_they_are():
    for item, field in (
        (margin(0.5), 'margin'),
        (report(), 'samples'),
        (LimitOptions(), 'aperture'),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(item, field, 1.0)


def test_a_report_orders_by_share_and_not_by_unit():
    small, large = margin(-0.2, 'stroke', limit=0.5), margin(-1.0, 'force', limit=100.0)
    near = margin(0.1, 'velocity')
    found = report(large, near, small)
    assert found.worst is small
    assert found.violations == [small, large]
    assert found.message == f'infeasible: {small}; {large}'
    with pytest.raises(FeasibilityError) as caught:
        found.raise_if_infeasible('motion 3')
    assert str(caught.value) == f'motion 3 is infeasible: {small}; {large}'


def test_a_feasible_report_names_what_is_closest():
    near, far = margin(0.1, 'velocity'), margin(1.0, 'force')
    found = report(far, near)
    assert found.worst is near
    assert found.message == f'feasible; closest is the {near}'
    found.raise_if_infeasible()


def test_a_robot_without_limits_is_feasible():
    found = report()
    assert found.feasible and found.worst is None
    assert found.message == 'the description gives no limit to check'


@pytest.mark.parametrize(
    ('samples', 'expected'),
    [
        ([0.0, 1.0, 1.0, 0.0], [0.0, 1.125, 1.125, 0.0]),  # half-way between two samples
        ([0.0, 4.0, 2.0], [0.0, 4.0 + 4.0 / 48.0, 2.0]),
        ([2.0, 4.0, 0.0], [2.0, 4.0 + 4.0 / 48.0, 0.0]),
        ([1.0, 2.0, 1.0], [1.0, 2.0, 1.0]),
        ([3.0, 3.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0]),
        ([0.0, 1.0, 3.0], [0.0, 1.0, 3.0]),  # curved upwards, no peak
        ([3.0, 2.0, 0.0], [3.0, 2.0, 0.0]),  # curved downwards, falling
        ([0.0, 2.0, 3.0], [0.0, 2.0, 3.0]),  # curved downwards, rising
        ([1.0, -1.0, 1.0], [1.0, -1.0, 1.0]),  # a trough
        ([5.0, 1.0], [5.0, 1.0]),
        ([5.0], [5.0]),
    ],
)
def test_a_local_maximum_is_raised_to_the_apex_of_its_parabola(samples, expected):
    given = np.array(samples)
    found = peaks(given[:, None])
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-14)
    np.testing.assert_array_equal(given, samples)


def test_the_apex_of_a_parabola_is_found_wherever_its_samples_lie():
    """Height 2 at any place between the samples, whatever the curvature."""
    for shift in (-0.4, -0.1, 0.0, 0.3):
        for bend in (0.01, 5.0):
            values = 2.0 - bend * (np.arange(-3.0, 4.0) - shift) ** 2
            assert peaks(values[:, None]).max() == pytest.approx(2.0, rel=1e-12)


def test_extrema_come_with_the_value_limit_column_and_time_of_the_worst_sample():
    time = np.array([0.5, 1.0, 1.5, 2.0])
    values = np.array([[0.0, 7.0, -1.0], [3.0, 7.0, -6.0], [1.0, 7.0, -2.0], [0.0, 7.0, 9.0]])
    upper, lower = np.array([2.5, np.inf, 10.0]), np.array([-1.0, -np.inf, -5.0])
    first, last = largest(values, upper, time)
    assert (first.limit, first.column, first.time) == (2.5, 0, 1.0)
    assert first.value == pytest.approx(3.0 + 1.0 / 40.0)
    assert first.margin == pytest.approx(-0.5 - 1.0 / 40.0)
    assert tuple(last) == (1.0, 9.0, 10.0, 2, 2.0)
    first, last = smallest(values, lower, time)
    assert tuple(first) == (1.0, 0.0, -1.0, 0, 0.5)
    assert (last.limit, last.column, last.time) == (-5.0, 2, 1.0)
    assert last.value == pytest.approx(-6.0 - 1.0 / 72.0)
    assert last.margin == pytest.approx(-1.0 - 1.0 / 72.0)
    assert largest(values, np.full(3, np.inf), time) == []
    assert smallest(values, np.full(3, -np.inf), time) == []


def test_what_is_no_number_is_the_worst_sample():
    values = np.array([[3.0], [np.nan], [0.1]])
    for extremum in (largest, smallest):
        (found,) = extremum(values, np.array([1.0]), np.arange(3.0))
        assert found.margin == -np.inf and found.time == 1.0


def extrema_of(values, lower, upper):
    time = np.arange(float(len(values)))
    return smallest(values, lower, time), largest(values, upper, time)


def test_the_worst_of_many_signals_and_all_broken_ones():
    """Shares of the ranges 10, 1 and 4: the worst is not the one with the least margin left."""
    lower, upper = np.array([0.0, 0.0, 0.0]), np.array([10.0, 1.0, 4.0])
    values = np.array([[5.0, 0.5, 2.0], [9.5, 0.9375, 3.0]])
    extrema, names, units = extrema_of(values, lower, upper), ['a', 'b', 'c'], ['m', 'rad', 's']
    (found,) = worst_and_broken('stroke', extrema, names, units, upper - lower)
    assert found == Margin('stroke', 0.5, 9.5, 10.0, 'a', 1.0, 'm', 10.0)
    values[1] = 9.5, 1.5, -1.0
    extrema = extrema_of(values, lower, upper)
    found = worst_and_broken('stroke', extrema, names, units, upper - lower)
    assert found == [
        Margin('stroke', -1.0, -1.0, 0.0, 'c', 1.0, 's', 4.0),
        Margin('stroke', -0.5, 1.5, 1.0, 'b', 1.0, 'rad', 1.0),
    ]


def test_a_margin_without_a_closed_range_is_a_share_of_its_limit():
    lower, upper = np.array([-4.0, -2.0]), np.array([np.inf, 2.0])
    values = np.array([[-3.5, 1.0], [-2.0, 0.5]])
    extrema, sizes = extrema_of(values, lower, upper), upper - lower
    (found,) = worst_and_broken('workspace', extrema, ['x', 'y'], ['m', 'm'], sizes)
    assert (found.name, found.margin, found.size, found.relative) == ('x', 0.5, 4.0, 0.125)
    (found,) = worst_and_broken('velocity', extrema, ['x', 'y'], ['m/s', 'm/s'])
    assert (found.name, found.size) == ('x', 4.0)
    assert worst_and_broken('force', ([], []), [], []) == []
