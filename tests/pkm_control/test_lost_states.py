"""Cycles without a new joint state: which are lost, and what is commanded in them."""

from __future__ import annotations

import numpy as np
import pytest
from gantry import Gantry, GantryPlant

from pkm_control.control_types import ControllerOptions, ErrorCode
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import no_feedforward, nominal_feedforward
from pkm_control.safeguards.lost_states import LATE, LostStates
from pkm_control.servo import JointServo
from pkm_control.stops import StopEvent
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.trajectories import CircleTrajectory, Phase


def lost_of(intervals, cycle=1e-3, most=20) -> list[int]:
    """Cycles lost before each state of a robot, in a loop with this period."""
    lost, found, time, next_cycle = LostStates(most), [], 0.0, cycle
    lost.heard(time)
    for interval in intervals:
        begin, time, count = time, time + interval, 0
        while next_cycle < time - 1e-9:
            count += lost.missing(next_cycle - begin)
            next_cycle += cycle
        lost.heard(time)
        found.append(count)
    return found


def test_a_robot_slower_than_the_loop_loses_nothing() -> None:
    random = np.random.default_rng(2)
    for interval in (4e-3, 2e-3, 10e-3, 30e-3):
        assert not any(lost_of([interval] * 100))
        jittered = interval * (1.0 + random.uniform(-0.45, 0.45, 400))
        assert not any(lost_of(jittered[:30])) and not any(lost_of(jittered))


@pytest.mark.parametrize('interval', [1e-3, 4e-3])
def test_what_should_have_come_is_lost(interval) -> None:
    usual = [interval] * 30
    found = lost_of([*usual, 0.06, *usual, 0.03, *usual])
    expected = [round((gap - LATE * interval) / 1e-3) for gap in (0.06, 0.03)]
    assert [found[30], found[61]] == [pytest.approx(each, abs=1.1) for each in expected]
    assert sum(found) == found[30] + found[61]


def test_before_two_states_nothing_is_known_and_the_bound_is_met_once() -> None:
    lost = LostStates(3)
    assert not lost.missing(1.0)
    lost.heard(0.0)
    lost.heard(1e-3)
    found = []
    for k in range(10):
        lost.missing(2.1e-3 + k * 1e-3)
        found.append(lost.too_many)
    assert found == [k == 3 for k in range(10)]
    lost.heard(2e-3)
    assert lost.cycles == 0


class Run:
    """The gantry on its circle, at full speed."""

    def __init__(self, feedforward=nominal_feedforward, noise=0.0, **bounds: float) -> None:
        model = Gantry()
        self.plant = GantryPlant(model, noise=noise)
        options = ControllerOptions(max_interval=0.3, **bounds)
        self.loop = TrajectoryController(model, servo_gains(model), feedforward(model), options)
        self.loop.activate(self.plant.sample.positions)
        circle = CircleTrajectory(np.zeros(6), [0.0, 0.0, 1.0], 0.1, 0.8)
        self.loop.start(self.loop.plan(circle, 5, 0.1, 2.0))
        while self.measured().phase is not Phase.RUN:
            pass
        for _ in range(20):
            self.measured()

    def measured(self):
        self.result = self.loop.step(self.plant.sample.time, self.plant.sample.positions)
        self.plant.step(self.result.command)
        return self.result

    def error(self) -> float:
        """Of the next cycle [m]."""
        result = self.measured()
        return float(np.abs(result.desired_position - result.position).max())

    def gap(self, cycles: int, bridged: bool = True) -> float:
        for _ in range(cycles):
            command = self.result.command
            self.plant.step(self.loop.bridge(self.plant.sample.time) if bridged else command)
        return self.error()


def test_an_exact_model_bridges_what_holding_the_force_does_not() -> None:
    for cycles in (20, 60):
        bridged, held = Run(), Run()
        usual = max(bridged.error() for _ in range(20))
        held.error()
        assert bridged.gap(cycles) < usual + 5e-5
        # The force of a circle turns with it: a held one is off by jerk t^3 / 6.
        jerk = 0.1 * (2.0 * np.pi / 0.8) ** 3
        assert held.gap(cycles, bridged=False) > 0.3 * jerk * (cycles * 1e-3) ** 3 / 6.0


def test_a_weight_that_the_servo_bears_is_borne_on() -> None:
    """Without a feedforward the error is what bears the platform: 98 N."""
    run = Run(lambda model: no_feedforward())
    before = run.result.command[2]
    assert before == pytest.approx(98.1, rel=0.1)
    commands = [run.loop.bridge(run.plant.sample.time + k * 1e-3)[2] for k in range(50)]
    np.testing.assert_allclose(commands, before, rtol=0.1)


def test_the_expected_error_goes_to_rest_like_the_axis() -> None:
    model = Gantry()
    gains = servo_gains(model)
    servo = JointServo(gains)
    servo.feedback(1e-3, np.zeros(3))
    error, rate = np.array([1e-3, -2e-3, 0.0]), np.zeros(3)
    first = servo.feedback(1e-9, error)  # a leap: the low pass has seen no rate yet
    np.testing.assert_allclose(first, gains.proportional * error, rtol=1e-3)
    step = 1e-5
    forces = []
    for _ in range(5000):
        forces.append(servo.coast(step))
        force = gains.proportional * error + gains.derivative * rate
        rate = rate - step * force / gains.inertia
        error = error + step * rate
        np.testing.assert_allclose(forces[-1], force, atol=0.03 * np.abs(first).max())
    assert np.abs(forces[-1]).max() < 0.2 * np.abs(first).max()


def test_gaps_that_are_bridged_leave_the_servo_its_bandwidth() -> None:
    bridged, held = Run(), Run()
    bridged.gap(40)
    held.gap(40, bridged=False)
    assert bridged.loop.bandwidth_share == 1.0
    assert held.loop.bandwidth_share < 0.7


@pytest.mark.parametrize('late', [True, False])
def test_an_error_that_a_held_force_made_says_so(late) -> None:
    run = Run(max_position_error=2e-3)
    if late:
        run.gap(80, bridged=False)
    else:
        run.plant.q = run.plant.q + 4e-3  # pushed
        run.plant.step(run.result.command)
    while run.result.outcome is None:
        run.measured()
    assert run.result.outcome.code is ErrorCode.TRACKING_ERROR
    held = 'a force was held for 81 ms shortly before: late states or a busy machine'
    assert run.result.outcome.message.endswith(held) == late
    assert ('held' in run.result.outcome.message) == late


def test_a_stop_without_states_begins_where_the_bridge_is() -> None:
    run = Run()
    time = run.plant.sample.time
    for k in range(60):
        if k == 50:
            assert run.loop.stop(StopEvent.STATES_LOST, 'gone', run.plant.sample.time)
        run.plant.step(run.loop.bridge(run.plant.sample.time))
    assert run.plant.sample.time == pytest.approx(time + 0.06)
    result = run.measured()
    assert result.phase is Phase.STOPPING
    assert result.time_left == pytest.approx(run.loop.options.stop_time - 0.01, abs=1.5e-3)
    errors = []
    while result.outcome is None:
        result = run.measured()
        errors.append(np.abs(result.desired_position - result.position).max())
    assert (result.outcome.code, result.outcome.message) == (ErrorCode.STATE_TIMEOUT, 'gone')
    assert result.phase is Phase.HOLD and max(errors) < 1e-4


def test_looking_ahead_leaves_the_motion_where_it_is() -> None:
    one, other = Run(), Run()
    for _ in range(5):
        one.loop.bridge(one.plant.sample.time + 0.02)
    np.testing.assert_array_equal(
        one.measured().desired_position, other.measured().desired_position
    )
    assert one.result.feedforward.tolist() == other.result.feedforward.tolist()
