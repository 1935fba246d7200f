"""Plants of other worlds against the equations of motion integrated by another method."""

import numpy as np
import pytest
from mechanisms import five_bar, tripod

from pkm_description.errors import SimulationError
from pkm_description.friction import without_friction
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.equations.integration import integrate_motion
from pkm_dynamics.worlds.dart_plant import MISSING, DartPlant
from pkm_dynamics.worlds.equations_plant import EquationsPlant
from pkm_dynamics.worlds.gazebo_plant import MODULES, GazeboPlant, gazebo_module


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
    plant = EquationsPlant(model.description)
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


def test_bad_forces_are_refused():
    plant = EquationsPlant(five_bar())
    for forces in ([1.0], [np.nan, 0.0]):
        with pytest.raises(SimulationError, match="robot 'five_bar' takes 2 finite forces, got"):
            plant.step(forces)
    assert plant.time == 0.0


def test_a_world_that_is_not_installed_says_so():
    try:
        gazebo_module()
    except SimulationError as error:
        assert MODULES[0] in str(error)
        with pytest.raises(SimulationError, match='no Gazebo'):
            GazeboPlant(five_bar())
