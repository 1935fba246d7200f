"""Bounds of position errors by unit and stroke of each joint, or as they are given."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of

from pkm_control.control_types import ControllerOptions, OptionsError
from pkm_control.safeguards.allowed_errors import error_bounds
from pkm_control.stops import StopEvent
from pkm_control.supervision import Supervisor
from pkm_dynamics.joint_servo.expected_tracking import ErrorResponse, expected_tracking
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.trajectories import Execution
from pkm_identification.excitation import load_excitation


@pytest.mark.parametrize(
    ('name', 'largest'),
    [
        ('palida', 0.05),  # [m]
        ('ford', 0.05),
        ('rps_upv', 0.15 * 0.3),  # [m] of a stroke of 0.3 m
        ('delta', 0.2),  # [rad]
        ('four_bar', 0.2),
    ],
)
def test_of_each_joint_by_unit_and_stroke(name, largest):
    bounds = error_bounds(model_of(name), ControllerOptions())
    np.testing.assert_allclose(bounds.largest, largest)
    np.testing.assert_allclose(bounds.fault, 2.0 * largest)


def test_a_mixed_robot_has_both_and_each_joint_is_held_to_its_own():
    model = model_of('cart_pendulum')  # a cart on 8 m and two joints that turn for ever
    bounds = error_bounds(model, ControllerOptions())
    np.testing.assert_allclose(bounds.largest, [0.05, 0.2, 0.2])
    watched = Supervisor(model, ControllerOptions(), np.ones(3))
    still = np.zeros(3)
    found = {}
    for axis, error in ((0, 0.06), (1, 0.06), (1, 0.21), (0, 0.11), (2, 0.41)):
        errors = np.zeros(3)
        errors[axis] = error
        watched.begin(still)
        finding = watched.check(1e-3, True, still, errors, still, still)
        found[axis, error] = None if finding is None else finding.event
    assert found == {
        (0, 0.06): StopEvent.TRACKING_BOUND,
        (1, 0.06): None,
        (1, 0.21): StopEvent.TRACKING_BOUND,
        (0, 0.11): StopEvent.TRACKING_FAULT,
        (2, 0.41): StopEvent.TRACKING_FAULT,
    }
    # the one that is worst of its own bound is named, not the largest number
    finding = watched.check(1e-3, True, still, np.array([0.11, 0.3, 0.0]), still, still)
    assert model.actuated_joints[0] in finding.message and '0.1' in finding.message


def test_given_bounds_count_for_all_and_contradictions_are_named():
    model = model_of('delta')
    bounds = error_bounds(model, ControllerOptions(max_position_error=0.03))
    np.testing.assert_allclose(bounds, [[0.03] * 3, [0.4] * 3])
    bounds = error_bounds(model, ControllerOptions(max_position_error=0.5))
    np.testing.assert_allclose(bounds, [[0.5] * 3, [1.0] * 3])
    bounds = error_bounds(model, ControllerOptions(fault_position_error=0.5))
    np.testing.assert_allclose(bounds, [[0.2] * 3, [0.5] * 3])
    with pytest.raises(OptionsError, match='fault_position_error: 0.1 is less than the 0.2.*arm1'):
        error_bounds(model, ControllerOptions(fault_position_error=0.1))
    with pytest.raises(OptionsError, match='max_position_error: must not be negative'):
        ControllerOptions(max_position_error=-0.1)
    with pytest.raises(OptionsError, match='fault_position_error: must not be negative'):
        ControllerOptions(fault_position_error=float('nan'))


def test_twice_what_the_usual_servo_leaves_of_shipped_motions_is_allowed():
    """The bound stops what goes wrong, and no robot that does what it can."""
    for name in ('palida', 'delta', 'five_bar', 'four_bar', 'h4', 'hexel', 'rps_upv'):
        model = model_of(name)
        execution = Execution(load_excitation(name), 1, 1.0, None)
        response = ErrorResponse(model, servo_gains(model))
        expected = expected_tracking(model, response, execution)
        assert (2.0 * expected.largest < error_bounds(model, ControllerOptions()).largest).all()
