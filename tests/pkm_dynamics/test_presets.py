"""Presets: what the papers say, inside the limits, on any robot."""

import functools

import numpy as np
import pytest

import pkm_description
from pkm_description.errors import (
    FeasibilityError,
    KinematicsError,
    TrajectoryError,
    UnderactuatedError,
)
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.presets import preset, preset_names
from pkm_dynamics.trajectories import Execution, load_trajectory


@functools.cache
def model_of(robot):
    return ClosedChainModel(pkm_description.load(robot))


@functools.cache
def made(robot, name):
    return preset(model_of(robot), name)


def limits_broken(model, trajectory):
    """Joints beyond stroke, velocity or force along approach and motion, by brute force."""
    actuators = trajectory.coordinates == 'actuators'
    home = np.concatenate([model.home_position, np.zeros(3)])
    execution = Execution(trajectory, 1, 1.0, model.home_actuators if actuators else home)
    time = np.linspace(0.0, execution.duration, 1500)
    motion = execution.motion(time, model)
    state = model.actuator_states(motion)
    force = model.inverse_dynamics(motion)
    return [
        *np.flatnonzero((state.positions < model.lower).any(0)),
        *np.flatnonzero((state.positions > model.upper).any(0)),
        *np.flatnonzero((np.abs(state.velocities) > model.velocity_limit).any(0)),
        *np.flatnonzero((np.abs(force) > model.force_limit).any(0)),
    ]


KINDS = ('sine_z', 'sine_xy', 'circle', 'free_fall', 'point_to_point', 'friction_sweep')


@pytest.mark.parametrize('name', KINDS)
def test_inside_the_limits_of_a_hexapod(name):
    assert not limits_broken(model_of('palida'), made('palida', name))


@pytest.mark.parametrize('name', ['sine_arm1_joint', 'circle', 'point_to_point'])
def test_inside_the_limits_of_a_delta(name):
    trajectory = made('delta', name)
    assert trajectory.coordinates == 'actuators'
    assert not limits_broken(model_of('delta'), trajectory)


@pytest.mark.parametrize(('name', 'axis'), [('sine_x', [0]), ('sine_z', [2])])
def test_sines_are_those_of_the_table(name, axis):
    """[O Table 4.3]: 0.0254 m at 4 pi rad/s about home."""
    trajectory = made('uf_pkm', name)
    time = np.linspace(0.0, 1.0, 301)
    position, velocity, _ = trajectory.evaluate(time)
    home = model_of('uf_pkm').home_position
    moved = position[:, :3] - home
    assert np.allclose(moved[:, axis[0]], 0.0254 * np.sin(4 * np.pi * time), atol=1e-12)
    others = [i for i in range(6) if i not in axis]
    assert np.ptp(position[:, others], axis=0).max() == 0.0
    assert np.abs(velocity).max() == pytest.approx(0.319, abs=5e-4)  # the paper's feed is 0.3 m/s


def test_a_given_amplitude_is_taken_as_it_is():
    trajectory = preset(model_of('palida'), 'sine_all', amplitude=0.9, frequency=0.5)
    assert trajectory.period == 2.0
    assert np.all(trajectory.sine == 0.9)


def test_the_circle_of_a_delta_is_a_circle():
    model, trajectory = model_of('delta'), made('delta', 'circle')
    time = np.linspace(0.0, trajectory.period, 60)
    motion = trajectory.motion(time, model)
    away = motion.position - model.home_position
    radius = np.linalg.norm(away[:, :2], axis=1)
    assert np.ptp(radius) < 1e-8 and np.abs(away[:, 2]).max() < 1e-8 and radius[0] > 0.05
    assert np.ptp(np.linalg.norm(motion.twist[:, :3], axis=1)) < 1e-6


@pytest.mark.parametrize('robot', ['palida', 'four_bar'])
def test_nothing_drives_the_robot_while_it_falls(robot):
    model, trajectory = model_of(robot), made(robot, 'free_fall')
    time = np.linspace(0.0, trajectory.duration, 400)
    motion = trajectory.motion(time, model)
    force = np.abs(model.inverse_dynamics(motion)).max(axis=1)
    held = force[0]  # by drives that carry the weight
    assert held > 1.0
    free = np.flatnonzero(force < 1e-3 * held)
    # one stretch without drive forces, apart from the first moments of friction
    assert 0.3 < len(free) / len(time) < 0.9
    assert np.all(np.diff(free) == 1)
    assert np.all(force[free] < 1e-3 * held)


def test_a_fall_is_slower_than_that_of_a_stone_and_friction_slows_it_further():
    model, trajectory = model_of('palida'), made('palida', 'free_fall')
    time = np.linspace(0.25, 0.5, 50) * trajectory.duration
    fall = trajectory.motion(time, model).acceleration[:, 2]
    assert np.all(fall > -9.81) and np.all(fall < 0.0) and fall[0] < -5.0
    assert np.all(np.diff(fall) > 0.0)  # struts of 20 N s/m each


def test_a_robot_that_friction_holds_falls_without_it():
    model, trajectory = model_of('h4'), made('h4', 'free_fall')
    time = np.linspace(0.1, 0.6, 50) * trajectory.duration
    motion = trajectory.motion(time, model)
    parameters = np.array(model.nominal_parameters)
    parameters[model.parameter_mask('friction')] = 0.0
    force = np.abs(model.inverse_dynamics(motion, parameters)).max(axis=1)
    assert np.median(force) < 0.02 * np.abs(model.inverse_dynamics(motion)).max()


def test_a_horizontal_robot_does_not_fall():
    with pytest.raises(FeasibilityError, match="'five_bar' does not fall"):
        preset(model_of('five_bar'), 'free_fall')


def test_strokes_have_constant_velocities_both_ways():
    model, trajectory = model_of('palida'), made('palida', 'friction_sweep')
    time = np.arange(0.0, trajectory.duration, 0.005)
    position, velocity, acceleration = trajectory.evaluate(time)
    moving = np.abs(position - model.home_actuators) > 1e-4
    assert moving.sum(axis=1).max() == 1  # one at a time
    assert moving.any(axis=0).all()
    for joint in range(model.n_a):
        steady = moving[:, joint] & (np.abs(acceleration[:, joint]) < 3e-4)
        assert steady.sum() > 0.4 * moving[:, joint].sum()
        for sign in (1.0, -1.0):
            speeds = sign * velocity[steady & (sign * velocity[:, joint] > 1e-3), joint]
            found = np.sort(np.array([np.median(group) for group in groups(speeds)]))
            assert len(found) == 3  # 2, 5 and 10 %, or all slower in the same proportion
            np.testing.assert_allclose(found / found[2], [0.2, 0.5, 1.0], rtol=1e-3)
            for group in groups(speeds):
                assert np.ptp(group) < 2e-4 * group.mean()


def groups(speeds):
    """Speeds (n,) parted where they differ by more than a tenth."""
    ordered = np.sort(speeds)
    return np.split(ordered, np.flatnonzero(np.diff(ordered) > 0.1 * ordered[:-1]) + 1)


def test_given_speeds_are_taken_as_they_are():
    trajectory = preset(model_of('four_bar'), 'friction_sweep', speeds=[0.3])
    time = np.arange(0.0, trajectory.duration, 0.005)
    _, velocity, acceleration = trajectory.evaluate(time)
    steady = np.abs(velocity[np.abs(acceleration) < 1e-3])
    assert np.median(steady[steady > 0.01]) == pytest.approx(0.3, rel=1e-5)


@pytest.mark.parametrize(
    ('robot', 'name', 'moved'),
    [('delta', 'sine_x', [0]), ('h4', 'sine_xy', [0, 1]), ('rps_upv', 'sine_z', [2])],
)
def test_platforms_with_fewer_freedoms_move_along_the_axes_of_the_table(robot, name, moved):
    model, trajectory = model_of(robot), made(robot, name)
    assert trajectory.coordinates == 'actuators' and trajectory.period == 0.5
    assert not limits_broken(model, trajectory)
    time = np.linspace(0.0, 0.5, 33)
    motion = trajectory.motion(time, model)
    away = motion.position - model.home_position
    size = away[8, moved[0]]
    expected = np.zeros((33, 3))
    expected[:, moved] = size * np.sin(4 * np.pi * time)[:, None]
    assert 0.003 < size <= 0.0254 + 1e-9
    np.testing.assert_allclose(away, expected, atol=1e-7)
    assert np.abs(motion.rotation - model.home_rotation).max() < 1e-7


def test_steps_rest_between_them():
    model = model_of('palida')
    trajectory = preset(model, 'point_to_point', move_time=0.8, dwell=0.3)
    position, velocity, _ = trajectory.evaluate(trajectory.time[1::2] - 0.15)
    assert np.abs(velocity).max() < 1e-12
    assert np.ptp(position, axis=0).min() > 0.02  # every coordinate moves


@pytest.mark.parametrize('name', KINDS)
def test_periodic_or_from_rest_to_rest(name):
    trajectory = made('palida', name)
    time = np.linspace(0.0, trajectory.duration, 40)
    if trajectory.period is not None:
        again = trajectory.evaluate(time + 7 * trajectory.period)
        for one, other in zip(trajectory.evaluate(time), again, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-10 * np.abs(one).max())
        return
    position, velocity, acceleration = trajectory.evaluate(time)
    assert max(np.abs(velocity[[0, -1]]).max(), np.abs(acceleration[[0, -1]]).max()) < 1e-7
    assert np.abs(velocity).max() > 0.01
    if name != 'free_fall':
        np.testing.assert_allclose(position[0], position[-1], rtol=0, atol=1e-12)


@pytest.mark.parametrize('name', ['sine_x', 'free_fall', 'friction_sweep'])
def test_save_and_load(name, tmp_path):
    trajectory = made('palida', name)
    trajectory.save(tmp_path / 'preset.yaml')
    again = load_trajectory(tmp_path / 'preset.yaml')
    time = np.linspace(0.0, trajectory.duration, 50)
    for one, other in zip(trajectory.evaluate(time), again.evaluate(time), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_names_are_those_of_the_robot():
    assert {'sine_x', 'sine_xy', 'sine_yaw', 'mirrored_circle'} <= set(
        preset_names(model_of('msi'))
    )
    names = preset_names(model_of('five_bar'))
    assert 'sine_left_motor' in names and 'circle' not in names  # its platform turns
    assert not {'sine_x', 'sine_xy'} & set(names)
    assert 'sine_z' in preset_names(model_of('rps_upv'))
    with pytest.raises(UnderactuatedError, match='lower_joint'):
        preset_names(model_of('cart_pendulum'))


@pytest.mark.parametrize(
    ('robot', 'name', 'options', 'error', 'message'),
    [
        ('palida', 'sine_leg1', {}, TrajectoryError, "'sine_leg1' .*'palida'; valid are sine_x"),
        ('five_bar', 'circle', {}, TrajectoryError, "'circle' is unknown .*sine_left_motor"),
        ('palida', 'circle', {'dwell': 1}, TrajectoryError, "'dwell' .*valid are diameter"),
        ('palida', 'sine_x', {'frequency': -1.0}, TrajectoryError, 'frequency: must be a positive'),
        ('palida', 'friction_sweep', {'speeds': [0.1, 0]}, TrajectoryError, 'speeds: must be'),
        ('palida', 'point_to_point', {'reach': 2.0}, TrajectoryError, 'reach: must lie in'),
        ('palida', 'sine_x', {'frequency': 400.0}, FeasibilityError, 'sine of x.*hundredth'),
        ('delta', 'sine_x', {'amplitude': 3.0}, KinematicsError, "'delta' cannot follow.* reach"),
    ],
)
def test_refusals(robot, name, options, error, message):
    with pytest.raises(error, match=message):
        preset(model_of(robot), name, **options)
