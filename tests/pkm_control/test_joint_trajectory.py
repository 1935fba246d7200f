"""Motions by trajectory_msgs/JointTrajectory."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import geared_arm

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Duration, Time  # noqa: E402
from laboratory import CONTROLLER, MODEL, Laboratory  # noqa: E402
from rclpy.serialization import serialize_message  # noqa: E402
from std_msgs.msg import Bool  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

import pkm_description  # noqa: E402
from pkm_control.control_types import ErrorCode  # noqa: E402
from pkm_control.nodes import joint_trajectory_input  # noqa: E402
from pkm_control.nodes.joint_trajectory_input import checked_joint_trajectory, plan_of  # noqa: E402
from pkm_description import MotorSide  # noqa: E402
from pkm_description.errors import FeasibilityError, TrajectoryError  # noqa: E402
from pkm_dynamics import ClosedChainModel  # noqa: E402
from pkm_dynamics.trajectories import Phase, SampledTrajectory, ThroughStates  # noqa: E402

NAMES = list(MODEL.actuated_joints)
REST = np.asarray(MODEL.home_actuators)
UP = np.array([0.0, 0.01, -0.005, 0.004, 0.0, 0.002])  # [m]


def message(times, positions, velocities=None, accelerations=None, names=NAMES, stamp=0.0):
    found = JointTrajectory(joint_names=list(names))
    found.header.stamp = Time(sec=int(stamp), nanosec=round(1e9 * (stamp % 1)))
    for k, time in enumerate(times):
        point = JointTrajectoryPoint(positions=list(map(float, positions[k])))
        for name, values in (('velocities', velocities), ('accelerations', accelerations)):
            if values is not None:
                setattr(point, name, list(map(float, values[k])))
        point.time_from_start = Duration(sec=int(time), nanosec=round(1e9 * (time % 1)))
        found.points.append(point)
    return found


def built(asked, model=MODEL, rest=REST, now=1e9):
    plan = plan_of(asked, model, rest, now)
    return plan.kind(**plan.arguments).ordered(model.actuated_joints)


def test_the_motion_begins_where_the_robot_rests():
    order = [3, 0, 5, 1, 4, 2]
    names = [NAMES[k] for k in order]
    points = np.array([REST + UP, REST - UP])
    motion = built(message([0.5, 1.25], points[:, order], names=names))
    assert type(motion) is SampledTrajectory and motion.duration == 1.25
    np.testing.assert_allclose(motion.evaluate([0.0, 0.5, 1.25])[0], [REST, *points], atol=1e-12)


def test_velocities_and_accelerations_are_met():
    points, moving = np.array([REST + UP, REST - UP]), np.array([UP, 0 * UP])
    motion = built(message([0.5, 1.25], points, moving))
    assert type(motion) is ThroughStates
    np.testing.assert_allclose(motion.evaluate([0.5])[1], [UP], atol=1e-12)
    motion = built(message([0.5, 1.25], points, moving, 3 * moving))
    np.testing.assert_allclose(motion.evaluate([0.5])[2], [3 * UP], atol=1e-9)


def test_a_first_point_that_is_due_at_once_is_approached():
    points = np.array([REST + UP, REST])
    execution = checked_joint_trajectory(
        MODEL, serialize_message(message([0.0, 1.0], points)), REST, 0.0, 100.0
    )
    assert execution.approach_time > 0.0
    motion = execution.trajectory
    np.testing.assert_allclose(motion.evaluate([0.0, 1.0])[0], points, atol=1e-12)
    np.testing.assert_array_equal(execution.start, REST)


@pytest.mark.parametrize(
    ('asked', 'complaint'),
    [
        (message([1.0], [REST[:5]], names=NAMES[:5]), 'joint_names: .*; needed is each of leg1'),
        (message([1.0], [REST], names=[*NAMES[:5], 'x']), 'joint_names: .*x; needed'),
        (message([1.0], [REST], names=[*NAMES[:5], NAMES[0]]), 'joint_names'),
        (message([1.0], [REST], names=[]), 'joint_names: none'),
        (message([1.0, 2.0], [REST, REST[:5]]), 'positions: 5 numbers of 6 joints in point 1'),
        (message([1.0, 1.0], [REST, REST]), 'time: not strictly increasing'),
        (message([1.0], [REST], [UP]), 'velocities: 0.01 in the last point'),
        (message([1.0], [REST], None, [UP]), 'accelerations: velocities are needed'),
        (message([0.0], [REST]), 'time: at least two'),
        (message([1.0], [np.full(6, np.nan)]), 'positions: not finite'),
        (message([1.0], [REST], stamp=1e9 + 3), 'header.stamp: 3 s in the future'),
        (message([1.0], [REST], stamp=1e9 - 30), 'header.stamp: 30 s in the past'),
        (message([1.0], [REST], names=['x' * 300] * 6), 'joint_names: 300 characters'),
    ],
)
def test_what_cannot_be_followed_is_named(asked, complaint):
    with pytest.raises(TrajectoryError, match=complaint):
        built(asked)


def test_a_stamp_of_now_is_at_once():
    assert built(message([1.0], [REST + UP], stamp=1e9 - 0.5)).duration == 1.0


def test_limits_are_checked_as_of_any_goal():
    asked = serialize_message(message([0.05], [REST + 0.2]))
    with pytest.raises(FeasibilityError):
        checked_joint_trajectory(MODEL, asked, REST, 0.0, 100.0)


def test_motors_of_a_robot_that_speaks_of_them():
    arm = geared_arm()
    robot = pkm_description.loads(arm.urdf, arm.yaml_text + 'side: motor\n')
    side, model = MotorSide.of(robot), ClosedChainModel(robot)
    rest = np.asarray(model.home_actuators)
    motors = np.array([3.0, -1.0, 2.0]), np.array([0.5, 1.0, -0.25]), np.array([2.0, 0.0, 1.0])
    states = [np.array([values, 0.0 * values]) for values in motors]
    states[0][1] = motors[0]
    names = list(side.motors)
    asked = message([0.5, 1.0], *(values[:, ::-1] for values in states), names=names[::-1])
    found = built(asked, model, rest).evaluate([0.0, 0.5])
    np.testing.assert_allclose(found[0], [rest, side.joint_positions(motors[0])], atol=1e-12)
    np.testing.assert_allclose(found[1][1], side.joint_rates(motors[1]), atol=1e-12)
    np.testing.assert_allclose(found[2][1], side.joint_rates(motors[2]), atol=1e-9)
    joints = message([1.0], [rest], names=list(model.actuated_joints))
    np.testing.assert_array_equal(built(joints, model, rest).evaluate([1.0])[0], [rest])


@pytest.fixture(scope='module')
def lab():
    with Laboratory() as found:
        yield found


@pytest.fixture
def tell(lab):
    """The function that publishes a joint trajectory to a fresh robot."""
    lab.fresh()
    publisher = lab.tester.create_publisher(JointTrajectory, f'{CONTROLLER}/joint_trajectory', 10)
    lab.until(publisher.get_subscription_count)
    yield publisher.publish
    lab.tester.destroy_publisher(publisher)


def rejected(lab):
    """What the diagnostics say of the last goal."""
    told = [
        value.value
        for array in lab.heard['diagnostics']
        for value in array.status[0].values
        if value.key == 'last rejected goal'
    ]
    return told[-1] if told else ''


@pytest.mark.ros
def test_the_robot_follows_and_holds_the_last_point(lab, tell):
    tell(message([0.3, 0.6], [REST + UP, REST - UP], [UP, 0 * UP]))
    lab.until(lambda: lab.phase is Phase.RUN)
    lab.until(lambda: lab.phase is Phase.HOLD and not lab.controller._follow.busy)
    lab.pass_by(0.1)
    # friction keeps the servo from the rest of the way
    np.testing.assert_allclose(lab.rows[-1].legs, REST - UP, atol=2e-3)


@pytest.mark.ros
def test_an_empty_one_stops_and_a_second_one_waits_for_none(lab, tell):
    tell(message([4.0], [REST + 4 * UP]))
    lab.until(lambda: lab.phase is Phase.RUN)
    tell(message([0.5], [REST]))
    lab.until(lambda: 'BUSY' in rejected(lab))
    assert 'none takes its place: stop it' in rejected(lab)
    assert lab.phase is Phase.RUN
    since = len(lab.rows)
    tell(JointTrajectory())
    lab.until(lambda: lab.phase is Phase.STOPPING)
    assert lab.rest(since)[0] < 0.6
    lab.until(lambda: not lab.controller._follow.busy)
    assert lab.active and lab.phase is Phase.HOLD


@pytest.mark.ros
def test_an_empty_one_stops_a_goal_of_the_action(lab, tell):
    handle = lab.moving()
    tell(JointTrajectory())
    code, reason = lab.result(handle)
    assert code is ErrorCode.CANCELED and reason == 'stopped by an empty joint trajectory'


@pytest.mark.ros
def test_refusals_are_told_and_nothing_moves(lab, tell, monkeypatch):
    tell(message([0.05], [REST + 0.2]))
    lab.until(lambda: 'INFEASIBLE' in rejected(lab))
    tell(message([1.0], [REST], names=[*NAMES[:5], 'gripper']))
    lab.until(lambda: 'BAD_TRAJECTORY' in rejected(lab) and 'gripper' in rejected(lab))
    monkeypatch.setattr(joint_trajectory_input, 'LARGEST', 40_000)
    tell(message(np.arange(1, 601) * 0.01, [REST] * 600))
    lab.until(lambda: 'bytes, 40000 at most' in rejected(lab))
    monkeypatch.setattr(lab.controller._follow, '_opening_time', 0.0)
    lab.controller._brakes._hear(Bool(data=True))
    tell(message([0.5], [REST]))
    lab.until(lambda: 'DRIVES_NOT_READY' in rejected(lab) and 'asked to open' in rejected(lab))
    lab.controller._brakes._hear(Bool(data=False))
    assert lab.phase is Phase.HOLD and lab.active
    assert max(np.abs(row.legs - REST).max() for row in lab.rows) < 2e-3
