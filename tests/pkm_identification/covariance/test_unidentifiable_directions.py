"""Predictions of what the data determine although single parameters stay open."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_identification import identify, load_result
from pkm_identification.covariance.unidentifiable_directions import (
    UnidentifiableDirections,
    linear_deviation,
)
from pkm_identification.result.fields import Fields


@pytest.fixture
def alike(record, slider_model, motion):
    """A recording of carriages that move alike: it shows a.m + 2 c.m and b.m + 2 c.m alone."""
    data = record(force_noise=0.0, seed=3)
    moving = both_as_left(motion(data.time))
    noise = np.random.default_rng(3).normal(size=(len(data.time), 2)) * [4.0, 9.0]
    forces = slider_model.inverse_dynamics(moving) + noise
    return data.changed(positions=moving.q, efforts=forces)


def both_as_left(motion):
    return type(motion)(*(part[:, [0, 0]] for part in (motion.q, motion.qd, motion.qdd)))


@pytest.mark.parametrize('estimator', ['ls', 'wls', 'gauss_markov'])
def test_shown_combinations_have_the_deviation_of_any_gauge(alike, slider_model, motion, estimator):
    result = identify(alike, slider_model, estimator)
    assert np.isinf(result.standard_deviation[:3]).all()
    path = motion(np.arange(40) * 0.023)
    held = identify(alike, slider_model, estimator, fixed={'c.m': 1.5})
    expected = held.predict(both_as_left(path), True)[1]
    assert np.isfinite(expected).all() and expected.max() > 0.1
    forces, deviation = result.predict(both_as_left(path), True)
    np.testing.assert_allclose(deviation, expected, rtol=1e-6)
    currents = result.predict_currents(both_as_left(path), True)
    np.testing.assert_allclose(currents[1], deviation / slider_model.force_constants, rtol=1e-9)
    assert np.isinf(result.predict(path, True)[1]).all()  # a motion that tells the masses apart


def test_the_file_keeps_what_is_determined(alike, slider_model, motion, tmp_path):
    result = identify(alike, slider_model, 'gauss_markov')
    loaded = load_result(result.save(tmp_path / 'model.yaml'), slider_model)
    path = both_as_left(motion(np.arange(40) * 0.023))
    np.testing.assert_array_equal(loaded.predict(path, True)[1], result.predict(path, True)[1])


def test_deviation_along_and_across_a_direction():
    covariance = np.diag([4.0, 9.0, 0.0])
    opened = UnidentifiableDirections(np.array([[0.0, 1.0, -2.0]]), covariance)
    gradient = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 1.0], [0.0, 1.0, 0.0], [1.0, 2.0, 1.001]])
    np.testing.assert_allclose(opened.deviation(gradient), [2.0, 6.0, np.inf, np.inf])
    np.testing.assert_allclose(opened.deviation(gradient[:, :1]), [2.0, 0.0, 0.0, 2.0])
    with pytest.raises(ValueError, match='do not fit'):
        UnidentifiableDirections(np.zeros((1, 2)), covariance)


@pytest.mark.parametrize('scale', [1e-6, 1.0, 1e6])
def test_a_quantity_is_open_where_a_direction_moves_it_by_more_than_rounding(scale):
    """By a millionth of its terms, and 1e-12 of the largest of all quantities."""
    opened = UnidentifiableDirections(scale * np.array([[1.0, -1.0]]), np.diag([4.0, 9.0]))

    def is_open(*gradient):
        return np.isinf(opened.deviation(np.array(gradient))).tolist()

    assert is_open([1.0, 1.0 - 1.9e-6], [1.0, 1.0 - 2.1e-6]) == [False, True]
    assert is_open([1.0, 1.0], [0.0, 0.9e-12 * 2], [0.0, 1.1e-12 * 2]) == [False, False, True]
    assert is_open([0.0, 0.0]) == [False]


def test_one_of_several_directions_opens_a_quantity():
    directions = np.array([[0.0, 1.0, -1.0, 0.0], [1.0, 0.0, 0.0, 1.0]])
    opened = UnidentifiableDirections(directions, np.diag([1.0, 4.0, 9.0, 16.0]))
    gradient = np.array([[0.0, 1.0, 1.0, 0.0], [2.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    np.testing.assert_allclose(opened.deviation(gradient), [np.sqrt(13.0), np.inf, np.inf])
    assert opened.deviation(gradient[0]).shape == ()
    further = np.concatenate([gradient, np.full((3, 2), 7.0)], axis=1)  # beyond the unknowns
    np.testing.assert_allclose(opened.deviation(further), opened.deviation(gradient))


@pytest.mark.parametrize('shape', [(1, 2), (2, 2, 3), (3,)])
def test_directions_and_covariance_are_of_the_same_unknowns(shape):
    with pytest.raises(ValueError, match='do not fit a covariance of shape'):
        UnidentifiableDirections(np.zeros(shape), np.eye(3))
    with pytest.raises(ValueError, match='do not fit a covariance of shape'):
        UnidentifiableDirections(np.zeros((1, 3)), np.zeros((3, 2)))


def test_entries_of_a_file_make_the_same_directions():
    opened = UnidentifiableDirections(np.array([[1.0, -2.0]]), np.array([[4.0, 1.0], [1.0, 9.0]]))
    entries = {key: value.tolist() for key, value in opened.to_mapping().items()}
    read = UnidentifiableDirections.from_fields(Fields(entries, 'open'), 2)
    np.testing.assert_array_equal(read.directions, opened.directions)
    np.testing.assert_array_equal(read.covariance, opened.covariance)
    for wrong in ([[1.0, np.inf]], [[1.0, np.nan]], [[1.0, 2.0, 3.0]], [1.0, 2.0]):
        with pytest.raises(ValueError, match='open.directions'):
            UnidentifiableDirections.from_fields(Fields(entries | {'directions': wrong}, 'open'), 2)


def test_deviation_with_an_unknown_of_its_own():
    covariance = np.array([[4.0, 0.0], [0.0, np.inf]])
    gradient = np.array([[3.0, 0.0], [3.0, 1e-3]])
    np.testing.assert_allclose(linear_deviation(gradient, covariance), [6.0, np.inf])
    one = linear_deviation(np.array([[[0.0, 1e-20]], [[1e-30, 0.0]]]), covariance)
    np.testing.assert_allclose(one, [[np.inf], [2e-30]])


def test_deviation_with_correlated_unknowns():
    covariance = np.array([[4.0, 0.0, 3.0], [0.0, np.inf, 0.0], [3.0, 0.0, 9.0]])
    gradient = np.array([[1.0, 0.0, 2.0], [1.0, 0.0, -1.0], [1.0, 0.9e-12, 0.0]])
    expected = np.sqrt([4 + 12 + 36, 4 - 6 + 9, 4.0])
    np.testing.assert_allclose(linear_deviation(gradient, covariance), expected)
    assert np.isinf(linear_deviation(np.array([1.0, 1.1e-12, 0.0]), covariance))
    rounded = np.array([[1.0, 1.0 + 1e-9], [1.0 + 1e-9, 1.0]])  # by rounding no covariance
    assert linear_deviation(np.array([1.0, -1.0]), rounded) == 0.0
