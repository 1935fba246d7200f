"""The way back into the strokes."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of
from gantry import Gantry, GantryPlant

from pkm_control.closed_loop import run_closed_loop
from pkm_control.control_types import ControlFault, ErrorCode
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import nominal_feedforward
from pkm_control.recovery.recovery_motion import recovery_motion
from pkm_control.recovery.slow_motion import SPEED
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.trajectories import PointToPoint

MODEL = model_of('palida')


def test_the_way_is_slow_and_moves_only_what_is_outside() -> None:
    start = np.full(6, MODEL.upper[0] + 0.005)  # the platform as high as it gets, and more
    way = recovery_motion(MODEL, start)
    q, qd, _ = way.evaluate(np.linspace(0.0, way.duration, 500))
    np.testing.assert_array_equal(q[0], start)
    assert (q[-1] > MODEL.lower).all() and (q[-1] < MODEL.upper).all()
    assert (np.diff(q, axis=0) <= 1e-12).all()  # never farther out
    assert np.abs(qd).max() <= SPEED * (1.0 + 1e-9)
    gantry = Gantry()
    way = recovery_motion(gantry, np.array([0.4, -1.005, 0.0]))
    q, _, _ = way.evaluate(np.linspace(0.0, way.duration, 500))
    np.testing.assert_array_equal(q[:, [0, 2]], np.tile([0.4, 0.0], (500, 1)))
    assert q[-1, 1] == pytest.approx(-0.98)


def test_where_there_is_nothing_to_do_or_no_way_it_says_so() -> None:
    with pytest.raises(ControlFault, match='within their strokes') as caught:
        recovery_motion(MODEL, MODEL.home_actuators)
    assert caught.value.code is ErrorCode.INFEASIBLE
    far = MODEL.home_actuators.copy()
    far[0] = MODEL.upper[0] + 5.0
    with pytest.raises(ControlFault, match='on the way'):
        recovery_motion(MODEL, far)
    weak = Gantry(force_limit=90.0)  # its weight is 98 N
    with pytest.raises(ControlFault, match='z: the way needs 98'):
        recovery_motion(weak, np.array([1.1, 0.0, 0.0]))


def test_a_robot_outside_its_strokes_is_held_and_comes_back() -> None:
    gantry = Gantry()
    plant = GantryPlant(gantry, start=[1.02, 0.0, -1.05])
    c = TrajectoryController(gantry, servo_gains(gantry), nominal_feedforward(gantry))
    c.activate(plant.sample.positions)
    way = recovery_motion(gantry, c.resting_coordinates('actuators'))
    recording = run_closed_loop(plant, c, way)
    assert recording.outcome is not None and recording.outcome.succeeded
    assert np.abs(recording.positions[-1]).max() < 1.0


def test_leaving_the_stroke_further_on_the_way_still_stops() -> None:
    gantry = Gantry()
    plant = GantryPlant(gantry, start=[1.02, 0.0, 0.0])
    c = TrajectoryController(gantry, servo_gains(gantry), nominal_feedforward(gantry))
    c.activate(plant.sample.positions)
    out = PointToPoint([0.0, 1.0], [[1.02, 0.0, 0.0], [1.05, 0.0, 0.0]], 'actuators', list('xyz'))
    outcome = run_closed_loop(plant, c, out).outcome
    assert outcome is not None and outcome.code is ErrorCode.LIMIT_VIOLATED
