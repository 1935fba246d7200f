"""Stops from random moments of a circle and of an excitation; PKM_MOMENTS=50 takes all."""

from __future__ import annotations

import os

import numpy as np
import pytest

pytest.importorskip('rclpy')

from fault_scenarios import cancel
from laboratory import CONTROLLER, MODEL, Laboratory, shake
from lifecycle_msgs.msg import Transition

from pkm_control.control_types import ControllerOptions, ErrorCode
from pkm_dynamics.nodes.trajectory_messages import to_message
from pkm_dynamics.trajectories import CircleTrajectory, Phase

pytestmark = pytest.mark.ros
MOMENTS = int(os.environ.get('PKM_MOMENTS', '3'))
CIRCLE = CircleTrajectory([*MODEL.home_position, 0, 0, 0], [0.3, 0.2, 1.0], 0.05, 0.4)
STOP_TIME = ControllerOptions().stop_time


@pytest.fixture(scope='module')
def lab():
    with Laboratory() as laboratory:
        yield laboratory


def deactivate(lab: Laboratory, handle) -> tuple[int, ErrorCode]:
    since = len(lab.rows)
    assert lab.change(Transition.TRANSITION_DEACTIVATE)
    return since, lab.result(handle)[0]


def protect(lab: Laboratory, handle) -> tuple[int, ErrorCode]:
    since = len(lab.rows)
    assert lab.trigger(f'{CONTROLLER}/protective_stop')
    return since, lab.result(handle)[0]


def stop_by_cancel(lab: Laboratory, handle) -> tuple[int, ErrorCode]:
    found = cancel(lab, handle)
    assert isinstance(found.code, ErrorCode)
    return found.since, found.code


STOPS = {
    ErrorCode.CANCELED: stop_by_cancel,
    ErrorCode.DEACTIVATED: deactivate,
    ErrorCode.PROTECTIVE_STOP: protect,
}


@pytest.mark.parametrize('motion', ['circle', 'excitation'])
@pytest.mark.parametrize('code', STOPS, ids=lambda code: code.name)
@pytest.mark.parametrize('moment', range(MOMENTS))
def test_the_robot_rests_in_half_a_second(lab, moment: int, code: ErrorCode, motion: str) -> None:
    random = np.random.default_rng([moment, int(code), motion == 'circle'])
    lab.fresh()
    handle = lab.send(to_message(CIRCLE if motion == 'circle' else shake()))
    lab.until(lambda: lab.phase is Phase.RUN, 60.0)
    lab.cycles(int(random.integers(1, 900)))
    since, found = STOPS[code](lab, handle)
    assert found is code
    time, travel = lab.rest(since)
    fastest = max(np.abs(row.speeds).max() for row in lab.rows)
    assert time <= 0.5
    assert travel <= 0.5 * STOP_TIME * fastest + 2e-3
    legs = np.array([row.legs for row in lab.rows])
    assert (legs > MODEL.lower).all() and (legs < MODEL.upper).all()
