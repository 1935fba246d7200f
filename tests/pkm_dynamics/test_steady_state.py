"""The servo against its time-domain twin, the steady state against MuJoCo under the controller."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from every_model import model_of
from five_bar_loop import PERIOD, steady, two_motor_waves
from scipy.interpolate import CubicSpline

from pkm_control.closed_loop import run_closed_loop
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import no_feedforward, nominal_feedforward
from pkm_control.servo import JointServo
from pkm_description.errors import SimulationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.joint_servo.servo_loop import ServoLoop
from pkm_dynamics.simulation import PlantEffects, SimulatedPlant
from pkm_dynamics.trajectories import FourierTrajectory

STEP, SUBSTEP, CUTOFF = 1e-3, 1e-4, 150.0
COUNT = 600  # instants of a period


@pytest.fixture(scope='module')
def robot() -> ClosedChainModel:
    return model_of('five_bar')


@pytest.fixture(scope='module')
def trajectory(robot) -> FourierTrajectory:
    return two_motor_waves(robot)


@pytest.fixture(scope='module')
def servo(robot) -> ServoLoop:
    gains = servo_gains(robot)
    # the plant's forces act at the beginnings of its substeps
    delay = (STEP - SUBSTEP) / 2
    return ServoLoop(gains.proportional, gains.derivative, CUTOFF, STEP, delay)


@pytest.mark.parametrize('frequency', [1.0, 20.0, 120.0])
def test_servo_answers_as_the_controller_does(robot, frequency):
    gains = servo_gains(robot)
    controller = JointServo(gains, CUTOFF)
    loop = ServoLoop(gains.proportional, gains.derivative, CUTOFF, STEP, 0.0)
    time = STEP * np.arange(2000)
    wave = np.exp(2j * np.pi * frequency * time)[:, None] * np.ones(2)
    answers = [controller.feedback(STEP, value) for value in wave.real]
    expected = (loop.transfer([frequency]) * wave).real
    np.testing.assert_allclose(answers[1000:], expected[1000:], atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize('feedforward', [False, True])
def test_the_simulated_robot_settles_to_it(robot, trajectory, servo, feedforward):
    """MuJoCo, the project's controller, half a second of transient and ramps left out."""
    effects = PlantEffects.from_description(robot.description)
    effects = replace(
        effects.without_unmodelled(),
        force_covariance=np.zeros((2, 2)),
        position_covariance=np.zeros((2, 2)),
        position_resolution=0.0,
    )
    plant = SimulatedPlant(robot.description, effects, step=STEP, substep=SUBSTEP)
    forward = nominal_feedforward(robot) if feedforward else no_feedforward()
    controller = TrajectoryController(robot, servo_gains(robot), forward)
    recording = run_closed_loop(plant, controller, trajectory, 3, 0.3, settle_time=0.1)
    settled = recording.running & (recording.trajectory_time >= 2 * PERIOD)
    lag = recording.current_time - recording.time
    time = (recording.trajectory_time + lag)[settled]
    state = steady(robot, servo, trajectory, COUNT, feedforward=feedforward)
    grid = PERIOD / 600 * np.arange(601)

    def at(values):
        return CubicSpline(grid, np.vstack([values, values[:1]]), bc_type='periodic')(time % PERIOD)

    truth = recording.truth_positions[settled]
    wanted = trajectory.evaluate(time)[0]
    behind = np.sqrt(np.mean((wanted - truth) ** 2))
    assert np.sqrt(np.mean((at(state.positions) - truth) ** 2)) < max(0.01 * behind, 5e-6)
    forces = recording.truth_forces[settled]
    off = np.sqrt(np.mean((at(state.forces) - forces) ** 2, axis=0))
    assert (off < 0.01 * forces.std(axis=0)).all()


def test_motion_and_forces_agree(robot, trajectory, servo):
    """Inverse dynamics of the motion are the forces; the forces are those of the servo."""
    state = steady(robot, servo, trajectory, COUNT)
    motion = robot.motion_from_actuators(state.positions, state.velocities, state.accelerations)
    off = robot.inverse_dynamics(motion) - state.forces
    assert np.sqrt(np.mean(off**2)) < 0.02 * state.forces.std()  # friction above the harmonics
    spectrum = np.fft.rfft(off, axis=0)
    assert np.abs(spectrum[:149]).max() < 1e-4 * np.abs(np.fft.rfft(state.forces, axis=0)).max()
    assert state.residual <= 1e-7 and state.iterations < 20


def test_change_with_parameters_is_that_of_finite_differences(robot, trajectory, servo):
    base = robot.base_parameters(shared=True, reduced=True)
    values = base.matrix @ np.asarray(robot.nominal_parameters)
    state = steady(robot, servo, trajectory, COUNT, parameters=base.columns @ values)
    change = state.force_change(base.regressor(state.motion))
    for index in range(len(values)):
        nudge = np.zeros(len(values))
        nudge[index] = 1e-3 * abs(values[index])
        ends = [
            steady(robot, servo, trajectory, COUNT, base.columns @ (values + sign * nudge))
            for sign in (1, -1)
        ]
        expected = (ends[0].forces - ends[1].forces) / (2 * nudge[index])
        off = np.sqrt(np.mean((change[..., index] - expected) ** 2))
        assert off < 0.05 * np.sqrt(np.mean(expected**2)), base.names[index]


def test_what_does_not_fit_is_said(robot, trajectory, servo):
    with pytest.raises(SimulationError, match='proportional gains must be finite'):
        replace(servo, proportional=np.array([-1.0, 1.0]))
    with pytest.raises(SimulationError, match='velocity_cutoff must be positive'):
        replace(servo, velocity_cutoff=0.0)
    with pytest.raises(SimulationError, match='delay must not be negative'):
        replace(servo, delay=-1.0)
    weak = replace(servo, proportional=servo.proportional * 1e-4, derivative=0 * servo.derivative)
    with pytest.raises(SimulationError, match='five_bar|workspace'):
        steady(robot, weak, trajectory, COUNT)
