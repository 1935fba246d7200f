"""The guard of a joint_trajectory_controller: when it holds, where, with which efforts."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of

from pkm_control.feedforward import nominal_feedforward
from pkm_control.trajectory_guard import FollowedGoals, GoalEnd, Guard, TrajectoryGuard
from pkm_description.errors import TrajectoryError


@pytest.fixture
def guard():
    model = model_of('four_bar')
    return TrajectoryGuard(model, nominal_feedforward(model), attempts=3)


@pytest.mark.parametrize('end', [GoalEnd.CANCELED, GoalEnd.ABORTED])
def test_an_end_without_effort_is_answered_by_its_effort(guard, end):
    model = guard.model
    place = model.home_actuators + 0.1
    guard.accepted()
    guard.reference(model.home_actuators)
    guard.reference(place)  # the last one counts
    assert guard.state is Guard.MOVING
    hold = guard.ended(end)
    assert guard.state is Guard.HOLDING
    still = np.zeros((1, 1))
    wanted = model.inverse_dynamics(model.motion_from_actuators(place[None], still, still))
    assert np.abs(wanted).max() > 0.1
    np.testing.assert_allclose(hold.efforts, np.repeat(wanted, 2, axis=0))
    np.testing.assert_array_equal(hold.positions, [place, place])
    assert not hold.velocities.any() and hold.time[0] > 0.0
    assert guard.hold_ended(GoalEnd.SUCCEEDED) is None and guard.state is Guard.HOLDING


def test_a_goal_that_succeeds_keeps_its_effort(guard):
    guard.accepted()
    assert guard.ended(GoalEnd.SUCCEEDED) is None and guard.state is Guard.RESTING


def test_a_hold_that_fails_is_sent_again_until_it_is_given_up(guard):
    guard.reference(guard.model.home_actuators)
    assert guard.ended(GoalEnd.ABORTED) is not None
    assert guard.hold_ended(None) is not None
    assert guard.hold_ended(GoalEnd.SUCCEEDED) is None  # failures in a row count
    assert guard.hold_ended(GoalEnd.ABORTED) is not None
    assert guard.hold_ended(GoalEnd.CANCELED) is not None
    assert guard.hold_ended(None) is None and guard.state is Guard.LOST
    guard.accepted()  # a new goal bears the weight again
    assert guard.state is Guard.MOVING and guard.failures == 0


def test_a_goal_that_takes_the_place_of_a_hold_is_left_alone(guard):
    guard.reference(guard.model.home_actuators)
    guard.ended(GoalEnd.ABORTED)
    guard.accepted()
    assert guard.hold_ended(GoalEnd.ABORTED) is None and guard.state is Guard.MOVING


def test_where_to_hold_must_be_known(guard):
    guard.accepted()
    with pytest.raises(TrajectoryError, match='no state of the controller'):
        guard.ended(GoalEnd.CANCELED)
    for wrong in ([], [1.0, 2.0], [np.nan]):
        with pytest.raises(TrajectoryError, match='1 finite positions'):
            guard.reference(wrong)


ACCEPTED, EXECUTING, CANCELING, SUCCEEDED, CANCELED, ABORTED = range(1, 7)
FIRST, SECOND, HOLD, AGAIN = (bytes([k]) * 16 for k in range(4))


@pytest.fixture
def followed(guard):
    guard.reference(guard.model.home_actuators)
    goals = FollowedGoals(guard)
    assert goals.heard({}) is None
    return goals


@pytest.mark.parametrize('end', [CANCELED, ABORTED])
@pytest.mark.parametrize('before', [(), (ACCEPTED,), (EXECUTING, CANCELING)])
def test_a_goal_that_ends_without_effort_is_held_once(guard, followed, end, before):
    for status in before:
        assert followed.heard({FIRST: status}) is None
        assert guard.state is Guard.MOVING
    assert followed.heard({FIRST: end}) is not None and guard.state is Guard.HOLDING
    followed.sent(HOLD)
    for status in (ACCEPTED, SUCCEEDED, SUCCEEDED):
        assert followed.heard({FIRST: end, HOLD: status}) is None
        assert guard.state is Guard.HOLDING


def test_a_goal_that_succeeds_is_not_held(guard, followed):
    followed.heard({FIRST: EXECUTING})
    assert followed.heard({FIRST: SUCCEEDED}) is None and guard.state is Guard.RESTING


@pytest.mark.parametrize('late', [False, True])
def test_a_goal_that_is_replaced_is_not_held(guard, followed, late):
    followed.heard({FIRST: EXECUTING})
    first = EXECUTING if late else CANCELED
    assert followed.heard({FIRST: first, SECOND: ACCEPTED}) is None
    assert guard.state is Guard.MOVING
    assert followed.heard({FIRST: first, SECOND: SUCCEEDED}) is None
    # the end of the old one, told after that of the new one
    assert followed.heard({FIRST: CANCELED, SECOND: SUCCEEDED}) is None
    assert guard.state is Guard.RESTING


def test_what_ended_before_the_guard_came_is_left_alone(guard):
    guard.reference(guard.model.home_actuators)
    goals = FollowedGoals(guard)
    assert goals.heard({FIRST: ABORTED}) is None and goals.heard({FIRST: ABORTED}) is None
    assert guard.state is Guard.RESTING
    goals = FollowedGoals(guard)  # in the middle of a motion
    assert goals.heard({FIRST: EXECUTING}) is None and guard.state is Guard.MOVING
    assert goals.heard({FIRST: ABORTED}) is not None


def test_a_hold_that_is_aborted_or_not_answered_is_sent_again(guard, followed):
    followed.heard({FIRST: EXECUTING})
    assert followed.heard({FIRST: CANCELED}) is not None
    followed.sent(HOLD)
    assert followed.heard({FIRST: CANCELED, HOLD: ABORTED}) is not None
    followed.sent(AGAIN)
    assert followed.unanswered(HOLD) is None  # an old one
    assert followed.unanswered(AGAIN) is not None and guard.failures == 2


def test_a_goal_after_a_hold_bears_the_weight_itself(guard, followed):
    followed.heard({FIRST: EXECUTING})
    followed.heard({FIRST: CANCELED})
    followed.sent(HOLD)
    assert followed.heard({FIRST: CANCELED, HOLD: EXECUTING, SECOND: ACCEPTED}) is None
    assert guard.state is Guard.MOVING
    assert followed.heard({FIRST: CANCELED, HOLD: ABORTED, SECOND: EXECUTING}) is None
    assert guard.state is Guard.MOVING


def test_a_guard_that_hears_no_states_is_lost(guard, followed):
    followed.heard({FIRST: EXECUTING})
    guard.silent()
    with pytest.raises(TrajectoryError, match='where it holds is unknown'):
        followed.heard({FIRST: CANCELED})
    assert guard.state is Guard.LOST
