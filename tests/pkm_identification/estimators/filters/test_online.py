"""Identification from samples as they come, with causal filters."""

from __future__ import annotations

import numpy as np
import pytest

import pkm_description
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification import RecursiveEstimator
from pkm_identification.estimators.filters.online import (
    CausalFilter,
    OnlineIdentification,
    RowFilter,
    StampedPairs,
)

RATE = 1000.0


def run(online, model, motion, count, truth, apart=0.0, noise=0.0):
    random = np.random.default_rng(0)
    times = np.arange(count) / RATE
    positions = motion(times).q + 1e-6 * random.normal(size=(count, 2))
    forces = model.inverse_dynamics(motion(times + apart), truth)
    forces = forces + noise * random.normal(size=forces.shape)
    for k, t in enumerate(times):
        online.add_forces(t + apart, forces[k])
        online.add_positions(t, positions[k])


@pytest.mark.parametrize('apart', [0.0, -0.5e-3, 0.4e-3])
def test_parameters_are_found_while_the_robot_moves(slider_model, motion, apart):
    truth = slider_model.nominal_parameters * [1.3, 0.8, 1.2, 1.0, 1.1, 1.2, 0.9]
    estimator = RecursiveEstimator(slider_model)
    online = OnlineIdentification(estimator, RATE, cutoff=40.0, update_rate=80.0)
    run(online, slider_model, motion, 5000, truth, apart, noise=3.0)
    z = (estimator.values - truth) / np.sqrt(np.diag(estimator.covariance))
    assert 300 < estimator.updates < 420 and online.gaps == 0
    assert np.abs(estimator.values / truth - 1).max() < 0.06
    assert np.sqrt(np.mean(z**2)) < 1.6


def test_friction_that_jumps_often_is_not_underestimated():
    """A five-bar that reverses several times a period: the low pass smooths these jumps."""
    model = ClosedChainModel(pkm_description.load('five_bar'))
    estimator = RecursiveEstimator(model)
    base = estimator.base
    coulomb = [k for k, name in enumerate(base.names) if name.endswith('coulomb')]
    online = OnlineIdentification(estimator, 500.0, cutoff=20.0, update_rate=40.0)
    time = np.arange(10000) / 500.0
    home = np.array([model.description.home_joints[name] for name in model.actuated_joints])
    w = 2 * np.pi * np.array([2.0, 3.3])
    swing = np.array([0.2, 0.15])
    phase = time[:, None] * w
    motion = model.motion_from_actuators(
        home + swing * np.sin(phase), swing * w * np.cos(phase), -swing * w**2 * np.sin(phase)
    )
    parameters = np.array(model.nominal_parameters)
    for name in model.actuated_joints:
        parameters[list(model.parameter_names).index(f'{name}.coulomb')] *= 1.3
    random = np.random.default_rng(0)
    forces = model.inverse_dynamics(motion, parameters)
    forces = forces + 0.01 * random.normal(size=forces.shape)
    q = model.actuator_states(motion).positions
    for k, instant in enumerate(time):
        online.add_forces(instant, forces[k])
        online.add_positions(instant, q[k])
    truth = base.matrix @ parameters
    np.testing.assert_allclose(estimator.values[coulomb], truth[coulomb], rtol=0.05)


def test_rows_and_forces_go_through_one_filter():
    random = np.random.default_rng(0)
    rows = np.sign(random.normal(size=(600, 2, 3)))
    forces = rows @ np.array([1.0, -2.0, 0.5])
    through = RowFilter(RATE, 30.0)
    first = through.add(rows[:30], forces[:30])
    assert first is None
    later = [through.add(rows[k : k + 30], forces[k : k + 30]) for k in range(30, 600, 30)]
    for regressor, force in later[5:]:
        np.testing.assert_allclose(regressor @ [1.0, -2.0, 0.5], force, atol=1e-12)
        assert np.abs(regressor).max() < 1.0
    through.reset()
    assert through.add(rows[:30], forces[:30]) is None


def test_filter_keeps_phase_and_differentiates():
    """A sine far below the cutoff: the same delay on both sides, exact derivatives."""
    through = CausalFilter(RATE, 50.0)
    w, found = 2 * np.pi * 2.0, []
    for k in range(1500):
        value = np.array([np.sin(w * k / RATE)])
        found.append(through.add(value, 3 * value))
    settled = np.array([each for each in found[600:]])[..., 0]
    q, qd, qdd, force = settled.T
    np.testing.assert_allclose(force, 3 * q, atol=1e-12)
    np.testing.assert_allclose(qdd, -(w**2) * q, atol=2e-3 * w**2)
    np.testing.assert_allclose(qd**2 + (w * q) ** 2, w**2, rtol=2e-3)
    assert found[10] is None


def test_gaps_and_restarts_clear_the_filter(slider_model, motion):
    estimator = RecursiveEstimator(slider_model)
    online = OnlineIdentification(estimator, RATE, cutoff=40.0, update_rate=80.0)
    run(online, slider_model, motion, 500, slider_model.nominal_parameters)
    before = estimator.updates
    online.add_forces(0.6, np.zeros(2))
    online.add_positions(0.6, np.full(2, 0.3))
    assert online.gaps == 1 and estimator.updates == before
    run(online, slider_model, motion, 500, slider_model.nominal_parameters)  # time goes back
    assert online.gaps == 1 and estimator.updates > before


def test_rest_is_left_out(slider_model):
    estimator = RecursiveEstimator(slider_model)
    online = OnlineIdentification(estimator, RATE)
    for k in range(1000):
        online.add_forces(k / RATE, np.array([5.0, -2.0]))
        online.add_positions(k / RATE, np.array([0.3, 0.4]))
    assert estimator.updates == 0


def test_cutoff_must_fit_the_rate():
    with pytest.raises(EstimationError, match='quarter of the rate'):
        CausalFilter(100.0, 50.0)


def pairs_of(force_times, position_times) -> list[float]:
    """Times of positions that are taken with forces of these times, in intervals."""
    pairs = StampedPairs()
    for k in force_times:
        assert pairs.add_forces(k / RATE, [float(k)])
    for k in position_times:
        pairs.add_positions(k / RATE, [0.0])
    taken = list(pairs.taken())
    for time, _, force in taken:
        assert force[0] == pytest.approx(time * RATE)
    return [round(time * RATE) for time, _, _ in taken]


def test_positions_that_are_sent_again_are_taken_once():
    assert pairs_of(range(6), [1, 2, 2, 3, 3, 3, 4]) == [1, 2, 3, 4]


def test_positions_amid_lost_forces_are_not_taken():
    """Nine in a row; one or two in a row change little."""
    times = [k for k in range(40) if k not in {10, 16, 17, *range(21, 30)}]
    assert pairs_of(times, range(40)) == [*range(21), *range(30, 40)]


def test_forces_may_come_more_seldom_than_positions():
    assert pairs_of(range(0, 101, 10), range(100)) == list(range(100))
