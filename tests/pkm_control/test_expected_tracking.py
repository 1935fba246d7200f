"""Errors that a servo is expected to leave, against the closed loop and against formulas."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of

from pkm_control.closed_loop import run_closed_loop
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import no_feedforward, nominal_feedforward
from pkm_dynamics.equations.actuator_inertia import inertia_matrix
from pkm_dynamics.joint_servo.expected_tracking import LOOP_DELAY, ErrorResponse, expected_tracking
from pkm_dynamics.joint_servo.gains import VELOCITY_CUTOFF, servo_gains
from pkm_dynamics.simulation import PlantEffects, SimulatedPlant
from pkm_dynamics.trajectories import Execution
from pkm_identification.excitation import load_excitation

RAMP = 0.5  # [s]
INTERVAL = 1e-3  # [s]


@pytest.mark.parametrize(('name', 'bandwidth'), [('five_bar', 10.0), ('palida', 9.0)])
def test_the_closed_loop_has_these_errors(name, bandwidth):
    model = model_of(name)
    gains, motion = servo_gains(model, bandwidth), load_excitation(name)
    effects = PlantEffects.from_description(model.description).without_unmodelled()
    controller = TrajectoryController(model, gains, no_feedforward())
    plant = SimulatedPlant(model.description, effects, seed=1)
    run = run_closed_loop(plant, controller, motion, 1, ramp_time=RAMP, approach_speed=1.0)
    assert run.outcome.succeeded
    execution = Execution(motion, 1, RAMP, None)
    found = expected_tracking(model, ErrorResponse(model, gains), execution)
    assert found.time[-1] == pytest.approx(execution.duration)
    full = (found.time > RAMP) & (found.time < execution.duration - RAMP)
    expected = np.sqrt(np.mean(found.errors[full] ** 2, axis=0))
    np.testing.assert_allclose(expected, run.tracking_rms(), rtol=0.12)
    # not only as large: the same along time
    measured, wanted = run.errors[run.running], found.errors[full]
    count = min(len(measured), len(wanted))
    for a, b in zip(measured[:count].T, wanted[:count].T, strict=True):
        assert np.corrcoef(a, b)[0, 1] > 0.95


def test_a_force_that_stays_deflects_the_stiffness_and_one_that_swings_the_whole_servo():
    model = model_of('five_bar')
    gains = servo_gains(model)
    steady = np.tile([3.0, -1.0], (4000, 1))
    response = ErrorResponse(model, gains)
    sag = response.from_rest(steady, INTERVAL)
    np.testing.assert_allclose(sag.errors, steady / gains.proportional, rtol=1e-9)
    np.testing.assert_allclose(sag.feedback, steady, rtol=1e-9)
    # both drives alike: of two equal cranks the mode in which they swing together
    frequency, time = 15.0, INTERVAL * np.arange(8000)
    swinging = np.sin(2.0 * np.pi * frequency * time)[:, None] * [1.0, 1.0]
    errors = response.from_rest(swinging, INTERVAL).errors[3000:5000]
    s, cutoff = 2j * np.pi * frequency, 2.0 * np.pi * VELOCITY_CUTOFF
    slope = s / (1.0 + np.sqrt(2.0) * s / cutoff + (s / cutoff) ** 2)
    servo = np.exp(-s * LOOP_DELAY) * (gains.proportional + gains.derivative * slope)
    wanted = np.abs(np.linalg.solve(s**2 * inertia_matrix(model) + np.diag(servo), [1.0, 1.0]))
    np.testing.assert_allclose(np.sqrt(2.0) * errors.std(axis=0), wanted, rtol=2e-3)


def test_a_right_feedforward_leaves_nothing_and_bounds_are_named():
    model = model_of('five_bar')
    gains, motion = servo_gains(model), load_excitation('five_bar')
    execution, response = Execution(motion, 1, RAMP, None), ErrorResponse(model, gains)
    none = expected_tracking(model, response, execution, nominal_feedforward(model).forces)
    without = expected_tracking(model, response, execution)
    assert none.largest.max() < 1e-3 * without.largest.max()
    worst = min(without.margins(np.array([0.01, 0.01])), key=lambda margin: margin.margin)
    index = int(np.argmax(without.largest))
    assert (worst.constraint, worst.unit) == ('tracking', 'rad')
    assert worst.name == model.actuated_joints[index]
    assert worst.margin == pytest.approx(0.01 - worst.value)
    at = np.abs(without.errors[:, index])
    assert worst.time == pytest.approx(without.time[np.argmax(at)], abs=2 * INTERVAL)
    assert worst.value == pytest.approx(at.max(), rel=1e-3)
