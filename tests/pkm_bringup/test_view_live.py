"""A robot that is looked at while it runs: states of a graph, and what becomes of them."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_bringup.scene.live import DriveState, LiveScenes
from pkm_bringup.scene.moving import scene_at_home
from pkm_description import load
from pkm_description.errors import KinematicsError
from pkm_dynamics import ClosedChainModel

UNKNOWN = np.full(2, np.nan)


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(load('five_bar'))


def test_states_become_poses_and_a_trail(model):
    live = LiveScenes(model, scene_at_home(model))
    q = model.home_actuators + np.array([[0.0, 0.0], [0.05, -0.02], [0.1, -0.04]])
    scenes = [live.of(DriveState(each, UNKNOWN, UNKNOWN)) for each in q]
    expected, _ = model.forward_kinematics(q)
    assert np.allclose(live.trail, expected, atol=1e-9)
    assert scenes[-1].notes == ('no forces are measured',)
    assert not scenes[-1].arrows.vector.any()
    measured = live.of(DriveState(q[2], np.array([1.0, 2.0]), np.array([3.0, -4.0])))
    assert not measured.notes
    assert np.allclose(np.linalg.norm(measured.arrows.vector[0], axis=1), [3.0, 4.0])
    assert np.allclose(measured.actuators['velocity'], [[1.0, 2.0]])


def test_a_state_that_cannot_be_shown_is_named_and_the_next_one_is_shown(model):
    live = LiveScenes(model, scene_at_home(model))
    name = model.actuated_joints[1]
    broken = np.array([model.home_actuators[0], np.nan])
    with pytest.raises(KinematicsError, match=f"'{name}'"):
        live.of(DriveState(broken, UNKNOWN, UNKNOWN))
    live.of(DriveState(model.home_actuators, UNKNOWN, UNKNOWN))
    assert np.allclose(live.trail, model.home_position, atol=1e-9)


@pytest.mark.ros
def test_the_newest_state_of_a_graph_is_heard_by_name(model):
    from sensor_msgs.msg import JointState

    from pkm_bringup.nodes.state_listener import LATEST, StateListener
    from pkm_msgs.msg import MotorCurrents

    first, second = model.actuated_joints
    with StateListener('robot/states', model) as listener:
        states = listener.node.create_publisher(JointState, 'robot/states', LATEST)
        currents = listener.node.create_publisher(MotorCurrents, 'motor_currents', LATEST)
        publishers = (states, currents)
        assert listener.wait(lambda: all(p.get_subscription_count() for p in publishers), 30.0)
        assert listener.newest() is None

        def heard(*messages: JointState) -> DriveState:
            for message in messages:
                states.publish(message)
            found: list[DriveState] = []

            def look() -> bool:
                state = listener.newest()
                found.extend([] if state is None else [state])
                return bool(found)

            assert listener.wait(look, 10.0)
            return found[-1]

        foreign = JointState(name=['gripper'], position=[9.0])
        state = JointState(name=[second, 'gripper', first], position=[2.0, 9.0, 1.0])
        found = heard(foreign, state)
        assert np.allclose(found.positions, [1.0, 2.0]) and np.isnan(found.forces).all()
        state.velocity, state.effort = [4.0, 9.0, 3.0], [6.0, 9.0, 5.0]
        found = heard(state)
        assert np.allclose(found.velocities, [3.0, 4.0])
        assert np.allclose(found.forces, [5.0, 6.0])
        state.effort = []
        told = MotorCurrents(name=[second, first], current=[0.5, 0.25])
        currents.publish(told)
        listener.wait(lambda: np.isfinite(listener._currents).all(), 10.0)
        found = heard(state)
        assert np.allclose(found.forces, model.force_constants * [0.25, 0.5], equal_nan=True)
