"""Open-loop rollouts against the adaptive integration of the equations of motion."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import pkm_description
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.equations.forward_dynamics import actuator_state, forward_dynamics
from pkm_dynamics.equations.integration import integrate_motion
from pkm_identification.validation.rollout import (
    Recorded,
    accelerations,
    check_horizons,
    recorded_motion,
    roll_out,
)


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(pkm_description.load('five_bar'))


@pytest.fixture(scope='module')
def plant(model):
    """Forces, and the motion that they make from home with the nominal parameters."""
    rest = model.inverse_dynamics(
        model.motion_from_actuators(model.home_actuators[None], *np.zeros((2, 1, model.n_a)))
    )[0]

    def forces(time):
        return rest + 0.3 * np.sin(9.0 * np.atleast_1d(time))[:, None] * [1.0, -0.7]

    time = np.linspace(0.0, 0.4, 81)
    integrated = integrate_motion(
        model, time, lambda t, q, qd: forces(t)[0], qd=[0.4, -0.3], method='LSODA', tolerance=1e-9
    )
    assert integrated.success
    states = model.actuator_states(integrated.motion)
    return SimpleNamespace(
        time=time, forces=forces, positions=states.positions, velocities=states.velocities
    )


def between(time, values):
    return lambda at: np.column_stack([np.interp(at, time, column) for column in values.T])


def test_accelerations_are_those_of_forward_dynamics(model):
    random = np.random.default_rng(0)
    q = model.home_actuators + 0.1 * random.normal(size=(6, model.n_a))
    qd, forces = random.normal(size=(2, 6, model.n_a))
    expected = forward_dynamics(model, actuator_state(model, q, qd), forces).actuators
    found = accelerations(model, model.nominal_parameters, q, qd, forces)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())


def test_rollout_follows_the_integrated_motion(model, plant):
    recorded = Recorded(
        between(plant.time, plant.positions),
        between(plant.time, plant.velocities),
        plant.forces,
        np.array([0.0, 0.1]),
        'noise-free',
    )
    found = roll_out(model, model.nominal_parameters, recorded, [0.1, 0.3])
    assert found.reached.tolist() == [2, 2]
    moved = np.abs(np.diff(plant.positions[[0, -1]], axis=0)).max()
    assert found.largest.max() < 0.01 * moved
    heavier = model.nominal_parameters * np.where(model.parameter_mask('rigid_body'), 1.2, 1.0)
    wrong = roll_out(model, heavier, recorded, [0.1, 0.3])
    assert wrong.actuators[1].max() > 20 * found.actuators[1].max()
    assert wrong.platform[1] > wrong.platform[0]
    at_home = Recorded(
        recorded.positions, recorded.velocities, plant.forces, np.zeros(1), 'noise-free'
    )
    integrated = integrate_motion(
        model,
        [0.0, 0.3],
        lambda t, q, qd: plant.forces(t)[0],
        qd=[0.4, -0.3],
        parameters=heavier,
        method='LSODA',
        tolerance=1e-9,
    )
    error = model.actuator_states(integrated.motion).positions[-1] - plant.positions[60]
    np.testing.assert_allclose(
        roll_out(model, heavier, at_home, [0.3]).actuators[0], np.abs(error), rtol=0.02
    )


def test_friction_beyond_the_parameters(model, plant):
    def friction(velocities):
        return 0.3 * velocities * np.abs(velocities)

    pushed = Recorded(
        between(plant.time, plant.positions),
        between(plant.time, plant.velocities),
        lambda at: plant.forces(at) + friction(between(plant.time, plant.velocities)(at)),
        np.array([0.0, 0.1]),
        'noise-free',
    )
    found = roll_out(model, model.nominal_parameters, pushed, [0.2], drive_friction=friction)
    without = roll_out(model, model.nominal_parameters, pushed, [0.2])
    assert found.largest[0] < 0.05 * without.largest[0]


def test_starts_that_go_astray_are_counted(model, plant):
    recorded = Recorded(
        between(plant.time, plant.positions),
        between(plant.time, plant.velocities),
        lambda time: plant.forces(time) + 40.0 * (np.atleast_1d(time) > 0.3)[:, None],
        np.array([0.0, 0.25]),
        'measured',
    )
    found = roll_out(model, model.nominal_parameters, recorded, [0.05, 2.0])
    assert found.reached[0] == 2 and found.reached[1] < 2
    if not found.reached[1]:
        assert np.isnan(found.platform[1])


def test_periods_go_on_and_short_recordings_are_refused(record, slider_model):
    from pkm_identification.signals import SignalOptions, process

    data = record(periods=3)
    signals = process(data)
    recorded = recorded_motion(data, signals, 5.0, starts=4)
    assert recorded.source == 'measured' and len(recorded.starts) == 4
    later = recorded.positions(recorded.starts + 7.0)
    np.testing.assert_allclose(later, recorded.positions(recorded.starts), atol=1e-12)
    filtered = process(data, SignalOptions(method='filter', cutoff=40.0))
    with pytest.raises(EstimationError, match='shorter than the rollout of 5 s'):
        recorded_motion(data, filtered, 5.0)
    with pytest.raises(EstimationError, match='positive times'):
        check_horizons([0.1, -1.0])
