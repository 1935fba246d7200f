"""Motions as points with efforts: what a joint_trajectory_controller makes of them."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from every_model import model_of
from jtc_stand_in import JtcRobot

from pkm_control.effort_trajectory import EFFORT_TOLERANCE, goal_text, motion_points, stop_points
from pkm_control.feedforward import nominal_feedforward
from pkm_control.trajectory_guard import GoalEnd, TrajectoryGuard
from pkm_description.errors import TrajectoryError
from pkm_dynamics.trajectories import CircleTrajectory, Execution

# [s] until the answer arrives: an abort is told by a timer of 20 Hz, states come at 50 Hz
LATE = {'cancel': 0.02, 'abort': 0.07}
MOMENTS = 10


@pytest.fixture(scope='module')
def palida():
    model = model_of('palida')
    centre = [*model.home_position, 0.0, 0.0, 0.0]
    circle = CircleTrajectory(centre, [0.3, 0.2, 1.0], 0.05, 0.3)
    return model, nominal_feedforward(model), Execution(circle, 1, 0.5, centre, 0.3)


@pytest.fixture(scope='module')
def shown(palida):
    model, feedforward, execution = palida
    return motion_points(model, execution, feedforward, 250.0)


def test_points_are_the_motion_with_its_forces(palida) -> None:
    model, feedforward, execution = palida
    points = motion_points(model, execution, feedforward)
    motion = execution.motion(points.time, model)
    states = model.actuator_states(motion)
    np.testing.assert_allclose(points.positions, states.positions, atol=1e-12)
    np.testing.assert_allclose(points.velocities, states.velocities, atol=1e-9)
    np.testing.assert_allclose(points.accelerations, states.accelerations, atol=1e-8)
    np.testing.assert_allclose(points.efforts, model.inverse_dynamics(motion), atol=1e-8)
    assert points.time[0] == 0.0 and points.time[-1] == pytest.approx(execution.duration)
    assert not points.velocities[[0, -1]].any() or np.abs(points.velocities[[0, -1]]).max() < 1e-9
    assert points.joint_names == tuple(model.actuated_joints)


def test_the_rate_follows_from_what_lines_between_efforts_miss(palida) -> None:
    model, _, execution = palida
    bodies = nominal_feedforward(model, friction=False)
    points = motion_points(model, execution, bodies)
    assert points.interpolation_error <= EFFORT_TOLERANCE
    rate = (len(points) - 1) / execution.duration
    assert 50.0 <= rate < 500.0
    half = motion_points(model, execution, bodies, rate / 2.0)
    assert half.interpolation_error > EFFORT_TOLERANCE
    middle = np.linspace(0.3, 0.6, 1000) * execution.duration
    exact = bodies.forces(model, execution.motion(middle, model))
    found = np.column_stack([np.interp(middle, points.time, each) for each in points.efforts.T])
    share = np.abs(found - exact).max() / model.force_limit.max()
    assert share <= 1.1 * points.interpolation_error
    # Coulomb friction changes faster than any rate shows
    rubbing = motion_points(model, execution, nominal_feedforward(model))
    assert len(rubbing) - 1 == int(np.ceil(1000.0 * execution.duration))


@pytest.mark.parametrize('rate', [0.0, -1.0, np.nan, 1001.0])
def test_rates_that_cannot_be(palida, rate) -> None:
    model, feedforward, execution = palida
    with pytest.raises(TrajectoryError, match='rate'):
        motion_points(model, execution, feedforward, rate)


def test_every_point_of_the_goal_has_an_effort(palida) -> None:
    model, feedforward, execution = palida
    points = motion_points(model, execution, feedforward, 100.0)
    goal = yaml.safe_load(goal_text(points))['trajectory']
    assert goal['joint_names'] == model.actuated_joints and len(goal['points']) == len(points)
    fields = {'positions', 'velocities', 'accelerations', 'effort', 'time_from_start'}
    times = []
    for k, point in enumerate(goal['points']):
        assert set(point) == fields
        assert point['effort'] == points.efforts[k].tolist()
        times.append(point['time_from_start']['sec'] + 1e-9 * point['time_from_start']['nanosec'])
    np.testing.assert_allclose(times, points.time, atol=1e-9)


def begun(palida, points) -> JtcRobot:
    """A robot that begins to follow points."""
    model, feedforward, _ = palida
    run = JtcRobot(model, feedforward)
    run.follow(points)
    return run


def moments(palida) -> np.ndarray:
    random = np.random.default_rng(7)
    return np.sort(random.uniform(0.2, 0.9, MOMENTS)) * palida[2].duration


def settled_sag(run: JtcRobot, begin: int) -> float:
    """How far [m] the platform sinks below where it is held, once it no longer swings."""
    return run.height_held - float(np.mean(run.heights[begin:]))


def test_the_circle_ends_with_its_effort(palida, shown) -> None:
    run = begun(palida, shown)
    run.run(palida[2].duration + 0.3)
    assert np.abs(run.q - shown.positions[-1]).max() < 1e-3
    assert np.abs(run.controller.desired.effort - shown.efforts[-1]).max() == 0.0


def ended_by(run: JtcRobot, way: str) -> GoalEnd:
    """Let somebody's goal end: by their cancel, or by an error beyond a tolerance."""
    if way == 'cancel':
        run.controller.cancel(run.time, run.q)
        return GoalEnd.CANCELED
    run.controller.tolerance = 0.5 * np.abs(run.controller.desired.position - run.q).max()
    while not run.controller.aborted:
        run.run(0.001)
    return GoalEnd.ABORTED


def guarded(run: JtcRobot, end: GoalEnd) -> None:
    """Send the hold of a guard."""
    guard = TrajectoryGuard(run.model, run.feedforward)
    guard.accepted()
    guard.ended(end)
    desired = run.controller.desired
    for _ in range(2):
        hold = guard.reference(desired.position, desired.velocity)
    run.follow(hold)


def test_a_goal_that_ends_early_does_not_sag_under_a_stop_or_a_guard(palida, shown, capsys) -> None:
    """At ten moments of the circle; how the robot sags by the controller alone is shown."""
    ways = ('stop', 'cancel, hold', 'abort, hold', 'cancel, alone', 'abort, alone')
    found: dict[str, list[float]] = {way: [] for way in ways}
    for moment in moments(palida):
        for way, sags in found.items():
            run = begun(palida, shown)
            run.run(moment)
            how, _, answer = way.partition(', ')
            if how == 'stop':
                desired = run.controller.desired
                state = desired.position, desired.velocity
                points = stop_points(run.model, run.feedforward, *state)
                run.follow(points)
                run.run(0.5)
            else:
                end = ended_by(run, how)
                run.run(LATE[how])
                if answer == 'hold':
                    guarded(run, end)
                run.run(0.2)
            settled = len(run.heights)
            run.run(0.1)
            sags.append(1e3 * settled_sag(run, settled))
    with capsys.disabled():
        text = '; '.join(f'{way} {max(each):.2f} mm' for way, each in found.items())
        print(f'\njoint_trajectory_controller, sag at rest at {MOMENTS} moments: {text} at most')
    for way, sags in found.items():
        if way.endswith('alone'):
            assert np.mean(sags) > 1.0
        else:
            assert max(map(abs, sags)) < 1.0
