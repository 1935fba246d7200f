"""The trajectory controller on valves, and the simulated cylinders of the MSI."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of

from pkm_control.closed_loop import run_closed_loop
from pkm_control.control_types import ControlFault, ErrorCode
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import no_feedforward, nominal_feedforward
from pkm_control.hydraulic_axes import HydraulicControlError, axis_control
from pkm_control.stops import StopEvent
from pkm_dynamics.simulation.hydraulic_plant import HydraulicPlant
from pkm_dynamics.trajectories import FourierTrajectory, Phase

MODEL = model_of('msi')
FEEDFORWARDS = {'measured': no_feedforward(), 'modelled': nominal_feedforward(MODEL)}
CYCLE = 1e-3  # [s]
SINKS = 1.5e-3  # [m/s] at most, of a robot of this weight whose valves are closed


def sine(direction: int) -> FourierTrajectory:
    """The motion that [H] names as usual: 5 Hz and 25 mm."""
    home = np.concatenate([MODEL.home_position, np.zeros(3)])
    wave = np.zeros((6, 1))
    wave[direction] = 0.025
    return FourierTrajectory(0.2, home, wave, np.zeros((6, 1)))


def controller(feedforward: str = 'modelled') -> TrajectoryController:
    return TrajectoryController(MODEL, axis_control(MODEL, CYCLE), FEEDFORWARDS[feedforward])


class Run:
    """The MSI at full speed on the sine along z."""

    def __init__(self, turned: int | None = None) -> None:
        self.plant, self.loop = HydraulicPlant(MODEL.description, seed=1), controller()
        self.valves = np.ones(6)
        self.loop.activate(self.plant.sample.positions)
        self.loop.start(self.loop.plan(sine(2), 20, 0.5))
        while self.cycle().phase is not Phase.RUN:
            pass
        if turned is not None:
            self.valves[turned] = -1.0

    def cycle(self):
        sample = self.plant.sample
        self.result = self.loop.step(sample.time, sample.positions, sample.efforts)
        self.plant.step(self.valves * self.result.command)
        return self.result

    def speed(self) -> float:
        return float(np.abs(self.plant.sample.truth_velocities).max())


@pytest.mark.parametrize(
    ('direction', 'feedforward', 'study'),
    [
        (0, 'measured', 0.152),
        (0, 'modelled', 0.065),
        (2, 'measured', 0.076),
        (2, 'modelled', 0.086),
    ],
)
def test_a_motion_is_followed_as_in_the_study(direction, feedforward, study):
    """By the controller's own desired states and differences, against the study's RMS [mm]."""
    plant = HydraulicPlant(MODEL.description, seed=0)
    recording = run_closed_loop(plant, controller(feedforward), sine(direction), 3, 0.5)
    assert recording.outcome.succeeded and not recording.saturated.any()
    run = recording.running
    before = np.roll(recording.truth_positions, 1, axis=0)  # a row's truth is of the next interval
    error = recording.desired_positions - 0.5 * (before + recording.truth_positions)
    rms = 1e3 * np.sqrt(np.mean(error[run] ** 2))
    assert 0.4 * study < rms < 1.3 * study
    np.testing.assert_allclose(
        recording.feedforward + recording.feedback, recording.commands, rtol=0, atol=1e-12
    )
    assert 0.2 < np.abs(recording.commands[run]).max() < 0.9
    assert np.abs(recording.feedback[run]).max() < 0.05


def test_a_stop_ends_at_rest_and_the_robot_is_held():
    run = Run()
    assert run.speed() > 0.3 and run.loop.stop()
    ended = [run.cycle().outcome for _ in range(500)]
    (outcome,) = [each for each in ended if each is not None]
    assert outcome.code is ErrorCode.CANCELED
    rest = run.result.desired_position
    for _ in range(300):
        run.cycle()
    assert run.speed() < 5e-3
    np.testing.assert_allclose(run.plant.positions, rest, rtol=0, atol=1e-4)


def test_closed_valves_hold_it_up_to_leakage():
    """As at category 0, in full motion: the oil stops it, then it sinks."""
    run = Run()
    start = run.plant.positions
    for _ in range(300):
        run.plant.hold()
    assert np.abs(run.plant.positions - start).max() < 0.02
    before = run.plant.positions
    for _ in range(500):
        run.plant.hold()
    sunk = (before - run.plant.positions) / 0.5
    assert np.all(sunk > 0.0) and np.all(sunk < SINKS)


def test_lost_states_are_bridged():
    run = Run()
    usual = max(np.abs(run.cycle().desired_position - run.plant.positions).max() for _ in range(50))
    held, way = Run(), []
    for each in (run, held):
        command = each.result.command
        for _ in range(30):
            time = each.plant.sample.time
            each.plant.step(each.loop.bridge(time) if each is run else command)
        result = each.cycle()
        way.append(np.abs(result.desired_position - result.position).max())
    assert way[0] < usual + 5e-4
    assert way[1] > 10 * way[0]


def test_a_valve_that_turns_the_wrong_way_ends_the_commands_at_once():
    run = Run(turned=3)
    with pytest.raises(ControlFault, match='leg4_strut: .* moves against .* its valve') as fault:
        for _ in range(100):
            run.cycle()
    assert fault.value.code is ErrorCode.TRACKING_ERROR
    for _ in range(200):
        run.plant.hold()
    lower, upper = MODEL.lower, MODEL.upper
    assert np.all(lower < run.plant.positions) and np.all(run.plant.positions < upper)


def test_off_its_path_it_brakes_and_rests():
    run = Run()
    run.loop.brake(StopEvent.OVERSPEED, 'for a test')
    for _ in range(400):
        result = run.cycle()
    assert result.fault.code is ErrorCode.LIMIT_VIOLATED and not run.loop.busy
    assert run.speed() < 5e-3


@pytest.mark.parametrize('efforts', [None, np.full(6, np.nan)])
def test_pressures_are_needed(efforts):
    loop = controller('measured')
    loop.activate(MODEL.home_actuators)
    with pytest.raises(ControlFault, match='efforts, from pressures, are needed') as fault:
        loop.step(0.0, MODEL.home_actuators, efforts)
    assert fault.value.code is ErrorCode.BAD_STATE and not loop.active


def test_a_robot_without_cylinders_is_refused():
    with pytest.raises(HydraulicControlError, match="robot 'palida' has no cylinders"):
        axis_control(model_of('palida'), CYCLE)


def test_the_gain_is_scaled():
    whole, half = axis_control(MODEL, CYCLE), axis_control(MODEL, CYCLE, 0.5)
    np.testing.assert_allclose(half.gain, 0.5 * whole.gain)
