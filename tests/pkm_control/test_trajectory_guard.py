"""The guard of a joint_trajectory_controller: when it holds, where, with which efforts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from every_model import model_of

from pkm_control.feedforward import nominal_feedforward
from pkm_control.trajectory_guard import FollowedGoals, GoalEnd, Guard, TrajectoryGuard
from pkm_description.errors import TrajectoryError

STILL = [0.0]


@pytest.fixture
def guard():
    model = model_of('four_bar')
    return TrajectoryGuard(model, nominal_feedforward(model), attempts=3)


def hold_at(guard, place):
    """Return what the guard sends when the reference rests here for two states."""
    assert guard.reference(place, STILL) is None
    return guard.reference(place, STILL)


@pytest.mark.parametrize('end', [GoalEnd.CANCELED, GoalEnd.ABORTED])
def test_an_end_without_effort_is_answered_by_its_effort(guard, end):
    model = guard.model
    place, target = model.home_actuators + 0.1, model.home_actuators
    guard.accepted()
    assert hold_at(guard, place) is None and guard.state is Guard.MOVING
    guard.ended(end)
    # of a controller that brakes, or from before the end
    for wanted, rate in ((target - 0.1, [0.2]), (target, STILL)):
        assert guard.reference(wanted, rate) is None and guard.state is Guard.WAITING
    hold = hold_at(guard, place)
    assert guard.state is Guard.HOLDING and hold_at(guard, place) is None
    still = np.zeros((1, 1))
    wanted = model.inverse_dynamics(model.motion_from_actuators(place[None], still, still))
    assert np.abs(wanted).max() > 0.1
    np.testing.assert_allclose(hold.efforts, np.repeat(wanted, 2, axis=0))
    np.testing.assert_array_equal(hold.positions, [place, place])
    assert not hold.velocities.any() and hold.time[0] > 0.0
    guard.held(True)
    assert guard.state is Guard.HOLDING


def test_a_reference_from_before_an_end_is_not_taken_for_one_after_it(guard):
    place = guard.model.home_actuators
    guard.ended(GoalEnd.CANCELED)
    guard.reference(place, STILL)
    guard.accepted()
    guard.ended(GoalEnd.CANCELED)
    assert guard.reference(place, STILL) is None


def test_a_goal_that_succeeds_keeps_its_effort(guard):
    guard.accepted()
    guard.ended(GoalEnd.SUCCEEDED)
    assert guard.state is Guard.RESTING


def test_a_hold_that_fails_is_sent_again_until_it_is_given_up(guard):
    home = guard.model.home_actuators
    guard.ended(GoalEnd.ABORTED)
    assert hold_at(guard, home) is not None
    guard.hold_failed()
    assert hold_at(guard, home) is not None
    guard.held(True)  # failures in a row count
    for _ in range(2):
        guard.hold_failed()
        assert hold_at(guard, home) is not None
    guard.hold_failed()
    assert guard.state is Guard.LOST and hold_at(guard, home) is None
    guard.accepted()  # a new goal bears the weight again
    assert guard.state is Guard.MOVING and guard.failures == 0


def test_a_goal_that_takes_the_place_of_a_hold_is_left_alone(guard):
    guard.ended(GoalEnd.ABORTED)
    hold_at(guard, guard.model.home_actuators)
    guard.accepted()
    guard.hold_failed()
    guard.held(True)
    assert guard.state is Guard.MOVING


def test_no_hold_takes_more_than_a_drive_gives(guard):
    model, home = guard.model, guard.model.home_actuators
    wrong = replace(guard.feedforward, parameters=1e4 * guard.feedforward.parameters)
    guard = TrajectoryGuard(model, wrong)
    guard.ended(GoalEnd.ABORTED)
    with pytest.raises(TrajectoryError, match=f'of {model.actuated_joints[0]}, whose limit is'):
        hold_at(guard, home)


@pytest.mark.parametrize('positions', [[], [1.0, 2.0], [np.nan]])
def test_references_are_as_many_finite_numbers_as_joints(guard, positions):
    for wrong in ((positions, STILL), ([0.1], positions)):
        with pytest.raises(TrajectoryError, match='1 finite positions and velocities'):
            guard.reference(*wrong)


ACCEPTED, EXECUTING, CANCELING, SUCCEEDED, CANCELED, ABORTED = range(1, 7)
FIRST, SECOND, HOLD, AGAIN = (bytes([k]) * 16 for k in range(4))


@pytest.fixture
def followed(guard):
    goals = FollowedGoals(guard)
    goals.heard({})
    return goals


def held(guard, followed, goal) -> None:
    """Send the hold that is due by this identifier."""
    assert hold_at(guard, guard.model.home_actuators) is not None
    followed.sent(goal)


@pytest.mark.parametrize('end', [CANCELED, ABORTED])
@pytest.mark.parametrize('before', [(), (ACCEPTED,), (ACCEPTED, EXECUTING)])
def test_a_goal_that_ends_without_effort_is_held_once(guard, followed, end, before):
    for status in before:
        followed.heard({FIRST: status})
        assert guard.state is Guard.MOVING
    followed.heard({FIRST: end})
    assert guard.state is Guard.WAITING
    held(guard, followed, HOLD)
    for status in (ACCEPTED, SUCCEEDED, SUCCEEDED):
        followed.heard({FIRST: end, HOLD: status})
        assert guard.state is Guard.HOLDING


def test_a_cancel_counts_before_it_is_confirmed(guard, followed):
    followed.heard({FIRST: EXECUTING})
    followed.heard({FIRST: CANCELING})
    assert guard.state is Guard.WAITING
    held(guard, followed, HOLD)
    followed.heard({FIRST: CANCELED, HOLD: EXECUTING})
    assert guard.state is Guard.HOLDING


def test_a_goal_that_succeeds_is_not_held(guard, followed):
    followed.heard({FIRST: EXECUTING})
    followed.heard({FIRST: SUCCEEDED})
    assert guard.state is Guard.RESTING


@pytest.mark.parametrize('late', [False, True])
def test_a_goal_that_is_replaced_is_not_held(guard, followed, late):
    followed.heard({FIRST: EXECUTING})
    first = EXECUTING if late else CANCELED
    followed.heard({FIRST: first, SECOND: ACCEPTED})
    assert guard.state is Guard.MOVING
    followed.heard({FIRST: first, SECOND: SUCCEEDED})
    # the end of the old one, told after that of the new one
    followed.heard({FIRST: CANCELED, SECOND: SUCCEEDED})
    assert guard.state is Guard.RESTING


def test_what_ended_before_the_guard_came_is_left_alone(guard):
    goals = FollowedGoals(guard)
    for _ in range(2):
        goals.heard({FIRST: ABORTED})
        assert guard.state is Guard.RESTING
    goals = FollowedGoals(guard)  # in the middle of a motion
    goals.heard({FIRST: EXECUTING})
    assert guard.state is Guard.MOVING
    goals.heard({FIRST: ABORTED})
    assert guard.state is Guard.WAITING


def test_a_hold_that_is_aborted_is_sent_again(guard, followed):
    followed.heard({FIRST: EXECUTING})
    followed.heard({FIRST: CANCELED})
    held(guard, followed, HOLD)
    followed.heard({FIRST: CANCELED, HOLD: ABORTED})
    held(guard, followed, AGAIN)
    assert guard.failures == 1
    followed.heard({FIRST: CANCELED, HOLD: ABORTED, AGAIN: EXECUTING})
    followed.heard({FIRST: CANCELED, HOLD: ABORTED, AGAIN: SUCCEEDED})
    assert guard.state is Guard.HOLDING and guard.failures == 0


def test_a_hold_that_is_accepted_late_bears_all_the_same(guard, followed):
    followed.heard({FIRST: EXECUTING})
    followed.heard({FIRST: CANCELED})
    held(guard, followed, HOLD)
    guard.lost()  # nobody has answered in time
    followed.heard({FIRST: CANCELED, HOLD: EXECUTING})
    assert guard.state is Guard.HOLDING
    # what it has reached tells nothing of a goal after it
    followed.heard({FIRST: CANCELED, HOLD: SUCCEEDED, SECOND: EXECUTING})
    for _ in range(2):
        followed.heard({FIRST: CANCELED, HOLD: SUCCEEDED, SECOND: ABORTED})
        assert guard.state is Guard.WAITING


def test_a_goal_after_a_hold_bears_the_weight_itself(guard, followed):
    followed.heard({FIRST: EXECUTING})
    followed.heard({FIRST: CANCELED})
    held(guard, followed, HOLD)
    followed.heard({FIRST: CANCELED, HOLD: EXECUTING, SECOND: ACCEPTED})
    assert guard.state is Guard.MOVING
    followed.heard({FIRST: CANCELED, HOLD: ABORTED, SECOND: EXECUTING})
    assert guard.state is Guard.MOVING
