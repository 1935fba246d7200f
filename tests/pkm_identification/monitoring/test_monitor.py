"""False alarms and pushes of the monitor, on exact motions with noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from every_model import model_of

from pkm_description.errors import EstimationError
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification import identify
from pkm_identification.datasets import Recording
from pkm_identification.excitation.excitation_design import load_excitation
from pkm_identification.monitoring.monitor import ForceMonitor

RATE, NOISE = 500.0, 0.02  # [Hz], of the RMS forces
POSITIONS = 2e-6  # [rad] noise


class Bench:
    """The five-bar on its excitation, faster or slower, with noise."""

    def __init__(self) -> None:
        self.model = model_of('five_bar')
        self.design = load_excitation('five_bar')
        self.names = tuple(self.model.actuated_joints)
        exact = self.exact(1.0, 2.0)[2]
        self.noise = NOISE * np.sqrt(np.mean(exact**2))
        self.result = identify(self.recording(1.0, 10.0, 0), self.model, 'wls')

    def exact(self, speed, duration):
        """Times, positions and forces of whole periods of a motion, and its period."""
        design = self.design
        period = round(design.period / speed * RATE) / RATE
        series = (design.offset, design.sine, design.cosine)
        faster = FourierTrajectory(period, *series, design.coordinates, design.coordinate_names)
        time = np.arange(round(duration / period) * round(period * RATE)) / RATE
        motion = faster.motion(time % period, self.model)
        positions = self.model.actuator_states(motion).positions
        return time, positions, self.model.inverse_dynamics(motion), period

    def recording(self, speed, duration, seed, push=None):
        time, q, forces, period = self.exact(speed, duration)
        random = np.random.default_rng(seed)
        q = q + POSITIONS * random.normal(size=q.shape)
        forces = forces + self.noise * random.normal(size=q.shape)
        if push is not None:
            forces = forces + push(time)
        return Recording.from_arrays(time, self.names, q, forces, period=period)


@pytest.fixture(scope='module')
def bench():
    return Bench()


@pytest.fixture(scope='module')
def monitor(bench):
    return ForceMonitor.calibrated(bench.result, [bench.recording(0.8, 60.0, 1)])


def test_false_alarms_come_as_often_as_promised(bench, monitor) -> None:
    """At levels where some are expected in five minutes of noise, and none at those of a day."""
    verdict = monitor.watched(bench.recording(0.8, 300.0, 2))
    minutes = len(verdict.ratios) / monitor.stream.rate / 60
    assert not verdict.alarms.any()
    for a_minute in (12.0, 2.0):
        often = monitor.levels.at(a_minute * 1440)
        beyond = verdict.ratios * monitor.levels.levels > often.levels
        count = np.count_nonzero(beyond[1:] & ~beyond[:-1])
        expected = a_minute * minutes
        assert 0.3 * expected - 5 < count < 1.5 * expected + 5, (a_minute, count, expected)


@pytest.mark.parametrize('axis', [0, 1])
def test_a_push_is_seen_within_its_time_and_named(bench, monitor, axis) -> None:
    unit = np.eye(2)[axis]
    force = 2.0 * monitor.least_seen(unit)
    begin = 1.5

    def push(time):
        return np.outer(time >= begin, force * unit)

    verdict = monitor.watched(bench.recording(0.8, 4.0, 3, push))
    first = verdict.residuals.time[np.argmax(verdict.alarms)]
    assert begin < first < begin + 0.06
    assert np.argmax(verdict.ratios[verdict.alarms][-1, :2]) == axis


def test_the_least_force_is_seen_every_second_time(bench, monitor) -> None:
    unit = np.array([1.0, 0.0])
    shares = {}
    for size in (0.6, 1.0, 1.5):
        force = size * monitor.least_seen(unit)
        steady = bench.recording(
            0.8, 10.0, 4, lambda time, force=force: np.outer(time >= 0, force * unit)
        )
        verdict = monitor.watched(steady)
        shares[size] = verdict.alarms.mean()
    assert shares[0.6] < 0.05 and 0.2 < shares[1.0] < 0.8 and shares[1.5] > 0.9, shares


def test_motions_that_the_reference_does_not_show_have_wider_levels(bench, monitor) -> None:
    verdict = monitor.watched(bench.recording(1.3, 10.0, 5))
    assert not verdict.alarms.any()
    assert verdict.deviation.max() > 1.2 * monitor.levels.typical.max()


def test_a_model_of_another_robot_alarms_at_once(bench, monitor) -> None:
    wrong = replace(bench.result, values=1.5 * bench.result.values)
    stranger = ForceMonitor(type(monitor.stream)(wrong, RATE, 0.05), monitor.levels)
    assert stranger.watched(bench.recording(0.8, 5.0, 6)).alarms.mean() > 0.2


def test_references_that_tell_nothing_are_refused(bench) -> None:
    with pytest.raises(EstimationError, match='10 s are needed'):
        ForceMonitor.calibrated(bench.result, [bench.recording(1.0, 5.0, 0)])
    with pytest.raises(EstimationError, match='false_alarms'):
        ForceMonitor.calibrated(bench.result, [bench.recording(1.0, 20.0, 0)], false_alarms=0.0)


@pytest.mark.parametrize('delay', [2.5, -2.5])
def test_forces_of_other_instants_are_taken_at_those_of_the_positions(bench, monitor, delay):
    """Some intervals before or after the positions of their rows."""
    time, q, forces, _ = bench.exact(0.8, 4.0)
    late = np.column_stack([np.interp(time + delay / RATE, time, each) for each in forces.T])
    found = [
        monitor.watched(Recording.from_arrays(time, bench.names, q, each, effort_delay=lag / RATE))
        for each, lag in ((forces, 0.0), (late, delay))
    ]
    plain, shifted = (each.residuals for each in found)
    both = slice(10, -10)
    for axis, typical in enumerate(monitor.levels.typical):
        there = np.interp(plain.time[both], shifted.time, shifted.forces[:, axis])
        apart = np.sqrt(np.mean((there - plain.forces[both, axis]) ** 2))
        assert apart < 0.7 * typical, (apart, typical)


def test_residuals_without_noise_have_no_level(bench) -> None:
    time, q, forces, _ = bench.exact(0.8, 20.0)
    still = Recording.from_arrays(time, bench.names, 0 * q + q[0], 0 * forces)
    exact = replace(bench.result, values=0 * bench.result.values)
    exact = replace(exact, covariance=0 * exact.covariance)
    exact = replace(exact, diagnostics=replace(exact.diagnostics, force_errors=None))
    with pytest.raises(EstimationError, match='no noise'):
        ForceMonitor.calibrated(exact, [still])
