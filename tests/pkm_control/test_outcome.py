"""What the controller hands out, against the interface that it goes through."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from gantry import Gantry

from pkm_control.control_types import (
    ControllerOptions,
    ErrorCode,
    Outcome,
    StepResult,
    TrackingStatistics,
)
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import nominal_feedforward
from pkm_control.loop_statistics import LoopStatistics
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.trajectories import Phase


def test_codes_are_those_of_the_action() -> None:
    result = pytest.importorskip('pkm_msgs.action').FollowPlatformTrajectory.Result
    names = [name for name in dir(type(result)) if name.isupper() and name[0] != '_']
    named = {name: getattr(result, name) for name in names}
    assert {name: int(code) for name, code in ErrorCode.__members__.items()} == named
    assert len(set(named.values())) == len(named)


def test_phases_are_those_of_the_message() -> None:
    message = pytest.importorskip('pkm_msgs.msg').ControllerState
    for phase in Phase:
        assert getattr(message, phase.name) == int(phase)


def test_a_plan_has_the_defaults_of_the_action() -> None:
    goal = pytest.importorskip('pkm_msgs.action').FollowPlatformTrajectory.Goal()
    signature = inspect.signature(TrajectoryController.plan).parameters
    for name in ('periods', 'ramp_time', 'approach_speed'):
        assert signature[name].default == getattr(goal, name), name


@pytest.mark.parametrize(
    'value',
    [
        ControllerOptions(),
        Outcome(ErrorCode.NONE, '', TrackingStatistics.empty(3)),
        StepResult(*[None] * len(fields(StepResult))),
        LoopStatistics().summary(),
        servo_gains(Gantry()),
        nominal_feedforward(Gantry()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_handed_out_cannot_be_changed(value: object) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(value, fields(value)[0].name, 0)


def test_statistics_count_full_speed_and_saturation_apart() -> None:
    statistics = TrackingStatistics.empty(2)
    assert statistics.rms.tolist() == [0.0, 0.0] and statistics.saturated_fraction == 0.0
    for error, saturated, full in (
        ([3.0, -1.0], True, False),
        ([1.0, -7.0], False, True),
        ([-2.0, 1.0], True, True),
        ([0.5, 0.5], False, False),
    ):
        statistics.add(np.array(error), saturated, full)
    np.testing.assert_allclose(statistics.rms, [np.sqrt(2.5), 5.0])
    np.testing.assert_array_equal(statistics.largest, [2.0, 7.0])
    assert statistics.saturated_fraction == 0.5


def test_statistics_of_a_single_cycle_are_that_cycle() -> None:
    statistics = TrackingStatistics.empty(2)
    statistics.add(np.array([3.0, -0.5]), True, True)
    np.testing.assert_array_equal(statistics.rms, [3.0, 0.5])
    assert statistics.saturated_fraction == 1.0
