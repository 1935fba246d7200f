"""Robots in a real Gazebo server: loops, static forces, force steps, identification.

Runs where Gazebo's Python modules are found, and is skipped elsewhere.
"""

from dataclasses import replace

import numpy as np
import pytest

import pkm_description
from pkm_bringup.offline import dataset_of, measured_arrays
from pkm_bringup.studies.runs.plants import excitation_of, true_base_parameters
from pkm_control.closed_loop import run_closed_loop
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import nominal_feedforward
from pkm_description import Friction
from pkm_description.errors import SimulationError
from pkm_description.friction import without_friction
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.equations.integration import integrate_motion
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.worlds.gazebo_plant import GazeboPlant, gazebo_module
from pkm_identification import identify

try:
    gazebo_module()
    WHY = ''
except SimulationError as error:
    WHY = str(error)
pytestmark = pytest.mark.skipif(bool(WHY), reason=WHY)

ROBOTS = ('palida', 'rps_upv', 'delta', 'h4')


def forces_at_home(model, accelerations):
    still = np.zeros((1, model.n_a))
    motion = model.motion_from_actuators(model.home_actuators[None], still, accelerations[None])
    return model.inverse_dynamics(motion)[0]


@pytest.mark.parametrize('name', ROBOTS)
def test_static_forces_keep_the_pose_and_a_step_accelerates(name):
    """The mean over 5 ms within 0.1 %, and 1 % of other forces is seen."""
    model = ClosedChainModel(without_friction(pkm_description.load(name)))
    weight = forces_at_home(model, np.zeros(model.n_a))
    plant = GazeboPlant(model.description)
    plant.closure_gap()
    for _ in range(100):
        held = plant.step(weight)
    np.testing.assert_allclose(held.positions, model.home_actuators, rtol=0, atol=1e-5)
    plant = GazeboPlant(model.description)
    plant.closure_gap()
    wanted = 2.0 * np.random.default_rng(1).uniform(-1.0, 1.0, model.n_a)  # [m/s^2, rad/s^2]
    forces = forces_at_home(model, wanted)
    for _ in range(5):
        plant.step(forces)
    motion = integrate_motion(model, [0.0, plant.time], forces).motion
    expected = model.actuator_states(motion).velocities[-1]
    size = np.abs(expected).max()
    np.testing.assert_allclose(plant.velocities, expected, rtol=0, atol=1e-3 * size)
    other = integrate_motion(model, [0.0, plant.time], weight + 1.01 * (forces - weight)).motion
    assert (
        np.abs(model.actuator_states(other).velocities[-1] - plant.velocities).max() > 5e-3 * size
    )
    assert plant.closure_gap() < 1e-6


@pytest.mark.parametrize('name', ['uf_pkm', 'hexel'])
def test_viscous_friction_leaves_the_forces_as_they_are(name):
    """Dart's own damping would make 35 % and 8.6 % of these velocities wrong."""
    robot = pkm_description.load(name)
    joints = tuple(
        replace(joint, friction=Friction(0.0, joint.friction.viscous)) if joint.friction else joint
        for joint in robot.joints
    )
    model = ClosedChainModel(replace(robot, joints=joints))
    plant = GazeboPlant(model.description, substeps=4)
    forces = forces_at_home(model, np.linspace(-2.0, 2.0, model.n_a))
    for _ in range(5):
        plant.step(forces)
    motion = integrate_motion(model, [0.0, plant.time], forces).motion
    expected = model.actuator_states(motion).velocities[-1]
    size = np.abs(expected).max()
    np.testing.assert_allclose(plant.velocities, expected, rtol=0, atol=2e-2 * size)


def test_an_excitation_is_recorded_and_identified():
    model = ClosedChainModel(pkm_description.load('delta'))
    # Dart takes a hundredth of a gap back in a step: short steps keep loops closed at speed
    plant, trajectory = GazeboPlant(model.description, substeps=4), excitation_of(model)
    plant.closure_gap()
    controller = TrajectoryController(model, servo_gains(model), nominal_feedforward(model))
    gaps = []

    def look(elapsed, controller):
        gaps.append(plant.closure_gap())

    recording = run_closed_loop(plant, controller, trajectory, before_step=look)
    assert recording.outcome.succeeded and max(gaps) < 1e-4
    data = dataset_of(measured_arrays(recording, model, trajectory.period))
    result = identify(data, model)
    truth = true_base_parameters(model)
    np.testing.assert_allclose(result.values, truth, rtol=0.03, atol=3e-3 * np.abs(truth).max())


def test_brakes_stop_the_robot_where_it_is_and_a_reset_takes_it_home():
    """Each begins a new server: it has to do what the first one did."""
    model = ClosedChainModel(without_friction(pkm_description.load('delta')))
    forces = forces_at_home(model, np.full(model.n_a, 2.0))
    plant = GazeboPlant(model.description)
    first = [plant.step(forces).positions for _ in range(20)]
    for _ in range(30):
        moved = plant.step(forces)
    held = [plant.hold() for _ in range(3)][-1]
    assert plant.time == pytest.approx(0.053) and not plant.velocities.any()
    np.testing.assert_array_equal(held.positions, moved.positions)
    wanted = np.full((1, model.n_a), 2.0)
    motion = model.motion_from_actuators(moved.positions[None], 0.0 * wanted, wanted)
    plant.step(model.inverse_dynamics(motion)[0])
    np.testing.assert_allclose(plant.velocities, 1e-3 * wanted[0], rtol=1e-3)
    plant.reset()
    again = [plant.step(forces).positions for _ in range(20)]
    np.testing.assert_allclose(again, first, rtol=0, atol=1e-12)
