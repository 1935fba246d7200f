"""Small motions of one coordinate: the ways that are taken and those that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of

from pkm_control.control_types import ControlFault, ErrorCode
from pkm_control.recovery.jog_motion import LONGEST, PLATFORM, Jog, checked_speed, jog_motion, moved
from pkm_control.recovery.slow_motion import SPEED, check_way
from pkm_description.errors import FeasibilityError
from pkm_dynamics.kinematics.roll_pitch_yaw import rotation_to_rpy

MODEL = model_of('palida')
LEG = MODEL.actuated_joints[1]


def at_rest(positions: np.ndarray, model=MODEL):
    """Give where a robot with these actuator positions rests, by coordinates."""

    def resting(coordinates: str) -> np.ndarray:
        if coordinates == 'actuators':
            return positions
        place, turn = model.forward_kinematics(positions[None])
        return np.concatenate([place[0], rotation_to_rpy(turn[0])])

    return resting


HOME = at_rest(MODEL.home_actuators)


def test_one_actuator_moves_slowly_by_the_distance() -> None:
    way = jog_motion(MODEL, Jog(LEG, -0.004), HOME)
    q, qd, _ = way.evaluate(np.linspace(0.0, way.duration, 500))
    others = [k for k in range(6) if k != 1]
    np.testing.assert_array_equal(q[:, others], np.tile(MODEL.home_actuators[others], (500, 1)))
    assert q[-1, 1] - q[0, 1] == pytest.approx(-0.004) and np.abs(qd).max() <= SPEED * (1 + 1e-9)
    assert checked_speed(MODEL, way) < 0.1
    slow = jog_motion(MODEL, Jog(LEG, -0.004, 0.001), HOME)
    assert np.abs(slow.evaluate(np.linspace(0.0, slow.duration, 500))[1]).max() < 0.00101


@pytest.mark.parametrize('name', PLATFORM)
def test_one_coordinate_of_the_platform_moves(name: str) -> None:
    jog = Jog(name, 0.01)
    way = jog_motion(MODEL, jog, HOME)
    ends = way.evaluate([0.0, way.duration])[0]
    change = np.where(np.array(PLATFORM) == name, 0.01, 0.0)
    np.testing.assert_allclose(ends[1] - ends[0], change, atol=1e-15)
    motion = way.motion([0.0, way.duration], MODEL)
    before, after = MODEL.inverse_kinematics(motion.position, motion.rotation)
    assert moved(MODEL, jog, before, after) == pytest.approx(0.01, abs=1e-9)
    assert checked_speed(MODEL, way) <= SPEED * (1.0 + 1e-6)


@pytest.mark.parametrize(
    ('jog', 'said'),
    [
        (Jog('leg9', 0.01), 'valid are'),
        (Jog(LEG, 0.0), 'not zero'),
        (Jog(LEG, float('nan')), 'got nan'),
        (Jog(LEG, 2.0 * LONGEST), 'at most 0.05'),
        (Jog(LEG, 0.01, 2.0 * SPEED), 'speed'),
        (Jog(LEG, 0.01, -0.01), 'speed'),
        (Jog(LEG, 0.01, float('nan')), 'speed'),
    ],
)
def test_what_cannot_be_is_refused(jog: Jog, said: str) -> None:
    with pytest.raises(ControlFault, match=said) as caught:
        jog_motion(MODEL, jog, HOME)
    assert caught.value.code is ErrorCode.BAD_TRAJECTORY


def test_a_platform_that_does_not_float_is_jogged_by_its_actuators() -> None:
    model = model_of('five_bar')
    resting = at_rest(model.home_actuators, model)
    with pytest.raises(ControlFault, match='jog actuators'):
        jog_motion(model, Jog('x', 0.01), resting)
    way = jog_motion(model, Jog(model.actuated_joints[0], 0.01), resting)
    assert checked_speed(model, way) > 0.0


def hanging(z: float) -> np.ndarray:
    """Actuators with the platform `z` [m] above the base: the workspace ends at -0.93 m."""
    place = np.array([[0.0, 0.0, z]])
    return MODEL.inverse_kinematics(place, np.eye(3)[None])[0]


def test_a_limit_is_not_left() -> None:
    with pytest.raises(FeasibilityError, match='workspace of z'):
        checked_speed(MODEL, jog_motion(MODEL, Jog('z', -0.01), at_rest(hanging(-0.925))))


def test_from_outside_only_the_way_inside_is_taken() -> None:
    resting = at_rest(np.full(6, MODEL.upper[0] + 0.005))  # all legs 5 mm too long
    with pytest.raises(FeasibilityError, match='stroke|workspace'):
        checked_speed(MODEL, jog_motion(MODEL, Jog('z', -0.003), resting))
    for distance in (0.003, 0.02):
        assert checked_speed(MODEL, jog_motion(MODEL, Jog('z', distance), resting)) > 0.0


def test_a_way_beside_the_limit_does_not_lead_inside() -> None:
    resting = at_rest(hanging(-0.935))
    assert checked_speed(MODEL, jog_motion(MODEL, Jog('z', 0.001), resting)) > 0.0
    with pytest.raises(FeasibilityError, match='does not lead back'):
        checked_speed(MODEL, jog_motion(MODEL, Jog('x', 0.001), resting))


def test_what_the_drives_cannot_hold_is_refused() -> None:
    way = jog_motion(MODEL, Jog('z', 0.001), HOME)
    with pytest.raises(FeasibilityError, match='the limit is 5'):
        check_way(_Weak(MODEL, np.full(6, 5.0)), way)


class _Weak:
    """A model whose drives have less force."""

    def __init__(self, model, force_limit: np.ndarray) -> None:
        self._model, self.force_limit = model, force_limit

    def __getattr__(self, name: str):
        return getattr(self._model, name)
