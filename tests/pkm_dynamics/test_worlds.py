"""Plants of other worlds against the equations of motion integrated by another method."""

import ctypes
import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
from mechanisms import five_bar, tripod

import pkm_description
from pkm_description import Friction
from pkm_description.errors import MissingWorldError, SimulationError
from pkm_description.friction import without_friction
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.equations.integration import integrate_motion
from pkm_dynamics.simulation import PlantEffects, SimulatedPlant
from pkm_dynamics.worlds.dart_plant import MISSING, DartPlant
from pkm_dynamics.worlds.equations_plant import EquationsPlant
from pkm_dynamics.worlds.gazebo_plant import MODULES, gazebo_module, kept_signals
from pkm_dynamics.worlds.named_worlds import plant_in, why_missing


def pushed(plant, model, steps):
    """Positions, velocities and expected ones after steps under a constant force."""
    still = np.zeros((1, model.n_a))
    wanted = np.linspace(-2.0, 2.0, model.n_a)[None]
    motion = model.motion_from_actuators(model.home_actuators[None], still, wanted)
    forces = model.inverse_dynamics(motion)[0]
    for _ in range(steps):
        sample = plant.step(forces)
    end = integrate_motion(model, [0.0, plant.time], forces, method='Radau').motion
    states = model.actuator_states(end)
    return sample, states.positions[-1], states.velocities[-1]


@pytest.mark.parametrize('mechanism', [five_bar, tripod])
def test_the_equations_move_the_robot(mechanism):
    model = ClosedChainModel(without_friction(mechanism()))
    plant = EquationsPlant(model.description, substeps=4)
    sample, positions, velocities = pushed(plant, model, 5)
    assert sample.time == pytest.approx(0.005)
    assert sample.current_time == pytest.approx(0.0045)
    np.testing.assert_allclose(sample.positions, positions, rtol=0, atol=1e-9)
    np.testing.assert_allclose(plant.velocities, velocities, rtol=1e-5, atol=1e-7)
    assert plant.closure_gap() < 1e-9


@pytest.mark.parametrize('mechanism', [five_bar, tripod])
def test_dart_moves_the_robot(mechanism):
    pytest.importorskip('dartpy', reason=MISSING)
    robot = without_friction(mechanism())
    model = ClosedChainModel(robot)
    plant = DartPlant(robot)
    sample, positions, velocities = pushed(plant, model, 5)
    size = np.abs(velocities).max()
    np.testing.assert_allclose(plant.velocities, velocities, rtol=0, atol=1e-3 * size)
    # a method of first order: positions are half a step's way ahead
    ahead = 0.51 * size * plant.step_time
    np.testing.assert_allclose(sample.positions, positions, rtol=0, atol=ahead)
    assert plant.closure_gap() < 1e-6


def test_viscous_friction_in_dart_leaves_the_forces_as_they_are():
    """Dart's own damping takes 33 % of this robot's velocity, by forces that loops cancel."""
    pytest.importorskip('dartpy', reason=MISSING)
    robot = pkm_description.load('hexel')
    joints = tuple(
        replace(joint, friction=Friction(0.0, joint.friction.viscous)) if joint.friction else joint
        for joint in robot.joints
    )
    robot = replace(robot, joints=joints)
    assert any(joint.friction and joint.friction.viscous for joint in robot.joints)
    plant = DartPlant(robot, substeps=4)
    _, _, velocities = pushed(plant, ClosedChainModel(robot), 5)
    size = np.abs(velocities).max()
    np.testing.assert_allclose(plant.velocities, velocities, rtol=0, atol=5e-3 * size)
    free = ClosedChainModel(without_friction(robot))
    _, _, without = pushed(DartPlant(free.description, substeps=4), free, 5)
    assert np.abs(without - velocities).max() > 2e-2 * size  # so it is seen


def test_bad_forces_are_refused():
    plant = EquationsPlant(five_bar(), substeps=4)
    for forces in ([1.0], [np.nan, 0.0]):
        with pytest.raises(SimulationError, match="robot 'five_bar' takes 2 finite forces, got"):
            plant.step(forces)
    assert plant.time == 0.0


def test_a_world_that_is_not_installed_says_so():
    try:
        gazebo_module()
    except SimulationError as error:
        assert MODULES[0] in str(error)
        with pytest.raises(MissingWorldError, match='no Gazebo'):
            plant_in('gazebo', five_bar())
        assert why_missing('gazebo').startswith('no Gazebo') and not why_missing('equations')


def test_worlds_have_names_and_whole_steps():
    plant = plant_in('equations', five_bar(), substep=5e-4)
    assert isinstance(plant, EquationsPlant) and plant.substeps == 2
    assert isinstance(plant_in('mujoco', five_bar()), SimulatedPlant)
    with pytest.raises(SimulationError, match="unknown world 'bullet'; the worlds are mujoco, gaz"):
        plant_in('bullet', five_bar())
    with pytest.raises(SimulationError, match='must be a whole number of substeps'):
        plant_in('equations', five_bar(), substep=3e-4)


def test_signals_go_to_who_had_them_before():
    told = []
    before = signal.signal(signal.SIGTERM, lambda *_: told.append('ours'))

    def start():  # as Gazebo does, in the thread that steps the robot
        with kept_signals():
            ctypes.CDLL(None).signal(int(signal.SIGTERM), ctypes.c_void_p(1))  # ignore it
            os.kill(os.getpid(), signal.SIGTERM)

    try:
        thread = threading.Thread(target=start)
        thread.start()
        thread.join()
        assert told == []
        os.kill(os.getpid(), signal.SIGTERM)
        assert told == ['ours']
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize('world', [EquationsPlant, DartPlant])
def test_brakes_stop_the_robot_where_it_is_and_a_reset_takes_it_home(world):
    if world is DartPlant:
        pytest.importorskip('dartpy', reason=MISSING)
    robot = without_friction(five_bar())
    plant, other = world(robot), world(robot)
    forces = np.array([3.0, -2.0])
    for _ in range(20):
        moved = plant.step(forces)
    held = [plant.hold() for _ in range(3)]
    assert plant.time == pytest.approx(0.023) and not plant.velocities.any()
    for sample in held:
        np.testing.assert_array_equal(sample.positions, moved.positions)
        assert not sample.truth_forces.any() and not sample.truth_velocities.any()
    assert plant.closure_gap() < 1e-9
    # it starts from there, at rest: the first steps are those of the acceleration there
    model = ClosedChainModel(robot)
    wanted = np.array([[2.0, -1.0]])
    motion = model.motion_from_actuators(moved.positions[None], 0.0 * wanted, wanted)
    plant.step(model.inverse_dynamics(motion)[0])
    np.testing.assert_allclose(plant.velocities, 1e-3 * wanted[0], rtol=1e-3)
    again = plant.reset(time=0.5)
    assert again.time == pytest.approx(0.5)
    for _ in range(20):
        np.testing.assert_allclose(
            plant.step(forces).positions, other.step(forces).positions, rtol=0, atol=1e-12
        )


def test_sensors_limits_and_friction_are_those_of_the_effects():
    robot = pkm_description.load('five_bar')
    effects = PlantEffects.from_description(robot)
    plant = EquationsPlant(robot, substeps=4, effects=effects, seed=3)
    limit = robot.joint(plant.actuated_joints[0]).limit.effort
    sample = plant.step([1e3 * limit, 0.0])
    assert sample.truth_forces[0] == limit
    assert np.any(sample.positions != plant.step([0.0, 0.0]).truth_positions)
    noises = [EquationsPlant(robot, effects=effects, seed=n).sample.positions for n in (3, 3, 4)]
    np.testing.assert_array_equal(noises[0], noises[1])
    assert np.any(noises[1] != noises[2])
    smooth = EquationsPlant(robot, substeps=4, effects=effects.ideal())
    assert all(joint.friction is None for joint in smooth.description.joints)
