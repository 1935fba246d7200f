"""Predictions of what the data determine although single parameters stay open."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_identification import identify, load_result
from pkm_identification.covariance.unidentifiable_directions import (
    UnidentifiableDirections,
    linear_deviation,
)


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


def test_deviation_with_an_unknown_of_its_own():
    covariance = np.array([[4.0, 0.0], [0.0, np.inf]])
    gradient = np.array([[3.0, 0.0], [3.0, 1e-3]])
    np.testing.assert_allclose(linear_deviation(gradient, covariance), [6.0, np.inf])
