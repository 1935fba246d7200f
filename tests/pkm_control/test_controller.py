"""The controller's core in closed loop with an analytic gantry."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of
from gantry import Gantry, GantryPlant, ShuffledGantry

from pkm_control.closed_loop import run_closed_loop
from pkm_control.control_types import ControlFault, ControllerOptions, ErrorCode
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import (
    Feedforward,
    identified_feedforward,
    no_feedforward,
    nominal_feedforward,
)
from pkm_control.servo import JointServo
from pkm_control.stops import StopEvent
from pkm_description.errors import PkmError
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.motion import PlatformMotion
from pkm_dynamics.trajectories import (
    CircleTrajectory,
    Execution,
    FourierTrajectory,
    Phase,
    PointToPoint,
    SampledTrajectory,
)

CIRCLE = CircleTrajectory([0.05, 0, 0, 0, 0, 0], [0.5, 0, 0], 0.15, 1.0)


def controller(
    model: Gantry | None = None, feedforward: Feedforward | None = None, **options: float
) -> TrajectoryController:
    model = model or Gantry()
    feedforward = feedforward or nominal_feedforward(model)
    gains = servo_gains(model)
    return TrajectoryController(model, gains, feedforward, ControllerOptions(**options))


def follow(plant, c, trajectory, periods=1, ramp_time=0.4, speed=0.5, **more):
    return run_closed_loop(plant, c, trajectory, periods, ramp_time, speed, 0.02, **more)


def test_right_model_leaves_no_error_and_no_model_leaves_one() -> None:
    rms = {}
    for feedforward in (no_feedforward(), nominal_feedforward(Gantry())):
        c = controller(feedforward=feedforward, max_position_error=0.1)
        recording = follow(GantryPlant(c.model), c, CIRCLE, periods=2)
        assert recording.outcome is not None and recording.outcome.succeeded
        statistics = recording.outcome.statistics
        np.testing.assert_allclose(statistics.rms, recording.tracking_rms(), rtol=1e-9)
        np.testing.assert_allclose(
            statistics.largest, np.abs(recording.errors[recording.running]).max(axis=0)
        )
        rms[feedforward.name] = np.linalg.norm(recording.tracking_rms())
    assert rms['none'] > 30.0 * rms['nominal']
    assert rms['nominal'] < 2e-4


def test_phases_in_order_and_exact_periods() -> None:
    c = controller()
    recording = follow(GantryPlant(c.model), c, CIRCLE, periods=2)
    phases = recording.phase
    assert [int(p) for p in phases[np.flatnonzero(np.diff(phases, prepend=-1))]] == [
        Phase.HOLD,
        Phase.APPROACH,
        Phase.RAMP_IN,
        Phase.RUN,
        Phase.RAMP_OUT,
        Phase.HOLD,
    ]
    run = recording.running
    expected = CIRCLE.evaluate(recording.trajectory_time[run])[0][:, :3]
    np.testing.assert_allclose(recording.desired_positions[run], expected, atol=1e-12)


def test_actuator_coordinates_in_another_order() -> None:
    trajectory = FourierTrajectory(
        1.0, [0.0] * 3, [[0.1], [0.2], [0.05]], [[0.0]] * 3, 'actuators', ['z', 'x', 'y']
    )
    c = controller()
    recording = follow(GantryPlant(c.model), c, trajectory)
    run = recording.running
    assert np.abs(recording.positions[run][:, 0]).max() == pytest.approx(0.2, rel=0.02)
    assert np.abs(recording.positions[run][:, 2]).max() == pytest.approx(0.1, rel=0.02)


def test_commands_are_clamped_and_saturation_is_counted() -> None:
    model = Gantry(force_limit=130.0)  # 98 N hold the platform
    c = controller(model, max_position_error=0.09)
    recording = follow(GantryPlant(model), c, CIRCLE)
    assert np.abs(recording.commands).max() == 130.0
    assert recording.saturated.any()
    assert recording.outcome is not None
    assert 0.0 < recording.outcome.statistics.saturated_fraction < 1.0


@pytest.mark.parametrize('delay', [0.1, 0.9, 1.5, 2.5, 3.5])
def test_cancel_anywhere_comes_to_rest_on_the_path_and_holds(delay: float) -> None:
    def cancel(time: float, c: TrajectoryController) -> None:
        if time >= delay:
            c.stop()

    c = controller()
    start = [0.1, 0.0, 0.0]
    plant = GantryPlant(c.model, start=start)
    recording = follow(plant, c, CIRCLE, 2, 0.8, 0.2, before_step=cancel)
    assert recording.outcome is not None and recording.outcome.code is ErrorCode.CANCELED
    stopping = recording.time[recording.phase == Phase.STOPPING]
    assert stopping[0] == pytest.approx(delay, abs=2e-3)
    assert stopping[-1] - stopping[0] <= 0.5 + 1e-9
    steps = np.diff(recording.desired_positions, axis=0)
    assert np.abs(np.diff(steps, axis=0)).max() < 1.5e-5  # no jump: 15 m/s^2 at most
    np.testing.assert_array_equal(recording.desired_velocities[-1], 0.0)
    assert np.abs(recording.errors).max() < 2e-3
    assert c.active and not c.busy
    again = follow(plant, c, CIRCLE)
    assert again.outcome is not None and again.outcome.succeeded


def test_stop_time_is_at_most_a_period() -> None:
    quick = CircleTrajectory([0.0] * 6, [0.0] * 3, 0.01, 0.5)  # period 0.126 s
    c = controller()
    recording = follow(
        GantryPlant(c.model), c, quick, 20, before_step=lambda t, c: c.stop() if t > 1.0 else None
    )
    stopping = recording.time[recording.phase == Phase.STOPPING]
    assert stopping[-1] - stopping[0] <= quick.period


def test_lost_actuator_ends_in_a_smooth_stop_with_the_reason() -> None:
    class Weak(GantryPlant):
        def step(self, command):
            return super().step(command * [1.0, 0.05, 1.0])

    c = controller(feedforward=no_feedforward(), max_position_error=0.02)
    recording = follow(Weak(c.model), c, CIRCLE, 3)
    assert recording.outcome is not None
    assert recording.outcome.code is ErrorCode.TRACKING_ERROR
    assert recording.outcome.message.startswith('y: position error')
    assert c.active


def moving(**options: float) -> TrajectoryController:
    """A controller at the first cycle of a motion."""
    c = controller(**options)
    c.activate(np.zeros(3))
    c.start(c.plan(CIRCLE))
    c.step(0.0, np.zeros(3))
    return c


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize('axis', [0, 2])
def test_position_errors_of_both_signs_stop_or_fault(sign: float, axis: int) -> None:
    def away(size: float) -> np.ndarray:
        return sign * size * np.eye(3)[axis]

    c = moving(max_position_error=0.02, fault_position_error=0.04)
    c.step(0.001, away(0.0199))
    assert c.step(0.002, away(0.0201)).phase is Phase.APPROACH  # supervised after the command
    stopping = c.step(0.003, away(0.039))
    assert stopping.phase is Phase.STOPPING and stopping.fault is None  # category 2
    fault = c.step(0.004, away(0.041)).fault  # category 1
    assert fault is not None and fault.code is ErrorCode.TRACKING_ERROR
    assert str(fault).startswith(f'{"xyz"[axis]}: position error')
    assert f'{-sign * 0.041:.3f}'[:5] in str(fault)
    result = c.step(0.005, away(0.041))
    while result.outcome is None:
        result = c.step(result.time + 0.001, result.desired_position)
    assert result.outcome.code is ErrorCode.TRACKING_ERROR and result.fault is fault
    resting = controller(max_position_error=0.05)
    resting.activate(np.zeros(3))
    assert resting.step(0.0, away(0.049)).fault is None
    assert 'bound at rest' in str(resting.step(0.001, away(0.051)).fault)


def test_a_coarse_encoder_does_not_turn_a_stop_at_rest_into_power_off() -> None:
    """Where the robot brakes, desired positions leap to the measured ones, which may stand."""
    c = controller(max_position_error=0.005, fault_position_error=0.01)
    c.activate(np.zeros(3))
    c.start(c.plan(line(1e-4, 0.2)))
    faults = []
    for cycle in range(700):
        pushed = min(1e-4 * cycle, 0.0055)  # the motion stops, and ends beyond the bound at rest
        faults.append(c.step(1e-3 * cycle, [pushed, 0.0, 0.0]).fault)
    assert faults[0] is None and 'bound at rest' in str(faults[-1])


def test_a_motion_that_ends_with_a_large_error_has_not_succeeded() -> None:
    c = controller(max_interval=2.0, max_position_error=0.02)
    c.activate(np.zeros(3))
    c.start(c.plan(line(0.05, duration=0.5)))
    first = c.step(0.0, np.zeros(3))
    c.step(0.25, first.desired_position + [0.02, 0.0, 0.0])
    last = c.step(0.5, [0.025, 0.0, 0.0])  # 25 mm from the end
    assert last.phase is Phase.HOLD and last.outcome is not None
    assert last.outcome.code is ErrorCode.TRACKING_ERROR
    assert 'x: position error 0.025 exceeds the bound 0.02' in last.outcome.message


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_commands_are_clamped_on_both_sides(sign: float) -> None:
    model = Gantry(force_limit=50.0)
    c = controller(model, no_feedforward())
    c.activate(np.zeros(3))
    step = c.step(0.0, [0.0, sign * 1e-3, sign * 0.04])  # 4 kN/m
    wanted = step.feedforward + step.feedback
    assert abs(wanted[1]) < 50.0 < abs(wanted[2])
    np.testing.assert_array_equal(step.command, [0.0, wanted[1], -sign * 50.0])
    np.testing.assert_array_equal(step.saturated, [False, False, True])


def test_a_stop_before_the_first_cycle_hardly_moves() -> None:
    c = controller()
    c.activate(np.zeros(3))
    c.start(c.plan(CIRCLE))
    assert c.stop()
    results = [c.step(1.0 + 1e-3 * k, np.zeros(3)) for k in range(600)]
    ended = [result.outcome for result in results if result.outcome is not None]
    assert [outcome.code for outcome in ended] == [ErrorCode.CANCELED]
    assert {result.phase for result in results} == {Phase.STOPPING, Phase.HOLD}
    assert np.abs(results[-1].desired_position).max() < 2e-3  # of 0.25 m
    assert results[-1].phase is Phase.HOLD and not c.busy


def test_a_motion_may_start_whole_turns_away_and_nowhere_else() -> None:
    c = controller()
    c.activate(np.zeros(3))
    rest = c.resting_coordinates('platform')
    turned = rest + [0.0, 0.0, 0.0, 0.0, 0.0, 2.0 * np.pi]
    c.start(Execution(PointToPoint([0.0, 1.0], [turned, turned + 0.01])))
    c.deactivate()
    c.activate(np.zeros(3))
    for moved in (0, 5):
        with pytest.raises(ControlFault, match='does not start'):
            c.start(Execution(CIRCLE, 1, 0.4, rest - 2e-6 * np.eye(6)[moved], 0.5))
    with pytest.raises(ControlFault, match='does not start'):
        c.start(Execution(CIRCLE, 1, 0.4, rest + 2.0 * np.pi * np.eye(6)[0], 0.5))


def test_the_feedforward_of_the_rest_is_that_in_use() -> None:
    c = controller()
    plant = GantryPlant(c.model)
    follow(plant, c, CIRCLE)
    time, rest = plant.sample.time, c.resting_coordinates('actuators')
    weight = [0.0, 0.0, 9.81 * 10.0]
    np.testing.assert_allclose(c.step(time, rest).feedforward, weight)
    c.feedforward = no_feedforward()
    np.testing.assert_allclose(c.step(time + 1e-3, rest).feedforward, weight)
    after = [c.step(time + t, rest).feedforward for t in np.linspace(0.05, 0.6, 12)]
    assert (np.diff(after, axis=0) <= 0.0).all()  # another takes over without a jump
    np.testing.assert_array_equal(after[-1], 0.0)


def test_an_interval_as_long_as_allowed_is_no_jump() -> None:
    c = moving(max_interval=0.25)
    c.step(0.25, np.zeros(3))
    with pytest.raises(ControlFault, match='jumped ahead'):
        c.step(0.501, np.zeros(3))
    c = moving()
    c.step(0.1, np.zeros(3))
    with pytest.raises(
        ControlFault, match=r'jumped ahead by 0.101000 s to 0.201000 s \(limit 0.1 s\)'
    ):
        c.step(0.201, np.zeros(3))
    for interval in (0.0, -0.1, np.nan):
        with pytest.raises(PkmError, match='max_interval'):
            ControllerOptions(max_interval=interval)
    ControllerOptions(max_position_error=0.1, fault_position_error=0.1)


def line(end: float, duration: float = 1.0, axis: int = 0) -> PointToPoint:
    """From the zero pose along one axis of the platform and to rest."""
    return PointToPoint([0.0, duration], [np.zeros(6), end * np.eye(6)[axis]])


def test_each_cycle_reports_where_the_motion_is() -> None:
    c = controller(max_interval=2.0)
    c.activate(np.zeros(3))

    def progress(time: float) -> tuple:
        step = c.step(time, np.zeros(3))
        assert step.time == time and step.model == 'nominal'
        return step.phase, step.trajectory_time, step.period_index, step.fraction, step.time_left

    assert progress(6.5) == (Phase.HOLD, 0.0, 0, 1.0, 0.0)
    c.start(c.plan(line(0.002)))
    assert progress(7.0) == (Phase.RUN, 0.0, 0, 0.0, 1.0)
    assert progress(7.25) == (Phase.RUN, 0.25, 0, 0.25, 0.75)
    assert progress(8.0) == (Phase.HOLD, 1.0, 1, 1.0, 0.0)
    assert progress(8.5) == (Phase.HOLD, 0.0, 0, 1.0, 0.0)
    c = controller(max_interval=2.0)
    c.activate(np.zeros(3))
    periods = FourierTrajectory(0.5, [0.0] * 6, np.zeros((6, 1)), np.zeros((6, 1)))
    c.start(c.plan(periods, 3, 0.25))
    assert progress(0.0) == (Phase.RAMP_IN, -0.125, 0, 0.0, 2.0)
    assert progress(0.25) == (Phase.RUN, 0.0, 0, 0.125, 1.75)
    assert progress(1.5) == (Phase.RUN, 1.25, 2, 0.75, 0.5)
    assert progress(1.75) == (Phase.RAMP_OUT, 1.5, 3, 0.875, 0.25)


def test_desired_state_and_forces_of_a_cycle_by_hand() -> None:
    """Half way of a quintic of 0.02 m in 1 s: 15/8 of the mean speed, no acceleration."""
    c = controller(max_interval=2.0)
    c.activate(np.zeros(3))
    c.start(c.plan(line(0.02)))
    c.step(0.0, np.zeros(3))
    measured = np.array([0.0097, 0.0002, -0.0004])
    step = c.step(0.5, measured)
    np.testing.assert_allclose(step.desired_position, [0.01, 0.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(step.desired_velocity, [0.0375, 0.0, 0.0], atol=1e-15)
    np.testing.assert_array_equal(step.position, measured)
    np.testing.assert_allclose(
        step.feedforward, [5.0 + 20.0 * 0.0375, 0.0, 98.1], rtol=1e-9, atol=1e-9
    )
    error, servo = step.desired_position - measured, JointServo(servo_gains(c.model))
    servo.feedback(0.0, np.zeros(3))
    np.testing.assert_allclose(step.feedback, servo.feedback(0.5, error), rtol=1e-9)
    np.testing.assert_allclose(step.command, step.feedforward + step.feedback, rtol=1e-12)
    assert not step.saturated.any() and step.outcome is None
    end = c.step(1.0, [0.02, 0.0, 0.0])
    np.testing.assert_allclose(end.desired_position, [0.02, 0.0, 0.0], atol=1e-15)
    assert end.outcome is not None and end.outcome.succeeded


def test_actuators_are_found_among_the_joints_by_name() -> None:
    c = controller(ShuffledGantry(), max_interval=2.0)
    c.activate([0.1, 0.2, 0.3])
    pose = np.array([0.1, 0.2, 0.3, 0.0, 0.0, 0.0])
    c.start(c.plan(PointToPoint([0.0, 1.0], [pose, pose + [0.01, 0.02, 0.03, 0, 0, 0]])))
    step = c.step(0.0, [0.1, 0.2, 0.3])
    np.testing.assert_allclose(step.desired_position, [0.1, 0.2, 0.3])
    step = c.step(0.5, [0.105, 0.21, 0.315])
    np.testing.assert_allclose(step.desired_position, [0.105, 0.21, 0.315])
    np.testing.assert_allclose(step.desired_velocity, 1.875 * np.array([0.01, 0.02, 0.03]))


def test_the_pose_at_rest_has_its_position_and_angles() -> None:
    c = controller()
    model = c.model
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # a quarter about z
    still = model.motion_from_actuators(np.array([[0.1, 0.2, 0.3]]), *np.zeros((2, 1, 3)))
    model.motion_from_actuators = lambda q, qd, qdd, initial=None: PlatformMotion(
        still.position, turn[None], still.twist, still.acceleration
    )
    c.activate([0.1, 0.2, 0.3])
    np.testing.assert_allclose(
        c.resting_coordinates('platform'), [0.1, 0.2, 0.3, 0.0, 0.0, 0.5 * np.pi], atol=1e-12
    )
    rest = c.resting_coordinates('actuators')
    rest[0] = 9.0  # a copy
    np.testing.assert_array_equal(c.resting_coordinates('actuators'), [0.1, 0.2, 0.3])


def test_each_drive_has_its_own_force_limit() -> None:
    model = Gantry()
    model.force_limit = np.array([10.0, 20.0, 40.0])
    c = controller(model, no_feedforward())
    c.activate(np.zeros(3))
    step = c.step(0.0, [0.04, -0.04, -0.04])
    np.testing.assert_array_equal(step.command, [-10.0, 20.0, 40.0])


def test_bounds_hold_including_their_ends() -> None:
    model = Gantry()
    model.upper[2], model.lower[1] = 0.0, -0.5
    options = {'stroke_tolerance': 0.25, 'max_position_error': 0.5, 'fault_position_error': 0.75}

    def first(*positions: float) -> TrajectoryController:
        c = controller(model, **options)
        c.activate(np.zeros(3))
        c.start(c.plan(line(0.02)))
        c.step(0.0, positions)
        return c

    def phase(*positions: float) -> Phase:
        return first(*positions).step(0.001, np.zeros(3)).phase

    assert phase(0.0, 0.0, 0.25) is Phase.RUN
    assert phase(0.0, 0.0, np.nextafter(0.25, 1.0)) is Phase.STOPPING
    assert phase(0.0, -0.5, 0.0) is Phase.RUN  # the error; the stroke ends at -0.75
    assert phase(0.0, np.nextafter(-0.5, -1.0), 0.0) is Phase.STOPPING
    options['max_position_error'] = 0.75
    assert phase(0.0, -0.75, 0.0) is Phase.RUN
    assert first(0.75, 0.0, 0.0).step(0.001, np.zeros(3)).fault is None
    beyond = np.nextafter(0.75, 1.0), 0.0, 0.0
    assert 'fault bound 0.75' in str(first(*beyond).step(0.001, beyond).fault)
    options['fault_position_error'] = 1.0
    options['max_position_error'] = 1.0
    assert phase(0.0, np.nextafter(-0.75, -1.0), 0.0) is Phase.STOPPING


def test_a_motion_may_start_a_micrometre_from_the_rest() -> None:
    for axis in (0, 5):
        c = controller()
        c.activate(np.zeros(3))
        c.start(Execution(PointToPoint([0.0, 1.0], [1e-6 * np.eye(6)[axis], np.full(6, 0.01)])))
        c = controller()
        c.activate(np.zeros(3))
        with pytest.raises(ControlFault, match='does not start'):
            c.start(Execution(PointToPoint([0, 1], [1.1e-6 * np.eye(6)[axis], np.full(6, 0.01)])))


@pytest.mark.parametrize('turns', [-2, 1])
@pytest.mark.parametrize('axis', [3, 4, 5])
def test_whole_turns_of_an_angle_are_one_start_and_half_turns_are_not(axis, turns) -> None:
    c = controller()
    c.activate(np.zeros(3))
    for share in (0.5, 0.75, 1.0 - 1e-5):
        away = share * turns * 2.0 * np.pi * np.eye(6)[axis]
        if share * turns % 1.0:
            with pytest.raises(ControlFault, match='does not start'):
                c.start(Execution(PointToPoint([0.0, 1.0], [away, away + 0.01])))
    away = turns * 2.0 * np.pi * np.eye(6)[axis]
    c.start(Execution(PointToPoint([0.0, 1.0], [away, away + 0.01])))


def test_actuator_coordinates_know_no_whole_turns() -> None:
    c = controller()
    c.activate(np.zeros(3))
    away = 2.0 * np.pi * np.eye(3)[2]
    with pytest.raises(ControlFault, match='does not start'):
        c.start(Execution(PointToPoint([0, 1], [away, away + 0.01], 'actuators', ['x', 'y', 'z'])))


def test_a_motion_is_stopped_in_the_time_that_the_options_give() -> None:
    c = controller(max_interval=2.0, stop_time=0.25)
    c.activate(np.zeros(3))
    c.step(3.0, np.zeros(3))
    c.start(c.plan(line(0.02)))
    c.step(4.0, np.zeros(3))
    c.step(4.5, [0.01, 0.0, 0.0])
    assert c.stop(StopEvent.SUPERSEDED, 'another goal') and c.busy
    slowing = c.step(4.625, [0.01, 0.0, 0.0])
    assert slowing.phase is Phase.STOPPING and slowing.time_left == pytest.approx(0.125)
    ended = c.step(4.75, [0.01, 0.0, 0.0])
    assert ended.phase is Phase.HOLD and not c.busy and not c.stop()
    assert ended.outcome is not None and ended.outcome.message == 'another goal'
    # The clock of the motion has gone on by half of the stop: u = 0.625 of a quintic.
    u = 0.625
    stood = 0.02 * u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
    np.testing.assert_allclose(ended.desired_position, [stood, 0.0, 0.0], atol=1e-12)
    np.testing.assert_array_equal(ended.desired_velocity, 0.0)
    held = c.step(5.0, [0.01, 0.0, 0.0])
    np.testing.assert_array_equal(held.desired_position, ended.desired_position)


def test_a_stop_between_start_and_first_cycle_of_a_robot_at_rest() -> None:
    c = controller(max_interval=2.0, stop_time=0.25)
    c.activate(np.zeros(3))
    c.step(3.0, np.zeros(3))
    c.start(c.plan(line(0.02)))
    assert c.stop()
    assert c.step(3.5, np.zeros(3)).phase is Phase.STOPPING
    ended = c.step(3.75, np.zeros(3))
    assert ended.outcome is not None and ended.outcome.code is ErrorCode.CANCELED
    u = 0.125  # half of the stop
    moved = 0.02 * u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
    np.testing.assert_allclose(ended.desired_position, [moved, 0.0, 0.0], atol=1e-12)


def test_a_motion_knows_nothing_of_the_one_before() -> None:
    c = controller(max_interval=2.0, max_position_error=0.05)
    c.activate(np.zeros(3))
    c.start(c.plan(line(0.02)))
    c.step(0.0, [0.06, 0.0, 0.0])  # an error that stops
    first = c.step(0.5, np.zeros(3)).outcome
    assert first is not None and first.code is ErrorCode.TRACKING_ERROR
    assert first.statistics.largest[0] == pytest.approx(0.06)
    rest = c.resting_coordinates('platform')
    c.start(c.plan(PointToPoint([0.0, 1.0], [rest, rest])))
    c.step(1.0, rest[:3])
    second = c.step(2.0, rest[:3]).outcome
    assert second is not None and second.succeeded and second.message == ''
    np.testing.assert_allclose(second.statistics.largest, 0.0, atol=1e-15)


def test_activation_forgets_the_errors_of_before() -> None:
    c = controller()
    c.activate(np.zeros(3))
    first = c.step(0.0, [0.001, 0.0, 0.0])
    c.step(0.001, [-0.004, 0.0, 0.0])
    c.deactivate()
    assert not c.active
    c.activate(np.zeros(3))
    again = c.step(0.002, [0.001, 0.0, 0.0])
    np.testing.assert_array_equal(again.command, first.command)


def test_the_message_of_a_left_stroke_names_joint_position_and_stroke() -> None:
    model = Gantry()
    model.lower[1], model.upper[1] = -0.004, 0.25
    c = controller(model, max_interval=2.0)
    c.activate(np.zeros(3))
    c.start(c.plan(line(0.02)))
    c.step(0.0, [0.0, -0.00625, 0.0])
    outcome = c.step(0.5, np.zeros(3)).outcome
    assert outcome is not None and outcome.code is ErrorCode.LIMIT_VIOLATED
    assert outcome.message == 'y: measured position -0.00625 left the stroke -0.004 to 0.25'


@pytest.mark.parametrize('time', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize('cycles', [0, 1])
def test_a_time_that_is_not_finite_stops_commanding(time: float, cycles: int) -> None:
    c = controller()
    c.activate(np.zeros(3))
    for cycle in range(cycles):
        c.step(float(cycle), np.zeros(3))
    with pytest.raises(ControlFault, match='time stamp') as caught:
        c.step(time, np.zeros(3))
    assert caught.value.code is ErrorCode.BAD_STATE and not c.active


def test_drives_that_all_push_the_wrong_way_are_a_fault() -> None:
    class Reversed(GantryPlant):
        def step(self, command):
            return super().step(-command)

    c = controller()
    with pytest.raises(ControlFault) as caught:
        follow(Reversed(c.model), c, CIRCLE)
    assert caught.value.code is ErrorCode.TRACKING_ERROR
    assert 'opposite force' in str(caught.value)
    assert caught.value.outcome is not None
    assert not c.active


def test_runaway_is_a_fault() -> None:
    class Dragged(GantryPlant):
        def step(self, command):
            return super().step(np.array([200.0, 0.0, 0.0]) + 0.5 * command)

    c = controller()
    with pytest.raises(ControlFault) as caught:
        follow(Dragged(c.model), c, CIRCLE)
    assert caught.value.code is ErrorCode.TRACKING_ERROR
    assert 'a slower motion make it smaller' in str(caught.value)
    assert caught.value.outcome is not None
    assert not c.active


@pytest.mark.parametrize(('end', 'bound'), [('upper', 0.1), ('lower', -0.1)])
@pytest.mark.parametrize('axis', [0, 1])
def test_leaving_the_stroke_stops_the_motion(end: str, bound: float, axis: int) -> None:
    model = Gantry()
    getattr(model, end)[axis] = bound
    circle = CircleTrajectory([0.0] * 6, [0.0] * 3, 0.15, 1.0)
    c = controller(model)
    recording = follow(GantryPlant(model), c, circle, 3)
    assert recording.outcome is not None
    assert recording.outcome.code is ErrorCode.LIMIT_VIOLATED
    assert recording.outcome.message.startswith(f'{"xy"[axis]}: ')
    stopping = np.flatnonzero(recording.phase == Phase.STOPPING)[0]
    left = abs(recording.positions[stopping - 1, axis])
    assert 0.1 + 1e-3 < left < 0.1 + 2e-3  # stroke_tolerance, and what a cycle moves


@pytest.mark.parametrize(('end', 'sign'), [('upper', 1.0), ('lower', -1.0)])
def test_the_stroke_may_be_left_by_the_tolerance(end: str, sign: float) -> None:
    model = Gantry()
    getattr(model, end)[2] = 0.0
    c = controller(model, stroke_tolerance=0.002)
    c.activate(np.zeros(3))
    c.start(c.plan(CIRCLE))
    c.step(0.0, [0.0, 0.0, sign * 0.0019])
    assert c.step(0.001, [0.0, 0.0, sign * 0.0019]).phase is Phase.APPROACH
    c.step(0.002, [0.0, 0.0, sign * 0.0021])
    assert c.step(0.003, [0.0, 0.0, 0.0]).phase is Phase.STOPPING


def test_the_first_reason_of_a_stop_is_reported() -> None:
    def stop_twice(time: float, c: TrajectoryController) -> None:
        if 1.0 <= time:
            c.stop(StopEvent.SUPERSEDED, 'the first')
        if 1.1 <= time:
            c.stop(StopEvent.CANCEL, 'the second')

    c = controller()
    recording = follow(GantryPlant(c.model), c, CIRCLE, 3, before_step=stop_twice)
    assert recording.outcome is not None
    assert (recording.outcome.code, recording.outcome.message) == (
        ErrorCode.SUPERSEDED,
        'the first',
    )
    stopping = recording.time[recording.phase == Phase.STOPPING]
    assert stopping[0] == pytest.approx(1.0, abs=2e-3)
    assert stopping[-1] - stopping[0] <= 0.5 + 1e-9  # the second request begins no new stop
    assert not c.stop()


@pytest.mark.parametrize(
    ('positions', 'message'),
    [
        ([0.0, np.nan, 0.0], 'y: measured position is not finite'),
        ([0.0, 0.0, np.inf], 'z: measured position is not finite'),
        ([0.0, 0.0], '3 are needed'),
        ([[0.0, 0.0, 0.0]], '3 are needed'),
        ('abc', 'not an array'),
    ],
)
def test_bad_positions_stop_commanding(positions: object, message: str) -> None:
    c = controller()
    with pytest.raises(ControlFault, match=message):
        c.activate(positions)
    c.activate(np.zeros(3))
    c.start(c.plan(CIRCLE))
    c.step(0.0, np.zeros(3))
    with pytest.raises(ControlFault, match=message) as caught:
        c.step(0.001, positions)
    assert caught.value.code is ErrorCode.BAD_STATE
    assert caught.value.outcome is not None
    assert not c.active and not c.busy
    with pytest.raises(ControlFault, match='not active'):
        c.step(0.002, np.zeros(3))


def test_time_going_back_stops_commanding_and_standing_still_does_not() -> None:
    c = controller()
    c.activate(np.zeros(3))
    first = c.step(1.0, np.zeros(3))
    np.testing.assert_array_equal(c.step(1.0, np.zeros(3)).command, first.command)
    with pytest.raises(ControlFault, match='went back by 0.500000 s to 0.500000 s'):
        c.step(0.5, np.zeros(3))
    c.activate(np.zeros(3))
    c.step(0.25, np.zeros(3))
    with pytest.raises(ControlFault, match='went back'):
        c.step(np.nextafter(0.25, 0.0), np.zeros(3))


def test_time_jumping_ahead_stops_commanding_and_is_no_success() -> None:
    c = controller()
    c.activate(np.zeros(3))
    c.start(c.plan(CIRCLE))
    c.step(50.0, np.zeros(3))  # where it begins does not matter
    c.step(50.001, np.zeros(3))
    with pytest.raises(ControlFault, match=r'jumped ahead by 100\.0') as caught:
        c.step(150.001, np.zeros(3))
    assert caught.value.code is ErrorCode.BAD_STATE
    assert caught.value.outcome is not None and not caught.value.outcome.succeeded
    assert not c.active
    c.activate(np.zeros(3))
    c.step(300.0, np.zeros(3))  # nothing was commanded meanwhile


def test_contradicting_options_are_refused_by_name() -> None:
    with pytest.raises(PkmError, match='max_position_error: 0.2 exceeds fault_position_error'):
        ControllerOptions(max_position_error=0.2, fault_position_error=0.1)


def test_a_model_that_fails_on_the_way_lets_the_robot_rest_under_control() -> None:
    c = controller()
    c.model.singular_at = 0.1
    recording = run_closed_loop(GantryPlant(c.model), c, CIRCLE, 1, 0.4, 0.5, settle_time=0.5)
    outcome = recording.outcome
    assert outcome is not None and outcome.code is ErrorCode.KINEMATICS
    assert 'singular' in outcome.message
    last = recording.positions[-100:]
    assert np.abs(np.diff(last, axis=0)).max() < 1e-5  # it stands, and bears its weight
    assert np.abs(recording.errors).max() < 2e-3
    with pytest.raises(ControlFault, match='the robot is stopping: at t = .* singular') as caught:
        c.plan(CIRCLE)
    assert caught.value.code is ErrorCode.NOT_ACTIVE


def test_a_feedforward_that_is_not_finite_never_reaches_the_drive() -> None:
    c = controller()
    c.activate(np.zeros(3))
    weight = c.step(0.0, np.zeros(3)).command
    c.feedforward = Feedforward('broken', np.full(c.model.n_p, np.nan))
    result = c.step(0.001, np.zeros(3))
    np.testing.assert_array_equal(result.command, weight)  # that of before bears the robot
    assert result.fault is not None and result.fault.code is ErrorCode.KINEMATICS
    assert 'x: the force is not finite' in str(result.fault)
    c.deactivate()
    with pytest.raises(ControlFault, match='x: the force is not finite'):
        c.activate(np.zeros(3))


def test_refuses_what_it_cannot_start() -> None:
    c = controller()
    with pytest.raises(ControlFault) as caught:
        c.plan(CIRCLE)
    assert caught.value.code is ErrorCode.NOT_ACTIVE
    c.activate(np.zeros(3))
    with pytest.raises(ControlFault) as caught:
        c.start(Execution(CIRCLE))  # starts elsewhere
    assert caught.value.code is ErrorCode.INFEASIBLE
    execution = c.plan(CIRCLE)
    c.start(execution)
    with pytest.raises(ControlFault) as caught:
        c.plan(CIRCLE)
    assert caught.value.code is ErrorCode.BUSY


def test_deactivation_reports_the_motion_it_ends() -> None:
    c = controller()
    c.activate(np.zeros(3))
    assert c.deactivate() is None
    c.activate(np.zeros(3))
    c.start(c.plan(CIRCLE))
    c.step(0.0, np.zeros(3))
    outcome = c.deactivate()
    assert outcome is not None and outcome.code is ErrorCode.DEACTIVATED


def test_feedforward_can_be_replaced_in_the_middle() -> None:
    c = controller(feedforward=no_feedforward(), max_position_error=0.1)
    nominal = nominal_feedforward(c.model)

    def replace(time: float, c: TrajectoryController) -> None:
        if time > 1.8:
            c.feedforward = nominal

    recording = follow(GantryPlant(c.model), c, CIRCLE, 4, before_step=replace)
    error = np.linalg.norm(recording.errors, axis=1)
    time = recording.time
    before, after = (time > 1.4) & (time < 1.8), (time > 2.1) & (time < 4.0)
    assert error[before].mean() > 10.0 * error[after].mean()


def test_sampled_motion_runs_once_from_rest_to_rest() -> None:
    samples = np.zeros((5, 6))
    samples[:, 0] = [0.0, 0.1, -0.1, 0.2, 0.15]
    c = controller()
    trajectory = SampledTrajectory(np.linspace(0.0, 2.0, 5), samples)
    recording = follow(GantryPlant(c.model), c, trajectory)
    assert recording.outcome is not None and recording.outcome.succeeded
    assert recording.positions[-1, 0] == pytest.approx(0.15, abs=1e-3)


def test_noise_on_the_sensors_stays_small_in_the_command() -> None:
    c = controller()
    plant = GantryPlant(c.model, noise=2e-5)
    recording = follow(plant, c, CIRCLE)
    quiet = recording.commands[recording.phase == Phase.HOLD]
    assert quiet.std(axis=0).max() < 20.0
    assert np.abs(recording.errors).max() < 1e-3


def five_bar_with(**terms: float) -> Feedforward:
    """Feedforward of a five-bar whose drives have further terms."""
    model = model_of('skew_five_bar')
    values = dict(zip(model.parameter_names, model.nominal_parameters.tolist(), strict=True))
    own = {f'{joint}.{name}': v for joint in model.actuated_joints for name, v in terms.items()}
    values |= own
    return identified_feedforward(model, 'identified', list(values), list(values.values()))


def moved(c: TrajectoryController, begin: float) -> np.ndarray:
    """Move drives by 0.02 rad in 0.2 s and hold; states of the drives after the first cycle."""
    rest = c.resting_coordinates('actuators')
    path = PointToPoint([0.0, 0.2], [rest, rest + 0.02], 'actuators', c.model.actuated_joints)
    c.step(begin, rest)
    c.start(c.plan(path))
    first, measured = None, rest
    for time in begin + 0.01 * np.arange(1, 40):
        measured = c.step(time, measured).desired_position
        if first is None:
            first = c._desired._motion.drive_states
    assert not c.busy
    return first


WARM = {'warm_up_time1': 5.0, 'warm_up1': 0.3, 'warm_up_coulomb': 1.0}


@pytest.mark.parametrize('when', ['motion', 'hold'])
@pytest.mark.parametrize(
    ('before', 'after'), [({'presliding': 0.01}, WARM), (WARM, {'presliding': 0.01})]
)
def test_a_model_with_other_states_of_drives_may_come_at_any_time(before, after, when) -> None:
    c = controller(model_of('skew_five_bar'), five_bar_with(**before))
    rest = c.model.home_actuators
    c.activate(rest)
    time = 0.4
    if when == 'hold':
        moved(c, 0.0)
    else:
        time = 0.02
        path = PointToPoint([0.0, 1.0], [rest, rest], 'actuators', c.model.actuated_joints)
        c.start(c.plan(path))
        c.step(0.0, rest)
        c.step(0.01, rest)
    c.feedforward = five_bar_with(**after)
    result = c.step(time, c._desired.last.position)
    assert np.isfinite(result.command).all()
    assert c.active
    assert c.busy == (when == 'motion')


@pytest.mark.parametrize('when', ['motion', 'hold'])
@pytest.mark.parametrize(
    'before', [{'presliding': 0.01}, {'presliding': 0.01, **WARM, 'warm_up_start1': 2.0}, {}]
)
def test_forces_go_on_where_another_model_has_other_states(before, when) -> None:
    """The other yields twice as far; of friction with a past and without, Coulomb's goes on."""
    c = controller(model_of('skew_five_bar'), five_bar_with(**before), model_change_time=0.0)
    rest = c.model.home_actuators
    c.activate(rest)
    if when == 'hold':
        moved(c, 0.0)
        time, rest = 0.4, c.resting_coordinates('actuators')
    else:
        path = PointToPoint([0.0, 1.0], [rest, rest + 0.5], 'actuators', c.model.actuated_joints)
        c.start(c.plan(path))
        for time in 0.01 * np.arange(40):
            rest = c.step(time, rest).desired_position
    first = c.step(time + 1e-6, rest).feedforward
    c.feedforward = five_bar_with(**{**before, 'presliding': 0.02})
    second = c.step(time + 2e-6, rest).feedforward
    # a hundredth of the friction that would be lost; the temperature stays within a cycle
    np.testing.assert_allclose(second, first, atol=1e-3)
    if before:
        c.feedforward = nominal_feedforward(c.model)  # slides
        third = c.step(time + 3e-6, rest).feedforward
        assert (np.abs(third - first).max() > 0.05) == (when == 'hold' or len(before) > 1)


def test_drives_cool_down_while_the_robot_rests() -> None:
    """Over ten time constants between two motions."""
    c = controller(
        model_of('skew_five_bar'), five_bar_with(**WARM, warm_up_start1=2.0), max_interval=np.inf
    )
    c.activate(c.model.home_actuators)
    n_a = c.model.n_a
    assert (moved(c, 0.0)[0, n_a:] == 2.0).all()
    kept = np.exp(-10.0)
    again = moved(c, 50.0)[0, n_a:]
    assert (again < 2.1 * kept).all()
    assert (again > 1.5 * kept).all()  # the first motion takes exp(-0.4 / 5) and heats a little
