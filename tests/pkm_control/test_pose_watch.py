"""Workspace and conditioning of a robot that is not on its path."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of

from pkm_control.control_types import ControllerOptions, ErrorCode
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import nominal_feedforward
from pkm_control.safeguards.pose_watch import LEAVING, ON_PATH, PoseWatch, condition_limits
from pkm_control.stops import StopEvent
from pkm_description import library
from pkm_dynamics.analysis.singularities import jacobian_condition
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.trajectories import Phase, PointToPoint, benchmark_circle
from pkm_identification.excitation.excitation_design import load_excitation, shipped_excitations

OPTIONS = ControllerOptions(max_position_error=0.05)
STILL = np.zeros(6)
BRAKING = np.full(6, 24.0)  # [m/s^2] of PaLiDA's legs
TOP = -0.58  # [m] of PaLiDA's workspace


def palida(options=OPTIONS):
    model = model_of('palida')
    return model, PoseWatch(model, options, BRAKING)


def posed(model, position, yaw=0.0, twist=STILL):
    """Motion, leg positions and speeds of a pose."""
    cos, sin = np.cos(yaw), np.sin(yaw)
    rotation = np.array([[[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]]])
    legs = model.inverse_kinematics(np.array([position]), rotation)
    speeds = np.einsum('nij,j->ni', model.jacobian(np.array([position]), rotation), twist)
    motion = model.motion_from_actuators(legs, speeds, np.zeros_like(legs))
    return motion, legs[0], speeds[0]


@pytest.mark.parametrize('robot', [name for name in library() if name != 'cart_pendulum'])
def test_motions_that_were_checked_are_neither_slowed_nor_stopped(robot) -> None:
    """Even where the robot is looked at, on its path."""
    model = model_of(robot)
    watch = PoseWatch(model, OPTIONS, np.full(model.n_a, 10.0))
    paths = [load_excitation(robot)] if robot in shipped_excitations() else []
    if 'benchmark_circle' in model.description.sidecar:
        paths.append(benchmark_circle(model))
    for path in paths:
        motion = path.motion(np.linspace(0.0, path.duration, 40, endpoint=False), model)
        states = model.actuator_states(motion)
        for k in range(len(motion)):
            sight = watch._look(motion[k], states.positions[k], states.velocities[k])
            assert sight.stop is None and sight.rate == 1.0, (k, sight)


def test_a_robot_on_its_path_is_not_looked_at() -> None:
    model, watch = palida()
    motion, legs, _ = posed(model, [0.0, 0.0, TOP + 0.05])  # outside
    near = ON_PATH * OPTIONS.max_position_error
    for error, seen in ((0.99 * near, False), (1.01 * near, True)):
        watch.begin()
        found = watch.look(
            1e-3, posed(model, [0.0, 0.0, TOP])[0], legs, STILL, STILL + error, STILL
        )
        assert (found.stop is not None) == seen
    assert watch.look(1e-3, None, legs, STILL, STILL + 1.0, STILL).stop is None
    fast = 1.01 * 0.2 * np.asarray(model.velocity_limit)
    found = watch.look(1e-3, posed(model, [0.0, 0.0, TOP])[0], legs, STILL, STILL, fast)
    assert found.stop is not None


def test_a_platform_pushed_out_of_its_workspace_stops() -> None:
    model, watch = palida()
    desired, wanted, _ = posed(model, [0.0, 0.0, TOP - 0.01])
    tolerance = OPTIONS.stroke_tolerance
    for beyond, left in ((0.5 * tolerance, False), (1.5 * tolerance, True)):
        _, legs, _ = posed(model, [0.0, 0.0, TOP + beyond])
        watch.begin()
        stop = watch.look(1e-3, desired, legs, STILL, wanted - legs + 0.02, STILL).stop
        assert (stop is not None) == left
    assert stop.event is StopEvent.WORKSPACE_LEFT
    assert stop.message == 'z: the platform is 0.0015 m outside of its workspace'
    outside, *_ = posed(model, [0.0, 0.0, TOP + 0.02])  # a path that is outside itself: recovery
    watch.begin()
    assert watch.look(1e-3, outside, legs, STILL, STILL + 0.02, STILL).stop is None


def test_full_braking_must_keep_the_platform_in_its_workspace() -> None:
    model, watch = palida()
    up = np.array([0.0, 0.0, 0.8, 0.0, 0.0, 0.0])
    desired, *_ = posed(model, [0.0, 0.0, TOP - 0.2])
    _, _, speeds = posed(model, [0.0, 0.0, TOP - 0.03], twist=up)
    far = STILL + 1.2 * OPTIONS.max_position_error
    way = 0.8 * (OPTIONS.reaction_time + 0.5 * np.abs(speeds).max() / BRAKING[0])
    for short, ahead in ((0.003, True), (-0.003, False)):
        _, legs, speeds = posed(model, [0.0, 0.0, TOP - way + short], twist=up)
        watch.begin()
        stop = watch.look(1e-3, desired, legs, speeds, far, -speeds).stop
        assert (stop is not None) == ahead
        if ahead:
            assert stop.event is StopEvent.WORKSPACE_AHEAD
        watch.begin()  # away from the limit
        assert watch.look(1e-3, desired, legs, -speeds, far, speeds).stop is None
        watch.begin()  # within its bound of errors it follows its path
        assert watch.look(1e-3, desired, legs, speeds, 0.4 * far, -speeds).stop is None


def yaws(model) -> dict[float, float]:
    """Condition numbers by yaw [rad] in the middle of the workspace, towards the singularity."""
    angles = np.linspace(0.0, 1.5, 151)
    found = {}
    for yaw in angles.tolist():
        motion, *_ = posed(model, model.home_position, yaw)
        found[yaw] = float(jacobian_condition(model, motion)[0])
    return found


def test_near_a_singularity_the_robot_slows_down_and_stops_sooner_than_it_leaves() -> None:
    model, watch = palida()
    slow, stop = condition_limits(model)
    assert 5.0 < slow < stop < 30.0
    condition = yaws(model)
    desired, *_ = posed(model, model.home_position)

    def sights(order):
        watch.begin()
        legs = [posed(model, model.home_position, yaw)[1] for yaw in order]
        return [watch.look(0.02, desired, each, STILL, STILL + 0.02, STILL) for each in legs]

    order = [yaw for yaw in sorted(condition) if condition[yaw] < 3.0 * stop]
    assert condition[order[-1]] > 1.1 * LEAVING * stop
    approach = sights(order)
    for yaw, sight in zip(order, approach, strict=True):
        if condition[yaw] > 1.02 * stop:
            assert sight.stop is not None and sight.stop.event is StopEvent.SINGULARITY_AHEAD
        elif condition[yaw] < 0.9 * slow:
            assert sight.rate == 1.0 and sight.stop is None
    rates = [sight.rate for sight in approach if sight.stop is None]
    assert rates == sorted(rates, reverse=True) and rates[-1] < 0.6
    leaving = sights(order[::-1])
    for yaw, sight in list(zip(order[::-1], leaving, strict=True))[1:]:
        assert (sight.stop is not None) == (condition[yaw] > LEAVING * stop)
        assert sight.rate == 1.0


def test_who_approaches_a_singularity_as_its_path_does_is_not_looked_ahead_of() -> None:
    """It turns away where its path does; one whose path rests is judged by where braking ends."""
    model, watch = palida()
    slow, _ = condition_limits(model)
    condition = yaws(model)
    towards = [yaw for yaw in sorted(condition) if condition[yaw] < 0.9 * slow][::4]
    poses = [posed(model, model.home_position, yaw)[:2] for yaw in towards]
    fast = np.full(6, 6.0)  # [m/s]: full braking takes long
    for rests in (False, True):
        watch.begin()
        sights = [
            watch.look(0.02, poses[0 if rests else k - 1][0], legs, fast, STILL + 0.02, STILL)
            for k, (_, legs) in enumerate(poses)
            if k > 0
        ]
        assert any(sight.stop is not None for sight in sights) == rests


def test_the_controller_ends_the_motion_of_a_robot_that_is_pushed_out() -> None:
    model = model_of('palida')
    start = posed(model, [0.0, 0.0, TOP - 0.01])[1]
    loop = TrajectoryController(model, servo_gains(model), nominal_feedforward(model))
    loop.activate(start)
    rest = loop.resting_coordinates('platform')
    loop.start(loop.plan(PointToPoint([0.0, 4.0], [rest, rest + [0.02, 0, 0, 0, 0, 0]])))
    results = []
    for k in range(1500):
        beyond = min(0.02, 1e-4 * k) + 1e-9 * (k % 7)
        legs = posed(model, [0.0, 0.0, TOP - 0.01 + beyond])[1]
        results.append(loop.step(1e-3 * k, legs))
        if results[-1].outcome is not None:
            break
    assert Phase.STOPPING in {result.phase for result in results}
    assert results[-1].outcome.code is ErrorCode.LIMIT_VIOLATED
    assert 'outside of its workspace' in results[-1].outcome.message
