"""`pkm guard` beside a stand-in for a joint_trajectory_controller, by real goals and states.

Where control_msgs is there, which is not among the wheels.
"""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of

from pkm_bringup.offline import checked_from_home
from pkm_control.effort_trajectory import motion_points
from pkm_control.feedforward import nominal_feedforward
from pkm_control.trajectory_guard import Guard
from pkm_dynamics.trajectories import CircleTrajectory

ACTION = 'joint_trajectory_controller/follow_joint_trajectory'
LEAST_SAG = 1e-3  # [m] of the robot without its effort


@pytest.mark.ros
def test_without_control_msgs_it_says_what_to_install(fails, monkeypatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, 'control_msgs.action', None)
    said = fails('guard', '--robot', 'four_bar')
    assert 'install ros-jazzy-control-msgs' in said


@pytest.fixture(scope='module')
def palida():
    model = model_of('palida')
    centre = [*model.home_position, 0.0, 0.0, 0.0]
    circle = CircleTrajectory(centre, [0.3, 0.2, 1.0], 0.05, 0.5)
    feedforward = nominal_feedforward(model)
    execution = checked_from_home(model, circle, 0.5, 2)
    return model, feedforward, motion_points(model, execution, feedforward, 250.0)


@pytest.fixture
def graph(palida):
    """Guard, node of the controller, what was said, and somebody who sends goals."""
    pytest.importorskip('control_msgs')
    from jtc_node import JtcNode
    from jtc_stand_in import JtcRobot

    from pkm_bringup.nodes.guard_client import GuardClient

    model, feedforward, _ = palida
    said: list[tuple[str, bool]] = []
    name = 'joint_trajectory_controller'
    with GuardClient(model, feedforward, name, lambda *each: said.append(each)) as guard:
        node = JtcNode(JtcRobot(model, feedforward))
        try:
            guard.begin()
            yield guard, node, said
        finally:
            node.close()


@pytest.fixture
def send(graph, palida):
    """The function that sends the circle as somebody else does, and returns its handle."""
    from control_msgs.action import FollowJointTrajectory

    from pkm_bringup.nodes.guard_client import trajectory_message

    guard, node, _ = graph
    client = guard.action(FollowJointTrajectory, ACTION)

    def go():
        goal = FollowJointTrajectory.Goal(trajectory=trajectory_message(palida[2]))
        sent = client.send_goal_async(goal)
        assert until(guard, sent.done)
        begun = node.robot.time
        assert until(guard, lambda: node.robot.time > begun + 0.8)  # at speed
        return sent.result()

    return go


def until(guard, condition, limit=60.0) -> bool:
    """Watch until a condition holds."""

    def held() -> bool:
        guard.watch()
        return condition()

    return guard.wait(held, limit, pause=0.0)


def rests(guard, node) -> float:
    """How far [m] the platform sinks below where it is held, half a second later."""
    begun = node.robot.time
    assert until(guard, lambda: node.robot.time > begun + 0.5)
    return node.robot.height_held - float(np.mean(node.robot.heights[-100:]))


@pytest.mark.ros
def test_a_cancel_and_an_abort_are_answered_before_the_robot_sags(graph, send) -> None:
    guard, node, said = graph
    handle = send()
    assert guard.guard.state is Guard.MOVING
    handle.cancel_goal_async()
    assert until(guard, lambda: guard.holds == 1)
    assert abs(rests(guard, node)) < LEAST_SAG
    assert guard.guard.state is Guard.HOLDING and len(node.efforts) == 2
    assert node.jumps[1] < 1e-9  # a state from before the cancel is centimetres away
    send()
    node.robot.controller.tolerance = 0.0  # the next error aborts the goal
    assert until(guard, lambda: guard.holds == 2)
    assert abs(rests(guard, node)) < LEAST_SAG
    assert [text.partition(';')[0] for text, is_bad in said if not is_bad] == [
        'a goal is under way',
        'a goal has ended without effort',
    ] * 2
    assert not any(is_bad for _, is_bad in said)


@pytest.mark.ros
def test_a_goal_that_takes_the_place_of_another_needs_no_hold(graph, send) -> None:
    guard, node, _ = graph
    send()
    send()  # the first one is aborted
    handle = send()
    assert guard.holds == 0 and guard.guard.state is Guard.MOVING
    handle.cancel_goal_async()
    assert until(guard, lambda: guard.holds == 1)
    assert len(node.efforts) == 4


@pytest.mark.ros
def test_holds_that_are_refused_are_sent_again_while_the_robot_sags(graph, send) -> None:
    guard, node, said = graph
    handle = send()
    node.refuses = True
    handle.cancel_goal_async()
    assert until(guard, lambda: guard.guard.failures == 2)
    assert guard.guard.state in (Guard.WAITING, Guard.HOLDING)
    node.refuses = False
    assert until(guard, lambda: guard.holds == 1)
    assert [text for text, is_bad in said if is_bad] == ['a hold was refused'] * 2
    handle = send()
    node.refuses = True
    begun = node.robot.time
    handle.cancel_goal_async()
    assert until(guard, lambda: guard.guard.state is Guard.LOST)
    after = node.robot.heights[-round((node.robot.time - begun) * 1000) :]
    assert max(node.robot.height_held - each for each in after) > LEAST_SAG
    assert said[-1] == ('nothing holds the robot but the PID, if that: 10 holds failed', True)


@pytest.mark.ros
def test_a_controller_that_falls_silent_is_told_at_once(graph, send) -> None:
    guard, node, said = graph
    send()
    node.is_silent = True
    assert until(guard, lambda: guard.guard.state is Guard.LOST)
    assert 'no states of the controller come' in said[-1][0] and said[-1][1]
    node.is_silent = False
    send().cancel_goal_async()  # a goal bears the robot again
    assert until(guard, lambda: guard.holds == 1)


@pytest.mark.ros
def test_a_controller_that_cannot_be_guarded_is_refused_before_it_matters(palida) -> None:
    pytest.importorskip('control_msgs')
    from jtc_node import JtcNode
    from jtc_stand_in import JtcRobot

    from pkm_bringup.nodes.graph_client import GraphError
    from pkm_bringup.nodes.guard_client import GuardClient

    model, feedforward, _ = palida
    with GuardClient(model, feedforward, 'joint_trajectory_controller', print) as guard:
        node = JtcNode(JtcRobot(model, feedforward))
        node.further_joints = ['gripper']
        try:
            with pytest.raises(GraphError, match='gripper, not the actuated ones of palida'):
                guard.begin()
        finally:
            node.close()
